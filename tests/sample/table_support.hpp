// What the tests of the table kernels share: random models of every shape, and the further tests that every
// kernel for general graphs passes.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "drover/compile/graph.hpp"
#include "drover/compile/table_graph.hpp"
#include "tests/support/kernel_test.hpp"
#include "tests/support/random_models.hpp"

namespace drover::testing {

/// Graph number `seed` of a family that runs through binary and K-ary variables, arity 2 to 4, zeros and
/// evidence.
inline Graph varied_graph(std::uint64_t seed, double zero_share) {
  RandomModelOptions options;
  options.variables = 4 + seed % 3;
  options.max_states = 2 + seed % 4;
  options.max_arity = 2 + seed / 4 % 3;
  options.factors = 5 + seed % 4;
  options.scale = 0.8;
  options.zero_share = zero_share;
  const Model model = random_model(seed, options);
  if (seed % 5 == 0) {
    const VariableId observed = seed % options.variables;
    Evidence evidence;
    evidence.add(observed, enumerate(compile(model)).best[observed]);
    return compile(model, evidence);
  }
  return compile(model);
}

/// Every state of the support, as a pool of starting states; empty for a strictly positive graph.
inline std::vector<std::vector<Value>> support_of(const Graph& graph) {
  std::vector<std::vector<Value>> states;
  if (graph.is_strictly_positive()) return states;
  const Enumeration exact = enumerate(graph);
  for (std::size_t s = 0; s < exact.probabilities.size(); ++s)
    if (exact.probabilities[s] > 0) states.push_back(state_of_index(graph, s));
  return states;
}

/// The conditionals added up over sweeps of chains started at exact draws average to the marginals: no mixing
/// is assumed. The bound is five standard errors of the mean over chains, measured, plus float rounding.
template <Kernel K>
void expect_conditionals(const K& kernel, const Graph& graph, std::uint64_t seed,
                         std::uint32_t chains = 4096) {
  const Enumeration exact = enumerate(graph);
  const std::vector<std::size_t> offsets = conditional_offsets(graph);
  ASSERT_EQ(kernel.entry_count(), offsets.back());
  const std::uint32_t lanes = kernel.lanes();
  std::vector<double> mean(offsets.back(), 0.0), square(offsets.back(), 0.0);
  std::vector<float> sums(offsets.back() * lanes);
  RandomSequence random(seed, Stream::exact);
  for (std::uint32_t first = 0; first < chains; first += lanes) {
    auto state = kernel.start(seed, first);
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      double u = random.uniform();
      std::size_t s = 0;
      while (s + 1 < exact.probabilities.size() && (u -= exact.probabilities[s]) >= 0) ++s;
      while (exact.probabilities[s] == 0) --s;
      kernel.write(state, lane, state_of_index(graph, s));
    }
    std::fill(sums.begin(), sums.end(), 0.0F);
    kernel.sweep(state, 0, ConditionalSums{sums});
    kernel.sweep(state, 1, ConditionalSums{sums});
    for (std::size_t e = 0; e < offsets.back(); ++e)
      for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        const double value = sums[e * lanes + lane] / 2;
        mean[e] += value / chains;
        square[e] += value * value / chains;
      }
  }
  for (std::size_t v = 0; v < graph.size(); ++v)
    for (std::size_t e = offsets[v]; e < offsets[v + 1]; ++e) {
      const std::size_t k = graph.cardinalities[v] == 2 ? 1 : e - offsets[v];
      const double error = std::sqrt(std::max(0.0, square[e] - mean[e] * mean[e]) / chains);
      EXPECT_NEAR(mean[e], exact.marginals[v][k], 5 * error + 1e-6) << "variable " << v << " value " << k;
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
    for (std::uint32_t lane = 0; lane < kernel.lanes(); ++lane) {
      double u = random.uniform();
      std::size_t s = 0;
      while (s + 1 < p.size() && (u -= p[s]) >= 0) ++s;
      while (p[s] == 0) --s;
      kernel.write(state, lane, state_of_index(graph, s));
    }
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
