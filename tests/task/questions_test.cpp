// Soft evidence, joint distributions, many rows of evidence and interventions, against visiting every state.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "drover/infer/case_tree.hpp"
#include "drover/methods/method.hpp"
#include "drover/task/cases.hpp"
#include "drover/task/inference.hpp"
#include "tests/support/io_support.hpp"
#include "tests/support/random_models.hpp"
#include "tests/support/weighed_states.hpp"

namespace drover {
namespace {

using testing::WeighedStates;

Model small_model(std::uint64_t seed) {
  testing::RandomModelOptions shape;
  shape.variables = 4 + seed % 3;
  shape.max_states = 2 + seed % 3;
  shape.max_arity = 2 + seed % 2;
  shape.factors = 5 + seed % 4;
  shape.zero_share = seed % 2 == 0 ? 0 : 0.2;
  return testing::random_model(seed, shape);
}

/// Observes some variables, others softly (with zeros), none of them surely possible together.
Observations random_evidence(const Model& model, RandomSequence& random, double share) {
  Observations evidence;
  for (VariableId v = 0; v < model.variable_count(); ++v) {
    const double u = random.uniform();
    if (u < share / 2) {
      evidence.add(v, static_cast<Value>(random.below(model.cardinalities[v])));
    } else if (u < share) {
      std::vector<double> likelihood;
      for (std::uint32_t k = 0; k < model.cardinalities[v]; ++k)
        likelihood.push_back(k > 0 && random.uniform() < 0.3 ? 0.0 : 0.1 + random.uniform());
      evidence.add_likelihood(v, likelihood);
    }
  }
  return evidence;
}

void expect_near(std::span<const double> found, std::span<const double> expected, double bound) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t e = 0; e < found.size(); ++e) EXPECT_NEAR(found[e], expected[e], bound);
}

TEST(Questions, SoftEvidenceAndJointsAgreeWithEveryState) {
  std::size_t possible = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const Model model = small_model(seed);
    RandomSequence random(seed, Stream::generate);
    InferenceOptions options;
    options.method = "exact";
    options.evidence = random_evidence(model, random, 0.4);
    for (int set = 0; set < 4; ++set) {
      std::vector<std::string> names;
      for (std::uint32_t first = random.below(4), v = first; v < model.variable_count();
           v += 1 + random.below(3))
        names.insert(random.below(2) == 0 ? names.begin() : names.end(), std::to_string(v));
      options.joint.push_back(names);
    }
    const WeighedStates truth(model, options.evidence);
    if (truth.total() == 0) {
      EXPECT_THROW(marginals(model, options), Error);
      continue;
    }
    ++possible;
    const Marginals answer = marginals(model, options);
    for (VariableId v = 0; v < model.variable_count(); ++v)
      expect_near(answer.probabilities[v], truth.joint(std::span(&v, 1)), 1e-12);
    ASSERT_EQ(answer.joints.size(), 4U);
    for (const Joint& joint : answer.joints)
      expect_near(joint.probabilities, truth.joint(joint.variables), 1e-12);
    InferenceOptions plain = options;
    plain.joint.clear();
    EXPECT_NEAR(log_z(model, plain).log_z, truth.log_z(), 1e-10);
  }
  EXPECT_GT(possible, 200U);
}

TEST(Questions, JointsAcrossTheTreeOfALongChain) {
  Model model;
  constexpr std::uint32_t length = 40;
  model.cardinalities.assign(length, 2);
  for (VariableId v = 0; v + 1 < length; ++v) model.spin_pairs.add(v, v + 1, 0.7);
  InferenceOptions options;
  options.joint = {{"39", "0"}, {"5", "20", "30"}};
  const Marginals answer = marginals(model, options);
  const auto agree = [](int distance) { return (1 + std::pow(std::tanh(0.7), distance)) / 2; };
  expect_near(answer.joints[0].probabilities,
              std::vector<double>{agree(39) / 2, (1 - agree(39)) / 2, (1 - agree(39)) / 2, agree(39) / 2},
              1e-12);
  EXPECT_NEAR(answer.joints[1].probabilities[0], agree(15) * agree(10) / 2, 1e-12);
  EXPECT_NEAR(answer.joints[1].probabilities[2], (1 - agree(15)) * (1 - agree(10)) / 2, 1e-12);
}

