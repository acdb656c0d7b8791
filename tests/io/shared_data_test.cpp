// The published models, where they are at hand: everything reads, and converting loses nothing.
#include "drover/io/evidence.hpp"
#include "drover/io/result_files.hpp"
#include "tests/support/io_support.hpp"

namespace drover {
namespace {

using namespace drover::testing;
namespace fs = std::filesystem;

std::string data_folder(const char* name) {
  for (const char* up : {"/../shared/data/", "/../../shared/data/"})
    if (fs::exists(std::string(DROVER_SOURCE_DIR) + up + name))
      return std::string(DROVER_SOURCE_DIR) + up + name;
  return {};
}

TEST(SharedData, UaiModels) {
  const std::string folder = data_folder("uai");
  if (folder.empty()) GTEST_SKIP() << "the published UAI models are not here";
  TemporaryFolder temporary;
  int models = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".uai.gz")) continue;
    SCOPED_TRACE(path);
    ++models;
    const Model model = read_model(path);
    const std::string stem = path.substr(0, path.size() - 3);
    const Evidence evidence = read_evidence(model, stem + ".evid");
    compile(model, evidence);
    EXPECT_TRUE(std::isfinite(read_pr(stem + ".PR")));
    if (fs::exists(stem + ".MAR")) {
      const auto marginals = read_mar(stem + ".MAR");
      ASSERT_EQ(marginals.size(), model.variable_count());
      for (std::size_t v = 0; v < marginals.size(); ++v)
        EXPECT_EQ(marginals[v].size(), model.cardinalities[v]);
      for (std::size_t e = 0; e < evidence.size(); ++e)
        EXPECT_EQ(marginals[evidence.variables[e]][evidence.values[e]], 1) << "evidence is a point mass";
    }
    write_model(model, temporary.file("m.uai"));
    expect_identical(model, read_model(temporary.file("m.uai")));
    if (HasFailure()) break;
  }
  EXPECT_EQ(models, 60);
}

TEST(SharedData, BayesianNetworks) {
  const std::string folder = data_folder("bayesnets-bif");
  if (folder.empty()) GTEST_SKIP() << "the published Bayesian networks are not here";
  TemporaryFolder temporary;
  int models = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".bif.gz")) continue;
    SCOPED_TRACE(path);
    ++models;
    const Model model = read_model(path);
    compile(model);
    write_model(model, temporary.file("m.bif.gz"));
    expect_identical(model, read_model(temporary.file("m.bif.gz")));
    // Every row of every table is a distribution up to rounding in the file.
    for (std::size_t f = 0; f < model.tables.size(); ++f) {
      const auto values = model.tables.values(f);
      const std::size_t states = model.cardinalities[model.tables.scope(f).back()];
      for (std::size_t begin = 0; begin < values.size(); begin += states) {
        double sum = 0;
        for (std::size_t k = 0; k < states; ++k) sum += std::exp(values[begin + k]);
        ASSERT_NEAR(sum, 1, 2e-6);
      }
    }
    if (HasFailure()) break;
  }
  EXPECT_EQ(models, 13);
}

}  // namespace
}  // namespace drover
