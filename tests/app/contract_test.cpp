// The command-line contract: JSON fields, exit codes, one-line errors, files whole or not at all.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "app/command.hpp"
#include "tests/support/command.hpp"
#include "tests/support/expect_error.hpp"

namespace drover {
namespace {

using testing::CommandResult;
using testing::drover_command;
using testing::expect_error;
using testing::model_path;
using testing::read_whole;
using testing::TemporaryFolder;

std::string sprinkler_model() {
  return model_path("sprinkler.bif");
}
std::string grid() {
  return model_path("grid-3x3.uai");
}

void expect_fields(const nlohmann::json& json, std::initializer_list<const char*> fields) {
  for (const char* field : fields)
    EXPECT_TRUE(json.contains(field)) << field << " is missing in " << json.dump().substr(0, 300);
}

TEST(Contract, EveryResultCarriesItsOrigin) {
  for (const char* command : {"info", "marginals", "map", "logz"}) {
    const auto json = drover_command(std::string(command) + " " + sprinkler_model() + " --json").json();
    expect_fields(json, {"command", "version", "model", "seed", "warnings", "settings"});
    EXPECT_EQ(json["command"], command);
  }
}

TEST(Contract, Fields) {
  expect_fields(
      drover_command("info " + grid() + " --json").json(),
      {"variables", "factors", "max_cardinality", "pairwise", "binary", "treewidth_bound", "methods"});
  for (const char* method : {"auto", "gibbs", "blocked-gibbs", "tempering"}) {
    const auto json = drover_command("marginals " + grid() + " --json --method " + method).json();
    expect_fields(json, {"method", "marginals", "mcse", "converged", "diagnostics", "sweeps", "chains",
                         "updates", "seconds"});
    expect_fields(json["diagnostics"], {"rhat_max", "ess_min", "mcse_max"});
    EXPECT_TRUE(json["converged"].get<bool>()) << method;
  }
  expect_fields(drover_command("map " + grid() + " --json").json(),
                {"method", "assignment", "log_score", "optimal", "seconds", "chosen_because"});
  expect_fields(drover_command("logz " + grid() + " --json").json(),
                {"method", "log_z", "lower", "upper", "mcse", "seconds"});
  TemporaryFolder folder;
  expect_fields(
      drover_command("sample " + grid() + " --json --samples 100 --out " + folder.file("d.npz")).json(),
      {"draws", "chains", "variables", "diagnostics", "seconds"});
  const auto diagnosis = drover_command("diagnose " + folder.file("d.npz") + " --json").json();
  expect_fields(diagnosis, {"variables"});
  expect_fields(diagnosis["variables"][0], {"rhat", "ess_bulk", "ess_tail", "mcse"});
}

TEST(Contract, SamplersAgreeWithExactMarginals) {
  for (const std::string& model :
       {grid(), model_path("odd-cycle.uai"), model_path("colours.fg"), model_path("triangle.coo")}) {
    const auto exact = drover_command("marginals " + model + " --json --method exact").json();
    for (const char* method : {"gibbs", "blocked-gibbs", "tempering"}) {
      const CommandResult run = drover_command("marginals " + model + " --json --method " + method);
      ASSERT_EQ(run.exit_code, 0) << run.error;
      const auto sampled = run.json();
      for (std::size_t v = 0; v < exact["marginals"].size(); ++v)
        for (std::size_t k = 0; k < exact["marginals"][v].size(); ++k) {
          const double error =
              std::abs(exact["marginals"][v][k].get<double>() - sampled["marginals"][v][k].get<double>());
          const auto& mcse = sampled["mcse"][v][k];
          EXPECT_LT(error, mcse.is_null() ? 1e-6 : 5 * mcse.get<double>())
              << model << " " << method << " variable " << v;
        }
    }
  }
}

TEST(Contract, SameSeedSameBitsWhateverTheThreads) {
  for (const char* method : {"gibbs", "blocked-gibbs", "tempering"}) {
    const std::string line = "marginals " + grid() + " --json --seed 5 --method " + method;
    const auto one = drover_command(line + " --threads 1").json();
    const auto two = drover_command(line + " --threads 2").json();
    EXPECT_EQ(one["marginals"], two["marginals"]) << method;
    EXPECT_EQ(one["mcse"], two["mcse"]) << method;
    EXPECT_NE(
        one["marginals"],
        drover_command("marginals " + grid() + " --json --seed 6 --method " + method).json()["marginals"]);
  }
}

TEST(Contract, ResumeContinuesBitForBit) {
  TemporaryFolder folder;
  const std::string common = "marginals " + grid() + " --json --method gibbs --burn-in 50 --checkpoint ";
  const auto whole = drover_command(common + folder.file("a") + " --sweeps 400").json();
  drover_command(common + folder.file("b") + " --sweeps 123");
  const auto resumed = drover_command(common + folder.file("b") + " --sweeps 400 --resume").json();
  EXPECT_EQ(whole["marginals"], resumed["marginals"]);
  EXPECT_EQ(whole["mcse"], resumed["mcse"]);
  expect_error("marginals " + grid() + " --method gibbs --seed 9 --resume --checkpoint " + folder.file("b"),
               65, "another run");
  expect_error("marginals " + grid() + " --method gibbs --resume", 64, "a checkpoint file");
}

TEST(Contract, ObservationsAndQueries) {
  const auto json =
      drover_command("marginals " + sprinkler_model() + " --json --observe lawn=wet --query rain").json();
  ASSERT_EQ(json["marginals"].size(), 1U);
  const auto all = drover_command("marginals " + sprinkler_model() + " --json --observe lawn=wet").json();
  EXPECT_EQ(all["marginals"].size(), all["variables"].size());
  expect_error("marginals " + sprinkler_model() + " --observe lown=wet", 64, "lawn");
  expect_error("marginals " + sprinkler_model() + " --query raim", 64, "rain");
}

TEST(Contract, BestStatesAndValues) {
  const std::string model = model_path("sprinkler.bif");
  const auto best = drover_command("map " + model + " --observe lawn=wet --best 4 --json").json();
  ASSERT_EQ(best["states"].size(), 4U);
  EXPECT_EQ(best["optimal"], true);
  EXPECT_EQ(best["states"][0]["assignment"], best["assignment"]);
  for (std::size_t k = 1; k < 4; ++k)
    EXPECT_LE(best["states"][k]["log_score"], best["states"][k - 1]["log_score"]);
  EXPECT_NE(drover_command("map " + model + " --best 4").out.find("RANK"), std::string::npos);

  // The most probable values of one variable are those of its marginal.
  const auto of = drover_command("map " + model + " --observe lawn=wet --of rain --json").json();
  const auto rain =
      drover_command("marginals " + model + " --observe lawn=wet --query rain --json").json()["marginals"][0];
  const std::vector<double> p = rain.get<std::vector<double>>();
  const auto top = std::max_element(p.begin(), p.end());
  EXPECT_EQ(of["variables"], nlohmann::json({"rain"}));
  EXPECT_EQ(of["assignment"][0], top - p.begin());
  EXPECT_NEAR(of["log_probability"], std::log(*top), 1e-9);
  EXPECT_EQ(of["lower"], of["upper"]);
  EXPECT_EQ(of["optimal"], true);

  const CommandResult query = drover_command("map " + model + " --query rain");
  EXPECT_NE(query.out.find("part of the best joint state"), std::string::npos);
  expect_error("map " + model + " --of rain,rain", 64, "every variable once");
  expect_error("map " + model + " --of nothing", 64, "nothing");
  expect_error("map " + model + " --best 0", 64, "best");
}

TEST(Contract, ExitCodes) {
  TemporaryFolder folder;
  expect_error("marginals", 64, "MODEL");
  expect_error("marginal " + grid(), 64, "did you mean marginals");
  expect_error("marginals " + grid() + " --sweps 5", 64, "--sweeps");
  expect_error("marginals " + grid() + " --method gibs", 64, "gibbs");
  expect_error("marginals " + grid() + " --thin 0", 64, "--thin 0: expected a whole number from 1");
  expect_error("marginals " + grid() + " --chains many", 64, "--chains many");
  expect_error("marginals " + grid() + " --out x.txt", 64, ".MAR");
  expect_error("marginals " + folder.write("bad.uai", "MARKOV\n2\n2 2\n1\n2 0 5\n4\n1 1 1 1\n"), 65,
               "bad.uai:5");
  expect_error("marginals " + folder.write("empty.uai", ""), 65, "empty.uai");
  expect_error("marginals " + folder.file("nowhere.uai"), 66, "nowhere.uai");
  expect_error("marginals " + grid() + " --out /nonexistent/x.MAR", 73, "/nonexistent");
  expect_error("marginals " + grid() + " --report /nonexistent/x.html", 73, "/nonexistent");
  expect_error("marginals " + grid() + " --method icm", 78, "gibbs");
  expect_error("logz " + model_path("xor.uai") + " --method ais", 78, "hard zeros");
}

TEST(Contract, ImpossibleModelsAreNamed) {
  TemporaryFolder folder;
  const std::string clash =
      folder.write("clash.uai", "MARKOV\n2\n2 2\n2\n2 0 1\n2 0 1\n4\n1 0 0 1\n4\n0 1 1 0\n");
  for (const char* method : {"exact", "gibbs", "blocked-gibbs"})
    expect_error("marginals " + clash + " --method " + method, 65, "impossible");
  expect_error("marginals " + model_path("xor.uai") + " --observe 0=0,0=1", 65,
               "0=0, 0=1 cannot hold together");
}

TEST(Contract, FailedRunsLeaveFilesAlone) {
  TemporaryFolder folder;
  const std::string out = folder.write("keep.MAR", "precious");
  const std::string bad = folder.write("bad.uai", "MARKOV\n1\n2\n1\n1 0\n2\n1 x\n");
  EXPECT_EQ(drover_command("marginals " + bad + " --out " + out).exit_code, 65);
  EXPECT_EQ(read_whole(out), "precious");
  EXPECT_EQ(folder.count(), 2U);
}

TEST(Contract, ResultFilesFollowTheCompetitionFormats) {
  TemporaryFolder folder;
  drover_command("marginals " + grid() + " --out " + folder.file("g.MAR"));
  EXPECT_EQ(read_whole(folder.file("g.MAR")).rfind("MAR\n9 2 ", 0), 0U);
  drover_command("map " + grid() + " --out " + folder.file("g.MAP"));
  EXPECT_EQ(read_whole(folder.file("g.MAP")).rfind("MAP\n9 ", 0), 0U);
  const auto json = drover_command("logz " + grid() + " --json --out " + folder.file("g.PR")).json();
  double log10_z = 0;
  ASSERT_EQ(std::sscanf(read_whole(folder.file("g.PR")).c_str(), "PR\n%lf", &log10_z), 1);
  EXPECT_NEAR(log10_z * std::log(10.0), json["log_z"].get<double>(), 1e-9);
}

TEST(Contract, ConfigFilesGiveWayToTheCommandLine) {
  TemporaryFolder folder;
  const std::string toml = folder.write("c.toml", "method = \"gibbs\"\nseed = 3\nsweeps = 50\n");
  const auto json = drover_command("marginals " + grid() + " --json --seed 4 --config " + toml).json();
  EXPECT_EQ(json["method"], "gibbs");
  EXPECT_EQ(json["seed"], 4);
  EXPECT_EQ(json["sweeps"], 50);
  folder.write("r.json", json.dump());
  const auto again =
      drover_command("marginals " + grid() + " --json --config " + folder.file("r.json")).json();
  EXPECT_EQ(again["marginals"], json["marginals"]);
  expect_error("marginals " + grid() + " --config " + folder.write("bad.toml", "seed = \n"), 65,
               "bad.toml:1");
  expect_error("marginals " + grid() + " --config " + folder.write("odd.toml", "sed = 1\n"), 64, "--seed");
  expect_error("marginals " + grid() + " --config " + folder.write("section.toml", "[marginalz]\nseed = 1\n"),
               65, "section.toml:1");
  // Whatever stands where TOML knows nothing beyond ASCII, or seems to be quoted and is not, is named by place.
  for (const std::string text :
       {"seed = 3\xc2\xa1\n", "seed = 3[\"a\xce\xbf\"]\n", "seed = 3{\"\xef\xba\xbf\"\n"})
    expect_error("marginals " + grid() + " --config " + folder.write("stray.toml", text), 65,
                 "stray.toml:1:");
  const std::string fine =
      folder.write("fine.toml", "method = 'gibbs' # \xc2\xa1\n[marginals]\n\"sweeps\" = 5\nquery = \"0\"\n");
  EXPECT_EQ(drover_command("marginals " + grid() + " --json --config " + fine).json()["sweeps"], 5);
}

TEST(Contract, JsonIsAllThatIsPrinted) {
  const CommandResult result = drover_command("marginals " + grid() + " --json --method gibbs --sweeps 4");
  EXPECT_NO_THROW(result.json());
  EXPECT_NE(result.error.find("drover: warning: the run has NOT converged"), std::string::npos)
      << result.error;
  EXPECT_EQ(drover_command("marginals " + grid() + " --json --quiet --method gibbs --sweeps 4").error, "");
}

TEST(Contract, HelpManualAndCompletionKnowEveryOption) {
  const std::string overview = drover_command("man").out;
  for (const app::Command& command : app::all_commands()) {
    const CommandResult help = drover_command(std::string(command.name) + " --help");
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_NE(overview.find(".B drover " + std::string(command.name) + "\n"), std::string::npos);
    std::string page = drover_command("man " + std::string(command.name)).out;
    std::erase(page, '\\');
    for (const Option& option : command.options.options()) {
      EXPECT_NE(page.find("--" + std::string(option.name) + " "), std::string::npos)
          << command.name << " " << option.name;
      EXPECT_NE(help.out.find("--" + std::string(option.name)), std::string::npos)
          << command.name << " " << option.name;
    }
  }
  expect_error("man flute", 64, "no manual page for 'flute'");
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = drover_command(std::string("completion ") + shell).out;
    for (const app::Command& command : app::all_commands())
      for (const Option& option : command.options.options())
        EXPECT_NE(script.find(option.name), std::string::npos) << shell << " " << option.name;
  }
  EXPECT_EQ(drover_command("--version").out, "drover 0.1.0\n");
}

TEST(Contract, TimeLimitGivesTheResultSoFar) {
  const auto json = drover_command("marginals " + grid() + " --json --method gibbs --time 2").json();
  EXPECT_GT(json["sweeps"], 100);
  EXPECT_LT(json["seconds"], 60);
}

/// Begins the command, which saves its state as soon as it has one, does what the shell is told then, and waits for the end.
int once_it_runs(const std::string& command, const std::string& then, const TemporaryFolder& folder) {
  // A shell has its background ignore interrupts.
  const std::string line = "env --default-signal=INT " + std::string(DROVER_COMMAND) + " " + command +
                           " --checkpoint " + folder.file("state") + " --checkpoint-every 0.1 > " +
                           folder.file("out") + " 2> " + folder.file("err") + " & until [ -s " +
                           folder.file("state") + " ] || ! kill -0 $!; do sleep 0.1; done; " + then +
                           "; wait $!";
  return WEXITSTATUS(std::system(line.c_str()));
}

TEST(Contract, InterruptGivesTheResultSoFar) {
  TemporaryFolder folder;
  EXPECT_EQ(once_it_runs("marginals " + grid() + " --json --method gibbs --sweeps 1000000000", "kill -INT $!",
                         folder),
            0);
  const auto json = nlohmann::json::parse(read_whole(folder.file("out")));
  EXPECT_GT(json["sweeps"], 0);
  EXPECT_NE(json["warnings"].dump().find("interrupted"), std::string::npos);
}

// timeout and shells signal a process and its group: that is one wish. A second one later does not wait for the result.
TEST(Contract, AnEchoOfASignalIsNoSecondOne) {
  TemporaryFolder folder;
  EXPECT_EQ(once_it_runs("marginals " + grid() + " --json --method gibbs --sweeps 1000000000",
                         "kill -TERM $!; kill -HUP $!", folder),
            0);
  EXPECT_NE(read_whole(folder.file("out")).find("interrupted"), std::string::npos);
}

// The first anneal is far from its end. Its checkpoint, which will have whole anneals, is there a moment before it begins.
TEST(Contract, AnInterruptedAnnealGivesItsState) {
  TemporaryFolder folder;
  EXPECT_EQ(once_it_runs("map " + grid() + " --json --method annealed-gibbs --sweeps 1000000000",
                         "sleep 2; kill -INT $!", folder),
            0);
  const auto json = nlohmann::json::parse(read_whole(folder.file("out")));
  EXPECT_TRUE(json["log_score"].is_number());
  EXPECT_NE(json["warnings"].dump().find("interrupted"), std::string::npos);
}

TEST(Contract, BurnInIsCutToFitTheTimeLimit) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  const std::string limit = "20";  // they take their time before they begin
#else
  const std::string limit = "3";
#endif
  const CommandResult result =
      drover_command("marginals " + grid() + " --json --method gibbs --burn-in 1000000000 --time " + limit);
  ASSERT_EQ(result.exit_code, 0) << result.error;
  EXPECT_GT(result.json()["sweeps"], 0);
  EXPECT_LT(result.json()["seconds"], 60);
  EXPECT_NE(result.error.find("before burn-in had ended: it was cut"), std::string::npos) << result.error;
  EXPECT_EQ(result.json()["verdict"], "caution");
}