TEST(Questions, JointsByCountingDraws) {
  for (const char* method : {"gibbs", "blocked-gibbs", "gwg"})
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      SCOPED_TRACE(method);
      const Model model = small_model(6 * seed);
      InferenceOptions options;
      options.method = method;
      options.evidence.add(1, 0);
      const std::vector<double> likelihood(model.cardinalities[2], 0.5);
      options.evidence.add_likelihood(2, likelihood);
      options.joint = {{"0", "3"}, {"2", "1", "0"}};
      const Marginals answer = marginals(model, options);
      const WeighedStates truth(model, options.evidence);
      for (const Joint& joint : answer.joints) {
        const std::vector<double> expected = truth.joint(joint.variables);
        // The error comes from 16 groups: eight of them, of Student's law with 15 degrees of freedom, are
        // exceeded once in 10^6; a state that is never drawn in 128 chains of some 1000 draws is rarer than
        // 1e-4.
        for (std::size_t e = 0; e < expected.size(); ++e)
          EXPECT_NEAR(joint.probabilities[e], expected[e], 8 * joint.mcse[e] + 1e-4);
      }
    }
}

// Many models, and few draws of each.
TEST(Questions, JointsByCountingDrawsOfManyModels) {
  std::size_t compared = 0;
  for (std::uint64_t seed = 0; seed < 300; seed += 2) {  // those without zeros
    SCOPED_TRACE(seed);
    const Model model = small_model(seed);
    RandomSequence random(seed, Stream::generate);
    InferenceOptions options;
    options.method = "gibbs";
    options.seed = seed;
    options.chains.burn_in = 100;
    options.chains.sweeps = 400;
    options.joint = {{"3", "0"}, {"1", "2", "0"}};
    const std::vector<double> likelihood{0.2 + random.uniform(), 0.2 + random.uniform()};
    if (model.cardinalities[2] == 2) options.evidence.add_likelihood(2, likelihood);
    const Marginals answer = marginals(model, options);
    const WeighedStates truth(model, options.evidence);
    ASSERT_EQ(answer.joints.size(), 2U);
    for (const Joint& joint : answer.joints) {
      const std::vector<double> expected = truth.joint(joint.variables);
      ASSERT_EQ(joint.probabilities.size(), expected.size());
      // As above; a state that 128 chains of 400 draws never meet is rarer than 10^-3.
      for (std::size_t e = 0; e < expected.size(); ++e, ++compared)
        EXPECT_NEAR(joint.probabilities[e], expected[e], 8 * joint.mcse[e] + 1e-3);
    }
  }
  EXPECT_GT(compared, 3000U);
}

TEST(Questions, MethodsWithoutJointsAreRefused) {
  const Model model = small_model(0);
  InferenceOptions options;
  options.method = "bp";
  options.joint = {{"0", "1"}};
  testing::expect_error([&] { marginals(model, options); }, ErrorKind::misfit, {"joint"});
  options.method = "auto";
  options.joint = {{"0", "1", "0"}};
  EXPECT_THROW(marginals(model, options), OptionError);
}

TEST(Questions, SoftEvidenceInEverySampler) {
  // Five spins in a ring; what was seen of two of them makes a difference of 0.2 or more.
  Model model;
  model.cardinalities.assign(5, 2);
  for (VariableId v = 0; v < 5; ++v) model.spin_pairs.add(v, (v + 1) % 5, 0.3);
  InferenceOptions options;
  options.observe = {{"0", "0.2:0.8"}, {"2", "9:1"}};
  Observations evidence;
  evidence.add_likelihood(0, std::vector<double>{0.2, 0.8});
  evidence.add_likelihood(2, std::vector<double>{9, 1});
  const WeighedStates truth(model, evidence);
  for (const Method& method : all_methods()) {
    options.method = method.name;
    if (!method.does(Task::marginals) || method.name == "pmp" || method.name == "trw" ||
        method.name.find("mean-field") != std::string_view::npos || method.name == "herded-gibbs" ||
        method.name == "bp")
      continue;
    SCOPED_TRACE(method.name);
    const Marginals answer = marginals(model, options);
    for (VariableId v = 0; v < 5; ++v) {
      const auto expected = truth.joint(std::span(&v, 1));
      for (std::size_t k = 0; k < 2; ++k)
        EXPECT_NEAR(answer.probabilities[v][k], expected[k], 5 * answer.mcse[v][k] + 1e-6);
    }
  }
}

