// The class Model: how models are stated, read and written.
#include "drover/model/model.hpp"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "arrays.hpp"
#include "drover/core/plural.hpp"
#include "drover/core/stop_check.hpp"
#include "drover/draw/network.hpp"
#include "drover/io/model_file.hpp"
#include "drover/model/builders.hpp"
#include "pickling.hpp"
#include "python_run.hpp"
#include "stated_model.hpp"

namespace drover::python {

namespace {

using Numbers = py::array_t<double, py::array::c_style | py::array::forcecast>;

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorKind::usage, message);
}

std::span<const double> flat(const Numbers& numbers) {
  return {numbers.data(), static_cast<std::size_t>(numbers.size())};
}

// Potentials as logarithms; what is negative or not a number is named.
std::vector<double> log_values(std::span<const double> values, bool log, const char* what) {
  std::vector<double> logs(values.begin(), values.end());
  if (log) return logs;
  for (std::size_t k = 0; k < logs.size(); ++k) {
    if (!(logs[k] >= 0)) fail(fmt::format("{}: expected entries of 0 or more, found {}", what, logs[k]));
    logs[k] = std::log(logs[k]);
  }
  return logs;
}

void add_variable(Model& model, const std::string& name, py::handle states) {
  const bool named = !is_whole_number(states);
  std::vector<std::string> names;
  if (named)
    for (py::handle state : states) names.push_back(py::str(state));
  const auto count = named ? static_cast<py::ssize_t>(names.size()) : states.cast<py::ssize_t>();
  if (count < 1 || count > static_cast<py::ssize_t>(max_cardinality))
    fail(fmt::format("variable {}: expected 1 to {} states, found {}", name, max_cardinality, count));
  model.cardinalities.push_back(static_cast<std::uint32_t>(count));
  model.variable_names.push_back(name);
  if (named) model.state_names.resize(model.cardinalities.size());
  if (named)
    model.state_names.back() = std::move(names);
  else if (!model.state_names.empty())
    model.state_names.emplace_back();
}

/// A variable of another model, without its factors.
void add_variable(Model& model, const Model& other, VariableId v) {
  model.cardinalities.push_back(other.cardinalities[v]);
  model.variable_names.push_back(other.variable_name(v));
  const bool named = v < other.state_names.size() && !other.state_names[v].empty();
  if (named || !model.state_names.empty()) model.state_names.resize(model.cardinalities.size());
  if (named) model.state_names.back() = other.state_names[v];
}

Model stated(py::handle variables) {
  Model model;
  if (is_whole_number(variables)) {
    const auto count = variables.cast<py::ssize_t>();
    if (count < 0) fail(fmt::format("expected 0 variables or more, found {}", count));
    model.cardinalities.assign(static_cast<std::size_t>(count), 2);
  } else if (py::hasattr(variables, "items")) {
    for (const py::handle item : variables.attr("items")()) {
      const auto pair = item.cast<py::tuple>();
      add_variable(model, py::str(pair[0]), pair[1]);
    }
  } else {
    const auto counts = numbers<std::int64_t>(variables, "numbers of states");
    for (py::ssize_t v = 0; v < counts.size(); ++v) {
      if (counts.data()[v] < 1 || counts.data()[v] > static_cast<std::int64_t>(max_cardinality))
        fail(fmt::format("variable {}: expected 1 to {} states, found {}", v, max_cardinality,
                         counts.data()[v]));
      model.cardinalities.push_back(static_cast<std::uint32_t>(counts.data()[v]));
    }
  }
  return model;
}

std::string scope_text(const Model& model, std::span<const VariableId> scope) {
  std::string text;
  for (VariableId v : scope) text += (text.empty() ? "" : ", ") + model.variable_name(v);
  return "factor over " + text;
}

// The shape a table must have: the numbers of states of its scope.
void check_table(const Model& model, std::span<const VariableId> scope, const Shape& shape) {
  std::string wanted, found;
  std::size_t entries = 1;
  for (VariableId v : scope) {
    wanted += fmt::format("{}{}", wanted.empty() ? "" : ", ", model.cardinalities[v]);
    entries *= model.cardinalities[v];
  }
  for (py::ssize_t n : shape) found += fmt::format("{}{}", found.empty() ? "" : ", ", n);
  if (wanted == found || (shape.size() == 1 && static_cast<std::size_t>(shape[0]) == entries)) return;
  fail(
      fmt::format("{}: expected a table of shape ({}), found ({})", scope_text(model, scope), wanted, found));
}

