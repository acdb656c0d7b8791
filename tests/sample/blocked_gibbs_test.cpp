// Blocked Gibbs against enumeration: the whole distribution, from exact draws and from its own start.
#include "drover/sample/blocked/blocked_gibbs.hpp"

#include <gtest/gtest.h>
#include <hwy/targets.h>
#include <oneapi/tbb/global_control.h>

#include <algorithm>

#include "drover/core/error.hpp"
#include "drover/infer/support.hpp"
#include "drover/model/builders.hpp"
#include "tests/support/kernel_test.hpp"
#include "tests/support/random_models.hpp"
#include "tests/support/stop_questions.hpp"

namespace drover {
namespace {

using testing::random_model;
using testing::RandomModelOptions;

/// Different sizes, arities, zeros and evidence for every seed.
Graph graph_of(std::uint64_t seed) {
  RandomModelOptions options;
  options.variables = 5 + seed % 4;
  options.max_states = 2 + seed / 4 % 3;
  options.max_arity = 2 + seed / 3 % 3;
  options.factors = 6 + seed % 7;
  options.scale = 0.5 + 0.25 * static_cast<double>(seed % 4);
  options.zero_share = seed % 5 < 2 ? 0.0 : 0.3;
  const Model model = random_model(seed, options);
  Evidence evidence;
  if (seed % 3 == 0) {
    const Enumeration exact = enumerate(compile(model));
    evidence.add(1, exact.best[1]);
    evidence.add(3, exact.best[3]);
  }
  return compile(model, evidence);
}

/// Limits from single variables to everything at once.
BlockOptions options_of(std::uint64_t seed) {
  const std::size_t limits[] = {0, 4, 0, 16, 9};
  return {.max_entries = limits[seed % 5], .seed = seed};
}

TEST(BlockedGibbs, ReachesTheDistributionOf120RandomModels) {
  int split = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    const Graph graph = graph_of(seed);
    const BlockedGibbs kernel(graph, BlockOptions{.seed = seed});
    split += !kernel.blocks().connectivity_known();
    if (kernel.blocks().connectivity_known())
      testing::expect_reaches_distribution(kernel, graph, seed, 4096, 25);
  }
  EXPECT_LT(split, 12);
}

void add_table(Model& model, std::vector<VariableId> scope, std::vector<double> values) {
  model.tables.add(scope, values);
}

TEST(BlockedGibbs, CrossesConstraintsThatSingleVariablesCannot) {
  const double no = log_zero;
  Model model;
  model.cardinalities = {2, 2, 3, 3, 2, 2, 2};
  add_table(model, {0, 1}, {0.3, no, no, -0.2});                       // x0 = x1
  add_table(model, {2, 3}, {0.5, no, no, no, no, 0.1, no, -0.4, no});  // a permutation
  add_table(model, {4, 5, 6}, {0.1, no, no, 0.7, no, 0.2, -0.3, no});  // even parity
  model.spin_pairs.add(1, 4, 0.6);
  model.spin_pairs.add(0, 6, -0.4);
  add_table(model, {3, 5}, {0.1, 0.4, -0.5, 0.9, 0.3, -0.8});
  const Graph graph = compile(model);
  const BlockedGibbs kernel(graph);
  EXPECT_TRUE(kernel.blocks().connectivity_known());
  testing::expect_reaches_distribution(kernel, graph, 5);
  // From one single start, so nothing is owed to the variety of starts.
  const BlockedGibbs from_one(graph, BlockOptions{}, {find_supported_state(graph, 9)});
  testing::expect_reaches_distribution(from_one, graph, 6);

  // Single variables stay where they are: the test above can fail.
  const BlockedGibbs single(graph, BlockOptions{.max_entries = 1}, {find_supported_state(graph, 9)});
  EXPECT_FALSE(single.blocks().connectivity_known());
  auto state = single.start(1, 0);
  const auto first = state.values[0];
  for (std::uint64_t sweep = 0; sweep < 50; ++sweep) single.sweep(state, sweep);
  EXPECT_TRUE(std::equal(std::begin(first.lane), std::end(first.lane), std::begin(state.values[0].lane)));
}

TEST(BlockedGibbs, OneBlockGivesExactMarginalsOfTrees) {
  Model model;
  model.cardinalities = {2, 3, 2, 2, 4};
  RandomSequence random(4, Stream::generate);
  for (VariableId v = 1; v < 5; ++v) {
    std::vector<double> values(model.cardinalities[v / 2] * model.cardinalities[v]);
    for (double& value : values) value = 2 * random.normal();
    const VariableId scope[2] = {v / 2, v};
    if (v > 0) model.tables.add(scope, values);
  }
  const Graph graph = compile(model);
  const Enumeration exact = enumerate(graph);
  const BlockedGibbs kernel(graph);
  ASSERT_EQ(kernel.blocks().list.size(), 1U);
  auto state = kernel.start(1, 0);
  std::vector<float> sums(kernel.entry_count() * kernel.lanes(), 0.0F);
  kernel.sweep(state, 0, ConditionalSums{sums});
  std::size_t e = 0;
  for (std::size_t v = 0; v < graph.size(); ++v)
    for (std::size_t k = graph.cardinalities[v] == 2; k < graph.cardinalities[v]; ++k, ++e)
      for (std::uint32_t lane = 0; lane < 16; ++lane)
        EXPECT_NEAR(sums[e * 16 + lane], exact.marginals[v][k], 1e-5);
}

TEST(BlockedGibbs, SpinForestsInOddsAndInLogarithms) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    // Couplings of the larger scale leave the range in which odds are multiplied.
    const double scale = seed % 2 == 0 ? 0.7 : 25.0;
    Model model;
    model.cardinalities.assign(9, 2);
    RandomSequence random(seed, Stream::generate);
    for (VariableId v = 0; v < 9; ++v) {
      const double field[2] = {0.0, random.normal()};
      model.unaries.add(v, field);
      if (v % 3 < 2) model.spin_pairs.add(v, v + 1, scale * random.normal());
      if (v < 6) model.spin_pairs.add(v, v + 3, scale * random.normal());
    }
    const Graph graph = compile(model);
    const BlockedGibbs kernel(graph);
    ASSERT_EQ(kernel.blocks().max_entries, 4U);
    testing::expect_leaves_distribution(kernel, graph, seed);
    testing::expect_conditionals(kernel, graph, seed);
    // The logarithms give the same draws as the odds, but for roundings.
    auto plain = kernel.start(seed, 0), heated = kernel.start(seed, 0);
    std::vector<float> nearly_one(kernel.lanes(), 1.0F - 0x1p-24F);
    kernel.set_inverse_temperatures(heated, nearly_one);
    kernel.sweep(plain, 0);
    kernel.sweep(heated, 0);
    for (std::size_t v = 0; v < graph.size(); ++v)
      EXPECT_TRUE(std::equal(std::begin(plain.values[v].lane), std::end(plain.values[v].lane),
                             std::begin(heated.values[v].lane)));
  }
}