TEST(Contract, ModelsWithNothingToEstimateConverge) {
  TemporaryFolder folder;
  const std::string none = folder.write("none.uai", "MARKOV\n0\n\n0\n");
  const std::string alone = folder.write("alone.uai", "MARKOV\n1\n2\n1\n1 0\n2\n0.3 0.7\n");
  for (const std::string& model : {none, alone})
    for (const char* method : {"exact", "gibbs", "blocked-gibbs"}) {
      const CommandResult result = drover_command("marginals " + model + " --json --method " + method);
      ASSERT_EQ(result.exit_code, 0) << result.error;
      EXPECT_TRUE(result.json()["converged"].get<bool>()) << method;
      EXPECT_EQ(result.error, "");
    }
}

TEST(Contract, PairMarginals) {
  const auto exact = drover_command("marginals " + grid() + " --json --pairs").json();
  const auto sampled = drover_command("marginals " + grid() + " --json --pairs --method gibbs").json();
  ASSERT_EQ(exact["pairs"], sampled["pairs"]);
  ASSERT_EQ(exact["pairs"].size(), 12U);
  // 128 chains of 2000 draws; even an autocorrelation time of 50 leaves 5000 draws, a standard error below
  // 0.0071.
  for (std::size_t p = 0; p < 12; ++p)
    for (std::size_t k = 0; k < 4; ++k)
      EXPECT_NEAR(exact["pair_marginals"][p][k].get<double>(), sampled["pair_marginals"][p][k].get<double>(),
                  5 * 0.0071);
}

