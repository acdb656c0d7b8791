#include "drover/herd/unasked_joints.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "drover/core/random.hpp"

namespace drover {

namespace {

constexpr std::size_t most_sets = 40;
constexpr double most_cells = 4096;

/// All triples, or so many drawn by chance; the one pair where there are but two variables.
std::vector<std::vector<VariableId>> choose_sets(std::size_t variables, std::uint64_t seed) {
  if (variables < 2) return {};
  if (variables == 2) return {{0, 1}};
  std::vector<std::vector<VariableId>> sets;
  constexpr std::size_t few = 8;  // whose triples are 56: the first of a shuffle of all
  if (variables <= few) {
    for (VariableId a = 0; a < variables; ++a)
      for (VariableId b = a + 1; b < variables; ++b)
        for (VariableId c = b + 1; c < variables; ++c) sets.push_back({a, b, c});
  }
  RandomSequence random(seed, Stream::resample);
  const auto below = static_cast<std::uint32_t>(variables);
  while (variables > few && sets.size() < most_sets) {
    std::vector<VariableId> set = {random.below(below), random.below(below), random.below(below)};
    std::ranges::sort(set);
    if (set[0] == set[1] || set[1] == set[2] || std::ranges::find(sets, set) != sets.end()) continue;
    sets.push_back(std::move(set));
  }
  for (std::size_t k = sets.size(); k > 1; --k)
    std::swap(sets[k - 1], sets[random.below(static_cast<std::uint32_t>(k))]);
  if (sets.size() > most_sets) sets.resize(most_sets);
  return sets;
}

}  // namespace

DistributionGap distribution_gap(std::span<const double> herded, std::span<const double> data,
                                 std::size_t rows) {
  DistributionGap found;
  for (std::size_t k = 0; k < herded.size(); ++k) {
    const double p = herded[k];
    found.gap += std::abs(p - data[k]) / 2;
    found.noise += std::sqrt(2 / std::numbers::pi * p * (1 - p) / static_cast<double>(rows)) / 2;
  }
  return found;
}

UnaskedJoints::UnaskedJoints(std::span<const std::uint32_t> cardinalities, std::uint64_t seed)
    : cardinalities_(cardinalities.begin(), cardinalities.end()),
      sets_(choose_sets(cardinalities.size(), seed)) {
  const auto cells = [&](const std::vector<VariableId>& set) {
    double product = 1;
    for (VariableId v : set) product *= cardinalities_[v];
    return product;
  };
  std::erase_if(sets_, [&](const auto& set) { return cells(set) > most_cells; });
  for (const auto& set : sets_) counts_.emplace_back(static_cast<std::size_t>(cells(set)), 0);
}

std::size_t UnaskedJoints::cell(std::size_t set, std::span<const Value> x) const {
  std::size_t at = 0;
  for (VariableId v : sets_[set]) at = at * cardinalities_[v] + x[v];
  return at;
}

void UnaskedJoints::count(std::span<const Value> x) {
  for (std::size_t s = 0; s < sets_.size(); ++s) ++counts_[s][cell(s, x)];
  ++samples_;
}

JointGap UnaskedJoints::largest(std::span<const Value> rows) const {
  JointGap worst;
  const std::size_t n = cardinalities_.size(), row_count = n == 0 ? 0 : rows.size() / n;
  if (samples_ == 0 || row_count == 0) return worst;
  for (std::size_t s = 0; s < sets_.size(); ++s) {
    std::vector<double> herded, data(counts_[s].size(), 0.0);
    for (std::uint64_t count : counts_[s])
      herded.push_back(static_cast<double>(count) / static_cast<double>(samples_));
    for (std::size_t r = 0; r < row_count; ++r)
      data[cell(s, rows.subspan(r * n, n))] += 1 / static_cast<double>(row_count);
    const DistributionGap one = distribution_gap(herded, data, row_count);
    if (worst.variables.empty() || one.gap - 2 * one.noise > worst.gap - 2 * worst.noise)
      worst = {one, sets_[s]};
  }
  return worst;
}

}  // namespace drover
