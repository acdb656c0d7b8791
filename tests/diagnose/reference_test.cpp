// Every diagnostic against the second implementation in tools/check_diagnostics.py.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "drover/diagnose/autocorrelation.hpp"
#include "drover/diagnose/ess.hpp"
#include "drover/diagnose/mcse.hpp"
#include "drover/diagnose/rhat.hpp"
#include "drover/diagnose/summary.hpp"

namespace drover {
namespace {

double number(const nlohmann::json& value) {
  if (value.is_number()) return value.get<double>();
  const std::string word = value.get<std::string>();
  const double infinity = std::numeric_limits<double>::infinity();
  if (word == "inf") return infinity;
  return word == "-inf" ? -infinity : std::numeric_limits<double>::quiet_NaN();
}

void expect_close(double ours, double expected, double relative, const std::string& what) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(ours)) << what << " is " << ours;
  } else if (std::isinf(expected)) {
    EXPECT_EQ(ours, expected) << what;
  } else {
    EXPECT_NEAR(ours, expected, relative * (1 + std::abs(expected))) << what;
  }
}

TEST(Diagnostics, AgreeWithTheReference) {
  std::ifstream file(DROVER_SOURCE_DIR "/tests/diagnose/reference.json");
  ASSERT_TRUE(file.good());
  const auto cases = nlohmann::json::parse(file);
  ASSERT_GE(cases.size(), 30U);
  for (const auto& test_case : cases) {
    const std::string name = test_case["name"];
    std::vector<double> values;
    const std::size_t chains = test_case["draws"].size();
    for (const auto& chain : test_case["draws"])
      for (const auto& value : chain) values.push_back(number(value));
    const Draws draws{values.data(), chains, values.size() / chains};
    // Draws of size 1e9 keep only 7 of their 16 digits after the mean is taken out.
    const double relative = name == "large offset" ? 1e-6 : 1e-10;
    const auto check = [&](const char* key, double ours) {
      expect_close(ours, number(test_case["expected"][key]), relative, name + ": " + key);
    };
    check("rhat", rhat(draws));
    check("split_rhat", split_rhat(draws));
    check("psrf", potential_scale_reduction(draws));
    check("ess_bulk", ess_bulk(draws));
    check("ess_tail", ess_tail(draws));
    check("ess_mean", ess_mean(draws));
    check("ess_sd", ess_sd(draws));
    check("ess_median", ess_quantile(draws, 0.5));
    check("mcse_mean", mcse_mean(draws));
    check("mcse_sd", mcse_sd(draws));
    check("mcse_median", mcse_quantile(draws, 0.5));
    check("mcse_q10", mcse_quantile(draws, 0.1));
    const std::vector<double> correlation = autocorrelation(draws, 3);
    check("autocorrelation_1", correlation[1]);
    check("autocorrelation_3", correlation[3]);
    const DrawsSummary summary = summarise(draws);
    check("rhat", summary.rhat);
    check("ess_bulk", summary.ess_bulk);
    check("ess_tail", summary.ess_tail);
    check("ess_mean", summary.ess_mean);
    check("mcse_mean", summary.mcse);
  }
}

TEST(Diagnostics, NoDrawsAtAll) {
  EXPECT_TRUE(std::isnan(rhat({nullptr, 0, 0})));
  EXPECT_TRUE(std::isnan(ess_bulk({nullptr, 0, 0})));
  EXPECT_TRUE(std::isnan(mcse_mean({nullptr, 3, 0})));
  EXPECT_TRUE(std::isnan(summarise({nullptr, 3, 0}).mean));
}

}  // namespace
}  // namespace drover
