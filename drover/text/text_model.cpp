#include "drover/text/text_model.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "drover/core/log_math.hpp"
#include "drover/core/parallel.hpp"

namespace drover {

TextModel make_text_model(std::vector<std::string> classes, std::vector<std::string> words,
                          const TextPosterior& posterior) {
  assert(classes.size() == posterior.classes &&
         words.size() * classes.size() == posterior.word_counts.size());
  std::vector<double> pseudo_counts = posterior.word_pseudo_counts;
  if (pseudo_counts.empty()) pseudo_counts.assign(words.size(), posterior.word_pseudo_count);
  return {std::move(classes),           std::move(words),
          posterior.class_documents,    posterior.word_counts,
          posterior.class_pseudo_count, std::move(pseudo_counts)};
}

TextModel count_text_model(const Corpus& corpus, std::span<const std::uint32_t> labels,
                           double class_pseudo_count, double word_pseudo_count) {
  const std::size_t classes = corpus.classes.size();
  TextModel model{.classes = corpus.classes,
                  .words = corpus.words,
                  .class_documents = std::vector<double>(classes, 0.0),
                  .word_counts = std::vector<double>(corpus.words.size() * classes, 0.0),
                  .class_pseudo_count = class_pseudo_count,
                  .word_pseudo_counts = std::vector<double>(corpus.words.size(), word_pseudo_count)};
  for (std::size_t d = 0; d < labels.size(); ++d) {
    if (labels[d] == no_label) continue;
    ++model.class_documents[labels[d]];
    const auto words = corpus.counts.words_of(d);
    const auto counts = corpus.counts.counts_of(d);
    for (std::size_t e = 0; e < words.size(); ++e)
      model.word_counts[words[e] * classes + labels[d]] += counts[e];
  }
  return model;
}

std::vector<double> predict_classes(const TextModel& model, const WordCounts& documents) {
  const std::size_t classes = model.classes.size();
  double pseudo_total = 0;
  for (const double b : model.word_pseudo_counts) pseudo_total += b;
  std::vector<double> totals(classes, pseudo_total), prior(classes);
  for (std::size_t e = 0; e < model.word_counts.size(); ++e) totals[e % classes] += model.word_counts[e];
  for (std::size_t k = 0; k < classes; ++k)
    prior[k] = std::log(model.class_documents[k] + model.class_pseudo_count);
  std::vector<double> log_theta(model.word_counts.size());
  for (std::size_t e = 0; e < log_theta.size(); ++e)
    log_theta[e] =
        std::log((model.word_counts[e] + model.word_pseudo_counts[e / classes]) / totals[e % classes]);

  std::vector<double> probabilities(documents.documents() * classes);
  parallel_for(IndexRange(0, documents.documents(), 64), [&](const IndexRange& range) {
    for (std::size_t d = range.begin(); d < range.end(); ++d) {
      const std::span<double> p(probabilities.data() + d * classes, classes);
      std::copy(prior.begin(), prior.end(), p.begin());
      for (std::size_t e = 0; e < documents.words_of(d).size(); ++e)
        for (std::size_t k = 0; k < classes; ++k)
          p[k] += documents.counts_of(d)[e] * log_theta[documents.words_of(d)[e] * classes + k];
      normalise_logs(p);
    }
  });
  return probabilities;
}

std::vector<TopWord> top_words(const TextModel& model, std::uint32_t class_number, std::size_t count) {
  const std::size_t classes = model.classes.size();
  const auto others = static_cast<double>(classes - 1);
  double total = 0, total_others = 0;
  for (std::size_t e = 0; e < model.word_counts.size(); ++e)
    (e % classes == class_number ? total : total_others) +=
        model.word_counts[e] + model.word_pseudo_counts[e / classes];
  std::vector<TopWord> all;
  for (std::size_t i = 0; i < model.words.size(); ++i) {
    const double b = model.word_pseudo_counts[i];
    double sum = 0;
    for (std::size_t k = 0; k < classes; ++k) sum += model.word_counts[i * classes + k];
    const double here = model.word_counts[i * classes + class_number] + b;
    const double there = std::max(sum - model.word_counts[i * classes + class_number], 0.0) + others * b;
    const double log_odds = std::log(here / total) - std::log(there / total_others);
    all.push_back({model.words[i], log_odds, log_odds / std::sqrt(1 / here + 1 / there), here / total});
  }
  const std::size_t shown = std::min(count, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shown), all.end(),
                    [](const TopWord& x, const TopWord& y) {
                      return x.score != y.score ? x.score > y.score : x.word < y.word;
                    });
  all.resize(shown);
  return all;
}

}  // namespace drover
