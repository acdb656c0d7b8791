#include "drover/machine/pseudo_likelihood.hpp"

#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <cmath>

#include "drover/compile/graph.hpp"
#include "drover/core/random.hpp"
#include "drover/infer/enumerate.hpp"

namespace drover {
namespace {

std::vector<Value> random_ising_rows(std::size_t n, std::size_t rows, double share, std::uint64_t seed) {
  RandomSequence random(seed, Stream::generate);
  std::vector<Value> values(n * rows);
  for (Value& value : values) value = random.uniform() < share;
  return values;
}

BoltzmannMachine random_ising_machine(std::size_t n, std::uint64_t seed) {
  RandomSequence random(seed, Stream::generate);
  BoltzmannMachine machine;
  machine.biases.resize(n);
  machine.weights.resize(n * (n - 1) / 2);
  for (double& bias : machine.biases) bias = 2 * random.uniform() - 1;
  for (double& weight : machine.weights) weight = 3 * random.uniform() - 1.5;
  return machine;
}

std::vector<double> parameters_of(const BoltzmannMachine& machine) {
  std::vector<double> parameters = machine.biases;
  parameters.insert(parameters.end(), machine.weights.begin(), machine.weights.end());
  return parameters;
}

std::vector<Value> state_of(std::size_t index, std::size_t n) {
  std::vector<Value> x(n);
  for (std::size_t v = n; v-- > 0; index /= 2) x[v] = static_cast<Value>(index % 2);
  return x;
}

TEST(BoltzmannMachine, ModelHasTheSameLogFactors) {
  for (std::size_t n = 1; n <= 6; ++n) {
    const BoltzmannMachine machine = random_ising_machine(n, n);
    const Enumeration exact = enumerate(compile(machine.model()));
    std::vector<double> expected;
    double sum = 0;
    for (std::size_t s = 0; s < std::size_t{1} << n; ++s) {
      const std::vector<Value> x = state_of(s, n);
      double score = 0;
      for (std::size_t i = 0; i < n; ++i) {
        score += machine.biases[i] * x[i];
        for (std::size_t j = i + 1; j < n; ++j) score += machine.weights[machine.pair(i, j)] * x[i] * x[j];
      }
      expected.push_back(std::exp(score));
      sum += expected.back();
    }
    EXPECT_NEAR(exact.log_z, std::log(sum), 1e-10);
    for (std::size_t s = 0; s < expected.size(); ++s)
      ASSERT_NEAR(exact.probabilities[s], expected[s] / sum, 1e-12);
  }
}

TEST(PseudoLikelihood, ValueIsTheSumOfConditionals) {
  for (std::size_t n : {1, 2, 7, 8, 9, 20}) {
    const std::vector<Value> rows = random_ising_rows(n, 30, 0.4, n);
    const BoltzmannMachine machine = random_ising_machine(n, n);
    std::vector<double> weights(30), gradient(n + n * (n - 1) / 2);
    double expected = 0, total = 0, squares = 0;
    for (std::size_t r = 0; r < 30; ++r) {
      weights[r] = 0.5 + static_cast<double>(r % 3);
      total += weights[r];
      const std::span<const Value> x(&rows[r * n], n);
      for (std::size_t i = 0; i < n; ++i)
        expected += weights[r] * std::log1p(std::exp((x[i] == 1 ? -1 : 1) * machine.field(i, x)));
    }
    for (double weight : machine.weights) squares += weight * weight;
    const PseudoLikelihood objective(rows, n, weights, 0.7);
    EXPECT_NEAR(objective.value_and_gradient(parameters_of(machine), gradient),
                (expected + 0.35 * squares) / total, 1e-12);
  }
}

TEST(PseudoLikelihood, GradientIsThatOfTheValue) {
  for (std::size_t n : {2, 5, 9}) {
    const PseudoLikelihood objective(random_ising_rows(n, 40, 0.3, n), n, {}, 0.7);
    std::vector<double> x = parameters_of(random_ising_machine(n, 3)), gradient(x.size()), unused(x.size());
    objective.value_and_gradient(x, gradient);
    for (std::size_t p = 0; p < x.size(); ++p) {
      const double kept = x[p], step = 1e-5;
      x[p] = kept + step;
      const double above = objective.value_and_gradient(x, unused);
      x[p] = kept - step;
      const double below = objective.value_and_gradient(x, unused);
      x[p] = kept;
      ASSERT_NEAR(gradient[p], (above - below) / (2 * step), 1e-9) << n << " at " << p;
    }
  }
}

/// The limit of endless data: every state, with its probability as its weight.
TEST(PseudoLikelihood, RecoversTheModelInTheLimit) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const std::size_t n = 2 + seed % 5;
    const BoltzmannMachine truth = random_ising_machine(n, seed);
    const Enumeration exact = enumerate(compile(truth.model()));
    std::vector<Value> rows;
    for (std::size_t s = 0; s < exact.probabilities.size(); ++s)
      for (Value value : state_of(s, n)) rows.push_back(value);
    const PseudoLikelihood objective(rows, n, exact.probabilities);
    std::vector<double> x(objective.parameters(), 0.0);
    const LbfgsSummary summary =
        minimise(x,
                 [&](std::span<const double> at, std::span<double> gradient) {
                   return objective.value_and_gradient(at, gradient);
                 },
                 {.gradient_tolerance = 1e-7});  // nearer, and rounding of the value ends the search
    EXPECT_TRUE(summary.converged) << summary.ended;
    const std::vector<double> expected = parameters_of(truth);
    for (std::size_t p = 0; p < x.size(); ++p) ASSERT_NEAR(x[p], expected[p], 1e-4) << seed;
  }
}

TEST(PseudoLikelihood, SameBitsForAnyNumberOfThreads) {
  const std::size_t n = 20;
  const PseudoLikelihood objective(random_ising_rows(n, 5000, 0.3, 1), n, {}, 1);
  const std::vector<double> x = parameters_of(random_ising_machine(n, 3));
  std::vector<double> one(x.size()), four(x.size());
  double value_one = 0, value_four = 0;
  {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 1);
    value_one = objective.value_and_gradient(x, one);
  }
  {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 4);
    value_four = objective.value_and_gradient(x, four);
  }
  EXPECT_EQ(value_one, value_four);
  EXPECT_EQ(one, four);
}

}  // namespace
}  // namespace drover