Shape shape_of(const py::array& array) {
  return {array.shape(), array.shape() + array.ndim()};
}

void add_factor(StatedModel& stated, py::handle scope_keys, py::handle table, bool log) {
  const std::vector<VariableId> scope = stated->variables(scope_keys);
  const Numbers values = numbers<double>(table, "the table");
  check_table(stated->model, scope, shape_of(values));
  const std::string what = scope_text(stated->model, scope);
  const std::vector<double> logs = log_values(flat(values), log, what.c_str());
  Model& model = stated.edit();
  if (scope.size() == 1)
    model.unaries.add(scope[0], logs);
  else
    model.tables.add(scope, logs);
}

void add_factors(StatedModel& stated, py::handle scopes, py::handle tables, bool log) {
  std::vector<std::vector<VariableId>> all;
  for (py::handle scope : scopes) all.push_back(stated->variables(scope));
  const Numbers values = numbers<double>(tables, "the tables");
  Shape shape = shape_of(values);
  if (all.empty()) return;
  const bool tied =
      shape.size() == all[0].size() &&
      !(shape.size() == 2 && static_cast<std::size_t>(shape[0]) == all.size() && all[0].size() == 1);
  if (!tied && (shape.empty() || static_cast<std::size_t>(shape[0]) != all.size()))
    fail(fmt::format("expected one table or {}, found {}", all.size(), shape.empty() ? 0 : shape[0]));
  if (!tied) shape.erase(shape.begin());
  for (const auto& scope : all) check_table(stated->model, scope, shape);
  const std::vector<double> logs = log_values(flat(values), log, "the tables");
  Model& model = stated.edit();
  const std::size_t entries = tied ? logs.size() : logs.size() / all.size();
  if (tied && all[0].size() > 1) {
    const std::uint32_t table = model.tables.add_table(logs);
    for (const auto& scope : all) model.tables.add_factor(scope, table);
    return;
  }
  for (std::size_t f = 0; f < all.size(); ++f) {
    const std::span<const double> own(logs.data() + (tied ? 0 : f * entries), entries);
    if (all[f].size() == 1)
      model.unaries.add(all[f][0], own);
    else
      model.tables.add(all[f], own);
  }
}

// For every entry of `count` things: a number each, or one for all.
std::vector<double> one_each(py::handle object, std::size_t count, const char* what) {
  const Numbers given = numbers<double>(object, what);
  if (given.ndim() == 0) return std::vector<double>(count, *given.data());
  if (static_cast<std::size_t>(given.size()) != count)
    fail(fmt::format("{}: expected {} numbers or one, found {}", what, count, given.size()));
  return {given.data(), given.data() + count};
}

void add_pairs(StatedModel& stated, py::handle edges, py::handle couplings, bool spins) {
  const auto ends = numbers<std::int64_t>(edges, "edges");
  if (ends.size() > 0 && (ends.ndim() != 2 || ends.shape(1) != 2))
    fail("edges: expected an array of shape (n, 2)");
  const auto count = static_cast<std::size_t>(ends.size() / 2);
  const std::vector<double> strengths = one_each(couplings, count, "couplings");
  const auto variables = static_cast<std::int64_t>(stated->model.variable_count());
  for (py::ssize_t k = 0; k < ends.size(); ++k)
    if (ends.data()[k] < 0 || ends.data()[k] >= variables)
      fail(fmt::format("edge {}: variable {} is out of range: expected 0 to {}", k / 2, ends.data()[k],
                       variables - 1));
  Model& model = stated.edit();
  Pairs& pairs = spins ? static_cast<Pairs&>(model.spin_pairs) : model.potts_pairs;
  for (std::size_t e = 0; e < count; ++e)
    pairs.add(static_cast<VariableId>(ends.data()[2 * e]), static_cast<VariableId>(ends.data()[2 * e + 1]),
              strengths[e]);
}

