// The classes of answers about a model: Marginals, BestState, LogZ, Draws, ModelInfo.
#include "answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "answer_text.hpp"
#include "draws.hpp"
#include "drover/core/figures.hpp"
#include "drover/core/plural.hpp"
#include "drover/draw/network.hpp"
#include "drover/io/draws.hpp"
#include "drover/io/result_files.hpp"
#include "drover/task/draw_file_sink.hpp"
#include "drover/task/inference.hpp"
#include "drover/task/model_info.hpp"
#include "drover/task/stated.hpp"
#include "pickling.hpp"
#include "python_answers.hpp"
#include "report_pages.hpp"

namespace drover::python {

py::dict evidence_dict(const NamedModel& named, const Observations& observed) {
  py::dict dict;
  const auto name = [&](VariableId v) { return py::str(named.model.variable_name(v)); };
  for (std::size_t e = 0; e < observed.size(); ++e) {
    const VariableId v = observed.variables[e];
    dict[name(v)] = named.state_of(v, observed.values[e]);
  }
  for (std::size_t l = 0; l < observed.likelihoods.size(); ++l) {
    std::vector<double> likelihood;
    for (double value : observed.likelihoods.values(l)) likelihood.push_back(std::exp(value));
    dict[name(observed.likelihoods.variables[l])] = adopt(std::move(likelihood));
  }
  return dict;
}

py::dict to_python(const Diagnostics& diagnostics) {
  py::dict dict;
  dict["rhat_max"] = diagnostics.rhat_max;
  dict["ess_min"] = diagnostics.ess_min;
  dict["mcse_max"] = diagnostics.mcse_max;
  return dict;
}

py::dict to_python(const Trace& trace) {
  py::dict dict;
  dict["sweep"] = adopt(trace.sweep);
  py::list series;
  for (const std::vector<double>& one : trace.series) series.append(adopt(one));
  dict["chains"] = series;
  return dict;
}

namespace {

std::string text_of(const PythonMarginals& answer) {
  return fmt::format("Marginals{}\n", about(answer)) +
         rows_text(answer, answer.query,
                   [&](VariableId v) {
                     const std::span<const double> p = answer.probabilities[v];
                     std::string cells;
                     for (std::size_t k = 0; k < std::min(p.size(), most_states); ++k) {
                       cells += fmt::format("{}{} {:.4f}", k > 0 ? "   " : "", word(answer.names.state(v, k)),
                                            p[k]);
                       if (!answer.exact && answer.mcse[v][k] > 0)
                         cells += " ± " + error_text(answer.mcse[v][k], 1);
                     }
                     if (p.size() > most_states)
                       cells += fmt::format("   ... {} more", p.size() - most_states);
                     return cells;
                   }) +
         ending(answer.provenance, judge(answer));
}

std::string text_of(const PythonBestState& answer) {
  return fmt::format("BestState{}, log score {}\n", about(answer), log_text(answer.log_score)) +
         rows_text(answer, answer.query,
                   [&](VariableId v) { return answer.names.state(v, answer.assignment[v]); }) +
         ending(answer.provenance, judge(answer));
}

std::string text_of(const PythonLogZ& answer) {
  return fmt::format("LogZ{}: {}\n", about(answer), log_text(answer.log_z)) +
         ending(answer.provenance, judge(answer));
}

std::string text_of(const Draws& draws) {
  return fmt::format("Draws{}: {} of {} each{}\n", about(draws), counted(draws.chains, "chain"),
                     counted(draws.count(), "draw"), draws.out.empty() ? "" : ", in " + draws.out) +
         ending(draws.provenance, judge(draws));
}

std::string text_of(const PythonModelInfo& info) {
  std::string fits;
  for (const MethodFit& method : info.methods)
    if (method.fits() && method.task == Task::marginals) fits += (fits.empty() ? "" : ", ") + method.name;
  return fmt::format(
      "ModelInfo: {} ({} free), {}, at most {} states\n  {}, {}, {}\n  treewidth {}\n  methods for "
      "marginals: {}",
      counted(info.variables, "variable"), info.free_variables, counted(info.factors, "factor"),
      info.max_cardinality, info.pairwise ? "pairwise" : "higher order",
      info.strictly_positive ? "strictly positive" : "with hard zeros", counted(info.colours, "colour"),
      info.width_known ? fmt::format("at most {}; exact inference needs about {:.3g} MB",
                                     info.treewidth_bound, info.exact_bytes / 1e6)
                       : fmt::format("above {} (search stopped)", info.width),
      fits);
}

py::array offsets_of(const Distributions& rows) {
  const std::vector<std::size_t> offsets = rows.offsets();
  return adopt(std::vector<py::ssize_t>(offsets.begin(), offsets.end()));
}

py::array row_of(std::span<const double> row, py::handle self) {
  return view(row.data(), {static_cast<py::ssize_t>(row.size())}, self);
}

// r["rain"] is a distribution, r["rain", "yes"] a number.
py::object marginal_of(const py::object& self, const py::object& key) {
  const auto& answer = self.cast<const PythonMarginals&>();
  if (py::isinstance<py::tuple>(key) && py::len(key) == 2) {
    const auto pair = key.cast<py::tuple>();
    const VariableId v = answer.model->variable(pair[0]);
    return py::float_(answer.probabilities[v][answer.model->state(v, pair[1])]);
  }
  return row_of(answer.probabilities[answer.model->variable(key)], self);
}

py::dict joints_of(const py::object& self) {
  const auto& answer = self.cast<const PythonMarginals&>();
  py::dict joints;
  for (const Joint& joint : answer.joints) {
    py::tuple names(joint.variables.size());
    for (std::size_t k = 0; k < joint.variables.size(); ++k)
      names[k] = answer.names.variable(joint.variables[k]);
    joints[names] = view(joint.probabilities.data(), shape_of(joint, *answer.model), self);
  }
  return joints;
}

py::dict pairs_of(const py::object& self) {
  const auto& answer = self.cast<const PythonMarginals&>();
  py::dict pairs;
  for (std::size_t p = 0; p < answer.pairs.size(); ++p) {
    const auto [i, j] = answer.pairs[p];
    const auto rows = static_cast<py::ssize_t>(answer.probabilities[i].size());
    const auto columns = static_cast<py::ssize_t>(answer.probabilities[j].size());
    pairs[py::make_tuple(answer.names.variable(i), answer.names.variable(j))] =
        view(answer.pair_probabilities[p].data(), {rows, columns}, self);
  }
  return pairs;
}

void bind_marginals(py::module_& module) {
  py::class_<PythonMarginals> c(module, "Marginals", "The probability of every state of every variable.");
  bind_model_answer(c);
  bind_pickle(c);
  c.def_property_readonly(
       "values",
       [](const py::object& self) {
         return view(self.cast<const PythonMarginals&>().probabilities.values(), self);
       },
       "All distributions, one after the other; a read-only view.")
      .def_property_readonly(
          "offsets",
          [](const py::object& self) {
            return offsets_of(self.cast<const PythonMarginals&>().probabilities);
          },
          "Variable v has values[offsets[v]:offsets[v + 1]].")
      .def_property_readonly(
          "mcse",
          [](const py::object& self) {
            return view(self.cast<const PythonMarginals&>().mcse.values(), self);
          },
          "The Monte Carlo standard error of each of `values`; zeros when exact.")
      .def_property_readonly(
          "rhat", [](const py::object& self) { return view(self.cast<const PythonMarginals&>().rhat, self); },
          "R-hat of every variable; NaN where there is none.")
      .def_property_readonly(
          "ess", [](const py::object& self) { return view(self.cast<const PythonMarginals&>().ess, self); },
          "The effective sample size of every variable; NaN where there is none.")
      .def_property_readonly(
          "best_state",
          [](const py::object& self) { return view(self.cast<const PythonMarginals&>().best_state, self); },
          "The best state that was met; empty when none was.")
      .def_property_readonly("best_log_score", [](const PythonMarginals& a) { return a.best_log_score; })
      .def_property_readonly(
          "exact", [](const PythonMarginals& a) { return a.exact; },
          "Whether the marginals are exact, up to rounding.")
      .def_property_readonly("converged", [](const PythonMarginals& a) { return a.converged; })
      .def_property_readonly(
          "diagnostics", [](const PythonMarginals& a) { return to_python(a.diagnostics); },
          "The worst figures: rhat_max, ess_min, mcse_max.")
      .def_property_readonly(
          "scores", [](const PythonMarginals& a) { return to_python(a.scores); },
          "Log scores over time, for plots.")
      .def_property_readonly(
          "pairs", &pairs_of,
          "Joint distributions of pairs that share a factor, when pairs=True asked for them.")
      .def_property_readonly("joints", &joints_of,
                             "{variables: array}: the joint distributions that joint=[[...], ...] asked for.")
      .def_property_readonly(
          "race",
          [](const PythonMarginals& a) {
            py::list race;
            for (const RaceEntry& entry : a.race) {
              py::dict one;
              one["method"] = entry.method;
              one["chains"] = entry.chains;
              one["sweeps"] = entry.sweeps;
              one["ess_per_work"] = entry.ess_per_work;
              one["rhat_max"] = entry.rhat_max;
              one["chosen"] = entry.chosen;
              one["note"] = entry.note;
              race.append(one);
            }
            return race;
          },
          "The samplers that were tried, when `auto` let them race.")
      .def("__getitem__", &marginal_of)
      .def("__len__", [](const PythonMarginals& a) { return a.variables; })
      .def("__repr__", [](const PythonMarginals& a) { return text_of(a); })
      .def(
          "to_json", [](const PythonMarginals& a) { return drover::to_json(a, a.query).text(); },
          "What the command prints, as a text.", Unlocked())
      .def(
          "_page",
          [](const PythonMarginals& a) {
            return page_of(a, a.model->model, drover::to_json(a, a.query).text(), a.query);
          },
          Unlocked())
      .def(
          "_network_svg",
          [](const PythonMarginals& a) {
            return network_svg(a.model->model, a.probabilities, fixed_by(a.evidence));
          },
          "The network with its bars, as one SVG element.")
      .def(
          "save",
          [](const PythonMarginals& a, const py::object& path) {
            save(path_of(path), drover::to_json(a, a.query), ".MAR or .json", [&](const std::string& name) {
              if (ends_in(name, ".mar")) write_mar(a.probabilities, name);
              return ends_in(name, ".mar");
            });
          },
          py::arg("path"), "Write the answer: .MAR (UAI) or .json.")
      .def_property_readonly(
          "query", [](const PythonMarginals& a) { return a.query; },
          "Numbers of the variables that are shown; empty: all.")
      .def("to_frame", forward("drover._export", "marginals_frame"),
           "A pandas DataFrame: a row for each state of each variable.")
      .def("to_dict", forward("drover._export", "marginals_dict"), "{variable: {state: probability}}.")
      .def("to_xarray", forward("drover._export", "marginals_xarray"),
           "An xarray Dataset with dimensions variable and state.")
      .def("plot", forward("drover._plots", "marginals"), "Bars of the marginals, by matplotlib.");
}

void bind_best_state(py::module_& module) {
  py::class_<PythonBestState> c(module, "BestState", "A most probable state.");
  bind_model_answer(c);
  bind_pickle(c);
  c.def_property_readonly(
       "assignment",
       [](const py::object& self) { return view(self.cast<const PythonBestState&>().assignment, self); },
       "The state of every variable, as numbers; a read-only view.")
      .def_property_readonly(
          "log_score", [](const PythonBestState& a) { return a.log_score; },
          "The logarithm of its unnormalised probability.")
      .def_property_readonly(
          "upper", [](const PythonBestState& a) { return a.upper; },
          "No state has a higher log score; NaN when no bound is known.")
      .def_property_readonly(
          "optimal", [](const PythonBestState& a) { return a.optimal; },
          "Whether it is proven that no state is better.")
      .def_property_readonly(
          "states", [](const py::object& self) { return ranked_states(self.cast<const PythonBestState&>()); },
          "(rank, variable): the best states when `best` asked for several, best first.")
      .def("__getitem__",
           [](const PythonBestState& a, py::handle key) {
             const VariableId v = a.model->variable(key);
             return a.model->state_of(v, a.assignment[v]);
           })
      .def("__len__", [](const PythonBestState& a) { return a.variables; })
      .def("__repr__", [](const PythonBestState& a) { return text_of(a); })
      .def(
          "to_json", [](const PythonBestState& a) { return drover::to_json(a, a.query).text(); },
          "What the command prints, as a text.", Unlocked())
      .def(
          "_page",
          [](const PythonBestState& a) { return page_of(a, drover::to_json(a, a.query).text(), a.query); },
          Unlocked())
      .def(
          "save",
          [](const PythonBestState& a, const py::object& path) {
            save(path_of(path), drover::to_json(a, a.query), ".MAP or .json", [&](const std::string& name) {
              if (ends_in(name, ".map")) write_map(a.assignment, name);
              return ends_in(name, ".map");
            });
          },
          py::arg("path"), "Write the answer: .MAP (UAI) or .json.")
      .def("to_dict", forward("drover._export", "state_dict"), "{variable: state}.");
}

void bind_log_z(py::module_& module) {
  py::class_<PythonLogZ> c(module, "LogZ", "The logarithm of the partition function.");
  bind_model_answer(c);
  bind_pickle(c);
  c.def_property_readonly("log_z", [](const PythonLogZ& a) { return a.log_z; })
      .def_property_readonly(
          "bound",
          [](const PythonLogZ& a) {
            return a.bound == Bound::lower ? "lower" : a.bound == Bound::upper ? "upper" : "none";
          },
          "Whether log_z is a bound: lower, upper or none.")
      .def_property_readonly("mcse", [](const PythonLogZ& a) { return a.mcse; })
      .def_property_readonly(
          "lower", [](const PythonLogZ& a) { return a.lower; }, "A certified bound; NaN when there is none.")
      .def_property_readonly(
          "upper", [](const PythonLogZ& a) { return a.upper; }, "A certified bound; NaN when there is none.")
      .def_property_readonly(
          "interval", [](const PythonLogZ& a) { return py::make_tuple(a.interval_lower, a.interval_upper); },
          "95 %, statistical.")
      .def_property_readonly("exact", [](const PythonLogZ& a) { return a.exact; })
      .def("__float__", [](const PythonLogZ& a) { return a.log_z; })
      .def("__repr__", [](const PythonLogZ& a) { return text_of(a); })
      .def(
          "to_json", [](const PythonLogZ& a) { return drover::to_json(a).text(); },
          "What the command prints, as a text.", Unlocked())
      .def(
          "_page", [](const PythonLogZ& a) { return page_of(a, drover::to_json(a).text()); }, Unlocked())
      .def(
          "save",
          [](const PythonLogZ& a, const py::object& path) {
            save(path_of(path), drover::to_json(a), ".PR or .json", [&](const std::string& name) {
              if (ends_in(name, ".pr")) write_pr(a.log_z, name);
              return ends_in(name, ".pr");
            });
          },
          py::arg("path"), "Write the answer: .PR (UAI) or .json.");
}

// (chain, draw, variable), or one variable of it: the memory is (draw, chain, variable), only strides differ.
py::array values_of(const py::object& self, std::optional<VariableId> variable = {}) {
  const auto& draws = self.cast<const Draws&>();
  return std::visit(
      [&](const auto& values) {
        using Number = typename std::decay_t<decltype(values)>::value_type;
        const auto chains = static_cast<py::ssize_t>(draws.chains),
                   all = static_cast<py::ssize_t>(draws.variables),
                   count = static_cast<py::ssize_t>(draws.count()),
                   size = static_cast<py::ssize_t>(sizeof(Number));
        if (variable)
          return view(values.data() + *variable, {chains, count}, self, {all * size, chains * all * size});
        return view(values.data(), {chains, count, all}, self, {all * size, chains * all * size, size});
      },
      draws.arrays->values);
}

py::array log_scores_of(const py::object& self) {
  const auto& draws = self.cast<const Draws&>();
  const auto chains = static_cast<py::ssize_t>(draws.chains);
  constexpr auto size = static_cast<py::ssize_t>(sizeof(double));
  return view(draws.arrays->log_scores.data(), {chains, static_cast<py::ssize_t>(draws.count())}, self,
              {size, chains * size});
}

// As the command would have written it.
void save_draws(const Draws& draws, const py::object& path) {
  if (!draws.out.empty())
    throw Error(ErrorKind::usage, fmt::format("the draws are in {} already", draws.out));
  Samples answer = draws;
  const std::string name = path_of(path);
  py::gil_scoped_release release;
  DrawFileSink sink(name);
  sink.begin(answer);
  std::vector<Value> x(draws.variables);
  std::visit(
      [&](const auto& values) {
        for (std::size_t row = 0; row < draws.count() * draws.chains; ++row) {
          std::copy_n(values.data() + row * x.size(), x.size(), x.begin());
          sink.take(static_cast<std::uint32_t>(row % draws.chains), x, draws.arrays->log_scores[row]);
        }
      },
      draws.arrays->values);
  sink.finish(answer);
}

void bind_draws(py::module_& module) {
  py::class_<Draws> c(module, "Draws", "Draws of a model: (chain, draw, variable).");
  bind_model_answer(c);
  bind_pickle(c);
  c.def_property_readonly(
       "values", [](const py::object& self) { return values_of(self); },
       "(chain, draw, variable), as numbers of states; a read-only view.")
      .def_property_readonly("log_scores", &log_scores_of,
                             "(chain, draw): the log score of every draw; a read-only view.")
      .def_property_readonly(
          "draws", [](const Draws& d) { return d.count(); }, "How many draws each chain made.")
      .def_property_readonly("independent", [](const Draws& d) { return d.independent; })
      .def_property_readonly(
          "exact", [](const Draws& d) { return d.exact; },
          "Whether each draw has the distribution of the model itself.")
      .def_property_readonly("converged", [](const Draws& d) { return d.converged; })
      .def_property_readonly(
          "diagnostics", [](const Draws& d) { return to_python(d.Samples::diagnostics); },
          "The worst figures: rhat_max, ess_min, mcse_max.")
      .def_property_readonly(
          "scores", [](const Draws& d) { return to_python(d.scores); }, "Log scores over time, for plots.")
      .def_property_readonly(
          "out", [](const Draws& d) { return d.out; }, "The file that took the draws, if one did.")
      .def("__getitem__",
           [](const py::object& self, py::handle key) {
             return values_of(self, self.cast<const Draws&>().model->variable(key));
           })
      .def(
          "__array__",
          [](const py::object& self, const py::object& dtype) {
            py::object values = values_of(self);
            return dtype.is_none() ? values : values.attr("astype")(dtype);
          },
          py::arg("dtype") = py::none())
      .def("__len__", [](const Draws& d) { return d.count() * d.chains; })
      .def("__repr__", [](const Draws& d) { return text_of(d); })
      .def(
          "to_json", [](const Draws& d) { return drover::to_json(static_cast<const Samples&>(d)).text(); },
          "What the command prints, as a text.", Unlocked())
      .def(
          "_page",
          [](const Draws& d) { return page_of(d, drover::to_json(static_cast<const Samples&>(d)).text()); },
          Unlocked())
      .def("save", &save_draws, py::arg("path"),
           "Write the draws as the command does: .npz, .csv, .csv.gz or .nc (ArviZ's layout).")
      .def("to_netcdf", &save_draws, py::arg("path"), "Write the draws in ArviZ's layout.")
      .def("to_frame", forward("drover._export", "draws_frame"),
           "A pandas DataFrame: a row for each draw, indexed by chain and draw.")
      .def("to_xarray", forward("drover._export", "draws_xarray"),
           "An xarray Dataset with dimensions chain, draw and variable.")
      .def("to_arviz", forward("drover._export", "draws_arviz"), "An InferenceData of ArviZ.")
      .def("summary", forward("drover._export", "draws_summary"),
           "R-hat, effective sample size and standard error of every variable.")
      .def("plot", forward("drover._plots", "trace"), "Traces of the log score, by matplotlib.");
}

py::list sensitivity_of(const PythonModelInfo& info) {
  py::list all;
  if (!info.about) return all;
  for (const Sensitivity& one : info.about->sensitivity) {
    py::dict entry, about_one;
    for (std::size_t k = 0; k < one.variables.size(); ++k)
      entry[py::str(info.about->names.variable(one.variables[k]))] =
          info.about->names.state(one.variables[k], one.states[k]);
    about_one["entry"] = entry;
    about_one["value"] = one.entry;
    about_one["derivatives"] = adopt(one.derivatives);
    all.append(about_one);
  }
  return all;
}

void bind_info(py::module_& module) {
  py::class_<PythonModelInfo> c(module, "ModelInfo", "What a model is, and which methods fit it.");
  const auto property = [&c](const char* name, auto field) {
    c.def_property_readonly(name, [field](const PythonModelInfo& info) { return info.*field; });
  };
  property("variables", &ModelInfo::variables);
  property("free_variables", &ModelInfo::free_variables);
  property("factors", &ModelInfo::factors);
  property("max_cardinality", &ModelInfo::max_cardinality);
  property("pairwise", &ModelInfo::pairwise);
  property("binary", &ModelInfo::binary);
  property("strictly_positive", &ModelInfo::strictly_positive);
  property("spin_pairs", &ModelInfo::spin_pairs);
  property("potts_pairs", &ModelInfo::potts_pairs);
  property("tables", &ModelInfo::tables);
  property("gates", &ModelInfo::gates);
  property("colours", &ModelInfo::colours);
  property("treewidth_bound", &ModelInfo::treewidth_bound);
  property("exact_bytes", &ModelInfo::exact_bytes);
  c.def_property_readonly(
       "methods",
       [](const PythonModelInfo& info) {
         py::list all;
         for (const MethodFit& method : info.methods) {
           py::dict one;
           one["name"] = method.name;
           one["task"] = std::string(task_name(method.task));
           one["fits"] = method.fits();
           one["why_not"] = method.why_not;
           all.append(one);
         }
         return all;
       },
       "Every method and task: name, task, fits, why_not.")
      .def_property_readonly(
          "information",
          [](const PythonModelInfo& info) {
            py::dict nats;
            if (info.about)
              for (const Information& one : info.about->information)
                nats[py::str(info.about->names.variable(one.variable))] = one.mutual_information;
            return nats;
          },
          "With `target`: what each other variable would tell about it, in nats, the most telling first.")
      .def_property_readonly("sensitivity", &sensitivity_of,
                             "With `target`: how its probabilities move with the entries of tables: dicts of "
                             "entry, value, derivatives; the largest first.")
      .def(
          "to_json",
          [](const PythonModelInfo& info) {
            JsonObject object = drover::to_json(info);
            if (info.about) add_json(*info.about, object);
            return object.text();
          },
          "What the command prints, as a text.", Unlocked())
      .def("__repr__", [](const PythonModelInfo& info) { return text_of(info); });
}

}  // namespace

void bind_answers(py::module_& module) {
  bind_marginals(module);
  bind_best_state(module);
  bind_log_z(module);
  bind_draws(module);
  bind_info(module);
  bind_joint_answers(module);
}

}  // namespace drover::python
