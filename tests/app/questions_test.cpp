// Soft evidence, joints, cases, targets, interventions and conflicts as commands.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/command.hpp"
#include "tests/support/expect_error.hpp"

namespace drover::testing {
namespace {

const std::string sprinkler_file = model_path("sprinkler.bif");

double probability(const nlohmann::json& result, const std::string& variable, std::size_t state) {
  for (std::size_t v = 0; v < result["variables"].size(); ++v)
    if (result["variables"][v] == variable) return result["marginals"][v][state];
  return -1;
}

TEST(QuestionCommands, SoftEvidence) {
  // P(cloudy) = .55, .45 with likelihoods 1 : 3 and nothing else.
  const auto result = drover_command("marginals " + sprinkler_file + " --observe cloudy=1:3 --json").json();
  EXPECT_NEAR(probability(result, "cloudy", 1), 0.45 * 3 / (0.55 + 0.45 * 3), 1e-12);
  EXPECT_EQ(result["evidence"][0]["name"], "cloudy");
  EXPECT_EQ(result["evidence"][0]["likelihood"].size(), 2U);
  EXPECT_EQ(result["settings"]["observe"], "cloudy=1:3");
  const auto total = drover_command("logz " + sprinkler_file + " --observe cloudy=1:3 --json").json();
  EXPECT_NEAR(total["log_z"].get<double>(), std::log(0.55 + 0.45 * 3), 1e-9);
  EXPECT_EQ(drover_command("map " + sprinkler_file + " --observe lawn=0:1,cloudy=0:1 --json")
                .json()["assignment"][3],
            1);
  const CommandResult text = drover_command("marginals " + sprinkler_file + " --observe cloudy=1:3");
  EXPECT_NE(text.out.find("(soft evidence)"), std::string::npos);
  expect_error("marginals " + sprinkler_file + " --observe rain=1:3", 64, "expected 3 numbers");
  expect_error("marginals " + sprinkler_file + " --observe cloudy=1:-3", 64, "0 or more");
  expect_error("marginals " + sprinkler_file + " --observe cloudy=0:0", 64, "all are 0");
  expect_error("marginals " + sprinkler_file + " --observe cloudy=1:x", 64, "\"x\"");
}

TEST(QuestionCommands, TablesForOtherPrograms) {
  TemporaryFolder folder;
  const std::string all = folder.file("all.csv");
  ASSERT_EQ(drover_command("marginals " + sprinkler_file + " --quiet --out " + all).exit_code, 0);
  const std::string table = read_whole(all);
  EXPECT_EQ(table.rfind("variable,state,probability,mcse\n", 0), 0U) << table;
  EXPECT_NE(table.find("\nrain,heavy,"), std::string::npos) << table;
  const auto one = drover_command("marginals " + sprinkler_file + " --quiet --query cloudy --out -");
  EXPECT_EQ(one.out, "variable,state,probability,mcse\ncloudy,no,0.55,0\ncloudy,yes,0.45,0\n");
  const auto draws =
      drover_command("sample " + sprinkler_file + " --quiet --samples 3 --method exact --out -");
  EXPECT_EQ(draws.out.rfind("chain,draw,log_score,cloudy,", 0), 0U) << draws.out;
  EXPECT_EQ(std::ranges::count(draws.out, '\n'), 4);
}

TEST(QuestionCommands, Joints) {
  const auto result =
      drover_command("marginals " + sprinkler_file + " --joint \"street,cloudy\" --joint rain --json").json();
  ASSERT_EQ(result["joint"].size(), 2U);
  EXPECT_EQ(result["joint"][0]["variables"], (nlohmann::json{"street", "cloudy"}));
  const double wet_and_clear = 0.55 * (0.9 * 0.03 + 0.08 * 0.7 + 0.02 * 0.98);
  EXPECT_NEAR(result["joint"][0]["probabilities"][2].get<double>(), wet_and_clear, 1e-12);
  EXPECT_EQ(result["joint"][1]["probabilities"].size(), 3U);
  EXPECT_NE(drover_command("marginals " + sprinkler_file + " --joint street,cloudy").out.find("PROBABILITY"),
            std::string::npos);
  expect_error("marginals " + sprinkler_file + " --joint street,nobody", 64, "nobody");
  expect_error("marginals " + sprinkler_file + " --joint street,street", 64, "once");
  expect_error("marginals " + sprinkler_file + " --joint street,cloudy --method bp", 78, "joint");
}

TEST(QuestionCommands, Cases) {
  const TemporaryFolder folder;
  const std::string cases =
      folder.write("cases.csv", "lawn,sprinkler,rain\nwet,,\n,on,heavy\n1,off,none\nNA,?,0.5:0.25:0.25\n");
  const std::string out = folder.file("answers.csv");
  const CommandResult run = drover_command("marginals " + sprinkler_file + " --cases " + cases +
                                           " --query cloudy --out " + out + " --json");
  const auto result = run.json();
  EXPECT_EQ(result["cases"], 4);
  EXPECT_EQ(result["impossible"], 1);
  EXPECT_NE(run.error.find("case 3"), std::string::npos) << run.error;
  std::istringstream lines(read_whole(out));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "cloudy=no,cloudy=yes");
  std::getline(lines, line);
  const auto alone = drover_command("marginals " + sprinkler_file + " --observe lawn=wet --json").json();
  EXPECT_NEAR(std::stod(line), probability(alone, "cloudy", 0), 1e-12);
  std::getline(lines, line);
  std::getline(lines, line);
  EXPECT_EQ(line, ",");
  std::getline(lines, line);
  const auto soft =
      drover_command("marginals " + sprinkler_file + " --observe rain=0.5:0.25:0.25 --json").json();
  EXPECT_NEAR(std::stod(line), probability(soft, "cloudy", 0), 1e-12);
  EXPECT_EQ(
      drover_command("marginals " + sprinkler_file + " --cases " + cases + " --query cloudy --quiet").out,
      read_whole(out));