// log factor h s of every binary variable, s = 2x - 1.
void add_fields(StatedModel& stated, py::handle fields) {
  const std::vector<double> h = one_each(fields, stated->model.variable_count(), "fields");
  Model& model = stated.edit();
  for (std::size_t v = 0; v < h.size(); ++v)
    if (h[v] != 0) model.unaries.add(static_cast<VariableId>(v), std::array{-h[v], h[v]});
}

// Logarithms of unary potentials, a row for each variable; all have as many states.
void add_unaries(StatedModel& stated, py::handle log_unaries) {
  const Numbers rows = numbers<double>(log_unaries, "fields");
  const std::size_t count = stated->model.variable_count();
  if (rows.ndim() != 2 || static_cast<std::size_t>(rows.shape(0)) != count)
    fail(fmt::format("fields: expected an array of shape ({}, states)", count));
  const auto states = static_cast<std::size_t>(rows.shape(1));
  for (std::size_t v = 0; v < count; ++v)
    if (stated->model.cardinalities[v] != states)
      fail(fmt::format("fields: variable {} has {} states, found {}", v, stated->model.cardinalities[v],
                       states));
  Model& model = stated.edit();
  for (std::size_t v = 0; v < count; ++v)
    model.unaries.add(static_cast<VariableId>(v), {rows.data() + v * states, states});
}

std::vector<double> log_off(std::span<const double> strengths) {
  std::vector<double> logs;
  for (double p : strengths) {
    if (!(p >= 0 && p <= 1)) fail(fmt::format("a noisy-or's probabilities: expected 0 to 1, found {}", p));
    logs.push_back(std::log1p(-p));
  }
  return logs;
}

void add_gate(StatedModel& stated, const std::string& kind, py::handle variables, py::handle parameters,
              double leak) {
  const std::vector<VariableId> scope = stated->variables(variables);
  const Numbers given =
      parameters.is_none() ? Numbers(0) : numbers<double>(parameters, "parameters of the gate");
  const std::span<const double> numbers = flat(given);
  const bool has_child = kind == "or" || kind == "and" || kind == "noisy-or";
  if (scope.empty() || (has_child && scope.size() < 2))
    fail(fmt::format("gate {}: expected inputs, then the child", kind));
  const std::span<const VariableId> inputs(scope.data(), scope.size() - (has_child ? 1 : 0));
  const std::size_t wanted = kind == "noisy-or" || kind == "noisy-or-on" ? inputs.size()
                             : kind == "count"                           ? 2
                                                                         : 0;
  if (numbers.size() != wanted)
    fail(fmt::format("gate {}: expected {}, found {}", kind, counted(wanted, "parameter"), numbers.size()));
  const std::vector<double> off = wanted == 0 || kind == "count" ? std::vector<double>() : log_off(numbers);
  const double log_leak = log_off(std::array{leak})[0];
  if (kind == "or")
    stated.edit().gates.add_or(inputs, scope.back());
  else if (kind == "and")
    stated.edit().gates.add_and(inputs, scope.back());
  else if (kind == "noisy-or")
    stated.edit().gates.add_noisy_or(inputs, scope.back(), off, log_leak);
  else if (kind == "noisy-or-on")
    stated.edit().gates.add_noisy_or_on(inputs, off, log_leak);
  else if (kind == "count") {
    if (!(numbers[0] >= 0 && numbers[1] >= numbers[0])) fail("gate count: expected 0 <= low <= high");
    stated.edit().gates.add_count(inputs, static_cast<std::uint32_t>(numbers[0]),
                                  static_cast<std::uint32_t>(std::min(numbers[1], 4e9)));
  } else
    fail(fmt::format("unknown gate {}: expected or, and, noisy-or, noisy-or-on or count", kind));
}

