// Herded Gibbs as a person meets it.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "tests/support/command.hpp"

namespace drover {
namespace {

using testing::CommandResult;
using testing::drover_command;
using testing::model_path;
using testing::TemporaryFolder;

std::string generated_for_herding(const TemporaryFolder& folder, const std::string& arguments) {
  const std::string path = folder.file("model.uai");
  EXPECT_EQ(drover_command("generate " + arguments + " --out " + path).exit_code, 0);
  return path;
}

bool herded_warns_of(const nlohmann::json& json, const std::string& part) {
  for (const auto& warning : json["warnings"])
    if (warning.get<std::string>().find(part) != std::string::npos) return true;
  return false;
}

TEST(HerdedGibbsCommand, FindsTheMarginalsOfACompleteGraph) {
  TemporaryFolder folder;
  const std::string model =
      generated_for_herding(folder, "complete --variables 7 --coupling-sd 0.3 --field-sd 0.5");
  for (const char* share : {"auto", "dense", "hashed", "exact"}) {
    const CommandResult run = drover_command("marginals " + model + " --json --check --method herded-gibbs " +
                                             "--sweeps 5000 --share " + share);
    ASSERT_EQ(run.exit_code, 0) << run.error;
    const auto json = run.json();
    // 16 chains of 5000 sweeps: random draws would have standard errors near 0.002.
    EXPECT_LT(json["details"]["check"]["max_abs_error"].get<double>(), 0.002) << share;
    EXPECT_EQ(json["details"]["tables"], std::string(share) == "auto" ? "dense" : share);
    EXPECT_TRUE(json["converged"].get<bool>()) << share;
    EXPECT_TRUE(herded_warns_of(json, "deterministic"));
    EXPECT_FALSE(herded_warns_of(json, "not complete"));
    EXPECT_EQ(herded_warns_of(json, "shared and binned"), std::string(share) == "exact");
  }
}

TEST(HerdedGibbsCommand, SaysThatSparseGraphsCarryNoGuarantee) {
  const auto json =
      drover_command("marginals " + model_path("grid-3x3.uai") + " --json --check --method herded-gibbs")
          .json();
  EXPECT_TRUE(herded_warns_of(json, "not complete"));
  EXPECT_LT(json["details"]["check"]["max_abs_error"].get<double>(), 0.05);
}

TEST(HerdedGibbsCommand, SharedWeightsOnALatticeHaveTheirOwnKernel) {
  TemporaryFolder folder;
  const std::string torus =
      generated_for_herding(folder, "torus --width 64 --height 4 --coupling 0.2 --field 0.1");
  const auto run = [&](const std::string& options) {
    const CommandResult result = drover_command(
        "marginals " + torus + " --json --check --method herded-gibbs --share exact " + options);
    EXPECT_EQ(result.exit_code, 0) << result.error;
    return result.json();
  };
  const auto is_lattice = [](const nlohmann::json& json) {
    return json["details"]["kernel"].get<std::string>().find("lattice") == 0;
  };
  const auto free = run("--sweeps 4000");
  EXPECT_TRUE(is_lattice(free));
  EXPECT_EQ(free["details"]["schedule"], "colours");
  EXPECT_LT(free["details"]["check"]["max_abs_error"].get<double>(), 0.03);
  const std::string evidence = folder.file("observed.evid");
  std::ofstream(evidence) << "2 5 1 13 0\n";
  const auto observed = run("--sweeps 4000 --evidence " + evidence);
  EXPECT_TRUE(is_lattice(observed));
  EXPECT_LT(observed["details"]["check"]["max_abs_error"].get<double>(), 0.03);
  EXPECT_FALSE(is_lattice(run("--sweeps 100 --schedule sequential")));
  generated_for_herding(folder, "torus --width 6 --height 4 --coupling 0.2 --field 0.1");
  EXPECT_FALSE(is_lattice(run("--sweeps 100")));
}

TEST(HerdedGibbsCommand, SamplesAndMap) {
  TemporaryFolder folder;
  for (const char* name : {"grid-3x3.uai", "sprinkler.bif", "colours.fg"}) {
    const std::string model = model_path(name);
    const auto best = drover_command("map " + model + " --json --method herded-gibbs").json();
    const auto exact = drover_command("map " + model + " --json --method exact").json();
    EXPECT_NEAR(best["log_score"].get<double>(), exact["log_score"].get<double>(), 1e-9) << name;
    EXPECT_FALSE(best["optimal"].get<bool>());
  }
  const auto draws =
      drover_command("sample " + model_path("grid-3x3.uai") +
                     " --json --method herded-gibbs --samples 800 --out " + folder.file("d.npz"))
          .json();
  EXPECT_EQ(draws["draws"], 800);
}

TEST(HerdedGibbsCommand, SameBitsWhateverTheThreadsAndAcrossACheckpoint) {
  TemporaryFolder folder;
  const std::string model = generated_for_herding(folder, "grid --width 40 --coupling-sd 0.3");
  const std::string common =
      "marginals " + model + " --json --method herded-gibbs --chains 2 --schedule colours --burn-in 10 ";
  const auto one = drover_command(common + "--sweeps 200 --threads 1").json();
  const auto two = drover_command(common + "--sweeps 200 --threads 2").json();
  EXPECT_EQ(one["marginals"], two["marginals"]);
  for (const char* share : {"dense", "hashed"}) {
    const std::string saved = common + "--share " + share + " --checkpoint " + folder.file(share);
    drover_command(saved + " --sweeps 77");
    EXPECT_EQ(drover_command(saved + " --sweeps 200 --resume").json()["marginals"], one["marginals"]);
  }
  const CommandResult wrong =
      drover_command(common + "--share exact --sweeps 200 --resume --checkpoint " + folder.file("dense"));
  EXPECT_EQ(wrong.exit_code, 65) << wrong.error;
}

TEST(HerdedGibbsCommand, RefusesWhatDoesNotFit) {
  TemporaryFolder folder;
  const std::string model = generated_for_herding(folder, "complete --variables 60 --coupling-sd 0.1");
  const CommandResult dense = drover_command("marginals " + model + " --method herded-gibbs --share dense");
  EXPECT_EQ(dense.exit_code, 78);
  EXPECT_NE(dense.error.find("would need"), std::string::npos) << dense.error;
  const auto info = drover_command("info " + model + " --json").json();
  EXPECT_GT(info["herded_gibbs_bytes"].get<double>(), 0);
  EXPECT_EQ(info["herded_gibbs_tables"], "bins:64");
  EXPECT_EQ(drover_command("marginals " + model + " --json --method herded-gibbs --sweeps 200").exit_code, 0);
  for (const char* wrong : {"--share bins:", "--share bins:0", "--share most", "--schedule often"}) {
    const CommandResult run =
        drover_command("marginals " + model + " --method herded-gibbs " + std::string(wrong));
    EXPECT_EQ(run.exit_code, 64) << wrong;
    EXPECT_NE(run.error.find("expected"), std::string::npos) << run.error;
  }
}

}  // namespace
}  // namespace drover
