// The samplers of the duality family as a person meets them.
#include <gtest/gtest.h>

#include "tests/support/command.hpp"

namespace drover {
namespace {

using testing::CommandResult;
using testing::drover_command;
using testing::model_path;
using testing::TemporaryFolder;

std::string generated_for_duality(const TemporaryFolder& folder, const std::string& name,
                                  const std::string& arguments) {
  const std::string path = folder.file(name + ".uai");
  EXPECT_EQ(drover_command("generate " + arguments + " --out " + path).exit_code, 0);
  return path;
}

// Every estimate lies within six of its own standard errors of the exact value (or within float rounding).
void expect_exact_marginals(const std::string& model, const std::string& options) {
  const auto exact = drover_command("marginals " + model + " --json --method exact").json();
  const CommandResult run = drover_command("marginals " + model + " --json --quiet --sweeps 2000 " + options);
  ASSERT_EQ(run.exit_code, 0) << options << "\n" << run.error;
  const auto json = run.json();
  for (std::size_t v = 0; v < exact["marginals"].size(); ++v)
    for (std::size_t k = 0; k < exact["marginals"][v].size(); ++k) {
      const double error = json["mcse"][v][k].is_number() ? json["mcse"][v][k].get<double>() : 0;
      EXPECT_NEAR(json["marginals"][v][k].get<double>(), exact["marginals"][v][k].get<double>(),
                  6 * error + 1e-5)
          << options << " variable " << v;
    }
}

TEST(DualityCommand, MarginalsOfSpinModels) {
  TemporaryFolder folder;
  const std::string mixed =
      generated_for_duality(folder, "mixed", "grid --width 4 --coupling-sd 0.5 --field-sd 0.5");
  for (const char* method : {"primal-dual", "tree-primal-dual", "tree-primal-dual --redraw",
                             "partial-swendsen-wang", "generalized-swendsen-wang"})
    expect_exact_marginals(mixed, std::string("--method ") + method);
  const std::string attractive =
      generated_for_duality(folder, "attractive", "grid --width 4 --coupling 0.4 --field-sd 0.5");
  expect_exact_marginals(attractive, "--method swendsen-wang");
  const std::string repulsive =
      generated_for_duality(folder, "repulsive", "grid --width 4 --coupling -0.4 --field-sd 0.5");
  expect_exact_marginals(repulsive, "--method swendsen-wang");
}

// By symmetry every cluster's conditional is one half: nothing varies, and that is convergence, not its lack.
TEST(DualityCommand, SwendsenWangWithoutFieldsIsDone) {
  TemporaryFolder folder;
  for (const char* coupling : {"0.4", "-0.4"}) {
    const std::string model =
        generated_for_duality(folder, "grid", std::string("grid --width 6 --coupling ") + coupling);
    const auto json =
        drover_command("marginals " + model + " --json --quiet --method swendsen-wang --sweeps 500").json();
    EXPECT_EQ(json["converged"], true) << json["warnings"];
    for (const auto& marginal : json["marginals"]) EXPECT_NEAR(marginal[1].get<double>(), 0.5, 1e-6);
  }
}

TEST(DualityCommand, MarginalsOfOtherModels) {
  TemporaryFolder folder;
  const std::string potts =
      generated_for_duality(folder, "potts", "potts --width 3 --states 3 --coupling 0.8 --field-sd 0.5");
  for (const char* method : {"primal-dual", "tree-primal-dual", "swendsen-wang", "partial-swendsen-wang",
                             "generalized-swendsen-wang"})
    expect_exact_marginals(potts, std::string("--method ") + method);
  const std::string tables = generated_for_duality(
      folder, "tables", "tables --variables 6 --states 3 --arity 3 --factors 5 --coupling-sd 0.5");
  for (const char* method : {"primal-dual", "tree-primal-dual", "generalized-swendsen-wang"})
    expect_exact_marginals(tables, std::string("--method ") + method);
  expect_exact_marginals(model_path("colours.fg"), "--method primal-dual");
}

TEST(DualityCommand, RefusesWhatDoesNotFit) {
  TemporaryFolder folder;
  const auto refused = [&](const std::string& model, const std::string& options, const std::string& part) {
    const CommandResult run = drover_command("marginals " + model + " --method " + options);
    EXPECT_EQ(run.exit_code, 78) << options;
    EXPECT_NE(run.error.find(part), std::string::npos) << run.error;
  };
  refused(model_path("odd-cycle.uai"), "swendsen-wang", "frustrated");
  const std::string repulsive = generated_for_duality(folder, "repulsive", "potts --width 3 --coupling -1");
  refused(repulsive, "swendsen-wang", "wants its variables to differ");
  refused(repulsive, "partial-swendsen-wang", "wants its variables to differ");
  const std::string tables = generated_for_duality(
      folder, "tables", "tables --variables 6 --states 4 --arity 3 --factors 5 --coupling-sd 1");
  refused(tables, "swendsen-wang", "neither a spin pair nor a Potts pair");
  refused(tables, "primal-dual --tolerance 0.0000001", "the tolerance of 1e-07");
  refused(model_path("xor.uai"), "primal-dual", "cannot reach every possible state");
  refused(model_path("xor.uai"), "generalized-swendsen-wang", "hard zeros");
}

TEST(DualityCommand, SameBitsForAnyNumberOfThreadsAndAfterResuming) {
  TemporaryFolder folder;
  const std::string model =
      generated_for_duality(folder, "model", "grid --width 5 --coupling 0.4 --field-sd 0.3");
  for (const char* method : {"primal-dual", "tree-primal-dual --redraw", "swendsen-wang",
                             "partial-swendsen-wang", "generalized-swendsen-wang"}) {
    const std::string line = "marginals " + model + " --json --quiet --burn-in 20 --method " + method;
    const auto whole = drover_command(line + " --sweeps 60 --threads 1").json();
    EXPECT_EQ(drover_command(line + " --sweeps 60 --threads 2").json()["marginals"], whole["marginals"])
        << method;
    const std::string checkpoint = " --checkpoint " + folder.file("checkpoint");
    ASSERT_EQ(drover_command(line + " --sweeps 30" + checkpoint).exit_code, 0);
    EXPECT_EQ(drover_command(line + " --sweeps 60 --resume" + checkpoint).json()["marginals"],
              whole["marginals"])
        << method;
  }
}

TEST(DualityCommand, MeanFieldOverTrees) {
  TemporaryFolder folder;
  const std::string tree =
      generated_for_duality(folder, "tree", "tree --variables 12 --coupling-sd 1 --field-sd 1");
  const std::string grid =
      generated_for_duality(folder, "grid", "grid --width 4 --coupling-sd 0.5 --field-sd 0.5");
  const auto log_z = [](const std::string& model, const std::string& method) {
    const CommandResult run = drover_command("logz " + model + " --json --quiet --method " + method);
    EXPECT_EQ(run.exit_code, 0) << run.error;
    return run.json()["log_z"].get<double>();
  };
  EXPECT_NEAR(log_z(tree, "primal-dual-mean-field --forest"), log_z(tree, "exact"), 1e-4);
  expect_exact_marginals(tree, "--method primal-dual-mean-field --forest");
  const double bound = log_z(grid, "primal-dual-mean-field --forest");
  EXPECT_LE(bound, log_z(grid, "exact") + 1e-4);
  EXPECT_GE(bound, log_z(grid, "primal-dual-mean-field") - 1e-4);
}

}  // namespace
}  // namespace drover
