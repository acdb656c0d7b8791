#include "drover/io/cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "drover/core/error.hpp"
#include "drover/core/plural.hpp"
#include "drover/io/evidence.hpp"
#include "drover/io/row_reader.hpp"

namespace drover {

namespace {

// What each text that was met in a column stands for; most columns have few.
struct Meanings {
  VariableId variable = 0;
  std::unordered_map<std::string, Observations> of;  // empty evidence: not observed
};

Observations meaning(const Model& model, VariableId variable, const Cell& cell) {
  Observations evidence;
  const bool is_state =
      variable < model.state_names.size() &&
      std::ranges::find(model.state_names[variable], cell.text) != model.state_names[variable].end();
  if (!cell.missing || is_state) add_observation(model, variable, cell.text, evidence);
  return evidence;
}

}  // namespace

Cases read_cases(const Model& model, TextSource& source) {
  Cases cases;
  RowReader reader(source);
  std::vector<Cell> cells;
  if (!reader.next(cells)) fail_at({source.name(), 1}, "expected a first line with the names of variables");
  std::vector<Meanings> columns;
  for (const Cell& cell : cells) {
    const std::string name[1] = {cell.text};
    try {
      columns.push_back({variables_named(model, name)[0], {}});
    } catch (const Error& error) {
      fail_at({source.name(), 1}, fmt::format("the first line names the columns: {}", error.what()));
    }
    const VariableId variable = columns.back().variable;
    if (std::ranges::find(cases.columns, variable) != cases.columns.end())
      fail_at({source.name(), 1}, fmt::format("two columns for variable {}", model.variable_name(variable)));
    cases.columns.push_back(variable);
  }
  while (reader.next(cells)) {
    if (cells.size() != columns.size())
      fail_at({source.name(), source.line()},
              fmt::format("expected {}, found {}", counted(columns.size(), "cell"), cells.size()));
    Observations& row = cases.rows.emplace_back();
    for (std::size_t c = 0; c < cells.size(); ++c) {
      auto [known, is_new] = columns[c].of.try_emplace(cells[c].text);
      if (is_new) try {
          known->second = meaning(model, columns[c].variable, cells[c]);
        } catch (const Error& error) {
          fail_at({source.name(), source.line()}, error.what());
        }
      row.add(known->second);
    }
  }
  return cases;
}

Cases read_cases(const Model& model, const std::string& path, const RunControl& control) {
  TextSource source(path, control);
  return read_cases(model, source);
}

}  // namespace drover
