// The samplers of the duality family on the critical Ising torus, against exact values.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "drover/compile/spin_graph.hpp"
#include "drover/sample/dual/generalized_swendsen_wang.hpp"
#include "drover/sample/dual/primal_dual_chain.hpp"
#include "drover/sample/dual/primal_dual_lanes.hpp"
#include "drover/sample/dual/swendsen_wang.hpp"
#include "drover/sample/dual/tree_primal_dual.hpp"

namespace drover {
namespace {

const double critical = std::log(1 + std::sqrt(2.0)) / 2;

Graph torus(std::uint32_t side, double coupling) {
  Model model;
  model.cardinalities.assign(std::size_t{side} * side, 2);
  for (VariableId i = 0; i < side * side; ++i) {
    model.spin_pairs.add(i, i - i % side + (i + 1) % side, coupling);
    model.spin_pairs.add(i, (i + side) % (side * side), coupling);
  }
  return compile(model);
}

// log tr T^L with the transfer matrix of a ring of L spins, T(a, b) = exp(K ring(a) + K a.b), its logarithm
// scaled on the way.
double log_partition(std::uint32_t side, double coupling) {
  const std::size_t states = std::size_t{1} << side;
  const auto spin = [](std::size_t state, std::uint32_t i) { return (state >> i & 1) != 0 ? 1 : -1; };
  std::vector<double> power(states * states);
  for (std::size_t a = 0; a < states; ++a)
    for (std::size_t b = 0; b < states; ++b) {
      int sum = 0;
      for (std::uint32_t i = 0; i < side; ++i)
        sum += spin(a, i) * spin(a, (i + 1) % side) + spin(a, i) * spin(b, i);
      power[a * states + b] = std::exp(coupling * sum);
    }
  double log_scale = 0;
  for (std::uint32_t length = 1; length < side; length *= 2) {
    std::vector<double> square(states * states, 0.0);
    double largest = 0;
    for (std::size_t a = 0; a < states; ++a)
      for (std::size_t c = 0; c < states; ++c)
        for (std::size_t b = 0; b < states; ++b)
          square[a * states + b] += power[a * states + c] * power[c * states + b];
    for (double value : square) largest = std::max(largest, value);
    for (double& value : square) value /= largest;
    log_scale = 2 * log_scale + std::log(largest);
    power = std::move(square);
  }
  double trace = 0;
  for (std::size_t a = 0; a < states; ++a) trace += power[a * states + a];
  return log_scale + std::log(trace);
}

// The mean of s_i s_j over all edges, and its standard error from independent chains.
template <Kernel K>
void expect_edge_correlation(const K& kernel, double exact, std::uint32_t side, double coupling,
                             std::uint64_t sweeps, std::uint32_t chains = 64) {
  std::vector<double> means, scores(kernel.lanes());
  for (std::uint32_t first = 0; first < chains; first += kernel.lanes()) {
    auto state = kernel.start(17, first);
    std::vector<double> sums(kernel.lanes(), 0.0);
    for (std::uint64_t sweep = 0; sweep < sweeps; ++sweep) kernel.sweep(state, sweep);  // burn-in
    for (std::uint64_t sweep = sweeps; sweep < 3 * sweeps; ++sweep) {
      kernel.sweep(state, sweep);
      kernel.log_scores(state, scores);
      for (std::uint32_t lane = 0; lane < kernel.lanes(); ++lane) sums[lane] += scores[lane];
    }
    for (double sum : sums)
      means.push_back(sum / static_cast<double>(2 * sweeps) / (coupling * 2 * side * side));
  }
  double mean = 0, square = 0;
  for (double value : means) mean += value / static_cast<double>(means.size());
  for (double value : means) square += (value - mean) * (value - mean);
  const auto count = static_cast<double>(means.size());
  const double error = std::sqrt(square / (count - 1) / count);
  EXPECT_NEAR(mean, exact, 3 * error);
  EXPECT_LT(error, 0.01) << "too noisy to mean anything";
}

void expect_all_samplers_agree(std::uint32_t side, double exact, std::uint64_t effort) {
  const Graph graph = torus(side, critical);
  const SpinGraph spins = spin_graph(graph);
  {
    SCOPED_TRACE("swendsen-wang");
    expect_edge_correlation(SwendsenWang(graph), exact, side, critical, 50 * effort);
  }
  {
    SCOPED_TRACE("partial-swendsen-wang");
    expect_edge_correlation(SwendsenWang(graph, 0.7), exact, side, critical, 60 * effort);
  }
  {
    SCOPED_TRACE("generalized-swendsen-wang");
    expect_edge_correlation(GeneralizedSwendsenWang(graph), exact, side, critical, 20 * effort);
  }
  {
    SCOPED_TRACE("primal-dual");
    expect_edge_correlation(PrimalDualLanes(spins), exact, side, critical, 1000 * effort);
  }
  {
    SCOPED_TRACE("tree-primal-dual");
    expect_edge_correlation(TreePrimalDual(graph, ForestChoice::heaviest), exact, side, critical,
                            100 * effort);
  }
  {
    SCOPED_TRACE("tree-primal-dual, forest redrawn");
    expect_edge_correlation(TreePrimalDual(graph, ForestChoice::redrawn), exact, side, critical, 30 * effort);
  }
}

TEST(CriticalTorus, TransferMatrix) {
  const double step = 1e-4;
  const double exact =
      (log_partition(8, critical + step) - log_partition(8, critical - step)) / (2 * step) / (2 * 64);
  EXPECT_GT(exact, std::sqrt(0.5));  // of the infinite lattice
  expect_all_samplers_agree(8, exact, 2);
}

TEST(CriticalTorus, SharedExactValues) {
  std::ifstream file(DROVER_SOURCE_DIR "/../shared/data/exact-ising/torus.csv");
  if (!file) file.open(DROVER_SOURCE_DIR "/../../shared/data/exact-ising/torus.csv");
  if (!file) GTEST_SKIP() << "exact-ising/torus.csv is not there";
  std::string line;
  int found = 0;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    char comma = 0;
    std::uint32_t side = 0;
    double coupling = 0, log_z = 0, correlation = 0;
    if (!(fields >> side >> comma >> coupling >> comma >> log_z >> comma >> correlation)) continue;
    if (std::abs(coupling - critical) > 1e-9 || side != 16) continue;
    ++found;
    expect_all_samplers_agree(side, correlation, 4);
  }
  EXPECT_EQ(found, 1);
}

}  // namespace
}  // namespace drover
