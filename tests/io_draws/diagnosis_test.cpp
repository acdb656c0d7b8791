// The diagnosis of a file, block by block and bit by bit, against the diagnostics of each variable alone.
#include "drover/io/draws_diagnosis.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>

#include "drover/core/error.hpp"
#include "drover/core/random.hpp"
#include "drover/diagnose/ess.hpp"
#include "drover/diagnose/mcse.hpp"
#include "drover/diagnose/rhat.hpp"
#include "tests/support/stop_questions.hpp"

namespace drover {
namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

/// Variable v has 1 + v % 5 states (times `scale`) and keeps its value with probability 0.6.
DrawFile some_draws(std::size_t chains, std::size_t draws, std::size_t variables, double scale) {
  RandomSequence random(5, Stream::generate);
  DrawFile file;
  file.chains = chains;
  file.draws = draws;
  std::vector<double> values(chains * draws * variables);
  for (std::size_t v = 0; v < variables; ++v) file.variable_names.push_back(std::to_string(v));
  const std::size_t row = chains * variables;
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = i >= row && random.uniform() < 0.6
                    ? values[i - row]
                    : scale * random.below(1 + static_cast<std::uint32_t>(i % variables % 5));
  set_values(file, values);
  for (std::size_t i = 0; i < chains * draws; ++i) file.log_scores.push_back(random.normal());
  return file;
}

std::vector<double> column(const DrawFile& file, std::size_t v) {
  std::vector<double> x(file.chains * file.draws);
  std::visit(
      [&](const auto& values) {
        for (std::size_t t = 0; t < file.draws; ++t)
          for (std::size_t c = 0; c < file.chains; ++c)
            x[c * file.draws + t] = static_cast<double>(values[(t * file.chains + c) * file.variables() + v]);
      },
      file.values);
  return x;
}

void expect_same(double a, double b, const char* what, std::size_t v) {
  if (std::isnan(b)) {
    EXPECT_TRUE(std::isnan(a)) << what << " of " << v;
  } else {
    EXPECT_NEAR(a, b, 1e-9 * (1 + std::abs(b))) << what << " of " << v;
  }
}

TEST(Diagnosis, EqualsThatOfEachVariable) {
  for (const double scale : {1.0, 2.0, 300.0}) {
    for (const std::size_t draws : {3U, 150U, 151U}) {
      const std::size_t chains = 3, variables = 131;
      const DrawFile file = some_draws(chains, draws, variables, scale);
      EXPECT_EQ(file.values.index(), scale > 100 ? 1U : 0U);
      const DrawDiagnostics result = diagnose_draws(file);
      ASSERT_EQ(result.variables.size(), variables);
      double rhat_max = nan_value, ess_min = nan_value, mcse_max = nan_value;
      std::vector<double> indicator(chains * draws);
      for (std::size_t v = 0; v < variables; ++v) {
        const std::vector<double> x = column(file, v);
        const VariableDiagnosis& ours = result.variables[v];
        double mean = 0;
        for (double value : x) mean += value / static_cast<double>(x.size());
        expect_same(ours.mean, mean, "mean", v);
        double worst_rhat = nan_value, least_ess = nan_value, worst_mcse = nan_value;
        const std::size_t states = 1 + v % 5;
        for (std::size_t k = 0; k < states; ++k) {
          // A binary variable counts as itself, others by the indicators of their values.
          for (std::size_t i = 0; i < x.size(); ++i)
            indicator[i] = states == 2 ? x[i] : x[i] == scale * static_cast<double>(k) ? 1 : 0;
          const Draws view{indicator.data(), chains, draws};
          worst_rhat = std::fmax(worst_rhat, rhat(view));
          least_ess = std::fmin(least_ess, std::fmin(ess_bulk(view), ess_tail(view)));
          worst_mcse = std::fmax(worst_mcse, mcse_mean(view));
        }
        if (draws > 100) {
          EXPECT_EQ(ours.values, states);
          EXPECT_EQ(ours.worst_of_categories, states > 2);
          EXPECT_EQ(ours.as == DiagnosedAs::constant, states == 1);
        }
        expect_same(ours.rhat, worst_rhat, "rhat", v);
        expect_same(ours.ess_bulk, least_ess, "ess_bulk", v);
        expect_same(ours.ess_tail, least_ess, "ess_tail", v);
        expect_same(ours.mcse, worst_mcse, "mcse", v);
        rhat_max = std::fmax(rhat_max, worst_rhat);
        ess_min = std::fmin(ess_min, least_ess);
        mcse_max = std::fmax(mcse_max, worst_mcse);
      }
      expect_same(result.rhat_max, rhat_max, "largest rhat", variables);
      expect_same(result.ess_min, ess_min, "least ess", variables);
      expect_same(result.mcse_max, mcse_max, "largest mcse", variables);
      if (draws > 100) {
        EXPECT_EQ(result.constant_variables, 27U);
        EXPECT_GT(result.log_score.ess_bulk, 100);
      }
    }
  }
}

TEST(Diagnosis, NumbersAndManyValues) {
  RandomSequence random(6, Stream::generate);
  DrawFile file;
  file.chains = 2;
  file.draws = 200;
  file.variable_names = {"number", "constant"};
  std::vector<double> values;
  for (std::size_t i = 0; i < 400; ++i) values.insert(values.end(), {random.normal(), 0.25});
  set_values(file, values);
  DrawDiagnostics result = diagnose_draws(file);
  EXPECT_EQ(result.variables[0].as, DiagnosedAs::number);
  EXPECT_GT(result.variables[0].ess_bulk, 200);
  EXPECT_EQ(result.variables[1].as, DiagnosedAs::constant);
  EXPECT_TRUE(std::isnan(result.variables[1].rhat));
  EXPECT_TRUE(std::isnan(result.log_score.rhat));

  for (double& value : values) value = random.below(1000);
  set_values(file, values);
  result = diagnose_draws(file);
  EXPECT_EQ(result.variables[0].as, DiagnosedAs::number);
  EXPECT_FALSE(result.variables[0].worst_of_categories);
}

TEST(Diagnosis, NothingToDiagnose) {
  DrawFile file;
  EXPECT_TRUE(std::isnan(diagnose_draws(file).rhat_max));
  file.variable_names = {"a"};
  file.chains = 2;
  EXPECT_TRUE(std::isnan(diagnose_draws(file).variables.at(0).mean));
}

TEST(Diagnosis, LooksAtTheControlFromVariableToVariable) {
  for (const double scale : {1.0, 0.5}) {  // bytes, numbers
    const DrawFile file = some_draws(2, 40, 50, scale);
    RunControl control;
    std::atomic<int> asked = 0;
    control.stop_when([&] { return ++asked > 10; });
    EXPECT_THROW(diagnose_draws(file, control), Error);
  }
}

/// One variable of many draws is long work, too: states, numbers, and states that hardly ever change, whose
/// autocorrelation is added up over many lags.
TEST(Diagnosis, LooksAtTheControlWithinAVariable) {
  RandomSequence random(1, Stream::generate);
  DrawFile file;
  file.variable_names = {"x"};
  file.chains = 2;
  file.draws = 200'000;
  for (const int kind : {0, 1, 2}) {
    std::vector<double> values(file.chains * file.draws);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = kind == 0 ? random.below(2) : kind == 1 ? 0.5 + random.below(1000) : (i / 2 / 40'000) % 2;
    set_values(file, values);
    const auto diagnose = [&](const RunControl& control) { diagnose_draws(file, control); };
    const std::size_t all = testing::count_questions(diagnose);
    EXPECT_GT(all, kind == 0 ? 3u : 100u) << kind;
    for (std::size_t after : {all / 4, all / 2, all - 2}) testing::expect_end_after(after, diagnose, 2);
  }
}

}  // namespace
}  // namespace drover
