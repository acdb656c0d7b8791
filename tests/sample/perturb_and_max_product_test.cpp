// Perturb-and-max-product: exact on unaries, exact maxima on trees, the same bits in any batch.
#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <array>
#include <atomic>
#include <cmath>

#include "drover/infer/enumerate.hpp"
#include "drover/model/builders.hpp"
#include "drover/sample/pmp/perturb_and_max_product.hpp"
#include "tests/support/kernel_test.hpp"

namespace drover {
namespace {

struct Draws {
  std::vector<Value> states;
  std::vector<double> maxima;
};

Draws draw_perturbed(const Graph& graph, std::uint64_t seed, std::uint64_t first, std::size_t count,
                     const BatchOptions& options = {}) {
  const PerturbAndMaxProduct sampler(graph, options);
  Draws draws{std::vector<Value>(count * graph.size()), std::vector<double>(count)};
  sampler.draw(seed, first, count, draws.states, draws.maxima);
  return draws;
}

Graph independent(std::uint64_t seed, std::vector<std::uint32_t> cardinalities) {
  RandomSequence random(seed, Stream::generate);
  Model model;
  model.cardinalities = std::move(cardinalities);
  for (VariableId v = 0; v < model.variable_count(); ++v) {
    std::vector<double> unary(model.cardinalities[v]);
    for (double& u : unary) u = random.normal();
    model.unaries.add(v, unary);
  }
  return compile(model);
}

TEST(PerturbAndMaxProduct, IsExactOnUnaries) {
  const std::vector<std::vector<std::uint32_t>> shapes = {{2}, {2, 2, 2}, {3, 2}, {5}, {4, 4}};
  for (const auto& shape : shapes)
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const Graph graph = independent(seed, shape);
      const Enumeration exact = enumerate(graph);
      const Draws draws = draw_perturbed(graph, seed, 0, 4096, {.iterations = 2});
      std::vector<double> counts(exact.probabilities.size(), 0.0);
      double sum = 0, squares = 0;
      for (std::size_t s = 0; s < 4096; ++s) {
        ++counts[testing::state_index(graph,
                                      std::span(draws.states).subspan(s * graph.size(), graph.size()))];
        sum += draws.maxima[s];
        squares += draws.maxima[s] * draws.maxima[s];
      }
      EXPECT_LT(testing::chi_square_score(counts, exact.probabilities), testing::chi_square_limit);
      // The mean of the perturbed maximum is log Z itself, by the Gumbel-max trick.
      const double mean = sum / 4096, error = std::sqrt((squares / 4096 - mean * mean) / 4096);
      EXPECT_NEAR(mean, exact.log_z, 5 * error);
    }
}

/// The perturbed maximum found is the largest over all states: the same noise is added back to each.
void expect_exact_maxima(const Graph& graph, std::uint64_t seed) {
  constexpr std::size_t count = 40;
  const Draws draws = draw_perturbed(graph, seed, 0, count, {.iterations = 200});
  // Noise of single entries, by drawing from the graph without its factors: maxima minus scores.
  std::vector<std::vector<double>> noise(count, std::vector<double>(graph.unary.size()));
  const Random random(seed, Stream::perturb);
  for (std::size_t s = 0; s < count; ++s)
    for (VariableId v = 0; v < graph.size(); ++v)
      for (std::uint32_t k = 0; k < graph.cardinalities[v]; ++k) {
        const auto words = random.block(k / 2, s, v);
        noise[s][graph.unary_offsets[v] + k] = centred_gumbel(
            k % 2 == 0 ? Random::to_unit(words[0], words[1]) : Random::to_unit(words[2], words[3]));
      }
  const std::size_t states = enumerate(graph).probabilities.size();
  for (std::size_t s = 0; s < count; ++s) {
    double best = log_zero;
    for (std::size_t t = 0; t < states; ++t) {
      const std::vector<Value> x = testing::state_of_index(graph, t);
      double score = log_score(graph, x);
      for (VariableId v = 0; v < graph.size(); ++v) score += noise[s][graph.unary_offsets[v] + x[v]];
      best = std::max(best, score);
    }
    // Lanes work in float: states whose scores differ by less than its rounding may be swapped.
    EXPECT_NEAR(draws.maxima[s], best, 1e-4) << "seed " << seed << " sample " << s;
  }
}

TEST(PerturbAndMaxProduct, FindsTheMaximumOnTrees) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    expect_exact_maxima(compile(ising(tree_edges(8, seed), Draw::normal(0, 1), Draw::normal(0, 1), seed)),
                        seed);
    expect_exact_maxima(compile(potts(tree_edges(5, seed), 3, Draw::normal(0, 1), Draw::normal(0, 1), seed)),
                        seed);
  }
  // Two joined variables are a complete graph, and a star of one hidden unit an RBM: the dense solvers.
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    expect_exact_maxima(compile(ising(complete_edges(2), Draw::normal(0, 2), Draw::normal(0, 1), seed)),
                        seed);
    expect_exact_maxima(compile(rbm(6, 1, Draw::normal(0, 1), Draw::normal(0, 1), seed)), seed);
  }
}