TEST(BlockedGibbs, EveryInstructionSetSamplesTheSameModel) {
  for (const auto target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    for (std::uint64_t seed = 20; seed < 32; ++seed) {
      const Graph graph = graph_of(seed);
      testing::expect_leaves_distribution(BlockedGibbs(graph, options_of(seed)), graph, seed, 2048);
    }
    LaneFloats uniforms[4];
    block_uniforms(7, 16, 3, 5, uniforms);
    const auto words = Random(7, Stream::sweep).block(16 + 11, 3, 5);
    EXPECT_FLOAT_EQ(uniforms[2].lane[11], static_cast<float>((words[2] + 0.5) * 0x1p-32));
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST(BlockedGibbs, HugeLogFactorsDoNotUnderflow) {
  // Couplings of 400: a product of exponentials would be zero everywhere in single and double precision.
  Model model;
  model.cardinalities.assign(9, 2);
  for (VariableId v = 0; v < 8; ++v) model.spin_pairs.add(v, v + 1, v % 2 ? 400 : -400);
  const double field[2] = {0.0, 0.7};
  model.unaries.add(3, field);
  const double pull[3] = {-900, 0, 0.5};
  model.cardinalities.push_back(3);
  model.unaries.add(9, pull);
  const VariableId scope[2] = {8, 9};
  const double table[6] = {0, -2000, -1500, -3000, 0, 0.3};
  model.tables.add(scope, table);
  const Graph graph = compile(model);
  testing::expect_reaches_distribution(BlockedGibbs(graph), graph, 3, 4096, 3);
}

TEST(BlockedGibbs, BitsDoNotDependOnThreadsOrBatches) {
  // Many separate grids, so that a block has many chunks.
  Model model;
  const std::uint32_t side = 12, copies = 150;
  model.cardinalities.assign(side * side * copies, 2);
  RandomSequence random(8, Stream::generate);
  for (VariableId g = 0; g < copies; ++g)
    for (VariableId r = 0; r < side; ++r)
      for (VariableId c = 0; c < side; ++c) {
        const VariableId v = (g * side + r) * side + c;
        if (c + 1 < side) model.spin_pairs.add(v, v + 1, random.normal());
        if (r + 1 < side) model.spin_pairs.add(v, v + side, random.normal());
      }
  for (std::size_t limit : {std::size_t{4}, std::size_t{16}}) {
    const Graph graph = compile(model);
    const BlockedGibbs kernel(graph, BlockOptions{.max_entries = limit});
    std::vector<LaneValues> results[2];
    for (std::size_t threads : {1, 4}) {
      const tbb::global_control control(tbb::global_control::max_allowed_parallelism, threads);
      auto state = kernel.start(3, 32);
      for (std::uint64_t sweep = 0; sweep < 10; ++sweep) kernel.sweep(state, sweep);
      results[threads == 4] = state.values;
    }
    for (std::size_t v = 0; v < graph.size(); ++v)
      ASSERT_TRUE(std::equal(std::begin(results[0][v].lane), std::end(results[0][v].lane),
                             std::begin(results[1][v].lane)));
  }
  // Chain 35 depends on its own number only, not on its neighbours' states.
  const Graph graph = compile(model);
  const BlockedGibbs kernel(graph);
  auto alone = kernel.start(3, 32), changed = kernel.start(3, 32);
  std::vector<Value> ones(graph.size(), 1);
  for (std::uint32_t lane = 0; lane < 16; ++lane)
    if (lane != 3) kernel.write(changed, lane, ones);
  for (std::uint64_t sweep = 0; sweep < 5; ++sweep) {
    kernel.sweep(alone, sweep);
    kernel.sweep(changed, sweep);
  }
  std::vector<Value> a(graph.size()), b(graph.size());
  kernel.read(alone, 3, a);
  kernel.read(changed, 3, b);
  EXPECT_EQ(a, b);
}

TEST(BlockedGibbs, PlanningEndsWhenItIsToldTo) {
  const Graph graph = compile(grid_ising(150, 150, false, 0.3));
  const Blocks blocks = choose_blocks(graph);
  const auto plan = [&](const RunControl& control) { BlockedGibbs(graph, blocks, {}, control); };
  const std::size_t all = testing::count_questions(plan);
  ASSERT_GT(all, 4u);
  for (std::size_t after : {std::size_t{0}, all / 2, all - 1}) testing::expect_end_after(after, plan);
}

TEST(BlockedGibbs, UniformsAreThoseOfTheSharedGenerator) {
  const std::uint64_t seed = 0x123456789abcdefULL, sweep = (5ULL << 32) + 77;
  LaneFloats uniforms[4];
  block_uniforms(seed, 48, sweep, 1234, uniforms);
  const Random random(seed, Stream::sweep);
  for (std::uint32_t lane = 0; lane < 16; ++lane) {
    const auto words = random.block(48 + lane, sweep, 1234);
    for (int w = 0; w < 4; ++w)
      EXPECT_FLOAT_EQ(uniforms[w].lane[lane], static_cast<float>((words[w] + 0.5) * 0x1p-32));
  }
}

}  // namespace
}  // namespace drover
