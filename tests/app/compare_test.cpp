// drover compare, as a person runs it.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/command.hpp"

namespace drover {
namespace {

using testing::drover_command;
using testing::TemporaryFolder;

TEST(Compare, StatesAreMatchedByName) {
  TemporaryFolder folder;
  const std::string a = folder.write("a.csv", "sky,rain\nblue,0\ngrey,1\n");
  const std::string b = folder.write("b.csv", "sky,rain\ngrey,1\ngrey,1\n");
  const auto json = drover_command("compare " + a + " " + b + " --json").json();
  EXPECT_DOUBLE_EQ(json["mean_difference_max"].get<double>(), 0.5);
  // k = 1 for equal rows, exp(-1) for rows that differ in both: (1 + e^-1)/2 + 1 - (1 + e^-1).
  EXPECT_NEAR(json["mmd_squared"].get<double>(), 0.5 - std::exp(-1.0) / 2, 1e-12);
}

TEST(Compare, ReadsEveryKindOfDraws) {
  TemporaryFolder folder;
  const std::string model = testing::model_path("grid-3x3.uai");
  std::vector<std::string> others = {"a.csv"};
#ifndef __SANITIZE_ADDRESS__
  // The sanitizer of g++ 12 may hold its lock while another thread makes the process that writes NetCDF, which then waits for ever.
  others.emplace_back("a.nc");
#endif
  std::vector<std::string> all = others;
  all.emplace_back("a.npz");
  for (const std::string& name : all)
    EXPECT_EQ(
        drover_command("sample " + model + " --samples 200 --quiet --out " + folder.file(name)).exit_code, 0);
  for (const std::string& name : others) {
    const auto json =
        drover_command("compare " + folder.file("a.npz") + " " + folder.file(name) + " --json").json();
    EXPECT_EQ(json["pair_difference_rms"].get<double>(), 0) << name;
    EXPECT_EQ(json["variables"], 9);
  }
}

TEST(Compare, EndsInAVerdict) {
  TemporaryFolder folder;
  std::string ones = "x,y\n", zeros = "x,y\n";
  for (int r = 0; r < 50; ++r) {
    ones += r % 5 == 0 ? "0,1\n" : "1,1\n";
    zeros += r % 5 == 0 ? "1,0\n" : "0,0\n";
  }
  const std::string a = folder.write("a.csv", ones), b = folder.write("b.csv", zeros);
  const auto json = drover_command("compare " + a + " " + b + " --json").json();
  EXPECT_EQ(json["verdict"], "bad");
  EXPECT_EQ(json["p_value_mmd"], 1.0 / 200);
  EXPECT_EQ(drover_command("compare " + a + " " + a + " --json").json()["verdict"], "good");
  EXPECT_NE(drover_command("compare " + a + " " + b).out.find("more than chance"), std::string::npos);
}

TEST(Compare, RefusesDifferentVariables) {
  TemporaryFolder folder;
  const std::string a = folder.write("a.csv", "x\n0\n1\n"), b = folder.write("b.csv", "x,y\n0,1\n1,1\n");
  const auto result = drover_command("compare " + a + " " + b);
  EXPECT_EQ(result.exit_code, 65);
  EXPECT_NE(result.error.find("has 1 variable"), std::string::npos) << result.error;
}

}  // namespace
}  // namespace drover
