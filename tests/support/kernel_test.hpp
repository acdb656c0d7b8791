// The tests every sampler passes: it leaves the exact distribution unchanged, it reaches it from any start,
// its conditionals average to the marginals, and its bits do not depend on batching.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "drover/core/random.hpp"
#include "drover/infer/enumerate.hpp"
#include "drover/sample/kernel.hpp"

namespace drover::testing {

inline std::size_t state_index(const Graph& graph, std::span<const Value> x) {
  std::size_t index = 0;
  for (std::size_t v = 0; v < x.size(); ++v) index = index * graph.cardinalities[v] + x[v];
  return index;
}

inline std::vector<Value> state_of_index(const Graph& graph, std::size_t index) {
  std::vector<Value> x(graph.size());
  for (std::size_t v = graph.size(); v-- > 0;) {
    x[v] = static_cast<Value>(index % graph.cardinalities[v]);
    index /= graph.cardinalities[v];
  }
  return x;
}

/// The normal score of Pearson's chi-square of independent draws against p (Wilson-Hilferty), cells with
/// fewer than 5 expected draws pooled. Above 5 has probability below 3e-7 under the null; 200 models leave
/// 6e-5. Draws in cells of probability zero make it infinite.
inline double chi_square_score(const std::vector<double>& counts, const std::vector<double>& p) {
  double total = 0;
  for (double c : counts) total += c;
  std::vector<std::size_t> order(p.size());
  for (std::size_t s = 0; s < p.size(); ++s) order[s] = s;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  double statistic = 0, pooled_expected = 0, pooled_count = 0;
  int cells = 0;
  for (std::size_t s : order) {
    if (p[s] == 0 && counts[s] > 0) return std::numeric_limits<double>::infinity();
    pooled_expected += total * p[s];
    pooled_count += counts[s];
    if (pooled_expected >= 5) {
      statistic += (pooled_count - pooled_expected) * (pooled_count - pooled_expected) / pooled_expected;
      ++cells;
      pooled_expected = pooled_count = 0;
    }
  }
  if (pooled_expected > 0.5) {
    statistic += (pooled_count - pooled_expected) * (pooled_count - pooled_expected) / pooled_expected;
    ++cells;
  }
  const double degrees = cells - 1;
  if (degrees < 1) return 0;
  const double spread = 2.0 / (9 * degrees);
  return (std::cbrt(statistic / degrees) - (1 - spread)) / std::sqrt(spread);
}

inline constexpr double chi_square_limit = 5.0;

/// Starts `chains` chains at exact draws, runs `sweeps` sweeps, and compares the joint distribution of the
/// final states with p. Exact for any number of sweeps: no mixing is assumed.
template <Kernel K>
void expect_leaves_distribution(const K& kernel, const Graph& graph, std::uint64_t seed,
                                std::uint32_t chains = 4096, std::uint64_t sweeps = 2) {
  const Enumeration exact = enumerate(graph);
  std::vector<double> counts(exact.probabilities.size(), 0.0);
  RandomSequence random(seed, Stream::exact);
  std::vector<Value> x(graph.size());
  for (std::uint32_t first = 0; first < chains; first += kernel.lanes()) {
    auto state = kernel.start(seed, first);
    for (std::uint32_t lane = 0; lane < kernel.lanes(); ++lane) {
      double u = random.uniform();
      std::size_t s = 0;
      while (s + 1 < exact.probabilities.size() && (u -= exact.probabilities[s]) >= 0) ++s;
      while (exact.probabilities[s] == 0) --s;
      kernel.write(state, lane, state_of_index(graph, s));
    }
    for (std::uint64_t sweep = 0; sweep < sweeps; ++sweep) kernel.sweep(state, sweep);
    for (std::uint32_t lane = 0; lane < kernel.lanes(); ++lane) {
      kernel.read(state, lane, x);
      ++counts[state_index(graph, x)];
    }
  }
  EXPECT_LT(chi_square_score(counts, exact.probabilities), chi_square_limit) << "seed " << seed;
}

/// Runs `chains` chains from the kernel's own start and compares the final states with p; `sweeps` must be
/// well beyond the mixing time of the model.
template <Kernel K>
void expect_reaches_distribution(const K& kernel, const Graph& graph, std::uint64_t seed,
                                 std::uint32_t chains = 4096, std::uint64_t sweeps = 60) {
  const Enumeration exact = enumerate(graph);
  std::vector<double> counts(exact.probabilities.size(), 0.0);
  std::vector<Value> x(graph.size());
  for (std::uint32_t first = 0; first < chains; first += kernel.lanes()) {
    auto state = kernel.start(seed, first);
    for (std::uint64_t sweep = 0; sweep < sweeps; ++sweep) kernel.sweep(state, sweep);
    for (std::uint32_t lane = 0; lane < kernel.lanes(); ++lane) {
      kernel.read(state, lane, x);
      ++counts[state_index(graph, x)];
    }
  }
  EXPECT_LT(chi_square_score(counts, exact.probabilities), chi_square_limit) << "seed " << seed;
}

/// log_scores() agrees with log_score() of the states read back.
template <Kernel K>
void expect_scores(const K& kernel, const Graph& graph, std::uint64_t seed, double relative = 1e-5) {
  auto state = kernel.start(seed, 0);
  kernel.sweep(state, 0);
  std::vector<double> scores(kernel.lanes());
  kernel.log_scores(state, scores);
  std::vector<Value> x(graph.size());
  for (std::uint32_t lane = 0; lane < kernel.lanes(); ++lane) {
    kernel.read(state, lane, x);
    const double expected = log_score(graph, x);
    EXPECT_NEAR(scores[lane], expected, relative * (1 + std::abs(expected))) << "lane " << lane;
  }
}

}  // namespace drover::testing