  const auto refused = [&](const std::string& text, const std::string& part) {
    expect_error("marginals " + sprinkler_file + " --cases " + folder.write("bad.csv", text), 65, part);
  };
  refused("", "names of variables");
  refused("lawn,nobody\nwet,1\n", "nobody");
  refused("lawn,lawn\nwet,wet\n", "two columns");
  refused("lawn,rain\nwet\n", "bad.csv:2");
  refused("lawn\ndamp\n", "damp");
  expect_error("marginals " + sprinkler_file + " --cases " + folder.file("none.csv"), 66, "none.csv");
  expect_error("marginals " + sprinkler_file + " --cases " + cases + " --joint lawn,rain", 64, "--joint");
}

TEST(QuestionCommands, TargetAndIntervention) {
  const auto result =
      drover_command("info " + sprinkler_file + " --target rain --observe lawn=wet --json").json();
  EXPECT_EQ(result["target"], "rain");
  ASSERT_EQ(result["information"].size(), 3U);
  EXPECT_EQ(result["information"][0]["name"], "sprinkler");
  EXPECT_GT(result["information"][0]["mutual_information"], result["information"][1]["mutual_information"]);
  EXPECT_EQ(result["sensitivity_by"], "probability");
  EXPECT_NE(drover_command("info " + sprinkler_file + " --target rain").out.find("ASK NEXT"),
            std::string::npos);
  // Neither what rounding left nor what has no bearing is among the entries: rain does not hang on the lawn's table.
  const std::string shown = drover_command("info " + sprinkler_file + " --target rain").out;
  EXPECT_EQ(shown.find("-0.0000"), std::string::npos) << shown;
  EXPECT_EQ(shown.find("lawn=wet |"), std::string::npos) << shown;
  EXPECT_NE(shown.find("rain=none | cloudy"), std::string::npos) << shown;
  expect_error("info " + sprinkler_file + " --target lawn --observe lawn=wet", 64, "--target");

  const auto done = drover_command("marginals " + sprinkler_file + " --do sprinkler=on --json").json();
  EXPECT_NEAR(probability(done, "cloudy", 0), 0.55, 1e-12);
  EXPECT_EQ(done["do"][0]["state"], "on");
  const auto seen = drover_command("marginals " + sprinkler_file + " --observe sprinkler=on --json").json();
  EXPECT_GT(probability(seen, "cloudy", 0), 0.9);
  expect_error("marginals " + model_path("grid-3x3.uai") + " --do 0=1", 78, "Bayesian network");
}

TEST(QuestionCommands, ConflictsAreNamed) {
  const std::string observed = " --observe cloudy=no,rain=none,sprinkler=off,lawn=wet";
  for (const char* command : {"marginals ", "map ", "logz "})
    expect_error(command + sprinkler_file + observed, 65,
                 "rain=none, sprinkler=off, lawn=wet cannot hold together (no smaller set");
}

}  // namespace
}  // namespace drover::testing