// A row of a conditional table that is no distribution is named: "P(lawn | sprinkler=on, rain=no)". `family`
// has the parents, then the variable.
void check_conditional(const Model& family, std::span<const double> values) {
  constexpr double rounding = 1e-6;
  const std::size_t parents = family.variable_count() - 1, states = family.cardinalities.back();
  for (std::size_t row = 0; row * states < values.size(); ++row) {
    double sum = 0;
    for (std::size_t k = 0; k < states; ++k) sum += values[row * states + k];
    if (std::abs(sum - 1) <= rounding) continue;
    std::string given;
    std::size_t rest = row;
    for (auto p = static_cast<VariableId>(parents); p-- > 0;) {
      const std::uint32_t count = family.cardinalities[p];
      given = fmt::format("{}={}{}{}", family.variable_name(p),
                          family.state_name(p, static_cast<Value>(rest % count)), given.empty() ? "" : ", ",
                          given);
      rest /= count;
    }
    throw Error(ErrorKind::bad_data,
                fmt::format("P({}{}{}) sums to {:.9g}: expected 1", family.variable_names.back(),
                            given.empty() ? "" : " | ", given, sum));
  }
}

void add_to_network(BayesNet& network, const std::string& name, py::handle states, py::handle table,
                    py::handle parents) {
  if (network->named(name)) fail(fmt::format("there is a variable {} already", name));
  std::vector<VariableId> scope;
  if (!parents.is_none()) scope = network->variables(parents);
  const Numbers values = numbers<double>(table, "the table");
  // The family alone is looked at first, so that a wrong table leaves the network as it was.
  Model family;
  for (VariableId parent : scope) add_variable(family, network->model, parent);
  add_variable(family, name, states);
  std::vector<VariableId> all(scope.size() + 1);
  std::iota(all.begin(), all.end(), VariableId{0});
  check_table(family, all, shape_of(values));
  const std::vector<double> logs = log_values(flat(values), false, scope_text(family, all).c_str());
  check_conditional(family, flat(values));

  Model& model = network.edit();
  add_variable(model, family, all.back());
  scope.push_back(static_cast<VariableId>(model.variable_count() - 1));
  if (scope.size() == 1)
    model.unaries.add(scope[0], logs);
  else
    model.tables.add(scope, logs);
}

StatedModel make_rbm(py::handle weights, py::handle visible_biases, py::handle hidden_biases) {
  const Numbers w = numbers<double>(weights, "weights");
  if (w.ndim() != 2) fail("weights: expected an array of shape (visible, hidden)");
  const auto visible = static_cast<std::uint32_t>(w.shape(0)),
             hidden = static_cast<std::uint32_t>(w.shape(1));
  Model model;
  model.cardinalities.assign(visible + hidden, 2);
  model.dense_layers.push_back({0, visible, visible, hidden, {w.data(), w.data() + w.size()}});
  std::vector<double> biases = one_each(visible_biases, visible, "visible biases");
  const std::vector<double> others = one_each(hidden_biases, hidden, "hidden biases");
  biases.insert(biases.end(), others.begin(), others.end());
  for (std::size_t v = 0; v < biases.size(); ++v)
    if (biases[v] != 0) model.unaries.add(static_cast<VariableId>(v), std::array{0.0, biases[v]});
  return StatedModel(std::move(model));
}

py::object scores(const StatedModel& stated, py::handle states) {
  const auto rows = numbers<std::int64_t>(states, "states");
  const std::size_t variables = stated->model.variable_count();
  if (rows.ndim() < 1 || rows.ndim() > 2 ||
      static_cast<std::size_t>(rows.shape(rows.ndim() - 1)) != variables)
    fail(fmt::format("states: expected arrays of {}", counted(variables, "number")));
  const std::shared_ptr<const NamedModel> shared = stated.share();
  const Model& model = shared->model;
  const std::int64_t* const given = rows.data();
  const auto count = static_cast<std::size_t>(rows.size());
  PythonRun run;
  std::vector<double> all = run([&](const RunControl& control) {
    StopCheck check(control, "the log scores", "were there");
    std::vector<Value> assignment(variables);
    std::vector<double> found;
    for (std::size_t at = 0; at < count; at += variables) {
      for (std::size_t v = 0; v < variables; ++v) {
        const std::int64_t x = given[at + v];
        if (x < 0 || x >= model.cardinalities[v])
          fail(fmt::format("state of variable {}: {} is out of range: expected 0 to {}",
                           model.variable_name(static_cast<VariableId>(v)), x, model.cardinalities[v] - 1));
        assignment[v] = static_cast<Value>(x);
      }
      found.push_back(log_score(model, assignment));
      check.step(variables + model.factor_count());
    }
    return found;
  });
  return rows.ndim() == 1 ? py::object(py::float_(all.at(0))) : py::object(adopt(std::move(all)));
}

