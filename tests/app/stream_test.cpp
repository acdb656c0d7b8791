// drover stream as a person or a program meets it.
#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/command.hpp"

namespace drover {
namespace {

using testing::CommandResult;
using testing::drover_command;
using testing::model_path;
using testing::TemporaryFolder;

std::vector<nlohmann::json> answers(const CommandResult& run) {
  std::vector<nlohmann::json> lines;
  std::istringstream text(run.out);
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

TEST(StreamCommand, FollowsEdits) {
  TemporaryFolder folder;
  const std::string edits = folder.write("edits.jsonl",
                                         "{\"op\":\"sweep\",\"count\":2000}\n"
                                         "{\"op\":\"marginals\"}\n"
                                         "nonsense\n"
                                         "{\"op\":\"clamp\",\"variable\":4,\"value\":1}\n"
                                         "{\"op\":\"marginals\",\"variables\":[4]}");
  const std::string model = model_path("grid-3x3.uai");
  const CommandResult run = drover_command("stream " + model + " --half-life 500 --edits " + edits);
  ASSERT_EQ(run.exit_code, 0) << run.error;
  const auto lines = answers(run);
  ASSERT_EQ(lines.size(), 3U);
  const auto exact = drover_command("marginals " + model + " --json --method exact").json();
  ASSERT_EQ(lines[0]["marginals"].size(), exact["marginals"].size());
  // 64 chains over some 700 sweeps, correlated over fewer than 20: 0.5 / sqrt(2200) = 0.011 at most.
  for (std::size_t v = 0; v < exact["marginals"].size(); ++v)
    EXPECT_NEAR(lines[0]["marginals"][v][1].get<double>(), exact["marginals"][v][1].get<double>(), 0.055);
  EXPECT_EQ(lines[1]["line"], 3);
  EXPECT_TRUE(lines[1].contains("error"));
  EXPECT_EQ(lines[2]["marginals"][0][1], 1.0);
  EXPECT_NE(run.error.find("1 of 5 lines"), std::string::npos) << run.error;
  // Same seed, same answers, whatever the threads.
  EXPECT_EQ(drover_command("stream " + model + " --half-life 500 --threads 1 --edits " + edits).out, run.out);
}

TEST(StreamCommand, EvidenceCanBeReleased) {
  TemporaryFolder folder;
  const std::string edits = folder.write("edits.jsonl",
                                         "{\"op\":\"marginals\",\"variables\":[0]}\n"
                                         "{\"op\":\"release\",\"variable\":0}\n"
                                         "{\"op\":\"sweep\",\"count\":50}\n"
                                         "{\"op\":\"marginals\",\"variables\":[0]}\n");
  const auto lines =
      answers(drover_command("stream " + model_path("grid-3x3.uai") + " --observe 0=1 --edits " + edits));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["marginals"][0][1], 1.0);
  EXPECT_LT(lines[1]["marginals"][0][1].get<double>(), 1.0);
}

TEST(StreamCommand, RefusesWhatDoesNotFit) {
  EXPECT_EQ(drover_command("stream " + model_path("colours.fg") + " --edits /dev/null").exit_code, 78);
  EXPECT_EQ(drover_command("stream " + model_path("grid-3x3.uai") + " --edits /no/such/file").exit_code, 66);
}

}  // namespace
}  // namespace drover
