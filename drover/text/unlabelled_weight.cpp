#include "drover/text/unlabelled_weight.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "drover/core/parallel.hpp"
#include "drover/core/random.hpp"
#include "drover/text/naive_bayes_em.hpp"

namespace drover {

namespace {

constexpr std::uint32_t folds = 5, most_rounds = 4, enough = 1000, few_iterations = 15;
constexpr double most_work = 2e10;  // words times classes that are scored
constexpr double doubt = 1;         // standard errors of a gain that are taken off

/// Which fold each labelled document is in; no_label for all that are not to be tested.
std::vector<std::uint32_t> deal(std::span<const std::uint32_t> labels, std::uint32_t classes,
                                const Random& random, std::uint32_t round) {
  std::vector<std::uint32_t> fold(labels.size(), no_label);
  for (std::uint32_t k = 0; k < classes; ++k) {
    std::vector<std::pair<double, std::uint32_t>> members;
    for (std::uint32_t d = 0; d < labels.size(); ++d)
      if (labels[d] == k) members.emplace_back(random.uniform(1, round, d), d);
    if (members.size() < 2) continue;  // the class would be gone
    std::sort(members.begin(), members.end());
    for (std::uint32_t m = 0; m < members.size(); ++m) fold[members[m].second] = (m + k) % folds;
  }
  return fold;
}

/// Which of the labels kept apart were found.
std::vector<bool> found(const TextEm& fit, std::span<const std::uint32_t> labels,
                        std::span<const std::uint32_t> apart, std::uint32_t classes) {
  std::vector<bool> right;
  for (const std::uint32_t d : apart) {
    const auto p = fit.probabilities.begin() + static_cast<std::ptrdiff_t>(std::size_t{d} * classes);
    right.push_back(static_cast<std::uint32_t>(std::max_element(p, p + classes) - p) == labels[d]);
  }
  return right;
}

/// What a candidate surely finds more than ordinary naive Bayes, in labels of one round: the mean over rounds
/// less a standard error. Only labels on which the two differ tell, and other rounds test the same labels, so
/// that they steady the mean but are no further evidence.
double sure_gain(const WeightCandidate& candidate, const WeightCandidate& naive_bayes, double rounds) {
  const double gain = static_cast<double>(candidate.right) - static_cast<double>(naive_bayes.right);
  return gain / rounds - doubt * std::sqrt(static_cast<double>(candidate.unlike_naive_bayes) / rounds);
}

}  // namespace

WeightChoice choose_unlabelled_weight(const WordCounts& documents, std::span<const std::uint32_t> labels,
                                      const WeightOptions& options, const RunControl& control) {
  WeightChoice choice;
  choice.candidates = {{false, 0}};
  // In the order of preference, where labels do not decide.
  for (const double weight :
       options.weight ? std::vector{*options.weight} : std::vector{0.1, 0.03, 0.3, 1.0, 0.0})
    for (const bool by_frequency : {true, false})
      if (options.by_frequency ? by_frequency == *options.by_frequency : by_frequency || options.weight)
        if (by_frequency || weight > 0) choice.candidates.push_back({by_frequency, weight});
  const std::vector<double> equal(documents.vocabulary, options.word_pseudo_count);
  const std::vector<double> frequency = frequency_pseudo_counts(documents, options.word_pseudo_count);
  const auto labelled = static_cast<std::uint64_t>(
      std::ranges::count_if(labels, [](std::uint32_t label) { return label != no_label; }));
  const auto rounds = std::clamp<std::uint64_t>((enough + labelled - 1) / labelled, 1, most_rounds);
  const double work_per_fold =
      static_cast<double>(documents.entries() * choice.candidates.size()) * options.classes * few_iterations;
  const auto most_folds = static_cast<std::uint64_t>(std::max(1.0, most_work / work_per_fold));
  const Random random(options.seed, Stream::text_hide);
  std::uint64_t done = 0;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    const std::vector<std::uint32_t> fold = deal(labels, options.classes, random, round);
    for (std::uint32_t f = 0; f < folds && done < most_folds; ++f) {
      std::vector<std::uint32_t> shown(labels.begin(), labels.end()), apart;
      for (std::uint32_t d = 0; d < labels.size(); ++d) {
        if (fold[d] != f) continue;
        shown[d] = no_label;
        apart.push_back(d);
      }
      if (apart.empty()) continue;
      std::vector<std::vector<bool>> right(choice.candidates.size());
      parallel_for(std::size_t{0}, right.size(), [&](std::size_t c) {
        if (control.should_stop()) return;
        const WeightCandidate& candidate = choice.candidates[c];
        const TextEm fit = fit_text_em(documents, shown, candidate.by_frequency ? frequency : equal,
                                       {.classes = options.classes,
                                        .unlabelled_weight = candidate.weight,
                                        .class_pseudo_count = options.class_pseudo_count,
                                        .iterations = few_iterations});
        right[c] = found(fit, labels, apart, options.classes);
      });
      if (control.should_stop()) break;  // some were not tried: this fold does not count
      choice.tested += apart.size();
      for (std::size_t c = 0; c < right.size(); ++c)
        for (std::size_t a = 0; a < apart.size(); ++a) {
          choice.candidates[c].right += right[c][a];
          choice.candidates[c].unlike_naive_bayes += right[c][a] != right[0][a];
        }
      ++done;
      control.report({"choosing the weight of unlabelled documents",
                      static_cast<double>(done) / static_cast<double>(std::min(rounds * folds, most_folds)),
                      done, 0, 0});
    }
  }
  const bool naive_bayes_allowed = options.weight.value_or(0) == 0 && !options.by_frequency.value_or(false);
  const double tests_of_each =
      std::max(1.0, static_cast<double>(choice.tested) / static_cast<double>(labelled));
  std::vector<double> gain;
  for (const WeightCandidate& candidate : choice.candidates)
    gain.push_back(sure_gain(candidate, choice.candidates.front(), tests_of_each));
  if (choice.tested == 0 || !naive_bayes_allowed) gain.front() = -std::numeric_limits<double>::infinity();
  choice.chosen = static_cast<std::size_t>(std::ranges::max_element(gain) - gain.begin());
  return choice;
}

}  // namespace drover
