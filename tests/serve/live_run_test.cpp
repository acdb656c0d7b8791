// A run that is watched: it can be held, goes on, ends, and its snapshots tell the truth.
#include "drover/serve/live_run.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "drover/model/builders.hpp"

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
json wait_until(LiveRun& run, Test test) {
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
        wait_until(run, [](const json& one) { return one["draws"] > 100 && one.contains("rhat_max"); });
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
    wait_until(run, [](const json& one) { return one["phase"] == "paused"; });
    const std::uint64_t before = run.draws();
    run.wait(~std::uint64_t{0}, 0.2);
    EXPECT_EQ(run.draws(), before);
    run.go_on();
    wait_until(run, [&](const json& one) { return one["draws"] > before + 10; });
    run.pause();
    wait_until(run, [](const json& one) { return one["phase"] == "paused"; });
    run.stop();  // also while it is held
    EXPECT_EQ(json::parse(run.wait(0, 0).text)["phase"], "stopped");
    EXPECT_EQ(json::parse(run.wait(0, 0).text)["running"], false);
  }
}

TEST(LiveRun, AMethodThatDoesNotFitIsSaid) {
  const Model model = random_tables(6, 3, 6, 3, Draw::normal(0, 1), 0, 1);
  LiveRun run(model);
  run.start(endless("swendsen-wang"));
  const json said = wait_until(run, [](const json& one) { return one["phase"] == "failed"; });
  EXPECT_NE(said["error"], "");
}

}  // namespace
}  // namespace drover
