// What is asked about data: herd, learn, diagnose.
#include <fmt/format.h>
#include <pybind11/stl.h>

#include "answers.hpp"
#include "arrays.hpp"
#include "data.hpp"
#include "drover/core/figures.hpp"
#include "drover/core/large_memory.hpp"
#include "drover/core/plural.hpp"
#include "drover/core/stop_check.hpp"
#include "drover/io/machine_file.hpp"
#include "drover/io/moments.hpp"
#include "drover/task/diagnose.hpp"
#include "drover/task/herd.hpp"
#include "drover/task/learn.hpp"
#include "python_answers.hpp"
#include "python_run.hpp"
#include "report_pages.hpp"

namespace drover::python {

namespace {

struct PythonHerd : HerdResult {
  bool interrupted = false;
};
struct PythonLearn : LearnResult {
  bool interrupted = false;
};

/// Runs a question about data: options from keywords, the table from what Python has. `ask(table, control)`
/// answers.
template <class Options, class Ask>
auto ask_data(const py::object& data, const py::kwargs& keywords, Options& options, DataOptions& data_options,
              Ask ask, bool& interrupted) {
  py::dict rest(keywords.attr("copy")());
  const py::object progress = take_progress(rest), names = take(rest, "names");
  Limits limits;
  OptionList list;
  describe(list, options);
  describe(list, data_options);
  describe(list, limits);
  set_options(list, rest);
  const PreparedData table = prepared(data, names);
  options.input = table.path.empty() ? "the data" : table.path;
  PythonRun run(limits, progress);
  auto result = run([&](const RunControl& control) { return ask(table, control); });
  interrupted = run.interrupted();
  if (interrupted) warn("InterruptedWarning", "interrupted: this is the result so far");
  return result;
}

PythonHerd ask_herd(const py::object& data, const py::kwargs& keywords) {
  HerdOptions options;
  DataOptions data_options;
  bool interrupted = false;
  HerdResult result = ask_data(
      data, keywords, options, data_options,
      [&](const PreparedData& table, const RunControl& control) {
        if (!table.path.empty() && is_moments_file(table.path))
          return herd(read_moments(table.path), options, control);
        return herd(table.table(data_options, control), options, control);
      },
      interrupted);
  return {std::move(result), interrupted};
}

PythonLearn ask_learn(const std::string& kind, const py::object& data, const py::kwargs& keywords) {
  LearnOptions options;
  const auto known = choice_named<MachineKind>(kind);
  if (!known) throw Error(ErrorKind::usage, fmt::format("kind={}: expected ising, boltzmann or rbm", kind));
  options.kind = *known;
  DataOptions data_options;
  data_options.constant_columns = true;
  bool interrupted = false;
  LearnResult result = ask_data(
      data, keywords, options, data_options,
      [&](const PreparedData& table, const RunControl& control) {
        return learn(table.table(data_options, control), options, control);
      },
      interrupted);
  return {std::move(result), interrupted};
}

// (chain, draw, variable...), (chain, draw) or (draw) as the library has them: (draw, chain, variable).
DrawFile draws_of(const py::object& object, const py::object& names, PythonRun& run) {
  const auto values = numbers<double>(object, "the draws");
  if (values.ndim() < 1)
    throw Error(ErrorKind::usage, "the draws: expected an array of shape (chain, draw, variable)");
  DrawFile file;
  const bool has_chains = values.ndim() > 1;
  file.chains = has_chains ? static_cast<std::size_t>(values.shape(0)) : 1;
  file.draws = static_cast<std::size_t>(values.shape(has_chains ? 1 : 0));
  const std::size_t rows = file.chains * file.draws;
  const std::size_t variables = rows == 0 ? 0 : static_cast<std::size_t>(values.size()) / rows;
  if (!names.is_none())
    file.variable_names = names.cast<std::vector<std::string>>();
  else
    for (std::size_t v = 0; v < variables; ++v) file.variable_names.push_back("x" + std::to_string(v));
  if (file.variable_names.size() != variables)
    throw Error(ErrorKind::usage,
                fmt::format("names: expected {}, found {}", variables, file.variable_names.size()));
  const double* const given = values.data();
  return run([&](const RunControl& control) {
    StopCheck check(control, "the draws", "were taken");
    std::vector<double> sorted;
    grow_patiently(sorted, rows * variables, 0.0, check);
    for (std::size_t c = 0; c < file.chains; ++c)
      for (std::size_t t = 0; t < file.draws; ++t) {
        std::copy_n(given + (c * file.draws + t) * variables, variables,
                    sorted.data() + (t * file.chains + c) * variables);
        check.step(variables);
      }
    set_values(file, std::move(sorted));
    return std::move(file);
  });
}

DiagnoseResult ask_diagnose(const py::object& draws, py::object names, const py::kwargs& keywords) {
  py::dict rest(keywords.attr("copy")());
  const py::object progress = take_progress(rest);
  Limits limits;
  OptionList list;
  describe(list, limits);
  set_options(list, rest);
  PythonRun run(limits, progress);
  DrawFile file;
  std::string input = "the draws";
  if (py::isinstance<py::str>(draws) || py::hasattr(draws, "__fspath__")) {
    input = path_of(draws);
    file = run([&](const RunControl& control) { return read_draws(input, control); });
  } else if (py::isinstance<Draws>(draws)) {
    if (names.is_none()) names = draws.attr("names");
    input = draws.cast<const Draws&>().provenance.input;
    file = draws_of(draws.attr("values"), names, run);
    const auto scores = numbers<double>(draws.attr("log_scores").attr("T"), "log scores");
    file.log_scores.assign(scores.data(), scores.data() + scores.size());
  } else {
    file = draws_of(draws, names, run);
  }
  DiagnoseResult result = run([&](const RunControl& control) { return diagnose(file, input, control); });
  run.raise_if_interrupted();
  return result;
}

std::string text_of(const PythonHerd& h) {
  return fmt::format("HerdResult: {} of {}, {}\nlargest moment error {:.3g}, weight norm {:.4g}\n{}: {}",
                     counted(h.samples, "pseudo-sample"), counted(h.variables(), "variable"),
                     counted(h.features, "feature"), h.moment_error_max, h.weight_norm,
                     choice_name(judge(h).verdict), judge(h).text);
}

std::string text_of(const PythonLearn& r) {
  return fmt::format(
      "LearnResult: {} of {} visible and {} hidden variables, from {}\n{}, {} in {:.3g} s ({})\n{}: {}",
      choice_name(r.machine.kind), r.machine.visible, r.machine.hidden, counted(r.rows, "row"),
      method_line(r.provenance), counted(r.fit.iterations, "iteration"), r.provenance.seconds, r.fit.ended,
      choice_name(judge(r).verdict), judge(r).text);
}

std::string text_of(const DiagnoseResult& r) {
  std::string text =
      fmt::format("Diagnosis of {} of {} each, {}\n  {:16} {:>10} {:>10} {:>9} {:>9} {:>8}\n",
                  counted(r.chains, "chain"), counted(r.draws, "draw"), counted(r.names.size(), "variable"),
                  "", "mean", "R-hat", "ESS bulk", "ESS tail", "MCSE");
  for (std::size_t v = 0; v < std::min(most_rows, r.names.size()); ++v) {
    const VariableDiagnosis& one = r.diagnostics.variables[v];
    text += fmt::format("  {:16.16} {:10.4g} {:>10} {:>9} {:>9} {:>8}\n", r.names[v], one.mean,
                        rhat_text(one.rhat), ess_text(one.ess_bulk), ess_text(one.ess_tail),
                        error_text(one.mcse));
  }
  if (r.names.size() > most_rows) text += fmt::format("  ... and {} more\n", r.names.size() - most_rows);
  return text + fmt::format("{}: {}", choice_name(judge(r).verdict), judge(r).text);
}

py::dict to_python(const HerdResult& h) {
  py::dict dict;
  for (const HerdExpectation& one : h.expectations) dict[py::str(one.query)] = one.probability;
  return dict;
}

void bind_herd(py::module_& module) {
  py::class_<PythonHerd> c(module, "HerdResult", "Pseudo-samples that have the moments of data.");
  bind_provenance(c);
  bind_report(c);
  c.def_property_readonly(
       "values",
       [](const py::object& self) {
         const auto& h = self.cast<const PythonHerd&>();
         const auto variables = static_cast<py::ssize_t>(h.variables());
         return view(h.values.data(),
                     {variables == 0 ? 0 : static_cast<py::ssize_t>(h.values.size()) / variables, variables},
                     self);
       },
       "(sample, variable), as numbers of states; a read-only view.")
      .def_property_readonly("names", [](const PythonHerd& h) { return h.names.variables; })
      .def(
          "states",
          [](const PythonHerd& h, std::size_t v) {
            std::vector<std::string> states;
            for (std::uint32_t k = 0; k < h.cardinalities.at(v); ++k)
              states.push_back(h.names.state(static_cast<VariableId>(v), k));
            return states;
          },
          py::arg("variable"), "The names of a variable's states, by its number.")
      .def_property_readonly("samples", [](const PythonHerd& h) { return h.samples; })
      .def_property_readonly(
          "rows", [](const PythonHerd& h) { return h.rows; }, "Rows of the data.")
      .def_property_readonly(
          "features", [](const PythonHerd& h) { return h.features; }, "How many moments are herded.")
      .def_property_readonly(
          "search", [](const PythonHerd& h) { return std::string(choice_name(h.search)); },
          "How maxima were found.")
      .def_property_readonly(
          "exact", [](const PythonHerd& h) { return h.exact; }, "Whether every maximum is one.")
      .def_property_readonly("moment_error_max", [](const PythonHerd& h) { return h.moment_error_max; })
      .def_property_readonly("weight_norm", [](const PythonHerd& h) { return h.weight_norm; })
      .def_property_readonly(
          "count_distribution", [](const PythonHerd& h) { return adopt(h.count_distribution); },
          "P(k ones), of binary variables.")
      .def_property_readonly(
          "expectations", [](const PythonHerd& h) { return to_python(h); },
          "The probabilities that `query` asked for.")
      .def_property_readonly(
          "error", [](const PythonHerd& h) { return h.classification ? h.classification->error : not_known; },
          "With `classify`: the share of test rows that were named wrongly.")
      .def_property_readonly("interrupted", [](const PythonHerd& h) { return h.interrupted; })
      .def(
          "to_json", [](const PythonHerd& h) { return to_json(h).text(); },
          "What the command prints, as a text.", Unlocked())
      .def(
          "_page", [](const PythonHerd& h) { return page_of(h, to_json(h).text()); }, Unlocked())
      .def("__repr__", [](const PythonHerd& h) { return text_of(h); });
  module.def("herd", &ask_herd, py::arg("data"),
             "Pseudo-samples that have the moments of data; no model is fitted.\n\n"
             "Parameters\n----------\ndata : array_like, DataFrame or path\n    Rows of discrete data, or "
             "the path of a data or moments file.\n"
             "**options\n    Every option of the command `herd`, and `names` of the "
             "columns.\n\nReturns\n-------\nHerdResult\n");
}

void bind_learn(py::module_& module) {
  py::class_<PythonLearn> c(module, "LearnResult", "A machine of binary variables, learnt from data.");
  bind_provenance(c);
  bind_report(c);
  c.def_property_readonly("kind",
                          [](const PythonLearn& r) { return std::string(choice_name(r.machine.kind)); })
      .def_property_readonly(
          "names", [](const PythonLearn& r) { return r.names; }, "Of the visible variables.")
      .def_property_readonly("visible", [](const PythonLearn& r) { return r.machine.visible; })
      .def_property_readonly("hidden", [](const PythonLearn& r) { return r.machine.hidden; })
      .def_property_readonly(
          "weights",
          [](const py::object& self) {
            const BinaryMachine& m = self.cast<const PythonLearn&>().machine;
            if (m.kind == MachineKind::rbm)
              return view(m.weights.data(),
                          {static_cast<py::ssize_t>(m.visible), static_cast<py::ssize_t>(m.hidden)}, self);
            return view(m.weights, self);
          },
          "Of the edges, for x of 0 and 1; an RBM's have the shape (visible, hidden).")
      .def_property_readonly(
          "edges",
          [](const PythonLearn& r) {
            std::vector<VariableId> ends;
            for (std::size_t e = 0; e < r.machine.edges(); ++e)
              ends.insert(ends.end(), {r.machine.first[e], r.machine.second[e]});
            return adopt(std::move(ends), {static_cast<py::ssize_t>(r.machine.edges()), 2});
          },
          "(edge, 2): the variables of every weight.")
      .def_property_readonly(
          "biases",
          [](const py::object& self) { return view(self.cast<const PythonLearn&>().machine.biases, self); },
          "Of all variables, visible first.")
      .def_property_readonly("iterations", [](const PythonLearn& r) { return r.fit.iterations; })
      .def_property_readonly(
          "objective", [](const PythonLearn& r) { return adopt(r.fit.objective); },
          "Over time; `objective_name` says what it is.")
      .def_property_readonly("objective_name", [](const PythonLearn& r) { return r.objective; })
      .def_property_readonly(
          "log_mmd", [](const PythonLearn& r) { return r.log_mmd; },
          "Samples against rows that were not seen: log squared MMD.")
      .def_property_readonly("interrupted", [](const PythonLearn& r) { return r.interrupted; })
      .def_property_readonly(
          "model",
          [](const PythonLearn& r) {
            const py::gil_scoped_release release;
            return StatedModel(model_of(machine_file(r)));
          },
          "As a Model; hidden variables are called h0, h1, ...")
      .def(
          "save",
          [](const PythonLearn& r, const py::object& path) {
            const std::string name = path_of(path);
            const py::gil_scoped_release release;
            write_machine(name, machine_file(r));
          },
          py::arg("path"), "Write the machine: .drv or .drv.gz, which drover.read reads.")
      .def(
          "to_json", [](const PythonLearn& r) { return to_json(r).text(); },
          "What the command prints, as a text.", Unlocked())
      .def(
          "_page", [](const PythonLearn& r) { return page_of(r, to_json(r).text(), std::nullopt); },
          Unlocked())
      .def("__repr__", [](const PythonLearn& r) { return text_of(r); });
  module.def("learn", &ask_learn, py::arg("kind"), py::arg("data"),
             "A machine learnt from rows of zeros and ones.\n\n"
             "Parameters\n----------\nkind : {\"ising\", \"boltzmann\", \"rbm\"}\ndata : array_like, "
             "DataFrame or path\n"
             "**options\n    Every option of the command `learn`, and `names` of the "
             "columns.\n\nReturns\n-------\nLearnResult\n");
}

template <double VariableDiagnosis::*field>
py::array column(const DiagnoseResult& r) {
  std::vector<double> all;
  for (const VariableDiagnosis& one : r.diagnostics.variables) all.push_back(one.*field);
  return adopt(std::move(all));
}

void bind_diagnose(py::module_& module) {
  py::class_<DiagnoseResult> c(module, "Diagnosis", "How far draws can be relied on.");
  bind_provenance(c);
  bind_report(c);
  c.def_property_readonly("names", [](const DiagnoseResult& r) { return r.names; })
      .def_property_readonly("chains", [](const DiagnoseResult& r) { return r.chains; })
      .def_property_readonly("draws", [](const DiagnoseResult& r) { return r.draws; })
      .def_property_readonly("converged", [](const DiagnoseResult& r) { return r.converged; })
      .def_property_readonly("mean", &column<&VariableDiagnosis::mean>)
      .def_property_readonly("rhat", &column<&VariableDiagnosis::rhat>)
      .def_property_readonly("ess_bulk", &column<&VariableDiagnosis::ess_bulk>)
      .def_property_readonly("ess_tail", &column<&VariableDiagnosis::ess_tail>)
      .def_property_readonly("mcse", &column<&VariableDiagnosis::mcse>)
      .def_property_readonly("autocorrelation", &column<&VariableDiagnosis::autocorrelation>, "At lag 1.")
      .def_property_readonly("rhat_max", [](const DiagnoseResult& r) { return r.diagnostics.rhat_max; })
      .def_property_readonly("ess_min", [](const DiagnoseResult& r) { return r.diagnostics.ess_min; })
      .def_property_readonly("mcse_max", [](const DiagnoseResult& r) { return r.diagnostics.mcse_max; })
      .def("to_frame", forward("drover._export", "diagnosis_frame"),
           "A pandas DataFrame: a row for each variable.")
      .def(
          "to_json", [](const DiagnoseResult& r) { return to_json(r).text(); },
          "What the command prints, as a text.", Unlocked())
      .def(
          "_page", [](const DiagnoseResult& r) { return page_of(r, to_json(r).text()); }, Unlocked())
      .def("__repr__", [](const DiagnoseResult& r) { return text_of(r); });
  module.def("diagnose", &ask_diagnose, py::arg("draws"), py::arg("names") = py::none(),
             "R-hat, effective sample size and standard error of anyone's draws.\n\n"
             "Parameters\n----------\ndraws : array_like of shape (chain, draw, variable), Draws, or "
             "path\nnames : list of str, optional\n\n"
             "Returns\n-------\nDiagnosis\n");
}

}  // namespace

void bind_tasks(py::module_& module) {
  bind_herd(module);
  bind_learn(module);
  bind_diagnose(module);
}

}  // namespace drover::python