TEST(Questions, CasesAgreeWithEveryState) {
  std::size_t possible = 0, impossible = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    const Model model = small_model(seed);
    RandomSequence random(seed, Stream::generate);
    InferenceOptions options;
    options.method = "exact";
    if (seed % 3 == 0) options.evidence = random_evidence(model, random, 0.2);
    std::vector<Observations> rows;
    for (int r = 0; r < 8; ++r) rows.push_back(random_evidence(model, random, r == 0 ? 0 : 0.5));
    std::vector<VariableId> query;
    if (seed % 2 == 0) query = {static_cast<VariableId>(random.below(4)), 1};
    if (WeighedStates(model, options.evidence).total() == 0) continue;
    const CaseAnswers answer = answer_cases(model, rows, query, options);
    ASSERT_EQ(answer.cases, rows.size());
    EXPECT_TRUE(answer.exact);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      Observations all = options.evidence;
      all.add(rows[r]);
      const WeighedStates truth(model, all);
      if (truth.total() == 0) {
        ++impossible;
        EXPECT_EQ(answer.log_z[r], log_zero);
        EXPECT_TRUE(std::isnan(answer.of(r, 0)[0]));
        continue;
      }
      ++possible;
      EXPECT_NEAR(answer.log_z[r], truth.log_z(), 1e-10);
      for (std::size_t k = 0; k < answer.query.size(); ++k)
        expect_near(answer.of(r, k), truth.joint(std::span(&answer.query[k], 1)), 1e-12);
    }
  }
  EXPECT_GT(possible, 500U);
  EXPECT_GT(impossible, 50U);
}

TEST(Questions, CasesBeyondPlainNumbersGoByLogarithms) {
  // A chain whose ends outweigh one another by e^1600: messages in plain numbers would lose one side.
  Model model;
  model.cardinalities.assign(6, 2);
  for (VariableId v = 0; v + 1 < 6; ++v) model.spin_pairs.add(v, v + 1, 400);
  model.unaries.add(0, std::vector<double>{0, 1600});
  model.unaries.add(5, std::vector<double>{1600.5, 0});
  std::vector<Observations> rows(4);
  rows[1].add(2, 0);
  rows[2].add(0, 1);
  rows[2].add(5, 0);
  rows[3].add_likelihood(0, std::vector<double>{0.3, 0.1});
  rows[3].add_likelihood(3, std::vector<double>{0.2, 0.9});
  const CaseAnswers answer = answer_cases(model, rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    InferenceOptions options;
    options.evidence = rows[r];
    const Marginals expected = marginals(model, options);
    for (VariableId v = 0; v < 6; ++v) expect_near(answer.of(r, v), expected.probabilities[v], 1e-12);
  }
}

TEST(Questions, CasesByAnyNumberOfThreadsHaveTheSameBits) {
  const Model model = small_model(5);
  RandomSequence random(5, Stream::generate);
  std::vector<Observations> rows;
  for (int r = 0; r < 3000; ++r) rows.push_back(random_evidence(model, random, 0.4));
  RunControl one;
  one.limit_threads(1);
  const CaseAnswers alone = answer_cases(model, rows, {}, {}, one), together = answer_cases(model, rows);
  ASSERT_EQ(alone.probabilities.size(), together.probabilities.size());
  for (std::size_t e = 0; e < alone.probabilities.size(); ++e)
    EXPECT_TRUE(alone.probabilities[e] == together.probabilities[e] || std::isnan(alone.probabilities[e]));
}