std::string model_text(const StatedModel& stated) {
  const Model& model = stated->model;
  std::string text =
      fmt::format("<{} of {} and {}", model.kind == ModelKind::bayes ? "Bayesian network" : "model",
                  counted(model.variable_count(), "variable"), counted(model.factor_count(), "factor"));
  if (!stated->source.empty()) text += fmt::format(", from {}", stated->source);
  constexpr std::size_t most_names = 8;
  if (!model.variable_names.empty() && model.variable_names.size() <= most_names)
    text += fmt::format(": {}", fmt::join(model.variable_names, ", "));
  return text + ">";
}

py::list names_of(const StatedModel& stated) {
  py::list names;
  for (std::size_t v = 0; v < stated->model.variable_count(); ++v)
    names.append(stated->model.variable_name(static_cast<VariableId>(v)));
  return names;
}

py::list states_of(const StatedModel& stated, py::handle key) {
  const VariableId v = stated->variable(key);
  py::list states;
  for (std::uint32_t k = 0; k < stated->model.cardinalities[v]; ++k)
    states.append(stated->model.state_name(v, static_cast<Value>(k)));
  return states;
}

void name_variables(StatedModel& stated, const std::vector<std::string>& names) {
  if (names.size() != stated->model.variable_count())
    fail(fmt::format("names: expected {}, found {}", stated->model.variable_count(), names.size()));
  std::vector<std::string> sorted = names;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end()) fail(fmt::format("names: {} occurs twice", *twice));
  stated.edit().variable_names = names;
}

// Every factor in the order unaries, spin pairs, Potts pairs, tables, gates: (kind, scope). For drawings and
// conversion.
py::list scopes_of(const StatedModel& stated) {
  const Model& model = stated->model;
  py::list all;
  const auto add = [&](const char* kind, std::span<const VariableId> scope) {
    all.append(py::make_tuple(kind, std::vector<VariableId>(scope.begin(), scope.end())));
  };
  for (std::size_t f = 0; f < model.unaries.size(); ++f) add("unary", {&model.unaries.variables[f], 1});
  for (std::size_t f = 0; f < model.spin_pairs.size(); ++f)
    add("spin", std::array{model.spin_pairs.first[f], model.spin_pairs.second[f]});
  for (std::size_t f = 0; f < model.potts_pairs.size(); ++f)
    add("potts", std::array{model.potts_pairs.first[f], model.potts_pairs.second[f]});
  for (std::size_t f = 0; f < model.tables.size(); ++f) add("table", model.tables.scope(f));
  for (std::size_t f = 0; f < model.gates.size(); ++f) add("gate", model.gates.scope(f));
  return all;
}

StatedModel read(const py::object& path) {
  const std::string name = py::str(py::module_::import("os").attr("fspath")(path));
  PythonRun run;
  StatedModel stated(run([&](const RunControl& control) { return read_model(name, control); }), name);
  run.raise_if_interrupted();
  return stated;
}

void write(const StatedModel& stated, const py::object& path) {
  const std::string name = py::str(py::module_::import("os").attr("fspath")(path));
  const auto shared = stated.share();
  PythonRun run;
  run([&](const RunControl& control) {
    write_model(shared->model, name, control);
    return true;
  });
}

template <class Stated>
auto pickle_model() {
  return py::pickle(
      [](const Stated& stated) {
        return pickled([shared = stated.share()](auto& archive) {
          NamedModel copy = stated_in(shared);
          visit_all(archive, copy.model, copy.source);
        });
      },
      [](const py::bytes& bytes) {
        NamedModel named(Model{}, "");
        unpickle(bytes, [&](auto& archive) { visit_all(archive, named.model, named.source); });
        Stated stated{StatedModel(std::move(named.model), std::move(named.source))};
        return stated;
      });
}

}  // namespace

