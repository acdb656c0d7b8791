// Log-likelihoods of data under models, against visiting every state.
#include "drover/task/score.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "drover/core/error.hpp"
#include "drover/core/figures.hpp"
#include "drover/core/random.hpp"
#include "drover/io/machine_file.hpp"
#include "drover/machine/rbm_likelihood.hpp"
#include "drover/report/score_page.hpp"
#include "tests/support/weighed_states.hpp"

namespace drover {
namespace {

BinaryMachine random_rbm(std::uint32_t visible, std::uint32_t hidden, double scale, std::uint64_t seed) {
  BinaryMachine machine = restricted_machine(visible, hidden);
  RandomSequence random(seed, Stream::generate);
  for (float& weight : machine.weights) weight = static_cast<float>(scale * random.normal());
  for (float& bias : machine.biases) bias = static_cast<float>(scale * random.normal());
  return machine;
}

DataTable random_table(std::size_t columns, std::size_t rows, std::uint64_t seed) {
  DataTable table;
  RandomSequence random(seed, Stream::start);
  for (std::size_t v = 0; v < columns; ++v) table.names.push_back("x" + std::to_string(v));
  table.cardinalities.assign(columns, 2);
  table.state_names.assign(columns, {"0", "1"});
  table.rows = rows;
  for (std::size_t k = 0; k < rows * columns; ++k) table.values.push_back(random.uniform() < 0.4);
  table.source = "t";
  return table;
}

double mean_log_likelihood(const Model& model, const DataTable& table) {
  const double log_z = testing::WeighedStates(model, {}).log_z();
  double sum = 0;
  for (std::size_t r = 0; r < table.rows; ++r) {
    Observations row;
    for (std::size_t c = 0; c < table.variables(); ++c)
      row.add(static_cast<VariableId>(c), table.values[r * table.variables() + c]);
    sum += testing::WeighedStates(model, row).log_z() - log_z;
  }
  return sum / static_cast<double>(table.rows);
}

TEST(Score, MachinesAgreeWithEveryState) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    const DataTable table = random_table(5, 10, seed);
    for (MachineKind kind : {MachineKind::rbm, MachineKind::boltzmann, MachineKind::ising}) {
      MachineFile file;
      const std::uint32_t hidden = kind == MachineKind::ising ? 0 : 3;
      file.machine =
          kind == MachineKind::rbm ? random_rbm(5, 3, 0.7, seed) : complete_machine(kind, 5, hidden);
      RandomSequence random(seed, Stream::start);
      if (kind != MachineKind::rbm)
        for (float& weight : file.machine.weights) weight = static_cast<float>(random.normal());
      const ScoreResult result = score(file, table);
      EXPECT_TRUE(result.exact);
      EXPECT_EQ(result.row_log_likelihoods.size(), 10U);
      // Sums of the fields are in float.
      EXPECT_NEAR(result.log_likelihood, mean_log_likelihood(to_model(file.machine), table), 1e-5);
    }
  }
}

TEST(Score, ThePageHasItsFiguresAndEveryRow) {
  MachineFile file;
  file.machine = random_rbm(5, 3, 0.7, 4);
  const ScoreResult result = score(file, random_table(5, 40, 4));
  const std::string page = page_of(result, to_json(result).text());
  EXPECT_NE(page.find(log_text(result.log_likelihood, 7)), std::string::npos);
  // The bars of the histogram add up to the rows.
  const std::size_t bars = page.find("\"barCategoryGap\"");
  ASSERT_NE(bars, std::string::npos);
  const std::size_t begin = page.find("\"data\":[", bars);
  ASSERT_NE(begin, std::string::npos);
  std::istringstream numbers(page.substr(begin + 8, page.find(']', begin) - begin - 8));
  int sum = 0;
  for (std::string number; std::getline(numbers, number, ',');) sum += std::stoi(number);
  EXPECT_EQ(sum, 40);
}

TEST(Score, NetworksWithUnstatedVariables) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Model model = testing::random_network(seed, 6, 2, 0);
    const DataTable table = random_table(4, 5, seed);
    EXPECT_NEAR(score(model, table).log_likelihood, mean_log_likelihood(model, table), 1e-10);
  }
}

TEST(Score, AnnealingAgreesWithTheSumOverAllStates) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    const BinaryMachine machine = random_rbm(20, 10, 0.6, seed);
    const std::vector<double> rates(20, 0.2 + 0.1 * static_cast<double>(seed));
    const double exact = rbm_exact_log_z(machine);
    const ImportanceResult found = rbm_log_z(machine, rates, 64, 400, seed);
    EXPECT_GT(found.effective_samples, 5);
    EXPECT_NEAR(found.log_z, exact, 5 * found.mcse + 1e-3);
    RunControl one;
    one.limit_threads(1);
    with_threads(one, [&] { EXPECT_EQ(rbm_log_z(machine, rates, 64, 400, seed).log_z, found.log_z); });
  }
}

