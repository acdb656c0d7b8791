// drover compare: how far two sets of samples are apart.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/commands.hpp"
#include "app/settings_output.hpp"
#include "drover/core/error.hpp"
#include "drover/diagnose/mmd.hpp"
#include "drover/io/atomic_file.hpp"
#include "drover/io/data_table.hpp"
#include "drover/io/draws.hpp"

namespace drover::app {

namespace {

/// Both tables over the same states: a text value of either file is the same state in both.
struct TwoTables {
  DataTable a, b;
  std::vector<std::uint32_t> cardinalities;
};

void use_common_states(DataTable& a, DataTable& b, std::size_t v) {
  std::vector<std::string> states = a.state_names[v];
  states.insert(states.end(), b.state_names[v].begin(), b.state_names[v].end());
  std::sort(states.begin(), states.end());
  states.erase(std::unique(states.begin(), states.end()), states.end());
  for (DataTable* table : {&a, &b}) {
    std::vector<Value> new_value;
    for (const std::string& name : table->state_names[v])
      new_value.push_back(
          static_cast<Value>(std::lower_bound(states.begin(), states.end(), name) - states.begin()));
    for (std::size_t r = 0; r < table->rows; ++r) {
      Value& x = table->values[r * table->variables() + v];
      x = new_value[x];
    }
    table->state_names[v] = states;
    table->cardinalities[v] = static_cast<std::uint32_t>(states.size());
  }
}

/// Draws of all chains as rows. Draws files have no state names.
DataTable table_of(const DrawFile& file, const std::string& path) {
  DataTable table;
  table.names = file.variable_names;
  table.rows = file.draws * file.chains;
  if (std::holds_alternative<std::vector<double>>(file.values))
    throw Error(ErrorKind::bad_data, path + ": expected discrete draws (whole numbers from 0 to 65535)");
  std::visit([&](const auto& values) { table.values.assign(values.begin(), values.end()); }, file.values);
  table.cardinalities.assign(table.variables(), 2);
  for (std::size_t i = 0; i < table.values.size(); ++i) {
    std::uint32_t& states = table.cardinalities[i % table.variables()];
    states = std::max(states, table.values[i] + 1U);
  }
  return table;
}

DataTable load_table(const std::string& path, const DataOptions& options) {
  if (ends_with(path, ".nc") || first_bytes(path, 10) == "chain,draw")
    return table_of(read_draws(path), path);
  return read_data_table(path, options);
}

TwoTables load_tables(const Invocation& invocation) {
  const Settings& settings = invocation.settings;
  const DataOptions options{settings.binarise, settings.header, settings.columns, true};
  TwoTables tables{
      load_table(invocation.arguments.at(0), options), load_table(invocation.arguments.at(1), options), {}};
  DataTable &a = tables.a, &b = tables.b;
  if (a.variables() != b.variables())
    throw Error(ErrorKind::bad_data,
                fmt::format("{} has {} variables, {} has {}: only sets of the same variables can be compared",
                            invocation.arguments[0], a.variables(), invocation.arguments[1], b.variables()));
  for (std::size_t v = 0; v < a.variables(); ++v) {
    if (!a.state_names.empty() && !b.state_names.empty() && a.state_names[v] != b.state_names[v])
      use_common_states(a, b, v);
    tables.cardinalities.push_back(std::max(a.cardinalities[v], b.cardinalities[v]));
  }
  return tables;
}

/// MMD^2 of the even against the odd rows: what two sets from one source score.
double half_against_half(const DataTable& table, std::span<const std::uint32_t> cardinalities) {
  std::vector<Value> halves[2];
  for (std::size_t r = 0; r < table.rows - table.rows % 2; ++r)
    halves[r % 2].insert(halves[r % 2].end(),
                         table.values.begin() + static_cast<std::ptrdiff_t>(r * table.variables()),
                         table.values.begin() + static_cast<std::ptrdiff_t>((r + 1) * table.variables()));
  return squared_mmd(pack_samples(halves[0], cardinalities), pack_samples(halves[1], cardinalities));
}

}  // namespace

int run_compare(const Invocation& invocation) {
  const Settings& settings = invocation.settings;
  check_outputs(settings, {".json"});
  const TwoTables tables = load_tables(invocation);
  const PackedSamples a = pack_samples(tables.a.values, tables.cardinalities);
  const PackedSamples b = pack_samples(tables.b.values, tables.cardinalities);
  const double mmd = squared_mmd(a, b);
  const StatisticDistance distance = statistic_distance(a, b);
  const double halves = tables.a.rows >= 2 ? half_against_half(tables.a, tables.cardinalities) : not_known;

  std::vector<std::string> warnings;
  if (a.rows != b.rows)
    warnings.push_back(fmt::format(
        "the sets have {} and {} rows; MMD^2 has a term that falls with the number of rows, so compare only "
        "figures of equal sizes",
        a.rows, b.rows));
  SettingsObject object = json_envelope(invocation, warnings);
  object.add("rows", {a.rows, b.rows});
  object.add("variables", a.variables);
  object.add("mmd_squared", mmd);
  object.add("log_mmd_squared", mmd > 0 ? nlohmann::ordered_json(std::log(mmd)) : nlohmann::ordered_json());
  object.add("log_mmd_squared_halves_of_first",
             halves > 0 ? nlohmann::ordered_json(std::log(halves)) : nlohmann::ordered_json());
  object.add("mean_difference_max", distance.mean_largest);
  object.add("mean_difference_rms", distance.mean_rms);
  object.add("pair_difference_rms", distance.pair_rms);
  if (!settings.out.empty()) write_file(settings.out, object.text());
  print_warnings(settings.quiet, warnings);
  if (settings.json) {
    print_json(object);
    return 0;
  }
  const auto log_text = [](double value) {
    return value > 0 ? fmt::format("{:.3f}", std::log(value)) : "-inf";
  };
  print_text(fmt::format("{} and {} rows of {} variables\n\n", a.rows, b.rows, a.variables));
  print_text(fmt::format("log MMD^2                       {}   (two halves of the first: {})\n",
                         log_text(mmd), log_text(halves)));
  print_text(fmt::format("means: largest difference       {:.5f}\n", distance.mean_largest));
  print_text(fmt::format("means: root mean square         {:.5f}\n", distance.mean_rms));
  print_text(fmt::format("pairs: root mean square         {:.5f}\n", distance.pair_rms));
  return 0;
}

}  // namespace drover::app
