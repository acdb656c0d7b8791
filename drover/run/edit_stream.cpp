#include "drover/run/edit_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "drover/core/error.hpp"
#include "drover/core/json_text.hpp"

namespace drover {

namespace {

using nlohmann::json;

// A log-odds or a coupling beyond this is as good as a hard constraint and helps nobody.
constexpr double largest_log = 1e4;

[[noreturn]] void expected(const std::string& what) {
  throw Error(ErrorKind::bad_data, "expected " + what);
}

std::string shown(const json& value) {
  std::string text = json_text(value);
  if (text.size() > 60) text.replace(57, std::string::npos, "...");
  return text;
}

const json* member(const json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

double number_within(const json& value, const char* what) {
  if (!value.is_number()) expected(fmt::format("a number as {}, found {}", what, shown(value)));
  const double number = value.get<double>();
  if (!(std::abs(number) <= largest_log))
    expected(
        fmt::format("a number from {} to {} as {}, found {}", -largest_log, largest_log, what, shown(value)));
  return number;
}

std::vector<double> log_values(const json& value, std::size_t count, const char* what) {
  const auto wrong = [&](const char* hint) {
    expected(fmt::format("{} positive numbers as {}, found {}{}", count, what, shown(value), hint));
  };
  if (!value.is_array() || value.size() != count) wrong("");
  std::vector<double> logs;
  logs.reserve(count);
  for (const json& entry : value) {
    if (!entry.is_number()) wrong("");
    logs.push_back(std::log(entry.get<double>()));
    if (!std::isfinite(logs.back())) wrong(" (to exclude a value, clamp the variable)");
  }
  return logs;
}

// "unary": [p0, p1, ...] or, with two states, "field": h, the factor exp(h s). Empty: neither is there.
std::vector<double> log_unary_of(const json& edit, std::size_t states) {
  const json *unary = member(edit, "unary"), *field = member(edit, "field");
  if (unary != nullptr && field != nullptr) expected("either \"unary\" or \"field\", found both");
  if (unary != nullptr) return log_values(*unary, states, "\"unary\"");
  if (field == nullptr) return {};
  if (states != 2)
    expected(fmt::format("\"unary\" with {} positive numbers: a \"field\" is for two states", states));
  return {0, 2 * number_within(*field, "\"field\"")};
}

std::uint64_t whole_number(const json& value, const char* what) {
  if (!value.is_number_unsigned())
    expected(fmt::format("a whole number as {}, found {}", what, shown(value)));
  return value.get<std::uint64_t>();
}

/// A member that nobody reads is a slip of the pen: "vars" for "variables".
void refuse_unknown_members(const json& edit, std::string_view op) {
  static const std::map<std::string_view, std::vector<std::string_view>> known = {
      {"add_factor", {"variables", "table", "coupling", "potts", "name"}},
      {"remove_factor", {"factor"}},
      {"set_unary", {"variable", "unary", "field"}},
      {"clamp", {"variable", "value"}},
      {"release", {"variable"}},
      {"add_variable", {"states", "unary", "field", "name"}},
      {"remove_variable", {"variable"}},
      {"sweep", {"count"}},
      {"marginals", {"variables"}}};
  const auto members = known.find(op);
  if (members == known.end()) return;
  for (const auto& [name, value] : edit.items())
    if (name != "op" && std::ranges::find(members->second, name) == members->second.end())
      expected(fmt::format("{} to have {}, found \"{}\"", op,
                           fmt::format("\"{}\"", fmt::join(members->second, "\", \"")), name));
}

}  // namespace

EditStream::EditStream(DynamicModel& model, const std::vector<std::string>& names,
                       const EditStreamOptions& options, Answer answer)
    : model_(model), options_(options), answer_(std::move(answer)) {
  for (std::size_t v = 0; v < names.size(); ++v) {
    variable_ids_.emplace(names[v], v);
    variable_names_.emplace(v, names[v]);
  }
}

void EditStream::take(std::string_view line) {
  ++line_;
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
  try {
    const json edit = json::parse(line.begin(), line.end());
    if (!edit.is_object()) expected(fmt::format("an object with a member \"op\", found {}", shown(edit)));
    obey(edit);
  } catch (const json::parse_error& error) {
    complain(fmt::format("expected a JSON object; it breaks off at column {}", error.byte));
  } catch (const json::exception&) {
    complain("expected a JSON object with numbers that a double can hold");
  } catch (const Error& error) {
    complain(error.what());
  }
}

void EditStream::complain(const std::string& message) {
  ++errors_;
  answer_(json_text(json{{"line", line_}, {"error", message}}));
}

void EditStream::obey(const json& edit) {
  const json* op = member(edit, "op");
  if (op == nullptr || !op->is_string()) expected("a member \"op\" with the name of an operation");
  const auto& name = op->get_ref<const std::string&>();
  refuse_unknown_members(edit, name);
  if (name == "add_factor") return add_factor(edit);
  if (name == "remove_factor") return remove_factor(edit);
  if (name == "set_unary") {
    const Id variable = variable_member(edit);
    const std::vector<double> unary = log_unary_of(edit, model_.states(variable));
    if (unary.empty()) expected("\"unary\":[p0,p1,...] or \"field\":h");
    model_.set_unary(variable, unary);
    return count_edit();
  }
  if (name == "clamp") {
    const Id variable = variable_member(edit);
    const json* value = member(edit, "value");
    const std::uint32_t states = model_.states(variable);
    if (value == nullptr || !value->is_number_unsigned() || value->get<std::uint64_t>() >= states)
      expected(states == 2 ? "\"value\": 0 or 1" : fmt::format("\"value\": 0 to {}", states - 1));
    model_.clamp(variable, value->get<Value>());
    return count_edit();
  }
  if (name == "release") {
    model_.release(variable_member(edit));
    return count_edit();
  }
  if (name == "add_variable") return add_variable(edit);
  if (name == "remove_variable") return remove_variable(edit);
  if (name == "sweep") return sweep_often(edit);
  if (name == "forget") return model_.forget();
  if (name == "marginals") return answer_marginals(member(edit, "variables"));
  static constexpr const char* names[] = {"add_factor", "remove_factor", "set_unary",       "clamp",
                                          "release",    "add_variable",  "remove_variable", "sweep",
                                          "forget",     "marginals"};
  const std::string nearest = nearest_name(name, names, std::size(names));
  expected(
      fmt::format("\"op\" to be one of add_factor, remove_factor, set_unary, clamp, release, add_variable, "
                  "remove_variable, "
                  "sweep, forget, marginals, found {}{}",
                  shown(*op), nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest)));
}

void EditStream::count_edit() {
  ++edits_;
  if (options_.edits_per_sweep > 0 && edits_ % options_.edits_per_sweep == 0) sweep();
}

EditStream::Id EditStream::variable_of(const json& value) const {
  if (value.is_string()) {
    const auto found = variable_ids_.find(value.get_ref<const std::string&>());
    if (found != variable_ids_.end()) return found->second;
  } else if (value.is_number_unsigned() && model_.has_variable(value.get<Id>())) {
    return value.get<Id>();
  }
  expected(fmt::format("a variable of the model (its name or number), found {}", shown(value)));
}

EditStream::Id EditStream::factor_of(const json& value) const {
  if (value.is_string()) {
    const auto found = factor_ids_.find(value.get_ref<const std::string&>());
    if (found != factor_ids_.end()) return found->second;
  } else if (value.is_number_unsigned() && model_.has_factor(value.get<Id>())) {
    return value.get<Id>();
  }
  expected(fmt::format("a factor of the model (its name or number), found {}", shown(value)));
}

EditStream::Id EditStream::variable_member(const json& edit) const {
  const json* variable = member(edit, "variable");
  if (variable == nullptr) expected("\"variable\": its name or number");
  return variable_of(*variable);
}

// The name under "name", which must be new; empty when there is none.
std::string EditStream::new_name(const json& edit, const std::unordered_map<std::string, Id>& taken) {
  const json* name = member(edit, "name");
  if (name == nullptr) return "";
  if (!name->is_string() || name->get_ref<const std::string&>().empty())
    expected(fmt::format("a text as \"name\", found {}", shown(*name)));
  if (taken.contains(name->get_ref<const std::string&>()))
    expected(fmt::format("a new \"name\", found {}, which is taken", shown(*name)));
  return name->get<std::string>();
}

void EditStream::add_factor(const json& edit) {
  const json *variables = member(edit, "variables"), *table = member(edit, "table"),
             *coupling = member(edit, "coupling"), *potts = member(edit, "potts");
  if (variables == nullptr || !variables->is_array() || variables->size() != 2)
    expected("\"variables\" with two variables");
  const Id first = variable_of((*variables)[0]), second = variable_of((*variables)[1]);
  if (first == second) expected("two different variables");
  if ((table != nullptr) + (coupling != nullptr) + (potts != nullptr) != 1)
    expected("one of \"table\":[p00,p01,...], \"coupling\":J and \"potts\":J");
  const std::string name = new_name(edit, factor_ids_);
  const std::uint32_t rows = model_.states(first), columns = model_.states(second);
  const auto check_spread = [&](double spread, const json& value) {
    if (rows + columns > 4 && spread > DynamicModel::most_spread)
      expected(fmt::format("entries of a factor within exp({}) of each other, found {}",
                           DynamicModel::most_spread, shown(value)));
  };
  Id id = 0;
  if (table != nullptr) {
    const std::vector<double> logs = log_values(*table, std::size_t{rows} * columns, "\"table\"");
    const auto [least, most] = std::ranges::minmax(logs);
    check_spread(most - least, *table);
    id = model_.add_factor(first, second, logs);
  } else if (potts != nullptr) {
    if (rows != columns)
      expected(fmt::format("variables of as many states for \"potts\", found {} and {}", rows, columns));
    const double strength = number_within(*potts, "\"potts\"");
    check_spread(std::abs(strength), *potts);
    id = model_.add_potts(first, second, strength);
  } else {
    if (rows != 2 || columns != 2)
      expected("binary variables for \"coupling\": others take \"potts\" or \"table\"");
    id = model_.add_factor(first, second, number_within(*coupling, "\"coupling\""));
  }
  if (name.empty()) {
    answer_(fmt::format("{{\"line\":{},\"factor\":{}}}", line_, id));
  } else {
    factor_ids_[name] = id;
    factor_names_[id] = name;
  }
  count_edit();
}

namespace {

void forget_name(EditStream::Id id, std::unordered_map<EditStream::Id, std::string>& names,
                 std::unordered_map<std::string, EditStream::Id>& ids) {
  const auto named = names.find(id);
  if (named == names.end()) return;
  ids.erase(named->second);
  names.erase(named);
}

}  // namespace

void EditStream::remove_factor(const json& edit) {
  const json* factor = member(edit, "factor");
  if (factor == nullptr) expected("\"factor\": its name or number");
  const Id id = factor_of(*factor);
  model_.remove_factor(id);
  forget_name(id, factor_names_, factor_ids_);
  count_edit();
}

void EditStream::add_variable(const json& edit) {
  const json *states = member(edit, "states"), *unary = member(edit, "unary");
  const std::uint64_t count = states != nullptr                       ? whole_number(*states, "\"states\"")
                              : unary != nullptr && unary->is_array() ? unary->size()
                                                                      : 2;
  if (count < 2 || count > DynamicModel::most_states)
    expected(fmt::format("2 to {} states, found {}", DynamicModel::most_states, count));
  std::vector<double> log_unary = log_unary_of(edit, count);
  if (log_unary.empty()) log_unary.assign(count, 0.0);
  const std::string name = new_name(edit, variable_ids_);
  const Id id = model_.add_variable(log_unary);
  if (name.empty()) {
    answer_(fmt::format("{{\"line\":{},\"variable\":{}}}", line_, id));
  } else {
    variable_ids_[name] = id;
    variable_names_[id] = name;
  }
  count_edit();
}

void EditStream::remove_variable(const json& edit) {
  const Id id = variable_member(edit);
  if (!factor_names_.empty())
    for (Id factor : model_.factors_of(id)) forget_name(factor, factor_names_, factor_ids_);
  model_.remove_variable(id);
  forget_name(id, variable_names_, variable_ids_);
  count_edit();
}

void EditStream::sweep_often(const json& edit) {
  const json* count = member(edit, "count");
  const std::uint64_t sweeps = count == nullptr ? 1 : whole_number(*count, "\"count\"");
  for (std::uint64_t s = 0; s < sweeps && !should_stop_(); ++s) sweep();
}

void EditStream::sweep() {
  model_.sweep();
  if (options_.every > 0 && model_.sweeps() % options_.every == 0) answer_marginals(nullptr);
}

void EditStream::answer_marginals(const json* wanted) {
  std::vector<Id> ids;
  if (wanted == nullptr) {
    ids = model_.variables();
  } else {
    if (!wanted->is_array()) expected(fmt::format("a list as \"variables\", found {}", shown(*wanted)));
    for (const json& value : *wanted) ids.push_back(variable_of(value));
  }
  std::string names, probabilities, errors;
  for (Id id : ids) {
    const char* comma = names.empty() ? "" : ",";
    const auto named = variable_names_.find(id);
    names += comma + (named == variable_names_.end() ? std::to_string(id) : json_text(json(named->second)));
    for (std::uint32_t value = 0; value < model_.states(id); ++value) {
      const DynamicModel::Estimate estimate = model_.marginal(id, static_cast<Value>(value));
      const char* open = value > 0 ? "," : *comma == 0 ? "[" : ",[";
      probabilities += fmt::format("{}{}", open, estimate.probability);
      errors += fmt::format("{}{}", open, estimate.standard_error);
    }
    probabilities += ']';
    errors += ']';
  }
  answer_(fmt::format("{{\"line\":{},\"sweeps\":{},\"variables\":[{}],\"marginals\":[{}],\"mcse\":[{}]}}",
                      line_, model_.sweeps(), names, probabilities, errors));
}

}  // namespace drover
