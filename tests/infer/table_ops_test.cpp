// contract() against plain loops over every joint state, on scopes small enough for the scalar path and large
// enough for blocks, index lists, widened targets and threads.
#include "drover/infer/table_ops.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "drover/core/log_math.hpp"
#include "drover/core/random.hpp"
#include "drover/infer/projections.hpp"

namespace drover {
namespace {

struct Problem {
  std::vector<std::uint32_t> cardinalities, scope, target;
  std::vector<std::vector<std::uint32_t>> scopes;
  std::vector<std::vector<double>> tables;
  double constant = 0;

  std::vector<Operand> operands() const {
    std::vector<Operand> result;
    for (std::size_t k = 0; k < scopes.size(); ++k) result.push_back({scopes[k], tables[k].data()});
    return result;
  }
};

std::vector<std::uint32_t> subset(const std::vector<std::uint32_t>& scope, double share,
                                  RandomSequence& random) {
  std::vector<std::uint32_t> result;
  for (std::uint32_t v : scope)
    if (random.uniform() < share) result.push_back(v);
  return result;
}

Problem random_problem(std::uint64_t seed, std::size_t entries) {
  RandomSequence random(seed, Stream::generate);
  Problem problem;
  const std::uint32_t most = 1 + static_cast<std::uint32_t>(seed % 3);  // 2, up to 3, up to 4 states
  std::size_t joint = 1;
  for (std::uint32_t v = 0; v < 40; ++v) {
    problem.cardinalities.push_back(2 + random.below(most));
    if (v % 2 == 1 && joint * problem.cardinalities[v] <= entries) {  // gaps between variable numbers
      problem.scope.push_back(v);
      joint *= problem.cardinalities[v];
    }
  }
  problem.target = subset(problem.scope, std::vector<double>{0.0, 0.2, 0.5, 0.9, 1.0}[seed % 5], random);
  problem.constant = random.normal();
  const std::uint32_t count = random.below(6);
  for (std::uint32_t k = 0; k < count; ++k) {
    problem.scopes.push_back(subset(problem.scope, k == 0 ? 0.9 : 0.4, random));
    std::vector<double> table(table_size(problem.cardinalities, problem.scopes.back()));
    for (double& value : table) value = random.below(5) == 0 ? log_zero : 3 * random.normal();
    problem.tables.push_back(std::move(table));
  }
  return problem;
}

std::vector<double> by_plain_loops(Reduce reduce, const Problem& problem) {
  std::vector<double> out(table_size(problem.cardinalities, problem.target),
                          reduce == Reduce::log_sum_exp || reduce == Reduce::maximum ? log_zero : 0.0);
  std::vector<std::uint32_t> x(problem.cardinalities.size(), 0);
  const auto index = [&](const std::vector<std::uint32_t>& scope) {
    std::size_t at = 0;
    for (std::uint32_t v : scope) at = at * problem.cardinalities[v] + x[v];
    return at;
  };
  while (true) {
    double term = problem.constant;
    for (std::size_t k = 0; k < problem.scopes.size(); ++k)
      term += problem.tables[k][index(problem.scopes[k])];
    double& entry = out[index(problem.target)];
    if (reduce == Reduce::log_sum_exp) entry = log_add(entry, term);
    if (reduce == Reduce::maximum) entry = std::max(entry, term);
    if (reduce == Reduce::sum_of_exp) entry += std::exp(term);
    if (reduce == Reduce::sum) entry += term;
    std::size_t a = problem.scope.size();
    while (a > 0 && ++x[problem.scope[a - 1]] == problem.cardinalities[problem.scope[a - 1]])
      x[problem.scope[--a]] = 0;
    if (a == 0) return out;
  }
}

void expect_agreement(Reduce reduce, Problem problem, std::uint64_t seed) {
  if (reduce == Reduce::sum)  // tables of probabilities have no infinities
    for (auto& table : problem.tables)
      for (double& value : table) value = std::exp(value);
  const std::vector<double> expected = by_plain_loops(reduce, problem);
  std::vector<double> out(expected.size(), std::nan(""));
  contract(reduce, problem.cardinalities, problem.scope, problem.operands(), problem.constant, problem.target,
           out.data());
  for (std::size_t e = 0; e < out.size(); ++e) {
    if (out[e] == expected[e]) continue;  // infinities too
    ASSERT_NEAR(out[e], expected[e], 1e-10 * (1 + std::abs(expected[e])))
        << "seed " << seed << ", entry " << e << ", reduction " << static_cast<int>(reduce);
  }
}

TEST(Contract, AgreesWithPlainLoops) {
  const Reduce all[] = {Reduce::log_sum_exp, Reduce::maximum, Reduce::sum_of_exp, Reduce::sum};
  for (std::uint64_t seed = 1; seed <= 300; ++seed)
    for (Reduce reduce : all) expect_agreement(reduce, random_problem(seed, 1 + seed * 13), seed);
  for (std::uint64_t seed = 301; seed <= 310; ++seed)
    for (Reduce reduce : all) expect_agreement(reduce, random_problem(seed, std::size_t{1} << 17), seed);
}

TEST(Contract, ManyStates) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    RandomSequence random(seed, Stream::generate);
    Problem problem;
    problem.cardinalities = {3, 700, 5};
    problem.scope = {0, 1, 2};
    problem.target = subset(problem.scope, 0.6, random);
    problem.scopes = {{0, 1}, {1, 2}, {1}};
    for (const auto& scope : problem.scopes) {
      problem.tables.emplace_back(table_size(problem.cardinalities, scope));
      for (double& value : problem.tables.back()) value = random.normal();
    }
    expect_agreement(Reduce::log_sum_exp, problem, seed);
    expect_agreement(Reduce::maximum, problem, seed);
  }
}