TEST(Score, Refuses) {
  MachineFile file;
  file.machine = random_rbm(5, 3, 0.5, 1);
  EXPECT_THROW(score(file, random_table(4, 3, 1)), Error);
  EXPECT_THROW(score(file, random_table(9, 3, 1)), Error);
  EXPECT_THROW(score(file, random_table(5, 0, 1)), Error);
}

// Columns and states are matched by name, and what has none of the model's is refused, not counted by its place.
TEST(Score, NamesThatDoNotFitAreRefused) {
  MachineFile file;
  file.machine = complete_machine(MachineKind::ising, 2, 0);
  file.machine.biases = {0.5F, -1.0F};
  file.machine.weights = {0.7F};
  file.visible_names = {"a", "b"};
  file.state_names = {{"n", "y"}, {}};
  const auto table = [](std::vector<std::string> names, std::vector<std::string> states) {
    DataTable one;
    one.names = std::move(names);
    one.cardinalities.assign(2, 1);
    one.cardinalities[1] = 2;
    one.state_names = {std::move(states), {"0", "1"}};
    one.cardinalities[0] = static_cast<std::uint32_t>(one.state_names[0].size());
    one.rows = 2;
    one.values = {0, 0, 0, 1};
    one.source = "t";
    return one;
  };
  // A word alone in its column is what the model calls so, whatever its number in the table.
  const Model model = model_of(file);
  const double y = score(file, table({"a", "b"}, {"y"}), {}).log_likelihood;
  DataTable as_numbers = table({"a", "b"}, {"n", "y"});
  as_numbers.values = {1, 0, 1, 1};
  EXPECT_DOUBLE_EQ(y, mean_log_likelihood(model, as_numbers));
  EXPECT_NE(y, score(file, table({"a", "b"}, {"n"}), {}).log_likelihood);
  const auto refused = [&](const MachineFile& from, const DataTable& data, const char* part) {
    try {
      score(from, data, {});
      FAIL() << part;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_data);
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  refused(file, table({"a", "b"}, {"Y"}), "has the state Y");
  refused(file, table({"a", "c"}, {"y"}), "column c is no variable");
  MachineFile unnamed = file;
  unnamed.state_names.clear();
  refused(unnamed, table({"a", "b"}, {"y"}), "does not know the names");
}

TEST(MachineFiles, KeepTheNamesOfStatesAndGiveHiddenUnitsTheirOwn) {
  MachineFile file;
  file.machine = random_rbm(2, 2, 0.3, 1);
  file.visible_names = {"h0", "x"};
  file.state_names = {{"no", "yes"}, {}};
  const std::string path =
      (std::filesystem::temp_directory_path() / ("drover-states-" + std::to_string(getpid()) + ".drv"))
          .string();
  write_machine(path, file);
  const MachineFile again = read_machine(path);
  std::filesystem::remove(path);
  EXPECT_EQ(again.state_names, file.state_names);
  const Model model = model_of(again);
  EXPECT_EQ(model.variable_names, (std::vector<std::string>{"h0", "x", "hidden0", "hidden1"}));
  EXPECT_EQ(model.state_names[0], (std::vector<std::string>{"no", "yes"}));
}

TEST(Score, TheOptionsThatRanAreStated) {
  MachineFile file;
  file.machine = random_rbm(20, 18, 0.3, 1);
  const ScoreResult estimated = score(file, random_table(20, 6, 1), {.seed = 3, .sweeps = 50});
  const auto json = nlohmann::json::parse(to_json(estimated).text());
  EXPECT_EQ(json["settings"]["seed"], 3);
  EXPECT_EQ(json["settings"]["chains"], 128);
  EXPECT_EQ(json["settings"]["sweeps"], 50);
  file.machine = random_rbm(5, 3, 0.5, 1);
  const auto exact = nlohmann::json::parse(to_json(score(file, random_table(5, 6, 1))).text());
  EXPECT_FALSE(exact["settings"].contains("chains"));
}

TEST(Score, EndsInTheMidst) {
  MachineFile file;
  file.machine = random_rbm(20, 10, 0.3, 1);
  RunControl control;
  control.request_stop();
  EXPECT_THROW(score(file, random_table(20, 500, 1), {}, control), Error);
  EXPECT_THROW(score(model_of(file), random_table(20, 500, 1), {}, control), Error);
}

}  // namespace
}  // namespace drover
