// The checks that every sampler passes (tests/sample/kernel_conformance.hpp runs them over all kernels): it
// leaves the exact distribution unchanged, it reaches it from any start, its conditionals average to the
// marginals, and its bits do not depend on batching.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "drover/compile/table_graph.hpp"
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

/// The state at which the running sum of p passes u; never one of probability zero.
inline std::size_t drawn_index(const std::vector<double>& p, double u) {
  std::size_t s = 0;
  while (s + 1 < p.size() && (u -= p[s]) >= 0) ++s;
  while (p[s] == 0) --s;
  return s;
}

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
    for (std::uint32_t lane = 0; lane < kernel.lanes(); ++lane)
      kernel.write(state, lane, state_of_index(graph, drawn_index(exact.probabilities, random.uniform())));
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

/// Averaged conditionals are unbiased for the marginals. Chains start at exact draws and are independent, so
/// the standard error over chains is honest and no mixing is assumed; the bound is Bernstein's for values in
/// [0, 1] at exp(-18).
template <Kernel K>
void expect_conditionals(const K& kernel, const Graph& graph, std::uint64_t seed,
                         std::uint32_t chains = 4096) {
  const Enumeration exact = enumerate(graph);
  const std::vector<std::size_t> offsets = conditional_offsets(graph);
  ASSERT_EQ(kernel.entry_count(), offsets.back());
  const std::uint32_t lanes = kernel.lanes();
  std::vector<double> sum(offsets.back(), 0.0), square(offsets.back(), 0.0);
  std::vector<float> sums(offsets.back() * lanes);
  RandomSequence random(seed, Stream::exact);
  double count = 0;
  for (std::uint32_t first = 0; first < chains; first += lanes) {
    auto state = kernel.start(seed, first);
    for (std::uint32_t lane = 0; lane < lanes; ++lane)
      kernel.write(state, lane, state_of_index(graph, drawn_index(exact.probabilities, random.uniform())));
    std::fill(sums.begin(), sums.end(), 0.0F);
    for (std::uint64_t sweep = 0; sweep < 2; ++sweep) kernel.sweep(state, sweep, ConditionalSums{sums});
    for (std::size_t e = 0; e < offsets.back(); ++e)
      for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        const double mean = sums[e * lanes + lane] / 2;
        sum[e] += mean;
        square[e] += mean * mean;
      }
    count += lanes;
  }
  for (std::size_t v = 0; v < graph.size(); ++v)
    for (std::size_t e = offsets[v]; e < offsets[v + 1]; ++e) {
      const std::size_t k = graph.cardinalities[v] == 2 ? 1 : e - offsets[v];
      const double mean = sum[e] / count, variance = std::max(0.0, square[e] / count - mean * mean);
      EXPECT_NEAR(mean, exact.marginals[v][k], 6 * std::sqrt(variance / count) + 12 / count)
          << "seed " << seed << " variable " << v << " value " << k;
    }
}

/// At inverse temperature beta the kernel leaves p^beta (on the support of p) unchanged.
template <Kernel K>
void expect_tempered(const K& kernel, const Graph& graph, std::uint64_t seed, float beta,
                     std::uint32_t chains = 4096) {
  std::vector<double> p = enumerate(graph).probabilities;
  double total = 0;
  for (double& value : p) total += value = value > 0 ? std::pow(value, static_cast<double>(beta)) : 0.0;
  for (double& value : p) value /= total;
  std::vector<double> counts(p.size(), 0.0);
  RandomSequence random(seed, Stream::exact);
  std::vector<Value> x(graph.size());
  for (std::uint32_t first = 0; first < chains; first += kernel.lanes()) {
    auto state = kernel.start(seed, first);
    kernel.set_inverse_temperatures(state, std::vector<float>(kernel.lanes(), beta));
    for (std::uint32_t lane = 0; lane < kernel.lanes(); ++lane)
      kernel.write(state, lane, state_of_index(graph, drawn_index(p, random.uniform())));
    kernel.sweep(state, 0);
    kernel.sweep(state, 1);
    for (std::uint32_t lane = 0; lane < kernel.lanes(); ++lane) {
      kernel.read(state, lane, x);
      ++counts[state_index(graph, x)];
    }
  }
  EXPECT_LT(chi_square_score(counts, p), chi_square_limit) << "seed " << seed << " beta " << beta;
}

}  // namespace drover::testing