// Two layers of which all pairs are joined are solved as such: the messages are those of the two layers.
TEST(PerturbAndMaxProduct, KnowsTwoLayers) {
  const SpinGraph graph = spin_graph(compile(rbm(6, 5, Draw::normal(0, 1), Draw::normal(0, 1), 1)));
  DenseMaxProduct layers = DenseMaxProduct::bipartite(6, 5);
  layers.set_weights(std::span(graph.weight).first(graph.offsets[6]));
  layers.set_bias(graph.bias);
  constexpr std::size_t problems = 3;
  const std::vector<float> extra(problems * graph.size(), 0.1F);
  std::vector<std::uint8_t> states(extra.size()), expected(extra.size());
  BatchMessages messages, of_layers;
  batch_max_product(graph)->solve(extra, problems, {}, states, &messages);
  layers.solve(extra, problems, {}, expected, &of_layers);
  EXPECT_EQ(states, expected);
  ASSERT_EQ(messages.values.size(), of_layers.values.size());
  EXPECT_TRUE(std::equal(messages.values.begin(), messages.values.end(), of_layers.values.begin()));
}

TEST(PerturbAndMaxProduct, FindsTheMaximumUnderGates) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    // Two gates that share one variable: a tree.
    RandomSequence random(seed, Stream::generate);
    Model model;
    model.cardinalities.assign(7, 2);
    for (VariableId v = 0; v < 7; ++v) model.unaries.add(v, std::array<double, 2>{0, random.normal()});
    model.gates.add_or(std::array<VariableId, 3>{0, 1, 2}, 3);
    model.gates.add_and(std::array<VariableId, 3>{3, 4, 5}, 6);
    expect_exact_maxima(compile(model), seed);
  }
}

TEST(PerturbAndMaxProduct, ASampleIsAFunctionOfItsNumber) {
  for (const Graph& graph :
       {compile(ising(grid_edges(5, 5, false), Draw::normal(0, 0.5), Draw::normal(0, 1), 1)),
        compile(ising(complete_edges(12), Draw::normal(0, 0.3), Draw::normal(0, 1), 2)),
        compile(rbm(9, 7, Draw::normal(0, 0.5), Draw::normal(0, 1), 3)),
        compile(random_tables(6, 3, 6, 3, Draw::normal(0, 1), 0, 4))}) {
    const Draws all = draw_perturbed(graph, 7, 0, 50);
    Draws part;
    tbb::task_arena(1).execute([&] { part = draw_perturbed(graph, 7, 33, 17); });
    EXPECT_TRUE(std::equal(part.states.begin(), part.states.end(),
                           all.states.begin() + static_cast<std::ptrdiff_t>(33 * graph.size())));
    EXPECT_TRUE(std::equal(part.maxima.begin(), part.maxima.end(), all.maxima.begin() + 33));
  }
}

TEST(PerturbAndMaxProduct, MaximaBoundLogZOnTrees) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Graph graph = compile(ising(tree_edges(10, seed), Draw::normal(0, 1), Draw::normal(0, 1), seed));
    const Draws draws = draw_perturbed(graph, seed, 0, 2000);
    double sum = 0, squares = 0;
    for (double m : draws.maxima) {
      sum += m;
      squares += m * m;
    }
    const double mean = sum / 2000, error = std::sqrt((squares / 2000 - mean * mean) / 2000);
    EXPECT_GT(mean, enumerate(graph).log_z - 5 * error);
  }
}

/// Iterations that would take for ever; the control ends them in the midst of a batch.
TEST(PerturbAndMaxProduct, EndsWhenItIsAskedTo) {
  const Model sparse = grid_ising(6, 6, false, 0.4, 0.1);
  const Model dense = ising(complete_edges(20), Draw::normal(0, 1), Draw::normal(0, 1), 1);
  const Model tables = potts(grid_edges(3, 3, true), 3, Draw::constant(-2), Draw::constant(0), 1);
  for (const Model& model : {sparse, dense, tables}) {
    const Graph graph = compile(model);
    RunControl control;
    std::atomic<int> asked = 0;
    control.stop_when([&] { return ++asked > 60; });
    BatchOptions options;
    options.iterations = 4'000'000'000;
    options.control = &control;
    draw_perturbed(graph, 1, 0, 32, options);
    EXPECT_GT(asked, 60);
  }
}

}  // namespace
}  // namespace drover
