// Information about a target, sensitivities, and the smallest conflicts, against visiting every state.
#include "drover/task/target.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "drover/task/conflict.hpp"
#include "drover/task/inference.hpp"
#include "tests/support/io_support.hpp"
#include "tests/support/random_models.hpp"
#include "tests/support/weighed_states.hpp"

namespace drover {
namespace {

using testing::WeighedStates;

double information(const WeighedStates& truth, VariableId a, VariableId b) {
  const VariableId both[2] = {a, b};
  const auto joint = truth.joint(both), first = truth.joint(std::span(both, 1)),
             second = truth.joint(std::span(both + 1, 1));
  double sum = 0;
  for (std::size_t i = 0; i < first.size(); ++i)
    for (std::size_t j = 0; j < second.size(); ++j) {
      const double p = joint[i * second.size() + j];
      if (p > 0) sum += p * std::log(p / (first[i] * second[j]));
    }
  return sum;
}

TEST(Target, InformationAgreesWithEveryState) {
  std::size_t compared = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    testing::RandomModelOptions shape;
    shape.variables = 5;
    shape.max_states = 2 + seed % 2;
    shape.max_arity = 2 + seed % 2;
    shape.zero_share = seed % 4 == 0 ? 0.2 : 0;
    const Model model = testing::random_model(seed, shape);
    InferenceOptions options;
    options.evidence.add(1, 0);
    if (seed % 3 == 0) options.evidence.add_likelihood(2, std::vector<double>(model.cardinalities[2], 0.5));
    const WeighedStates truth(model, options.evidence);
    if (truth.total() == 0) continue;
    const TargetAnswer answer = about_target(model, "0", options);
    double last = answer.entropy + 1e-9;
    EXPECT_EQ(answer.information.size(), 3U);
    for (const Information& one : answer.information) {
      EXPECT_NEAR(one.mutual_information, information(truth, 0, one.variable), 1e-12);
      EXPECT_LE(one.mutual_information, last);
      last = one.mutual_information;
      ++compared;
    }
  }
  EXPECT_GT(compared, 450U);
}

// P(target | evidence) when entry u of a factor moves by `step`: of a network with the rest of the row in
// proportion, else by its logarithm.
std::vector<double> moved(Model model, bool is_table, std::size_t f, std::size_t u, double step,
                          const Observations& evidence, VariableId target) {
  double* const values = is_table ? model.tables.log_values.data() : model.unaries.log_values.data();
  const std::size_t first = is_table ? model.tables.table_offsets[f] : model.unaries.offsets[f];
  if (model.kind == ModelKind::bayes) {
    const VariableId child = is_table ? model.tables.scope(f).back() : model.unaries.variables[f];
    const std::size_t row = model.cardinalities[child], begin = u / row * row;
    const double entry = std::exp(values[first + u]);
    for (std::size_t k = begin; k < begin + row; ++k)
      values[first + k] =
          k == u ? std::log(entry + step) : values[first + k] + std::log((1 - entry - step) / (1 - entry));
  } else {
    values[first + u] += step;
  }
  return WeighedStates(model, evidence).joint(std::span(&target, 1));
}

TEST(Target, SensitivitiesAreTheSlopes) {
  std::size_t compared = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    testing::RandomModelOptions shape;
    shape.variables = 4;
    shape.max_states = 3;
    shape.max_arity = 3;
    shape.factors = 3;
    shape.spin_pairs = false;
    const Model model =
        seed % 2 == 0 ? testing::random_network(seed, 4, 3, 0) : testing::random_model(seed, shape);
    InferenceOptions options;
    options.evidence.add(3, 1);
    const TargetAnswer answer = about_target(model, "0", options);
    EXPECT_EQ(answer.by_logarithm, model.kind == ModelKind::markov);
    EXPECT_EQ(answer.sensitivity.size(), model.unaries.log_values.size() + model.tables.log_values.size());
    for (const Sensitivity& one : answer.sensitivity) {
      std::size_t u = 0;
      for (std::size_t k = 0; k < one.variables.size(); ++k)
        u = u * model.cardinalities[one.variables[k]] + one.states[k];
      const bool is_table = one.variables.size() > 1;
      std::vector<std::size_t> found;  // factors of this scope: two may have it
      for (std::size_t f = 0; f < (is_table ? model.tables.size() : model.unaries.size()); ++f)
        if (is_table ? std::ranges::equal(model.tables.scope(f), one.variables)
                     : model.unaries.variables[f] == one.variables[0])
          found.push_back(f);
      // Quotients of linear functions with entries above 0.01: the error of a step h is some h^2 10^5.
      constexpr double step = 1e-6;
      const std::size_t f = found.at(0);
      const auto up = moved(model, is_table, f, u, step, options.evidence, 0),
                 down = moved(model, is_table, f, u, -step, options.evidence, 0);
      for (std::size_t t = 0; t < up.size(); ++t)
        EXPECT_NEAR(one.derivatives[t], (up[t] - down[t]) / (2 * step), 1e-6);
      ++compared;
    }
  }
  EXPECT_GT(compared, 1500U);
}

