#include "drover/text/naive_bayes_em.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "drover/core/log_math.hpp"
#include "drover/core/parallel.hpp"

namespace drover {

namespace {

constexpr double still = 1e-4;  // mean change of a document's probabilities

class Climb {
 public:
  Climb(const WordCounts& documents, std::span<const std::uint32_t> labels,
        std::span<const double> pseudo_counts, const TextEmOptions& options)
      : documents_(documents),
        labels_(labels),
        pseudo_counts_(pseudo_counts),
        options_(options),
        log_theta_(documents.vocabulary * std::size_t{options.classes}),
        log_pi_(options.classes) {
    for (const double b : pseudo_counts) pseudo_total_ += b;
    const std::size_t classes = options.classes;
    fit_.probabilities.assign(labels.size() * classes, 0.0);
    for (std::size_t d = 0; d < labels.size(); ++d)
      if (labels[d] != no_label) fit_.probabilities[d * classes + labels[d]] = 1;
    fit_.class_documents.assign(classes, 0.0);
    fit_.word_counts.assign(log_theta_.size(), 0.0);
    for (std::size_t d = 0; d < labels.size(); ++d)
      if (labels[d] != no_label) add(d, 1);
    known_documents_ = fit_.class_documents;
    known_counts_ = fit_.word_counts;
  }

  TextEm run(const RunControl& control) {
    maximise();
    expect();
    for (std::uint32_t i = 0; options_.unlabelled_weight > 0 && i < options_.iterations; ++i) {
      if (control.should_stop()) return std::move(fit_);
      count();
      maximise();
      fit_.converged = expect() < still;
      control.report({"learning from unlabelled documents",
                      static_cast<double>(i + 1) / static_cast<double>(options_.iterations), i + 1, 0, 0});
      if (fit_.converged) break;
    }
    fit_.converged = fit_.converged || options_.unlabelled_weight == 0;
    return std::move(fit_);
  }

 private:
  void add(std::size_t d, double weight) {
    const std::size_t classes = options_.classes;
    const double* p = fit_.probabilities.data() + d * classes;
    for (std::size_t k = 0; k < classes; ++k) fit_.class_documents[k] += weight * p[k];
    const auto words = documents_.words_of(d);
    const auto counts = documents_.counts_of(d);
    for (std::size_t e = 0; e < words.size(); ++e)
      for (std::size_t k = 0; k < classes; ++k)
        fit_.word_counts[words[e] * classes + k] += weight * p[k] * counts[e];
  }

  void count() {
    fit_.class_documents = known_documents_;
    fit_.word_counts = known_counts_;
    for (std::size_t d = 0; d < labels_.size(); ++d)
      if (labels_[d] == no_label) add(d, options_.unlabelled_weight);
  }

  /// theta and pi of the counts, and the prior's part of the objective.
  void maximise() {
    const std::size_t classes = options_.classes;
    std::vector<double> totals(classes, pseudo_total_);
    for (std::size_t e = 0; e < log_theta_.size(); ++e) totals[e % classes] += fit_.word_counts[e];
    prior_ = 0;
    for (std::size_t i = 0; i < pseudo_counts_.size(); ++i)
      for (std::size_t k = 0; k < classes; ++k) {
        const std::size_t e = i * classes + k;
        log_theta_[e] = std::log((fit_.word_counts[e] + pseudo_counts_[i]) / totals[k]);
        prior_ += pseudo_counts_[i] * log_theta_[e];
      }
    double documents = static_cast<double>(classes) * options_.class_pseudo_count;
    for (const double c : fit_.class_documents) documents += c;
    for (std::size_t k = 0; k < classes; ++k) {
      log_pi_[k] = std::log((fit_.class_documents[k] + options_.class_pseudo_count) / documents);
      prior_ += options_.class_pseudo_count * log_pi_[k];
    }
  }

  /// Probabilities of the open labels; returns how much they moved, on average.
  double expect() {
    const std::size_t classes = options_.classes;
    const IndexRange all(0, labels_.size(), 64);
    std::vector<double> moved(labels_.size(), 0.0), log_evidence(labels_.size());
    parallel_for(all, [&](const IndexRange& range) {
      std::vector<double> p(classes);
      for (std::size_t d = range.begin(); d < range.end(); ++d) {
        p = log_pi_;
        const auto words = documents_.words_of(d);
        const auto counts = documents_.counts_of(d);
        for (std::size_t e = 0; e < words.size(); ++e)
          for (std::size_t k = 0; k < classes; ++k) p[k] += counts[e] * log_theta_[words[e] * classes + k];
        if (labels_[d] != no_label) {
          log_evidence[d] = p[labels_[d]];
          continue;
        }
        log_evidence[d] = options_.unlabelled_weight * normalise_logs(p);
        double* old = fit_.probabilities.data() + d * classes;
        for (std::size_t k = 0; k < classes; ++k) {
          moved[d] = std::max(moved[d], std::abs(p[k] - old[k]));
          old[k] = p[k];
        }
      }
    });
    double objective = prior_, movement = 0;
    for (std::size_t d = 0; d < labels_.size(); ++d) {
      objective += log_evidence[d];
      movement += moved[d];
    }
    fit_.objective.push_back(objective);
    return movement / static_cast<double>(std::max<std::size_t>(labels_.size(), 1));
  }

  const WordCounts& documents_;
  std::span<const std::uint32_t> labels_;
  std::span<const double> pseudo_counts_;
  TextEmOptions options_;
  double pseudo_total_ = 0, prior_ = 0;
  std::vector<double> log_theta_, log_pi_;
  std::vector<double> known_documents_, known_counts_;
  TextEm fit_;
};

}  // namespace

TextEm fit_text_em(const WordCounts& documents, std::span<const std::uint32_t> labels,
                   std::span<const double> word_pseudo_counts, const TextEmOptions& options,
                   const RunControl& control) {
  assert(labels.size() == documents.documents() && word_pseudo_counts.size() == documents.vocabulary);
  assert(options.classes >= 2 && options.unlabelled_weight >= 0);
  return Climb(documents, labels, word_pseudo_counts, options).run(control);
}

std::vector<double> frequency_pseudo_counts(const WordCounts& documents, double pseudo_count) {
  std::vector<double> shares(documents.vocabulary, 1.0);  // a word of the model that no document has
  for (std::size_t e = 0; e < documents.entries(); ++e) shares[documents.words[e]] += documents.counts[e];
  double total = 0;
  for (const double share : shares) total += share;
  for (double& share : shares) share *= pseudo_count * static_cast<double>(shares.size()) / total;
  return shares;
}

}  // namespace drover