// Terms that differ by more than a double's range must not disturb each other's entries.
TEST(Contract, LogSumsKeepEntriesOfAnyRange) {
  const std::vector<std::uint32_t> cardinalities{2, 1024};
  const std::vector<std::uint32_t> scope{0, 1}, target{1};
  std::vector<double> table(2048);
  for (std::size_t j = 0; j < 1024; ++j) {
    table[j] = 3.0 * static_cast<double>(j) - 1500;
    table[1024 + j] = j % 2 == 0 ? table[j] : log_zero;
  }
  const Operand operand[1] = {{scope, table.data()}};
  std::vector<double> out(1024);
  contract(Reduce::log_sum_exp, cardinalities, scope, operand, 0.0, target, out.data());
  for (std::size_t j = 0; j < 1024; ++j)
    EXPECT_NEAR(out[j], table[j] + (j % 2 == 0 ? std::log(2.0) : 0.0), 1e-12 * 2000) << j;
}

TEST(SubtractMaximum, ShiftsAllAndLeavesImpossibleTablesAlone) {
  for (std::size_t count : {1, 7, 100, 200'000}) {
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = -static_cast<double>(i);
    values[count / 2] = 41;
    EXPECT_EQ(subtract_maximum(values.data(), count), 41);
    EXPECT_EQ(values[count / 2], 0);
    EXPECT_EQ(values[count - 1], count / 2 == count - 1 ? 0 : -static_cast<double>(count - 1) - 41);
    std::fill(values.begin(), values.end(), log_zero);
    EXPECT_EQ(subtract_maximum(values.data(), count), log_zero);
    EXPECT_EQ(values[0], log_zero);
  }
}

TEST(DivideByMessage, ZeroStaysZero) {
  std::vector<double> values{0.5, 0, 0.25, 0, 1, 1, 1, 1, 0.125};
  const std::vector<double> message{1, 2, log_zero, log_zero, 0, 0, 0, 0, -1};
  divide_by_message(values.data(), message.data(), 3.0, values.size());
  EXPECT_NEAR(values[0], std::log(0.5) - 4, 1e-14);
  EXPECT_EQ(values[1], log_zero);
  EXPECT_EQ(values[2], log_zero);
  EXPECT_EQ(values[3], log_zero);
  EXPECT_NEAR(values[8], std::log(0.125) - 2, 1e-14);
}

TEST(Project, ManyMarginalsOfOneTable) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Problem problem = random_problem(5 * seed + 4, seed % 3 == 0 ? 300 : 20'000);
    RandomSequence random(seed, Stream::resample);
    std::vector<std::vector<std::uint32_t>> scopes;
    for (int k = 0; k < 25; ++k) scopes.push_back(subset(problem.scope, random.uniform(), random));
    std::vector<std::vector<double>> out;
    std::vector<Projection> wanted;
    for (const auto& scope : scopes) out.emplace_back(table_size(problem.cardinalities, scope));
    for (std::size_t k = 0; k < scopes.size(); ++k) wanted.push_back({scopes[k], out[k].data()});
    project(problem.cardinalities, problem.scope, problem.operands(), problem.constant, wanted);
    for (std::size_t k = 0; k < scopes.size(); ++k) {
      problem.target = scopes[k];
      const std::vector<double> expected = by_plain_loops(Reduce::sum_of_exp, problem);
      for (std::size_t e = 0; e < expected.size(); ++e)
        ASSERT_NEAR(out[k][e], expected[e], 1e-10 * (1 + expected[e]))
            << "seed " << seed << ", marginal " << k;
    }
  }
}

}  // namespace
}  // namespace drover