TEST(Questions, CasesByASamplerAreQuestionsOfTheirOwn) {
  const Model model = small_model(0);
  std::vector<Observations> rows(2);
  rows[1].add(0, 1);
  InferenceOptions options;
  options.method = "gibbs";
  const CaseAnswers answer = answer_cases(model, rows, {}, options);
  EXPECT_FALSE(answer.exact);
  EXPECT_GT(answer.mcse_max, 0);
  for (std::size_t r = 0; r < 2; ++r) {
    options.evidence = rows[r];
    const Marginals expected = marginals(model, options);
    for (VariableId v = 0; v < model.variable_count(); ++v)
      expect_near(answer.of(r, v), expected.probabilities[v], 0);
  }
}

TEST(Questions, InterventionsCutTheArcsIntoAVariable) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const Model model = testing::random_network(seed, 5, 3, seed % 2 == 0 ? 0 : 0.2);
    RandomSequence random(seed, Stream::generate);
    const VariableId set = random.below(5);
    const auto value = static_cast<Value>(random.below(model.cardinalities[set]));
    // The truncated product: a network in which the table of `set` says nothing.
    Model cut = model;
    for (std::size_t f = 0; f < cut.unaries.size(); ++f)
      if (cut.unaries.variables[f] == set)
        for (std::size_t e = cut.unaries.offsets[f]; e < cut.unaries.offsets[f + 1]; ++e)
          cut.unaries.log_values[e] = 0;
    for (std::size_t f = 0; f < cut.tables.size(); ++f)
      if (cut.tables.scope(f).back() == set)
        for (std::size_t e = cut.tables.table_offsets[f]; e < cut.tables.table_offsets[f + 1]; ++e)
          cut.tables.log_values[e] = 0;
    Observations evidence;
    evidence.add(set, value);
    InferenceOptions options;
    options.intervene = {{std::to_string(set), std::to_string(value)}};
    const WeighedStates truth(cut, evidence);
    EXPECT_NEAR(truth.log_z(), 0, 1e-10);
    EXPECT_NEAR(log_z(model, options).log_z, 0, 1e-10);
    const Marginals answer = marginals(model, options);
    for (VariableId v = 0; v < 5; ++v)
      expect_near(answer.probabilities[v], truth.joint(std::span(&v, 1)), 1e-12);
    const BestState best = best_state(model, options);
    EXPECT_EQ(best.assignment[set], value);
  }
}

// The conditional of a variable may be a gate: it is cut like a table.
TEST(Questions, InterventionsCutGatesToo) {
  Model network;
  network.kind = ModelKind::bayes;
  network.cardinalities.assign(4, 2);
  const double first[2] = {std::log(0.6), std::log(0.4)}, second[2] = {std::log(0.7), std::log(0.3)};
  network.unaries.add(0, first);
  network.unaries.add(1, second);
  const VariableId parents[2] = {0, 1}, either[2] = {0, 2};
  const double off[2] = {std::log(0.3), std::log(0.2)};
  network.gates.add_noisy_or(parents, 2, off, std::log(0.9));
  network.gates.add_or(either, 3);
  Model tables = network;  // the same with tables
  tables.gates = {};
  for (std::size_t g = 0; g < network.gates.size(); ++g)
    tables.tables.add(network.gates.scope(g), network.gates.table(g));
  for (const char* set : {"0", "2", "3"})
    for (const char* value : {"0", "1"}) {
      InferenceOptions options;
      options.intervene = {{set, value}};
      EXPECT_NEAR(log_z(network, options).log_z, 0, 1e-12) << set;
      const Marginals answer = marginals(network, options), expected = marginals(tables, options);
      for (VariableId v = 0; v < 4; ++v)
        expect_near(answer.probabilities[v], expected.probabilities[v], 1e-12);
    }
}

TEST(Questions, InterventionsNeedANetwork) {
  InferenceOptions options;
  options.intervene = {{"0", "1"}};
  testing::expect_error([&] { marginals(small_model(0), options); }, ErrorKind::misfit, {"Bayesian"});
  options.intervene = {{"0", "1"}, {"0", "0"}};
  const Model network = testing::random_network(1, 4, 2, 0);
  testing::expect_error([&] { marginals(network, options); }, ErrorKind::usage, {"twice"});
  options.intervene = {{"0", "0.3:0.7"}};
  testing::expect_error([&] { marginals(network, options); }, ErrorKind::usage, {"likelihoods"});
}

}  // namespace
}  // namespace drover
