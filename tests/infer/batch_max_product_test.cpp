// The batched kernels against plain loops of the same flooding, and against max-product on the factor graph.
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <cmath>

#include "drover/core/random.hpp"
#include "drover/infer/belief_propagation.hpp"
#include "drover/infer/dense_max_product.hpp"
#include "drover/infer/enumerate.hpp"
#include "drover/infer/lane_max_product.hpp"
#include "drover/model/builders.hpp"
#include "drover/model/convolution.hpp"

namespace drover {
namespace {

// log p~ = sum b x + sum w x x as a Graph with the extra biases of one problem.
Graph graph_of(std::size_t n, const std::vector<float>& weights, const std::vector<float>& bias,
               std::span<const float> extra) {
  Model model;
  model.cardinalities.assign(n, 2);
  for (VariableId i = 0; i < n; ++i) {
    const double values[2] = {0, static_cast<double>(bias[i]) + static_cast<double>(extra[i])};
    model.unaries.add(i, values);
    for (VariableId j = i + 1; j < n; ++j) {
      if (weights[i * n + j] == 0) continue;
      const double table[4] = {0, 0, 0, weights[i * n + j]};
      const VariableId scope[2] = {i, j};
      model.tables.add(scope, table);
    }
  }
  return compile(model);
}

struct Problems {
  std::size_t n, count;
  std::vector<float> weights, bias, extra;  // weights: a full symmetric matrix
};

Problems random_problems(std::size_t n, std::size_t count, double density, RandomSequence& random) {
  Problems result{n, count, std::vector<float>(n * n), std::vector<float>(n), std::vector<float>(n * count)};
  for (std::size_t i = 0; i < n; ++i) {
    result.bias[i] = static_cast<float>(random.normal());
    for (std::size_t j = i + 1; j < n; ++j)
      if (random.uniform() < density)
        result.weights[i * n + j] = result.weights[j * n + i] = static_cast<float>(random.normal());
  }
  for (float& value : result.extra) value = static_cast<float>(random.normal());
  return result;
}

// The formulas of the paper in double, message by message: B_i of one problem after so many iterations.
std::vector<double> plain_flooding(const Problems& problems, std::size_t p, const BatchOptions& options) {
  const std::size_t n = problems.n;
  std::vector<double> message(n * n, 0.0), field(n);
  for (std::size_t i = 0; i < n; ++i)
    field[i] = static_cast<double>(problems.bias[i]) + static_cast<double>(problems.extra[p * n + i]);
  std::vector<double> sum = field;
  for (std::uint32_t iteration = 0; iteration < options.iterations; ++iteration) {
    std::vector<double> next(n * n, 0.0);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        const double w = problems.weights[std::min(i, j) * n + std::max(i, j)];
        const double P = sum[i] - message[j * n + i];
        if (i != j)
          next[i * n + j] = options.damping * message[i * n + j] +
                            (1 - options.damping) * (std::max(0.0, P + w) - std::max(0.0, P));
      }
    message = next;
    sum = field;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) sum[j] += message[i * n + j];
  }
  return sum;
}

// States must agree wherever the reference is not near a tie.
void expect_states(const Problems& problems, const BatchOptions& options,
                   const std::vector<std::uint8_t>& states) {
  std::size_t clear = 0;
  for (std::size_t p = 0; p < problems.count; ++p) {
    const std::vector<double> odds = plain_flooding(problems, p, options);
    for (std::size_t i = 0; i < problems.n; ++i)
      if (std::abs(odds[i]) > 1e-4) {
        ++clear;
        EXPECT_EQ(states[p * problems.n + i] != 0, odds[i] > 0) << "problem " << p << " variable " << i;
      }
  }
  EXPECT_GT(clear, problems.n * problems.count * 9 / 10);
}

TEST(DenseMaxProduct, CompleteEqualsTheReference) {
  RandomSequence random(11, Stream::generate);
  for (const std::size_t n : {2, 5, 16, 17, 40}) {
    const Problems problems = random_problems(n, 7, 1.0, random);
    DenseMaxProduct solver = DenseMaxProduct::complete(static_cast<std::uint32_t>(n));
    EXPECT_EQ(solver.pair_count(), n * (n - 1) / 2);
    solver.set_weights(problems.weights);
    solver.set_bias(problems.bias);
    for (const std::uint32_t iterations : {1U, 2U, 15U}) {
      const BatchOptions options{iterations, 0.5f};
      std::vector<std::uint8_t> states(n * problems.count);
      solver.solve(problems.extra, problems.count, options, states);
      expect_states(problems, options, states);
    }
  }
}

