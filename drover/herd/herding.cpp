#include "drover/herd/herding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <type_traits>

#include "drover/core/error.hpp"

namespace drover {

namespace {

constexpr double most_states = 65536;
constexpr double most_words = 1 << 20;
constexpr double most_tree_operations = 20000;  // above it, local search is far faster
constexpr std::size_t most_dense_pairs = 8192;  // variables: 2 GB
constexpr std::size_t most_dense_triples = 256;

bool enumerable(const FeatureSet& set) {
  return state_count(set) <= most_states && enumeration_words(set) <= most_words;
}

/// Of every pair of variables, the product of their first indicators is there.
bool has_all_pairs(const FeatureSet& set) {
  std::size_t pairs = 0;
  const auto is_first = [&](std::uint32_t b) {
    return set.indicator_offsets[set.indicators[b].variable] == b;
  };
  for (const Feature& feature : set.features)
    pairs += feature.order == 2 && is_first(feature.indicators[0]) && is_first(feature.indicators[1]);
  return pairs == set.variables() * (set.variables() - 1) / 2;
}

HerdSearch choose(const FeatureSet& set, HerdSearch asked) {
  if (asked == HerdSearch::enumerate && !enumerable(set))
    throw Error(ErrorKind::misfit,
                fmt::format("{:.3g} joint states with {} features are too many to enumerate; search "
                            "locally",
                            state_count(set), set.size()));
  if (asked == HerdSearch::tree && !std::isfinite(tree_operations(set)))
    throw Error(ErrorKind::misfit, "the features need too large a junction tree; search locally");
  if (asked != HerdSearch::automatic) return asked;
  if (enumerable(set)) return HerdSearch::enumerate;
  // All pairs of many variables have no small tree; do not look for one.
  if (!has_all_pairs(set) && set.size() < 100000 && tree_operations(set) <= most_tree_operations)
    return HerdSearch::tree;
  return HerdSearch::local;
}

std::unique_ptr<HerdEngine> make_engine(const Moments& moments, HerdSearch search,
                                        const std::vector<double>& start, bool adaptive) {
  if (search == HerdSearch::enumerate) return make_enumerating_engine(moments, start);
  if (search == HerdSearch::tree) return make_tree_engine(moments, start);
  if (moments.set.coding == FeatureCoding::spins) return make_spin_engine(moments, start, adaptive);
  const std::uint32_t order = moments.set.complete_order;
  const std::size_t n = moments.set.variables();
  if ((order == 2 && n <= most_dense_pairs) || (order == 3 && n <= most_dense_triples))
    return make_dense_engine(moments, start, adaptive);
  return make_sparse_engine(moments, start, adaptive);
}

double norm(std::span<const double> x) {
  double sum = 0;
  for (double value : x) sum += value * value;
  return std::sqrt(sum);
}

}  // namespace

Herding::Herding(const Moments& moments, HerdingOptions options)
    : moments_(moments),
      start_weights_(std::move(options.start_weights)),
      search_(choose(moments.set, options.search)),
      engine_(make_engine(moments, search_, start_weights_, options.adaptive)) {
  assert(start_weights_.empty() || start_weights_.size() == moments.set.size());
}

std::vector<double> Herding::counts() const {
  std::vector<double> counts(moments_.set.size());
  engine_->counts(counts);
  return counts;
}

std::vector<double> Herding::weight_changes() const {
  std::vector<double> changes = counts();
  for (std::size_t f = 0; f < changes.size(); ++f)
    changes[f] = static_cast<double>(samples_) * moments_.values[f] - changes[f];
  return changes;
}

std::vector<double> Herding::weights() const {
  std::vector<double> weights = weight_changes();
  for (std::size_t f = 0; f < start_weights_.size(); ++f) weights[f] += start_weights_[f];
  return weights;
}

namespace {

/// Bounded weights wander without a trend: from the middle of a run to its end each may move as far as the
/// norm itself. Linear growth doubles the norm in that time.
std::vector<HerdSummary::Growth> find_growth(std::span<const double> half, std::span<const double> end,
                                             std::uint64_t half_samples, std::uint64_t samples) {
  constexpr std::uint64_t fewest_samples = 200;
  const double before = norm(half), after = norm(end);
  if (samples < fewest_samples || after < 1.6 * before ||
      after < 2 * std::sqrt(static_cast<double>(end.size())))
    return {};
  std::vector<HerdSummary::Growth> growing;
  const double steps = static_cast<double>(samples - half_samples);
  for (std::size_t f = 0; f < end.size(); ++f) growing.push_back({f, (end[f] - half[f]) / steps});
  std::sort(growing.begin(), growing.end(), [](const auto& a, const auto& b) {
    return std::abs(a.rate) != std::abs(b.rate) ? std::abs(a.rate) > std::abs(b.rate) : a.feature < b.feature;
  });
  const double least = 0.5 * std::abs(growing.front().rate);
  growing.erase(std::find_if(growing.begin(), growing.end(),
                             [&](const auto& one) { return std::abs(one.rate) < least; }),
                growing.end());
  return growing;
}

}  // namespace

HerdSummary run_herding(Herding& herding, std::uint64_t samples, std::span<const HerdQuery> queries,
                        const std::function<void(std::span<const Value>)>& take, const RunControl& control,
                        StateKeeper* keeper) {
  const Moments& moments = herding.moments();
  const std::size_t n = moments.set.variables();
  const bool binary = std::all_of(moments.set.cardinalities.begin(), moments.set.cardinalities.end(),
                                  [](std::uint32_t cardinality) { return cardinality == 2; });
  std::vector<std::uint64_t> ones_count(n + 1, 0), query_count(queries.size(), 0);
  std::vector<double> half;
  // A run that is stopped early has no middle; the last power of two takes its place.
  std::uint64_t done = 0, next_mark = 1, half_samples = 0;
  HerdSummary summary;
  const auto mark = [&](std::span<const double> weights) {
    const double steps = static_cast<double>(herding.samples());
    double error = 0;
    for (double change : herding.weight_changes()) error = std::max(error, std::abs(change) / steps);
    summary.marks.push_back({herding.samples(), norm(weights), error});
  };
  const auto visit = [&](auto& archive) {
    if constexpr (std::is_same_v<decltype(archive), SaveArchive&>)
      herding.save(archive);
    else
      herding.load(archive);
    archive(ones_count);
    archive(query_count);
    archive(half);
    for (std::uint64_t* number : {&done, &next_mark, &half_samples}) archive(*number);
    archive(summary.marks);
  };
  restore(keeper, visit);
  for (; done < samples; ++done) {
    if (done % 16 == 0) {
      const bool ends = control.should_stop();
      keep(keeper, visit, ends);
      if (ends) break;
    }
    if (done % 1024 == 0)
      control.report({"herding", static_cast<double>(done) / static_cast<double>(samples), done, 0, 0});
    if (done == samples / 2 || (done == next_mark && done < samples / 2)) {
      half = herding.weights();
      half_samples = done;
      if (herding.samples() > 0) mark(half);
      next_mark = done == samples / 2 ? samples : 2 * next_mark;
    }
    const std::span<const Value> state = herding.step();
    if (binary) {
      std::size_t ones = 0;
      for (Value value : state) ones += value;
      ++ones_count[ones];
    }
    for (std::size_t q = 0; q < queries.size(); ++q)
      query_count[q] += std::all_of(queries[q].begin(), queries[q].end(), [&](const Indicator& condition) {
        return state[condition.variable] == condition.value;
      });
    take(state);
  }
  keep(keeper, visit, done == samples);

  summary.samples = done;
  const double total = static_cast<double>(std::max<std::uint64_t>(done, 1));
  const std::vector<double> changes = herding.weight_changes(), weights = herding.weights();
  for (std::size_t f = 0; f < changes.size(); ++f) {
    const double error =
        std::abs(changes[f]) / static_cast<double>(std::max<std::uint64_t>(herding.samples(), 1));
    if (error <= summary.moment_error_max) continue;
    summary.moment_error_max = error;
    summary.worst_feature = f;
  }
  if (done > 0) mark(weights);
  summary.weight_norm = norm(weights);
  if (!half.empty()) {
    summary.weight_norm_half = norm(half);
    summary.growing = find_growth(half, weights, half_samples, done);
  }
  for (std::size_t k = 0; binary && k <= n; ++k)
    summary.count_distribution.push_back(static_cast<double>(ones_count[k]) / total);
  for (std::uint64_t count : query_count)
    summary.query_probabilities.push_back(static_cast<double>(count) / total);
  summary.facts = herding.facts();
  return summary;
}

}  // namespace drover
