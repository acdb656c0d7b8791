// log Z from both sides: bounds on their sides, the estimate between them, on every kind of model.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "drover/compile/graph.hpp"
#include "drover/infer/enumerate.hpp"
#include "drover/infer/junction_tree.hpp"
#include "drover/model/builders.hpp"
#include "drover/task/inference.hpp"
#include "tests/support/random_models.hpp"

namespace drover {
namespace {

InferenceOptions bracketing() {
  InferenceOptions options;
  options.method = "bracket";
  options.chains.count = 32;
  options.chains.sweeps = 200;
  return options;
}

TEST(Bracket, HoldsLogZ) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    testing::RandomModelOptions shape;
    shape.variables = 6 + seed % 5;
    shape.max_states = seed % 2 == 0 ? 2 : 3;
    shape.max_arity = seed % 3 == 0 ? 3 : 2;
    shape.factors = 14;
    shape.zero_share = seed % 5 == 0 ? 0.2 : 0;
    const Model model = testing::random_model(seed, shape);
    InferenceOptions options = bracketing();
    options.seed = seed;
    if (seed % 3 == 1) options.evidence.add(1, enumerate(compile(model)).best[1]);
    const double truth = enumerate(compile(model, options.evidence)).log_z;
    const LogZ answer = log_z(model, options);
    EXPECT_LE(answer.lower, truth + 1e-9) << "seed " << seed;
    EXPECT_GE(answer.upper, truth - 1e-9) << "seed " << seed;
    EXPECT_LE(answer.lower, answer.log_z);
    EXPECT_GE(answer.upper, answer.log_z);
  }
}

// Too wide for the first tables, not for the last: the bounds meet, wherever log Z lies.
TEST(Bracket, TightensUntilItIsExact) {
  for (const double shift : {0.0, -1000.0}) {
    Model model = ising(grid_edges(11, 11, false), Draw::normal(0, 1), Draw::normal(0, 0.2), 1);
    model.unaries.add(0, std::array{shift, shift});
    const LogZ answer = log_z(model, bracketing());
    const double truth = JunctionTree(compile(model)).log_z();
    EXPECT_LE(answer.upper - answer.lower, 0.1 + 1e-6);
    EXPECT_NEAR(answer.log_z, truth, 0.1);
  }
}

TEST(Bracket, AnswersWhenTheTimeIsUpBeforeItBegins) {
  const Model model = ising(grid_edges(30, 30, false), Draw::normal(0, 1), Draw::constant(0), 4);
  RunControl control;
  control.limit_time(1e-9);
  const LogZ answer = log_z(model, bracketing(), control);
  EXPECT_TRUE(std::isfinite(answer.log_z));
  EXPECT_TRUE(std::isfinite(answer.lower) || std::isfinite(answer.upper));
}

}  // namespace
}  // namespace drover
