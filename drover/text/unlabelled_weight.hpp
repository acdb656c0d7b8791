// How much should documents without label count? The labels decide: some are kept apart, the others and all
// documents make a model (naive_bayes_em.hpp), and what finds most of those kept apart, and surely, is chosen;
// so is the prior of the words.
//
// Candidates: ordinary naive Bayes; and words smoothed towards the corpus with weights 0, 0.03, 0.1, 0.3, 1.
// Labels are kept apart by fifths of each class, again and again in other fifths until a thousand have been
// tested or four rounds are done; the same ones for every candidate. The one that finds most more than
// naive Bayes, less a standard error of this difference (of labels that only one of the two finds), is chosen:
// naive Bayes where none surely gains. A model that a few lucky labels prefer may be worse by points on all
// the others; naive Bayes is at worst what one would have had without.
// Fails: with a handful of labels the choice is little better than a guess; a class with one label is never
// tested.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "drover/core/run_control.hpp"
#include "drover/text/word_counts.hpp"

namespace drover {

struct WeightCandidate {
  bool by_frequency = false;  ///< pseudo-counts of words follow the corpus; else all are equal
  double weight = 0;
  std::uint64_t right = 0;               ///< labels kept apart that were found
  std::uint64_t unlike_naive_bayes = 0;  ///< found where ordinary naive Bayes fails, or the reverse
};

struct WeightChoice {
  std::vector<WeightCandidate> candidates;  ///< the first is ordinary naive Bayes
  std::size_t chosen = 0;
  std::uint64_t tested = 0;  ///< labels kept apart, counted every time; 0: there was nothing to choose by

  const WeightCandidate& best() const { return candidates[chosen]; }
};

struct WeightOptions {
  std::uint32_t classes = 2;
  double class_pseudo_count = 1;
  double word_pseudo_count = 1;
  std::uint64_t seed = 1;
  std::optional<double> weight{};      ///< only candidates with this weight
  std::optional<bool> by_frequency{};  ///< only candidates with this prior
};

/// A time limit that ends within the search leaves the choice to the rounds that were done.
WeightChoice choose_unlabelled_weight(const WordCounts& documents, std::span<const std::uint32_t> labels,
                                      const WeightOptions& options, const RunControl& control = no_control());

}  // namespace drover
