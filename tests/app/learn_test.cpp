// drover learn, as a person runs it: contract, files that are models, errors with their place.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/command.hpp"

namespace drover {
namespace {

using testing::CommandResult;
using testing::drover_command;
using testing::TemporaryFolder;

/// x1 copies x0 nine times in ten; x2 is a fair coin.
std::string table() {
  std::string text = "x0,x1,x2\n";
  for (int r = 0; r < 200; ++r) {
    const int first = r % 2, second = r % 20 < 2 ? 1 - first : first;
    text += std::to_string(first) + "," + std::to_string(second) + "," + std::to_string(r / 2 % 2) + "\n";
  }
  return text;
}

TEST(Learn, ContractForEveryKindAndMethod) {
  TemporaryFolder folder;
  const std::string data = folder.write("t.csv", table()), model = folder.file("m.drv");
  for (const char* line :
       {"ising", "ising --method exact", "ising --method pseudo-likelihood",
        "ising --method gibbs --iterations 50", "ising --method gwg --iterations 20 --reset",
        "ising --method pmp --iterations 20 --sweeps 20",
        "ising --method pmp --iterations 20 --sweeps 5 --correlation 0.9",
        "boltzmann --hidden 2 --method gibbs --iterations 20",
        "rbm --hidden 3 --method block-gibbs --iterations 50",
        "rbm --hidden 3 --method pmp --iterations 10 --sweeps 10 --rule sgd --l1 0.01"}) {
    std::string kind(line);
    kind.insert(std::min(kind.find(' '), kind.size()), " " + data);
    const CommandResult result = drover_command("learn " + kind + " --json --quiet --out " + model);
    ASSERT_EQ(result.exit_code, 0) << line << result.error;
    const auto json = result.json();
    for (const char* field :
         {"kind", "method", "iterations", "objective_trace", "seconds", "log_mmd_squared"})
      EXPECT_TRUE(json.contains(field)) << field;
    EXPECT_FALSE(json["objective_trace"].empty()) << line;
    EXPECT_EQ(json["model"], data);
    EXPECT_EQ(json["kind"], kind.substr(0, kind.find(' ')));
    EXPECT_TRUE(json.contains("verdict"));
    EXPECT_EQ(drover_command("marginals " + model + " --quiet --json").exit_code, 0) << line;
  }
}

TEST(Learn, TheFileIsTheModelOfTheData) {
  TemporaryFolder folder;
  const std::string data = folder.write("t.csv", table()), model = folder.file("m.drv");
  ASSERT_EQ(
      drover_command("learn ising " + data + " --method exact --iterations 3000 --out " + model).exit_code,
      0);
  // Maximum likelihood of all pairs has the moments of the data: 1/2 each, and P(x0 = x1) = 0.9.
  const auto json = drover_command("marginals " + model + " --pairs --json").json();
  for (const auto& p : json["marginals"]) EXPECT_NEAR(p[1].get<double>(), 0.5, 0.01);
  const auto given = drover_command("marginals " + model + " --observe x0=1 --query x1 --json").json();
  EXPECT_NEAR(given["marginals"][0][1].get<double>(), 0.9, 0.01);
}

TEST(Learn, WarnsWhoseParametersTheseAre) {
  TemporaryFolder folder;
  const std::string data = folder.write("t.csv", table()), model = folder.file("m.drv");
  ASSERT_EQ(drover_command("learn ising " + data + " --method pmp --iterations 5 --out " + model).exit_code,
            0);
  EXPECT_NE(drover_command("info " + model).error.find("trained with pmp"), std::string::npos);
}

TEST(Learn, EarlyStoppingKeepsTheBest) {
  TemporaryFolder folder;
  const std::string data = folder.write("t.csv", table());
  const auto json =
      drover_command("learn rbm " + data + " --hidden 4 --iterations 400 --check-every 10 --patience 2" +
                     " --held-out 0.3 --json --out " + folder.file("m.drv"))
          .json();
  EXPECT_LT(json["iterations"], 400);
  EXPECT_GE(json["held_out_log_mmd_trace"].size(), 3U);
  EXPECT_EQ(json["rows"], 140);
}

TEST(Learn, RefusesWhatItCannotLearn) {
  TemporaryFolder folder;
  const std::string data = folder.write("t.csv", table());
  const std::string states = folder.write("s.csv", "a,b\n0,x\n1,y\n0,z\n");
  const std::string out = " --out " + folder.file("m.drv");
  const auto expect = [](const std::string& line, int code, const std::string& words) {
    const CommandResult result = drover_command("learn " + line);
    EXPECT_EQ(result.exit_code, code) << line << result.error;
    EXPECT_NE(result.error.find(words), std::string::npos) << result.error;
  };
  expect("ising " + data, 64, "--out");
  expect("potts " + data + out, 64, "ising, boltzmann or rbm");
  expect("ising " + data + " --hidden 3" + out, 64, "no hidden");
  expect("ising " + data + " --method block-gibbs" + out, 78, "rbm");
  expect("rbm " + data + " --method pseudo-likelihood" + out, 78, "hidden");
  expect("ising " + states + out, 65, "binary");
  expect("ising " + data + " --patience 3" + out, 64, "held-out");
  expect("ising " + data + " --method magic" + out, 64, "pseudo-likelihood");
  EXPECT_FALSE(std::filesystem::exists(folder.file("m.drv")));
  // A text model is not a machine, and a damaged file is named as such.
  const std::string broken = folder.write("broken.drv", "drover model 1\n{\"kind\":\"rbm\"");
  EXPECT_EQ(drover_command("info " + broken).exit_code, 65);
}

}  // namespace
}  // namespace drover