TEST(DenseMaxProduct, BipartiteEqualsTheReference) {
  RandomSequence random(12, Stream::generate);
  const std::uint32_t visible = 21, hidden = 18;
  const std::size_t n = visible + hidden;
  Problems problems = random_problems(n, 6, 0.0, random);
  std::vector<float> weights(visible * hidden);
  for (std::size_t i = 0; i < visible; ++i)
    for (std::size_t j = 0; j < hidden; ++j)
      weights[i * hidden + j] = problems.weights[i * n + visible + j] = static_cast<float>(random.normal());
  DenseMaxProduct solver = DenseMaxProduct::bipartite(visible, hidden);
  solver.set_weights(weights);
  solver.set_bias(problems.bias);
  const BatchOptions options{12, 0.25f};
  std::vector<std::uint8_t> states(n * problems.count);
  solver.solve(problems.extra, problems.count, options, states);
  expect_states(problems, options, states);
}

TEST(LaneMaxProduct, PairsEqualTheReference) {
  RandomSequence random(13, Stream::generate);
  for (const std::size_t count : {1, 16, 37}) {
    const Problems problems = random_problems(25, count, 0.15, random);
    const std::vector<float> none(problems.n, 0.0f);
    LaneMaxProduct solver(
        lane_graph(spin_graph(graph_of(problems.n, problems.weights, problems.bias, none))));
    const BatchOptions options{20, 0.5f};
    std::vector<std::uint8_t> states(problems.n * count);
    solver.solve(problems.extra, count, options, states);
    expect_states(problems, options, states);
  }
}

// Once converged, the kernels and max-product on the factor graph agree.
TEST(LaneMaxProduct, ConvergesToTheSameStates) {
  RandomSequence random(16, Stream::generate);
  const Problems problems = random_problems(30, 10, 0.05, random);
  const std::vector<float> none(problems.n, 0.0f);
  const LaneMaxProduct solver(
      lane_graph(spin_graph(graph_of(problems.n, problems.weights, problems.bias, none))));
  std::vector<std::uint8_t> states(problems.n * problems.count);
  solver.solve(problems.extra, problems.count, {300, 0.5f}, states);
  for (std::size_t p = 0; p < problems.count; ++p) {
    const std::span<const float> extra(problems.extra.data() + p * problems.n, problems.n);
    const Graph graph = graph_of(problems.n, problems.weights, problems.bias, extra);
    const FactorGraph layout = factor_graph(graph);
    BeliefPropagation beliefs(layout, {.semiring = Semiring::maximum, .damping = 0.5});
    beliefs.run();
    ASSERT_TRUE(beliefs.converged());
    const std::vector<Value> decoded = beliefs.decode();
    for (std::size_t i = 0; i < problems.n; ++i) EXPECT_EQ(states[p * problems.n + i], decoded[i]);
  }
}

// The convolution model of the paper: pixels on leave "at least one", pixels off leave "not both".
Graph deconvolution_problem(std::uint64_t seed) {
  ConvolutionShape shape{.features = 2,
                         .feature_height = 2,
                         .feature_width = 2,
                         .location_height = 2,
                         .location_width = 2,
                         .feature_prior = 0.5,
                         .location_prior = 0.3};
  const Model model = binary_convolution(shape);
  RandomSequence random(seed, Stream::generate);
  Evidence evidence;
  for (VariableId pixel = shape.first_pixel(); pixel < shape.first_helper(); ++pixel)
    if (random.below(3) > 0) evidence.add(pixel, static_cast<Value>(random.below(2)));
  return compile(model, evidence);
}

// The same flooding on the factor graph, where gates have their exact messages; states agree off ties.
TEST(LaneMaxProduct, GatesEqualTheFactorGraph) {
  std::size_t clear = 0, gates_with_child = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Graph base = deconvolution_problem(seed);
    ASSERT_EQ(why_not_lanes(base), "");
    const LaneMaxProduct solver(lane_graph(base));
    RandomSequence random(seed, Stream::start);
    const std::size_t n = base.size(), count = 5;
    std::vector<float> extra(n * count);
    for (float& value : extra) value = static_cast<float>(random.normal());
    const BatchOptions options{15, 0.5f};
    std::vector<std::uint8_t> states(extra.size());
    solver.solve(extra, count, options, states);
    for (std::size_t g = 0; g < base.gates.size(); ++g) gates_with_child += base.gates.has_child(g);
    for (std::size_t p = 0; p < count; ++p) {
      Graph graph = base;
      for (VariableId v = 0; v < n; ++v)
        graph.unary[graph.unary_offsets[v] + 1] += static_cast<double>(extra[p * n + v]);
      const FactorGraph layout = factor_graph(graph);
      BeliefPropagation beliefs(
          layout,
          {.semiring = Semiring::maximum, .iterations = options.iterations, .damping = 0.5, .tolerance = -1});
      beliefs.run();
      const std::vector<double> logs = beliefs.log_beliefs();
      for (VariableId v = 0; v < n; ++v) {
        const double odds = logs[2 * v + 1] - logs[2 * v];
        if (std::abs(odds) < 1e-3) continue;
        ++clear;
        EXPECT_EQ(states[p * n + v] != 0, odds > 0) << "seed " << seed << " variable " << v;
      }
    }
  }
  EXPECT_GT(clear, 1000U);
  EXPECT_GT(gates_with_child, 100U);
}

