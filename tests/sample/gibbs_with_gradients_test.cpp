// Gibbs with gradients against enumeration.
#include <gtest/gtest.h>

#include <cmath>

#include "drover/core/archive.hpp"
#include "drover/core/run_control.hpp"
#include "drover/model/builders.hpp"
#include "drover/sample/gibbs/dense_gibbs_with_gradients.hpp"
#include "drover/sample/gibbs/gibbs_with_gradients.hpp"
#include "tests/support/kernel_test.hpp"

namespace drover {
namespace {

static_assert(Kernel<GibbsWithGradients>);

Graph random_spins(std::uint64_t seed, double coupling = 0.7) {
  const std::uint32_t n = 2 + static_cast<std::uint32_t>(seed % 7);
  const Edges edges = seed % 3 == 0 ? complete_edges(n) : random_edges(n, 0.4, seed);
  return compile(ising(edges, Draw::normal(0, coupling), Draw::normal(0, 0.7), seed));
}

TEST(GibbsWithGradients, ScoresAndConditionals) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Graph graph = random_spins(seed);
    const SpinGraph spins = spin_graph(graph);
    const GibbsWithGradients kernel(spins);
    testing::expect_scores(kernel, graph, seed);
    // The conditionals added are those of the state at the end of the sweep.
    auto state = kernel.start(seed, 0);
    std::vector<float> sums(kernel.entry_count(), 0.0F);
    kernel.sweep(state, 0, {sums});
    std::vector<Value> x(graph.size());
    kernel.read(state, 0, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      std::vector<Value> one = x, zero = x;
      one[i] = 1;
      zero[i] = 0;
      const double odds = log_score(graph, one) - log_score(graph, zero);
      EXPECT_NEAR(sums[i], 1 / (1 + std::exp(-odds)), 1e-5);
    }
  }
}

/// 4096 chains from exact draws (or from the kernel's own start), and the joint distribution after `sweeps`.
void expect_dense(const Graph& graph, std::uint64_t seed, bool exact_start, std::uint64_t sweeps) {
  const SpinGraph spins = spin_graph(graph);
  const DenseGibbsWithGradients kernel(spins);
  const Enumeration exact = enumerate(graph);
  std::vector<double> counts(exact.probabilities.size(), 0.0);
  RandomSequence random(seed, Stream::exact);
  std::vector<Value> x(graph.size());
  for (std::uint32_t chain = 0; chain < 4096; ++chain) {
    auto state = kernel.start(seed, chain);
    if (exact_start) {
      double u = random.uniform();
      std::size_t s = 0;
      while (s + 1 < exact.probabilities.size() && (u -= exact.probabilities[s]) >= 0) ++s;
      kernel.write(state, testing::state_of_index(graph, s));
    }
    for (std::uint64_t sweep = 0; sweep < sweeps; ++sweep) kernel.sweep(state, sweep);
    kernel.read(state, x);
    ++counts[testing::state_index(graph, x)];
  }
  EXPECT_LT(testing::chi_square_score(counts, exact.probabilities), testing::chi_square_limit)
      << "seed " << seed;
}

TEST(DenseGibbsWithGradients, LeavesTheDistribution) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) expect_dense(random_spins(seed), seed, true, 2);
}

TEST(DenseGibbsWithGradients, ReachesTheDistribution) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) expect_dense(random_spins(seed, 0.25), seed, false, 60);
}

// Without factors every proposal is taken, so that a sweep of n (or n + 1, by a coin) flips changes the
// parity of the state by a fair coin: over one chain both the parity and its changes are half of the time 1.
// Without the coin an even n would never change it and an odd n always.
template <class State, class Step, class Read>
void expect_free_parity(State state, std::size_t size, Step step, Read read) {
  constexpr int sweeps = 4000;
  std::vector<Value> x(size);
  int odd = 0, changes = 0, last = 0;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    step(state, static_cast<std::uint64_t>(sweep));
    read(state, x);
    int parity = 0;
    for (Value value : x) parity ^= value;
    odd += parity;
    changes += sweep > 0 && parity != last;
    last = parity;
  }
  EXPECT_NEAR(odd, sweeps / 2, 5 * std::sqrt(sweeps) / 2) << size;
  EXPECT_NEAR(changes, sweeps / 2, 5 * std::sqrt(sweeps) / 2) << size;
}

