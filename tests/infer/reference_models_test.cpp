// Real models with reference answers (UAI competitions, Bayesian network repository), where the data are at
// hand. Those that take well over a second are left to bench/exact.cpp.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "drover/infer/junction_tree.hpp"
#include "drover/io/evidence.hpp"
#include "drover/io/model_file.hpp"
#include "drover/io/result_files.hpp"

namespace drover {
namespace {

const std::string data_folder = DROVER_SOURCE_DIR "/../shared/data";
constexpr double quick_log2_total = 22.5;  // table entries of all cliques: some 10 ms

std::vector<std::string> split_csv(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      cells.emplace_back();
    else
      cells.back() += c;
  }
  return cells;
}

TEST(ReferenceModels, UaiCompetition) {
  const std::string folder = data_folder + "/uai/";
  if (!std::filesystem::exists(folder + "index.csv")) GTEST_SKIP() << "no models in " << folder;
  std::ifstream index(folder + "index.csv");
  std::string line;
  std::getline(index, line);
  const std::vector<std::string> columns = split_csv(line);
  const auto column = [&](const char* name) {
    return static_cast<std::size_t>(std::find(columns.begin(), columns.end(), name) - columns.begin());
  };
  const std::size_t log_z_column = column("exact_lnZ"), map_column = column("exact_lnMAP");
  ASSERT_LT(map_column, columns.size());
  int solved = 0;
  while (std::getline(index, line)) {
    const std::vector<std::string> row = split_csv(line);
    if (row[log_z_column].empty()) continue;
    const std::string base = folder + row[0] + ".uai";
    const Model model = read_model(base + ".gz");
    const Graph graph = compile(model, read_evidence(model, base + ".evid"));
    ExactOptions options;
    options.order_tries = 20;
    const ExactPlan plan = plan_exact(graph, options);
    if (!plan.order.exact || plan.order.log2_total_table > quick_log2_total) continue;
    JunctionTree tree(graph, plan);
    const double log_z = std::stod(row[log_z_column]), best = std::stod(row[map_column]);
    EXPECT_NEAR(tree.log_z(), log_z, 1e-11 * (1 + std::abs(log_z))) << row[0];
    const ScoredState map = tree.map();
    EXPECT_NEAR(map.log_score, best, 1e-11 * (1 + std::abs(best))) << row[0];
    EXPECT_NEAR(log_score(model, whole_assignment(graph, map.assignment)), best, 1e-11 * (1 + std::abs(best)))
        << row[0];
    const auto marginals = tree.marginals();
    const auto reference = read_mar(base + ".MAR");
    ASSERT_EQ(reference.size(), graph.model_size()) << row[0];
    for (std::size_t v = 0; v < reference.size(); ++v)
      for (std::size_t k = 0; k < reference[v].size(); ++k) {
        const VariableId free = graph.free_variable[v];
        const double p = free != no_variable ? marginals[free][k] : graph.clamped_value[v] == k ? 1.0 : 0.0;
        ASSERT_NEAR(p, reference[v][k], 1e-6) << row[0] << ", variable " << v;
      }
    ++solved;
  }
  EXPECT_GE(solved, 25);
}

std::string read_compressed(const std::string& path) {
  std::string text;
  gzFile file = gzopen(path.c_str(), "rb");
  char buffer[1 << 16];
  for (int count; (count = gzread(file, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(count));
  gzclose(file);
  return text;
}

TEST(ReferenceModels, BayesianNetworkRepository) {
  const std::string folder = data_folder + "/bayesnets-bif/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no networks in " << folder;
  int solved = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".exact.json.gz")) continue;
    const std::string name = path.substr(folder.size(), path.size() - folder.size() - 14);
    const auto answers = nlohmann::json::parse(read_compressed(path));
    const Model model = read_model(folder + name + ".bif.gz");
    std::string observed;
    for (const auto& [variable, state] : answers["evidence"].items())
      observed += (observed.empty() ? "" : ",") + variable + "=" + state.get<std::string>();
    const Graph graph = compile(model, parse_observations(model, observed));
    JunctionTree tree(graph);
    EXPECT_NEAR(tree.log_z(), answers["ln_prob_evidence"].get<double>(), 1e-9) << name;
    EXPECT_NEAR(tree.map().log_score, answers["ln_MPE"].get<double>(), 1e-9) << name;
    const auto marginals = tree.marginals();
    for (VariableId v = 0; v < graph.size(); ++v) {
      const VariableId variable = graph.model_variable[v];
      const auto& expected = answers["posterior"][model.variable_name(variable)];
      for (std::size_t k = 0; k < marginals[v].size(); ++k)
        ASSERT_NEAR(marginals[v][k],
                    expected[model.state_name(variable, static_cast<Value>(k))].get<double>(), 1e-9)
            << name << ", variable " << model.variable_name(variable);
    }
    ++solved;
  }
  EXPECT_EQ(solved, 12);
}

}  // namespace
}  // namespace drover
