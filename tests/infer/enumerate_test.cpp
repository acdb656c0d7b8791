// The oracle itself, against sums written directly over the Model (not the compiled Graph).
#include "drover/infer/enumerate.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "drover/core/error.hpp"
#include "tests/support/random_models.hpp"

namespace drover {
namespace {

TEST(Enumerate, AgreesWithSumsOverTheModel) {
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    testing::RandomModelOptions options;
    options.variables = 2 + static_cast<std::uint32_t>(seed % 5);
    options.max_states = 2 + static_cast<std::uint32_t>(seed % 3);
    options.max_arity = 2 + static_cast<std::uint32_t>(seed % 3);
    options.zero_share = seed % 2 == 0 ? 0.3 : 0.0;
    const Model model = testing::random_model(seed, options);
    Evidence evidence;
    if (seed % 3 == 0) evidence.add(0, 0);

    double z = 0, best = log_zero;
    std::vector<std::vector<double>> sums;
    for (std::uint32_t k : model.cardinalities) sums.emplace_back(k, 0.0);
    std::vector<Value> x(model.variable_count(), 0);
    while (true) {
      if (evidence.size() == 0 || x[0] == 0) {
        const double score = log_score(model, x);
        best = std::max(best, score);
        z += std::exp(score);
        for (std::size_t v = 0; v < x.size(); ++v) sums[v][x[v]] += std::exp(score);
      }
      std::size_t k = x.size();
      while (k > 0 && ++x[k - 1] == model.cardinalities[k - 1]) x[--k] = 0;
      if (k == 0) break;
    }
    if (z == 0) {
      EXPECT_THROW(enumerate(compile(model, evidence)), Error) << "seed " << seed;
      continue;
    }
    const Graph graph = compile(model, evidence);
    const Enumeration exact = enumerate(graph);
    EXPECT_NEAR(exact.log_z, std::log(z), 1e-10) << "seed " << seed;
    EXPECT_NEAR(exact.best_log_score, best, 1e-10) << "seed " << seed;
    EXPECT_NEAR(log_score(model, whole_assignment(graph, exact.best)), best, 1e-10) << "seed " << seed;
    for (std::size_t v = 0; v < graph.size(); ++v)
      for (std::size_t k = 0; k < exact.marginals[v].size(); ++k)
        EXPECT_NEAR(exact.marginals[v][k], sums[graph.model_variable[v]][k] / z, 1e-10) << "seed " << seed;
    double total = 0;
    for (double p : exact.probabilities) total += p;
    EXPECT_NEAR(total, 1.0, 1e-12);
  }
}

TEST(Enumerate, RefusesTooManyStates) {
  Model model;
  model.cardinalities.assign(20, 2);
  const Graph graph = compile(model);
  try {
    enumerate(graph, 1000);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::misfit);
  }
  EXPECT_EQ(log2_states(graph), 20);
}

TEST(Enumerate, NoVariables) {
  Model model;
  model.log_constant = 1.5;
  const Enumeration exact = enumerate(compile(model));
  EXPECT_EQ(exact.log_z, 1.5);
  EXPECT_EQ(exact.probabilities, std::vector<double>{1.0});
}

}  // namespace
}  // namespace drover