TEST(GibbsWithGradients, OneChainVisitsBothParities) {
  for (const std::uint32_t n : {1U, 2U, 4U, 5U}) {
    const Graph graph = compile(ising(complete_edges(n), Draw::constant(0), Draw::constant(0), 1));
    const SpinGraph spins = spin_graph(graph);
    const GibbsWithGradients plain(spins);
    expect_free_parity(
        plain.start(1, 0), n, [&](auto& state, std::uint64_t sweep) { plain.sweep(state, sweep); },
        [&](const auto& state, std::span<Value> x) { plain.read(state, 0, x); });
    const DenseGibbsWithGradients dense(spins);
    expect_free_parity(
        dense.start(1, 0), n, [&](auto& state, std::uint64_t sweep) { dense.sweep(state, sweep); },
        [&](const auto& state, std::span<Value> x) { dense.read(state, x); });
  }
}

// A sweep that is ended, saved, loaded and gone on with is the sweep that nobody ended, bit for bit.
TEST(GibbsWithGradients, ASweepGoesOnFromItsMidst) {
  const Graph graph = compile(ising(grid_edges(200, 200, false), Draw::normal(0, 1), Draw::normal(0, 1), 1));
  const SpinGraph spins = spin_graph(graph);
  const GibbsWithGradients kernel(spins);
  static_assert(PartedKernel<GibbsWithGradients>);
  auto whole = kernel.start(1, 0);
  std::vector<float> expected(kernel.entry_count(), 0.0F), sums = expected;
  const Moves all = kernel.sweep(whole, 0, {expected});
  RunControl control;
  int questions = 0;
  control.stop_when([&] { return ++questions == 2; });
  auto state = kernel.start(1, 0);
  Moves moves = kernel.sweep(state, 0, {sums}, control);
  EXPECT_TRUE(kernel.is_midway(state));
  EXPECT_EQ(moves.proposed, 2U * 16384 - 1);
  SaveArchive save;
  state.visit(save);
  LoadArchive load(save.take());
  GibbsWithGradients::State loaded;
  loaded.visit(load);
  moves.add(kernel.sweep(loaded, 0, {sums}, control));
  EXPECT_FALSE(kernel.is_midway(loaded));
  EXPECT_EQ(loaded.values, whole.values);
  EXPECT_EQ(loaded.fields, whole.fields);
  EXPECT_EQ(sums, expected);
  EXPECT_EQ(moves.proposed, all.proposed);
  EXPECT_EQ(moves.accepted, all.accepted);
}

TEST(DenseGibbsWithGradients, HugeFields) {
  // Fields far beyond the range of float exponentials: the state is driven to the only likely one and stays,
  // and on the way there sums fall by more than a float can hold.
  const Graph graph = compile(ising(complete_edges(300), Draw::normal(0, 0.01), Draw::sign(400), 1));
  const SpinGraph spins = spin_graph(graph);
  const DenseGibbsWithGradients kernel(spins);
  auto state = kernel.start(1, 0);
  for (std::uint64_t sweep = 0; sweep < 3; ++sweep) kernel.sweep(state, sweep);
  std::vector<Value> x(graph.size());
  kernel.read(state, x);
  for (VariableId v = 0; v < graph.size(); ++v) {
    EXPECT_EQ(x[v], graph.unary_of(v)[1] > graph.unary_of(v)[0]) << v;
  }
}

TEST(DenseGibbsWithGradients, MovesAsTheOtherKernel) {
  // Mean number of ones and acceptance on 150 variables, where blocks and padding matter.
  const Graph graph = compile(ising(complete_edges(150), Draw::normal(0, 0.05), Draw::constant(-0.4), 7));
  const SpinGraph spins = spin_graph(graph);
  const DenseGibbsWithGradients dense(spins);
  const GibbsWithGradients plain(spins);
  double ones[2] = {}, squares[2] = {}, accepted[2] = {};
  constexpr std::uint32_t chains = 64;
  std::vector<Value> x(graph.size());
  const auto note = [&](int which, std::uint64_t moves) {
    double count = 0;
    for (Value value : x) count += value;
    ones[which] += count / chains;
    squares[which] += count * count / chains;
    accepted[which] += static_cast<double>(moves) / chains;
  };
  for (std::uint32_t chain = 0; chain < chains; ++chain) {
    auto a = dense.start(1, chain);
    auto b = plain.start(2, chain);
    Moves of_dense, of_plain;
    for (std::uint64_t sweep = 0; sweep < 20; ++sweep) {
      of_dense.add(dense.sweep(a, sweep));
      of_plain.add(plain.sweep(b, sweep));
    }
    dense.read(a, x);
    note(0, of_dense.accepted);
    plain.read(b, 0, x);
    note(1, of_plain.accepted);
  }
  const double deviation =
      std::sqrt((squares[0] - ones[0] * ones[0] + squares[1] - ones[1] * ones[1]) / chains);
  EXPECT_LT(std::abs(ones[0] - ones[1]), 5 * deviation);
  EXPECT_NEAR(accepted[0], accepted[1], 0.01 * accepted[1]);
}

}  // namespace
}  // namespace drover