// Two calls of ten iterations are one of twenty when the second starts from the messages of the first.
template <class Solver>
void expect_warm_start(const Solver& solver, const std::vector<float>& extra, std::size_t problems) {
  std::vector<std::uint8_t> once(extra.size()), twice(extra.size());
  solver.solve(extra, problems, {20, 0.5f}, once);
  BatchMessages messages;
  solver.solve(extra, problems, {10, 0.5f}, twice, &messages);
  EXPECT_EQ(messages.problems, problems);
  solver.solve(extra, problems, {10, 0.5f}, twice, &messages);
  EXPECT_EQ(once, twice);
}

TEST(BatchMaxProduct, WarmStartGoesOn) {
  RandomSequence random(14, Stream::generate);
  const Problems problems = random_problems(30, 19, 1.0, random);
  DenseMaxProduct dense = DenseMaxProduct::complete(30);
  dense.set_weights(problems.weights);
  dense.set_bias(problems.bias);
  expect_warm_start(dense, problems.extra, 19);
  const std::vector<float> none(problems.n, 0.0f);
  LaneMaxProduct lanes(lane_graph(spin_graph(graph_of(30, problems.weights, problems.bias, none))));
  expect_warm_start(lanes, problems.extra, 19);
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Graph gates = deconvolution_problem(seed);
    std::vector<float> extra(gates.size() * 19);
    for (float& value : extra) value = static_cast<float>(random.normal());
    expect_warm_start(LaneMaxProduct(lane_graph(gates)), extra, 19);
  }
}

#if defined(__SSE2__)
// Damped messages that go to zero halve at every sweep; below the normal range they would slow every sweep.
TEST(BatchMaxProduct, NoSubnormalMessages) {
  RandomSequence random(16, Stream::generate);
  const Problems problems = random_problems(30, 16, 1.0, random);
  DenseMaxProduct dense = DenseMaxProduct::complete(30);
  dense.set_weights(problems.weights);
  dense.set_bias(problems.bias);
  const std::vector<float> none(problems.n, 0.0f);
  const LaneMaxProduct lanes(lane_graph(spin_graph(graph_of(30, problems.weights, problems.bias, none))));
  const auto check = [&](const auto& solver) {
    std::vector<std::uint8_t> states(problems.extra.size());
    BatchMessages messages;
    std::size_t subnormal = 0, zeros = 0;
    for (int k = 0; k < 20; ++k) {
      solver.solve(problems.extra, 16, {10, 0.5f}, states, &messages);
      for (float value : messages.values) subnormal += std::fpclassify(value) == FP_SUBNORMAL;
    }
    for (float value : messages.values) zeros += value == 0;
    EXPECT_EQ(subnormal, 0U);
    EXPECT_GT(zeros, 0U);
  };
  check(dense);
  check(lanes);
  // The thread is as before.
  volatile float tiny = 1e-38f;
  EXPECT_GT(tiny / 4, 0.0f);
}
#endif

TEST(BatchMaxProduct, ResultsDependNeitherOnThreadsNorOnTheBatch) {
  RandomSequence random(15, Stream::generate);
  const Problems problems = random_problems(33, 40, 0.3, random);
  DenseMaxProduct dense = DenseMaxProduct::complete(33);
  dense.set_weights(problems.weights);
  const std::vector<float> none(problems.n, 0.0f);
  const LaneMaxProduct lanes(lane_graph(spin_graph(graph_of(33, problems.weights, none, none))));
  const auto check = [&](const auto& solver) {
    std::vector<std::uint8_t> all(problems.extra.size()), alone(problems.extra.size());
    {
      const tbb::global_control control(tbb::global_control::max_allowed_parallelism, 3);
      solver.solve(problems.extra, 40, {30, 0.5f}, all);
    }
    const tbb::global_control control(tbb::global_control::max_allowed_parallelism, 1);
    for (std::size_t p = 0; p < 40; ++p)
      solver.solve({problems.extra.data() + p * 33, 33}, 1, {30, 0.5f}, {alone.data() + p * 33, 33});
    EXPECT_EQ(all, alone);
  };
  check(dense);
  check(lanes);
}

// Unaries alone: each variable takes the sign of its field.
TEST(BatchMaxProduct, WithoutPairsEveryVariableStandsAlone) {
  DenseMaxProduct dense = DenseMaxProduct::complete(5);
  const std::vector<float> extra = {1, -1, 0, -2, 3};
  std::vector<std::uint8_t> states(5);
  dense.solve(extra, 1, {10, 0.5f}, states);
  EXPECT_EQ(states, (std::vector<std::uint8_t>{1, 0, 1, 0, 1}));
}

}  // namespace
}  // namespace drover
