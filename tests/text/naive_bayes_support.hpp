// Tiny corpora and their exact posterior, by enumeration of all labels with theta and pi integrated out.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "drover/core/log_math.hpp"
#include "drover/core/random.hpp"
#include "drover/core/types.hpp"
#include "drover/text/word_counts.hpp"

namespace drover::testing {

/// Dense counts (document, word) as WordCounts.
inline WordCounts word_counts(std::size_t documents, std::uint32_t vocabulary,
                              std::span<const std::uint32_t> dense) {
  WordCounts result;
  result.vocabulary = vocabulary;
  for (std::size_t d = 0; d < documents; ++d) {
    for (std::uint32_t i = 0; i < vocabulary; ++i) {
      if (dense[d * vocabulary + i] == 0) continue;
      result.words.push_back(i);
      result.counts.push_back(dense[d * vocabulary + i]);
    }
    result.offsets.push_back(result.words.size());
  }
  return result;
}

/// log P(words, labels), written down directly from the definition.
inline double log_joint(const WordCounts& documents, std::span<const Value> labels, std::uint32_t classes,
                        double a, double b) {
  const std::uint32_t vocabulary = documents.vocabulary;
  std::vector<double> in_class(classes, 0), tokens(classes, 0), words(classes * vocabulary, 0);
  double sum = 0, seen = 0;
  for (std::size_t d = 0; d < labels.size(); ++d) {
    const Value k = labels[d];
    sum += std::log((in_class[k] + a) / (seen + classes * a));
    ++in_class[k];
    ++seen;
    for (std::size_t e = 0; e < documents.words_of(d).size(); ++e) {
      for (std::uint32_t m = 0; m < documents.counts_of(d)[e]; ++m) {
        double& n = words[k * vocabulary + documents.words_of(d)[e]];
        sum += std::log((n + b) / (tokens[k] + vocabulary * b));
        ++n;
        ++tokens[k];
      }
    }
  }
  return sum;
}

/// P(labels | words) over all ways to label the open documents; the first open document varies fastest.
struct ExactPosterior {
  std::vector<std::uint32_t> open;
  std::vector<double> probabilities;
  std::uint32_t classes;

  std::size_t index(std::span<const Value> labels) const {
    std::size_t result = 0;
    for (std::size_t o = open.size(); o-- > 0;) result = result * classes + labels[open[o]];
    return result;
  }
  double marginal(std::size_t o, Value k) const {
    std::size_t step = 1;
    for (std::size_t p = 0; p < o; ++p) step *= classes;
    double sum = 0;
    for (std::size_t s = 0; s < probabilities.size(); ++s)
      if (s / step % classes == k) sum += probabilities[s];
    return sum;
  }
};

inline ExactPosterior exact_posterior(const WordCounts& documents, std::span<const std::uint32_t> known,
                                      std::uint32_t classes, double a, double b) {
  ExactPosterior result;
  result.classes = classes;
  std::vector<Value> labels(known.size());
  for (std::size_t d = 0; d < known.size(); ++d) {
    labels[d] = known[d] == no_label ? Value{0} : static_cast<Value>(known[d]);
    if (known[d] == no_label) result.open.push_back(static_cast<std::uint32_t>(d));
  }
  std::size_t states = 1;
  for (std::size_t o = 0; o < result.open.size(); ++o) states *= classes;
  for (std::size_t s = 0; s < states; ++s) {
    std::size_t rest = s;
    for (const std::uint32_t d : result.open) {
      labels[d] = static_cast<Value>(rest % classes);
      rest /= classes;
    }
    result.probabilities.push_back(log_joint(documents, labels, classes, a, b));
  }
  normalise_logs(result.probabilities);
  return result;
}

/// Counts of a small random corpus; every document has a few words, some several times.
inline std::vector<std::uint32_t> random_dense(std::size_t documents, std::uint32_t vocabulary,
                                               RandomSequence& random) {
  std::vector<std::uint32_t> dense(documents * vocabulary, 0);
  for (std::size_t d = 0; d < documents; ++d)
    for (std::uint32_t t = 0; t < 2 + random.below(5); ++t)
      ++dense[d * vocabulary + random.below(vocabulary)];
  return dense;
}

}  // namespace drover::testing