void bind_model(py::module_& module, py::class_<StatedModel>& model) {
  using namespace py::literals;
  model
      .def(py::init([](py::handle variables) { return StatedModel(stated(variables)); }),
           "variables"_a = py::dict())
      .def("factor", &add_factor, "variables"_a, "table"_a, "log"_a = false,
           "Add a factor: a potential for each joint state of the variables, the last of which runs "
           "fastest.\n\n"
           "Parameters\n----------\nvariables : name, number or list of them\ntable : array_like\n"
           "    Its shape is the numbers of states; entries of 0 forbid a state.\nlog : bool\n"
           "    Whether the entries are logarithms.\n")
      .def("factors", &add_factors, "scopes"_a, "tables"_a, "log"_a = false,
           "Add many factors of one shape at once: a table for each scope, or one table that all share.\n\n"
           "Parameters\n----------\nscopes : array_like or list of lists\ntables : array_like\nlog : bool\n")
      .def("gate", &add_gate, "kind"_a, "variables"_a, "parameters"_a = py::none(), "leak"_a = 0.0,
           "Add a factor with a rule instead of a table, over binary variables.\n\n"
           "Parameters\n----------\nkind : {\"or\", \"and\", \"noisy-or\", \"noisy-or-on\", "
           "\"count\"}\nvariables : list\n"
           "    The inputs, then the child; noisy-or-on and count have no child.\nparameters : array_like\n"
           "    noisy-or: the probability that each input alone switches the child on; count: least and most "
           "ones.\n"
           "leak : float\n    noisy-or: the probability that the child is on without any input.\n")
      .def(
          "spin_pairs", [](StatedModel& m, py::handle e, py::handle j) { add_pairs(m, e, j, true); },
          "edges"_a, "couplings"_a,
          "Add log factors J s_i s_j, s = 2x - 1, of binary variables.\n\n"
          "Parameters\n----------\nedges : array_like of shape (n, 2)\ncouplings : float or array_like of "
          "n\n")
      .def(
          "potts_pairs", [](StatedModel& m, py::handle e, py::handle j) { add_pairs(m, e, j, false); },
          "edges"_a, "couplings"_a,
          "Add log factors J [x_i = x_j].\n\nParameters\n----------\nedges : array_like of shape (n, 2)\n"
          "couplings : float or array_like of n\n")
      .def("fields", &add_fields, "fields"_a,
           "Add log factors h s_i, s = 2x - 1, of binary variables.\n\nParameters\n----------\n"
           "fields : float or array_like, one for each variable\n")
      .def("unaries", &add_unaries, "log_values"_a,
           "Add a unary factor to every variable; all must have as many states.\n\nParameters\n----------\n"
           "log_values : array_like of shape (variables, states)\n")
      .def("log_score", &scores, "states"_a,
           "The logarithm of the unnormalised probability of a whole state, or of a row of states each.\n\n"
           "Parameters\n----------\nstates : array_like of shape (variables,) or (rows, variables)\n\n"
           "Returns\n-------\nfloat or ndarray\n")
      .def("states", &states_of, "variable"_a, "The names of a variable's states; numbers where it has none.")
      .def("write", &write, "path"_a,
           "Write the model to a file: .uai, .bif, .fg, .coo, each also with .gz behind it.")
      .def("explore", forward("drover._live", "explore"),
           "The live page of the model: click a state and every bar moves; watch a sampler.\n\n"
           "In a notebook it is shown in a frame, elsewhere it is opened in a browser. Only this machine can "
           "reach "
           "it. It ends\nwith stop(), or with Python.\n\n"
           "Parameters\n----------\nport : int\n    0: any that is free.\nheight : int\n    Of the frame, in "
           "pixels.\nhost : {\"localhost\", \"127.0.0.1\"}\n    The name of this machine in the address of "
           "the "
           "notebook.\nopen : bool, optional\n    Whether to open a browser.\n\nReturns\n-------\nLivePage\n")
      .def("_repr_html_", forward("drover._html", "of_model"))
      .def(
          "_network_svg", [](const StatedModel& m) { return network_svg(m->model, {}); },
          "Its variables and arcs as one SVG element.")
      .def("_name_variables", &name_variables)
      .def("_variable", [](const StatedModel& m, py::handle key) { return m->variable(key); })
      .def("_state", [](const StatedModel& m, VariableId v, py::handle key) { return m->state(v, key); })
      .def("_scopes", &scopes_of)
      .def("_add_constant", [](StatedModel& m, double c) { m.edit().log_constant += c; })
      .def_property_readonly("names", &names_of, "The names of the variables; numbers where they have none.")
      .def_property_readonly(
          "cardinalities", [](const StatedModel& m) { return adopt(m->model.cardinalities); },
          "The number of states of every variable.")
      .def_property_readonly(
          "variables", [](const StatedModel& m) { return m->model.variable_count(); },
          "How many variables there are.")
      .def_property_readonly(
          "factor_count", [](const StatedModel& m) { return m->model.factor_count(); },
          "How many factors were stated.")
      .def_property_readonly(
          "is_network", [](const StatedModel& m) { return m->model.kind == ModelKind::bayes; },
          "Whether it is a Bayesian network.")
      .def_property_readonly(
          "source", [](const StatedModel& m) { return m->source; }, "The file it was read from, if any.")
      .def_property_readonly(
          "warnings", [](const StatedModel& m) { return m->model.warnings; },
          "What its reader had to decide.")
      .def(
          "copy", [](const StatedModel& m) { return StatedModel(m); },
          "A copy; it costs nothing until one of the two is edited.")
      .def("__copy__", [](const StatedModel& m) { return StatedModel(m); })
      .def("__deepcopy__", [](const StatedModel& m, py::handle) { return StatedModel(m); })
      .def(pickle_model<StatedModel>())
      .def("__len__", [](const StatedModel& m) { return m->model.variable_count(); })
      .def("__repr__", &model_text);

  py::class_<BayesNet, StatedModel>(module, "BayesNet", "A Bayesian network, stated variable by variable.")
      .def(py::init<>())
      .def("add", &add_to_network, "name"_a, "states"_a, "table"_a, "parents"_a = py::none(),
           "Add a variable with its distribution given its parents, which must be there already.\n\n"
           "Parameters\n----------\nname : str\nstates : list of str, or int\ntable : array_like\n"
           "    P(variable | parents): an axis for each parent, then one for the variable. Each row sums to "
           "1.\n"
           "parents : list of names or numbers\n")
      .def(
          "copy", [](const BayesNet& m) { return BayesNet(m); },
          "A copy; it costs nothing until one of the two is edited.")
      .def(pickle_model<BayesNet>())
      .def("__copy__", [](const BayesNet& m) { return BayesNet(m); })
      .def("__deepcopy__", [](const BayesNet& m, py::handle) { return BayesNet(m); });

  module.def("read", &read, "path"_a,
             "Read a model: .uai, .bif, .fg, .coo, .ising, each also with .gz behind it, or a learnt machine "
             "(.drv).\n\n"
             "Returns\n-------\nModel\n");
  module.def(
      "grid",
      [](std::uint32_t width, std::uint32_t height, double coupling, double field, bool periodic) {
        const py::gil_scoped_release release;
        return StatedModel(grid_ising(width, height, periodic, coupling, field));
      },
      "width"_a, "height"_a, py::kw_only(), "coupling"_a = 1.0, "field"_a = 0.0, "periodic"_a = false,
      "An Ising model on a grid of width x height spins; variable y * width + x.\n\n"
      "Parameters\n----------\nwidth, height : int\ncoupling : float\n    J of every pair of neighbours.\n"
      "field : float\n    h of every spin.\nperiodic : bool\n    Whether opposite sides "
      "touch.\n\nReturns\n-------\nModel\n");
  module.def("rbm", &make_rbm, "weights"_a, "visible_biases"_a = 0.0, "hidden_biases"_a = 0.0,
             "A restricted Boltzmann machine: log p = x' W y + b' x + c' y + const, x and y of zeros and "
             "ones; visible first.\n\n"
             "Parameters\n----------\nweights : array_like of shape (visible, hidden)\nvisible_biases, "
             "hidden_biases : float or array_like\n\n"
             "Returns\n-------\nModel\n");
}

}  // namespace drover::python
