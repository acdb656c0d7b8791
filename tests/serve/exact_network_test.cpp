// Answers about networks with evidence that changes, against enumeration.
#include "drover/serve/exact_network.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "drover/core/error.hpp"
#include "drover/core/random.hpp"
#include "drover/model/builders.hpp"
#include "drover/serve/live_page.hpp"

namespace drover {
namespace {

/// Every state of a small model with its probability under the findings.
struct Enumeration {
  std::vector<std::vector<Value>> states;
  std::vector<double> weights;
  double total = 0, without = 0;

  Enumeration(const Model& model, const std::vector<Finding>& findings) {
    std::vector<Value> x(model.variable_count());
    for (;;) {
      const double weight = std::exp(log_score(model, x));
      double likelihood = 1;
      for (const Finding& finding : findings) likelihood *= finding.likelihood[x[finding.variable]];
      without += weight;
      total += weight * likelihood;
      states.push_back(x);
      weights.push_back(weight * likelihood);
      std::size_t v = 0;
      while (v < x.size() && ++x[v] == model.cardinalities[v]) x[v++] = 0;
      if (v == x.size()) return;
    }
  }
  template <class Test>
  double probability(Test test) const {
    double sum = 0;
    for (std::size_t s = 0; s < states.size(); ++s)
      if (test(states[s])) sum += weights[s];
    return sum / total;
  }
};

std::vector<Finding> random_findings(const Model& model, RandomSequence& random) {
  std::vector<Finding> findings;
  for (VariableId v = 0; v < model.variable_count(); ++v) {
    if (random.uniform() < 0.6) continue;
    Finding finding{v, std::vector<double>(model.cardinalities[v], 0.0)};
    if (random.uniform() < 0.5)
      finding.likelihood[random.below(finding.likelihood.size())] = 1;
    else
      for (double& l : finding.likelihood) l = 0.05 + random.uniform();
    findings.push_back(finding);
  }
  return findings;
}

TEST(ExactNetwork, AgreesWithEnumeration) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    RandomSequence random(seed, Stream::generate);
    const Model model =
        seed % 4 == 0 ? live_example()
                      : random_tables(7, 2 + seed % 2, 8, 2 + seed % 2, Draw::uniform(-2, 2), 0.1, seed);
    ExactNetwork network(model, std::size_t{1} << 30);
    ASSERT_EQ(network.why_not(), "");
    for (int round = 0; round < 3; ++round) {  // the same network again and again
      const std::vector<Finding> findings = random_findings(model, random);
      const Enumeration truth(model, findings);
      if (!(truth.total > 0)) {
        EXPECT_THROW(network.marginals(findings), Error);
        continue;
      }
      const NetworkAnswer answer = network.marginals(findings);
      EXPECT_NEAR(answer.log_evidence, std::log(truth.total / truth.without), 1e-9);
      for (VariableId v = 0; v < model.variable_count(); ++v)
        for (Value k = 0; k < model.cardinalities[v]; ++k)
          EXPECT_NEAR(answer.probabilities[v][k], truth.probability([&](const auto& x) { return x[v] == k; }),
                      1e-9);

      const VariableId a = 2, b = 0, c = 3;
      const std::vector<VariableId> picked = {a, b, c};
      const std::vector<double> joint = network.joint(findings, picked);
      std::size_t place = 0;
      for (Value i = 0; i < model.cardinalities[a]; ++i)
        for (Value j = 0; j < model.cardinalities[b]; ++j)
          for (Value k = 0; k < model.cardinalities[c]; ++k)
            EXPECT_NEAR(joint[place++],
                        truth.probability([&](const auto& x) { return x[a] == i && x[b] == j && x[c] == k; }),
                        1e-9);
      ASSERT_EQ(place, joint.size());

      const NetworkBest best = network.best(findings);
      const double most = *std::max_element(truth.weights.begin(), truth.weights.end());
      EXPECT_NEAR(std::exp(best.log_probability), most / truth.total, 1e-9);
      EXPECT_NEAR(truth.probability([&](const auto& x) { return x == best.assignment; }), most / truth.total,
                  1e-9);

      const VariableId target = 1;
      const std::vector<double> information = network.information(findings, target);
      for (VariableId v = 0; v < model.variable_count(); ++v) {
        double expected = 0;
        for (Value t = 0; t < model.cardinalities[target] && v != target; ++t)
          for (Value k = 0; k < model.cardinalities[v]; ++k) {
            const double both = truth.probability([&](const auto& x) { return x[target] == t && x[v] == k; });
            const double apart = truth.probability([&](const auto& x) { return x[target] == t; }) *
                                 truth.probability([&](const auto& x) { return x[v] == k; });
            if (both > 0) expected += both * std::log(both / apart);
          }
        EXPECT_NEAR(information[v], expected, 1e-9);
      }
    }
  }
}

// An answer that could not be given, for its findings or for the time, leaves nothing behind in the network.
TEST(ExactNetwork, FindingsDoNotOutliveARequestThatFails) {
  Model model = live_example();
  const auto extra = static_cast<VariableId>(model.variable_count());
  model.cardinalities.push_back(1);
  ExactNetwork network(model, std::size_t{1} << 30);
  const NetworkAnswer before = network.marginals({});
  std::vector<double> soft(model.cardinalities[0], 0.2);
  soft[0] = 1;
  const std::vector<Finding> findings = {{0, soft}, {extra, {0.5}}};
  RunControl stopped;
  stopped.request_stop();
  EXPECT_THROW(network.marginals(findings, stopped), Error);
  EXPECT_EQ(network.marginals({}).probabilities.values(), before.probabilities.values());
  const NetworkAnswer soft_answer = network.marginals(findings);
  EXPECT_NE(soft_answer.probabilities.values(), before.probabilities.values());
  EXPECT_EQ(network.marginals({}).probabilities.values(), before.probabilities.values());
}

TEST(ExactNetwork, RefusesWhatItCannotHold) {
  const Model model = grid_ising(40, 40, false, 0.3, 0.1);
  ExactNetwork network(model, std::size_t{1} << 20);
  EXPECT_NE(network.why_not(), "");
  EXPECT_THROW(network.marginals({}), Error);
}

}  // namespace
}  // namespace drover
