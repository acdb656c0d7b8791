// drover stream as a person or a program meets it.
#include <fmt/format.h>
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
  // Hard zeros.
  EXPECT_EQ(drover_command("stream " + model_path("colours.fg") + " --edits /dev/null").exit_code, 78);
  EXPECT_EQ(drover_command("stream " + model_path("grid-3x3.uai") + " --edits /no/such/file").exit_code, 66);
}

TEST(StreamCommand, TakesModelsOfManyStates) {
  TemporaryFolder folder;
  const std::string model = folder.file("potts.uai");
  ASSERT_EQ(drover_command("generate potts --width 3 --states 3 --coupling 0.5 --field-sd 0.5 --out " + model)
                .exit_code,
            0);
  const std::string edits = folder.write("edits.jsonl",
                                         "{\"op\":\"sweep\",\"count\":2000}\n"
                                         "{\"op\":\"marginals\"}\n"
                                         "{\"op\":\"clamp\",\"variable\":4,\"value\":2}\n"
                                         "{\"op\":\"marginals\",\"variables\":[4]}\n");
  const CommandResult run = drover_command("stream " + model + " --half-life 500 --edits " + edits);
  ASSERT_EQ(run.exit_code, 0) << run.error;
  const auto lines = answers(run);
  ASSERT_EQ(lines.size(), 2U);
  const auto exact = drover_command("marginals " + model + " --json --method exact").json();
  for (std::size_t v = 0; v < exact["marginals"].size(); ++v)
    for (std::size_t k = 0; k < 3; ++k)  // the bound of FollowsEdits
      EXPECT_NEAR(lines[0]["marginals"][v][k].get<double>(), exact["marginals"][v][k].get<double>(), 0.055);
  EXPECT_EQ(lines[1]["marginals"][0], nlohmann::json({0, 0, 1}));
}

// A shell line; "FIFO" in it is a pipe that never ends.
CommandResult with_endless_input(const TemporaryFolder& folder, const std::string& line) {
  CommandResult run;
  std::string text = line;
  for (std::size_t at = text.find("FIFO"); at != std::string::npos; at = text.find("FIFO"))
    text.replace(at, 4, folder.file("fifo"));
  const std::string whole = "mkfifo " + folder.file("fifo") + "; exec 3<>" + folder.file("fifo") + "; " +
                            text + " > " + folder.file("out") + " 2> " + folder.file("err");
  const int status = std::system(whole.c_str());
  run.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  run.out = testing::read_whole(folder.file("out"));
  run.error = testing::read_whole(folder.file("err"));
  return run;
}

const std::string stream_grid = std::string(DROVER_COMMAND) + " stream " + model_path("grid-3x3.uai");

TEST(StreamCommand, LiveSweepsOnWhileNoLineComes) {
  TemporaryFolder folder;
  // A second after each answer the next question, and the end after the third.
  const auto ask = [&](int answered) {
    return fmt::format(
        "echo '{{\"op\":\"marginals\",\"variables\":[4]}}' >&3; "
        "while [ $(wc -l < {}) -lt {} ]; do sleep 0.1; done; sleep 1; ",
        folder.file("out"), answered);
  };
  const CommandResult run =
      with_endless_input(folder, "{ " + stream_grid + " --live --time 300 --edits FIFO & sweeping=$!; " +
                                     ask(1) + ask(2) + ask(3) + "kill -TERM $sweeping; wait $sweeping; }");
  EXPECT_EQ(run.exit_code, 0) << run.error;
  const auto lines = answers(run);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_GT(lines[1]["sweeps"], lines[0]["sweeps"].get<int>() + 10);
  EXPECT_GT(lines[2]["sweeps"], lines[1]["sweeps"].get<int>() + 10);
  EXPECT_EQ(lines[2]["line"], 3);
}

TEST(StreamCommand, TimeLimitEndsWaitingAndSweeping) {
  TemporaryFolder folder;
  EXPECT_EQ(with_endless_input(folder, stream_grid + " --time 2 --edits FIFO").exit_code, 0);
  const std::string edits = folder.write("edits.jsonl",
                                         "{\"op\":\"marginals\",\"variables\":[0]}\n"
                                         "{\"op\":\"sweep\",\"count\":1000000000000}\n"
                                         "{\"op\":\"marginals\",\"variables\":[0]}\n");
  const CommandResult run =
      drover_command("stream " + model_path("grid-3x3.uai") + " --time 2 --edits " + edits);
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_EQ(answers(run).size(), 1U);
}

TEST(StreamCommand, InterruptEndsCleanly) {
  TemporaryFolder folder;
  const std::string out =
      folder.file("out");  // once it has a line, an interrupt, which a shell has its background ignore
  const CommandResult run =
      with_endless_input(folder, "{ env --default-signal=INT " + stream_grid +
                                     " --live --every 100 --edits FIFO & sweeping=$!; " + "until [ -s " +
                                     out + " ] || ! kill -0 $sweeping; do sleep 0.1; done; " +
                                     "kill -INT $sweeping; wait $sweeping; }");
  EXPECT_EQ(run.exit_code, 0) << run.error;
  const auto lines = answers(run);  // each of them whole
  ASSERT_GE(lines.size(), 1U);
  EXPECT_EQ(lines.back()["sweeps"].get<std::uint64_t>() % 100, 0U);
}

}  // namespace
}  // namespace drover
