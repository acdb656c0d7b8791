// A run that is watched: it can be held, goes on, ends, and its snapshots tell the truth.
#include "drover/serve/live_run.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "drover/model/builders.hpp"
#include "drover/serve/kept_draws.hpp"

namespace drover {
namespace {

using nlohmann::json;

InferenceOptions endless(const std::string& method) {
  InferenceOptions options;
  options.method = method;
  options.samples = 1'000'000'000'000;
  return options;
}

/// The first snapshot from now on that passes.
template <class Test>
json wait_for_run(LiveRun& run, Test test) {
  std::uint64_t version = 0;
  for (int tries = 0; tries < 2000; ++tries) {
    const HttpEvent event = run.wait(version, 0.5);
    if (event.text.empty()) continue;
    version = event.version;
    const json said = json::parse(event.text);
    if (test(said)) return said;
  }
  ADD_FAILURE() << "no such snapshot came";
  return {};
}

TEST(LiveRun, PausesGoesOnAndStops) {
  const Model model = grid_ising(8, 8, false, 0.2, 0.1);
  for (const char* method : {"gibbs", "swendsen-wang"}) {
    LiveRun run(model);
    EXPECT_EQ(run.wait(0, 0).text, "");
    run.start(endless(method));
    const json said =
        wait_for_run(run, [](const json& one) { return one["draws"] > 100 && one.contains("rhat_max"); });
    EXPECT_EQ(said["method"], method);
    EXPECT_EQ(said["running"], true);
    EXPECT_LT(said["rhat_max"], 1.3);
    EXPECT_GT(said["ess_min"], 10);
    EXPECT_EQ(said["trace"].size(), 1 + LiveRun::traced_chains);
    EXPECT_LE(said["trace"][0].size(), LiveRun::trace_points);
    EXPECT_EQ(said["tracked"], 64);
    EXPECT_FALSE(said["verdict_text"].get<std::string>().empty());
    EXPECT_EQ(run.state().size(), 64u);

    run.pause();
    wait_for_run(run, [](const json& one) { return one["phase"] == "paused"; });
    const std::uint64_t before = run.draws();
    run.wait(~std::uint64_t{0}, 0.2);
    EXPECT_EQ(run.draws(), before);
    run.go_on();
    wait_for_run(run, [&](const json& one) { return one["draws"] > before + 10; });
    run.pause();
    wait_for_run(run, [](const json& one) { return one["phase"] == "paused"; });
    run.stop();  // also while it is held
    EXPECT_EQ(json::parse(run.wait(0, 0).text)["phase"], "stopped");
    EXPECT_EQ(json::parse(run.wait(0, 0).text)["running"], false);
  }
}

TEST(LiveRun, TheRaceHasOneWinner) {
  const Model model = grid_ising(5, 5, false, 0.3, 0.1);
  LiveRun run(model);
  InferenceOptions options;
  options.method = "race";
  options.evidence.add(7, 1);
  run.start(options);
  const json said = wait_for_run(run, [](const json& one) { return one["phase"] == "done"; });
  ASSERT_GT(said["race"].size(), 2u);
  int winners = 0;
  for (const json& row : said["race"]) {
    winners += row["chosen"] ? 1 : 0;
    EXPECT_FALSE(row["running"]);
    EXPECT_TRUE(row["chosen"] || row["note"] != "") << row;
  }
  EXPECT_EQ(winners, 1);
  EXPECT_EQ(said["verdict"], "good");
  EXPECT_EQ(said["evidence"], json::parse("[[7, 1]]"));
  EXPECT_TRUE(std::holds_alternative<Marginals>(run.answer()));
  // Held in the middle and ended.
  run.start(options);
  run.pause();
  run.stop();
  EXPECT_EQ(json::parse(run.wait(0, 0).text)["running"], false);
}

TEST(LiveRun, KeepsAnEvenSpreadOfDraws) {
  constexpr std::size_t variables = 300'000;  // a draw of 3 chains fits in 1 MB, not one of 4
  KeptDraws kept(variables, 4, 2);
  EXPECT_EQ(kept.chains(), 3u);
  std::vector<Value> x(variables);
  for (std::uint32_t t = 0; t < 200; ++t)
    for (std::uint32_t chain = 0; chain < 4; ++chain) {
      x[0] = t % 2;
      x[1] = static_cast<Value>(chain);
      kept.take(chain, x, t + 1000.0 * chain);
    }
  EXPECT_EQ(kept.every(), 4u);
  EXPECT_EQ(kept.draws(), 50u);
  KeptDraws small(2, 2, 3);
  for (std::uint32_t t = 0; t < 3; ++t)
    for (std::uint32_t chain = 0; chain < 2; ++chain)
      small.take(chain, std::vector<Value>{static_cast<Value>(t), static_cast<Value>(chain)}, t);
  DrawFileHeader header;
  header.variable_names = {"a", "b"};
  header.max_cardinality = 3;
  EXPECT_EQ(small.file(".csv", header),
            "chain,draw,log_score,a,b\n0,0,0,0,0\n1,0,0,0,1\n0,1,1,1,0\n1,1,1,1,1\n0,2,2,2,0\n1,2,2,2,1\n");
}

TEST(LiveRun, AMethodThatDoesNotFitIsSaid) {
  const Model model = random_tables(6, 3, 6, 3, Draw::normal(0, 1), 0, 1);
  LiveRun run(model);
  run.start(endless("swendsen-wang"));
  const json said = wait_for_run(run, [](const json& one) { return one["phase"] == "failed"; });
  EXPECT_NE(said["error"], "");
}

}  // namespace
}  // namespace drover