TEST(Contract, CheckComparesWithExact) {
  const auto json = drover_command("marginals " + grid() + " --json --check --method gibbs").json();
  EXPECT_GT(json["details"]["check"]["share_within_three_mcse"].get<double>(), 0.9);
  EXPECT_LE(json["details"]["check"]["share_within_three_mcse"].get<double>(), 1);
}

TEST(Contract, GenerateConvertAndReadBack) {
  TemporaryFolder folder;
  for (const char* kind :
       {"grid", "torus", "chain", "tree", "complete", "random", "regular", "potts", "tables", "rbm"}) {
    const std::string uai = folder.file(std::string(kind) + ".uai");
    const std::string fg = folder.file(std::string(kind) + ".fg.gz");
    ASSERT_EQ(drover_command(std::string("generate ") + kind +
                             " --variables 10 --width 3 --degree 4 --hidden 4 --out " + uai)
                  .exit_code,
              0)
        << kind;
    ASSERT_EQ(drover_command("convert " + uai + " " + fg).exit_code, 0) << kind;
    const double a = drover_command("logz " + uai + " --json").json()["log_z"].get<double>();
    const double b = drover_command("logz " + fg + " --json").json()["log_z"].get<double>();
    EXPECT_NEAR(a, b, 1e-9 * (1 + std::abs(a))) << kind;
  }
}

TEST(Contract, GeneratedImagesHaveAnExplanation) {
  TemporaryFolder folder;
  for (const char* seed : {"1", "2", "3", "4"}) {
    const std::string uai = folder.file("images.uai");
    const auto made =
        drover_command("generate deconvolution --images 2 --width 4 --json --out " + uai + " --seed " + seed);
    ASSERT_EQ(made.exit_code, 0);
    const std::string evidence = made.json()["evidence"].get<std::string>();
    // An impossible model would be named as such, with another exit code.
    const auto best = drover_command("map " + uai + " --evidence " + evidence + " --json");
    EXPECT_EQ(best.exit_code, 0) << seed;
    EXPECT_TRUE(best.json()["optimal"].get<bool>());
  }
  EXPECT_EQ(drover_command("generate deconvolution --width 3 --out " + folder.file("a.uai")).exit_code, 64);
  EXPECT_EQ(drover_command("generate deconvolution").exit_code, 64);
}

}  // namespace
}  // namespace drover