// Without evidence a variable of a network hangs on its ancestors' tables alone: what rounding leaves of the others is none.
TEST(Target, WhatHasNoBearingHasExactlyNone) {
  std::size_t none = 0, some = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Model model = testing::random_network(seed, 8, 3, 0);
    std::vector<bool> counts(8, false);
    counts[4] = true;
    for (int depth = 0; depth < 8; ++depth)
      for (std::size_t f = 0; f < model.tables.size(); ++f)
        if (const auto scope = model.tables.scope(f); counts[scope.back()])
          for (VariableId parent : scope) counts[parent] = true;
    for (const Sensitivity& one : about_target(model, "4").sensitivity) {
      if (counts[one.variables.back()]) {
        ++some;
        continue;
      }
      ++none;
      for (double derivative : one.derivatives) EXPECT_EQ(derivative, 0) << seed;
    }
  }
  EXPECT_GT(none, 1000U);
  EXPECT_GT(some, 1000U);
}

TEST(Target, RefusesWhatIsObservedOrNotThere) {
  const Model model = testing::random_network(3, 4, 2, 0);
  InferenceOptions options;
  options.evidence.add(1, 0);
  EXPECT_THROW(about_target(model, "1", options), OptionError);
  testing::expect_error([&] { about_target(model, "7"); }, ErrorKind::usage, {"7"});
}

TEST(Conflict, IsTheSmallestSet) {
  std::size_t conflicts = 0, of_several = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    testing::RandomModelOptions shape;
    shape.variables = 6;
    shape.max_states = 2 + seed % 2;
    shape.max_arity = 3;
    shape.factors = 6;
    shape.zero_share = 0.4;
    const Model model = testing::random_model(seed, shape);
    RandomSequence random(seed, Stream::generate);
    InferenceOptions options;
    for (VariableId v = 0; v < 5; ++v)
      if (random.below(4) == 0) {
        std::vector<double> likelihood(model.cardinalities[v], 0.5);
        likelihood[random.below(model.cardinalities[v])] = 0;
        options.evidence.add_likelihood(v, likelihood);
      } else {
        options.evidence.add(v, static_cast<Value>(random.below(model.cardinalities[v])));
      }
    const Observations& all = options.evidence;
    // Every subset of the observations.
    std::size_t smallest = 0;
    for (unsigned mask = 1; mask < 32; ++mask) {
      Observations some;
      unsigned bit = 0;
      for (std::size_t e = 0; e < all.size(); ++e)
        if (mask >> bit++ & 1U) some.add(all.variables[e], all.values[e]);
      for (std::size_t l = 0; l < all.likelihoods.size(); ++l)
        if (mask >> bit++ & 1U) some.likelihoods.add(all.likelihoods.variables[l], all.likelihoods.values(l));
      const auto size = static_cast<std::size_t>(std::popcount(mask));
      if ((smallest == 0 || size < smallest) && WeighedStates(model, some).total() == 0) smallest = size;
    }
    const Conflict conflict = find_conflict(Stated(model, options));
    EXPECT_EQ(conflict.observations.size() + conflict.observations.likelihoods.size(), smallest);
    if (smallest == 0) continue;
    ++conflicts;
    of_several += smallest > 1;
    EXPECT_TRUE(conflict.smallest);
    EXPECT_EQ(WeighedStates(model, conflict.observations).total(), 0);
    if (smallest > 1)
      testing::expect_error([&] { marginals(model, options); }, ErrorKind::bad_data,
                            {"cannot hold together"});
    else
      testing::expect_error([&] { log_z(model, options); }, ErrorKind::bad_data, {"has probability 0"});
  }
  EXPECT_GT(conflicts, 50U);
  EXPECT_GT(of_several, 20U);
}

}  // namespace
}  // namespace drover
