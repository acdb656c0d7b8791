// The classes of answers about sets of variables, several states, and rows of evidence: Joint, BestStates,
// BestValues, RowMarginals.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "answer_text.hpp"
#include "answers.hpp"
#include "drover/core/plural.hpp"
#include "drover/io/atomic_file.hpp"
#include "pickling.hpp"
#include "python_answers.hpp"
#include "report_pages.hpp"

namespace drover::python {

Shape shape_of(const Joint& joint, const NamedModel& named) {
  Shape shape;
  for (VariableId v : joint.variables)
    shape.push_back(static_cast<py::ssize_t>(named.model.cardinalities[v]));
  return shape;
}

py::array ranked_states(const BestState& answer) {
  std::vector<Value> all;
  for (const RankedState& one : answer.states)
    all.insert(all.end(), one.assignment.begin(), one.assignment.end());
  return adopt(std::move(all),
               {static_cast<py::ssize_t>(answer.states.size()), static_cast<py::ssize_t>(answer.variables)});
}

namespace {

std::string state_text(const ModelAnswer& answer, VariableId v, Value value) {
  return word(answer.names.state(v, value));
}

const Joint& joint_of(const PythonJoint& answer) {
  return answer.joints.front();
}

std::string text_of(const PythonJoint& answer) {
  const Joint& joint = joint_of(answer);
  std::vector<std::string> head;
  for (VariableId v : joint.variables) head.push_back(word(answer.names.variable(v)));
  head.emplace_back("probability");
  const Shape shape = shape_of(joint, *answer.model);
  std::vector<std::vector<std::string>> rows;
  for (std::size_t e = 0; e < std::min(joint.probabilities.size(), most_rows); ++e) {
    std::vector<std::string> cells(joint.variables.size());
    for (std::size_t k = cells.size(), rest = e; k-- > 0; rest /= static_cast<std::size_t>(shape[k]))
      cells[k] = state_text(answer, joint.variables[k],
                            static_cast<Value>(rest % static_cast<std::size_t>(shape[k])));
    cells.push_back(fmt::format("{:.4f}", joint.probabilities[e]));
    if (joint.mcse[e] > 0) cells.back() += fmt::format(" ± {:.1g}", joint.mcse[e]);
    rows.push_back(std::move(cells));
  }
  std::string text = fmt::format("Joint{}\n", about(answer)) + columns_text(head, rows);
  if (joint.probabilities.size() > rows.size())
    text += fmt::format("  ... and {} more\n", joint.probabilities.size() - rows.size());
  return text + ending(answer.provenance, judge(answer));
}

std::string text_of(const PythonBestStates& answer) {
  constexpr std::size_t most_columns = 6;
  std::vector<VariableId> shown = answer.query;
  if (shown.empty())
    for (VariableId v = 0; v < answer.variables; ++v) {
      if (v == most_columns) break;
      shown.push_back(v);
    }
  shown.resize(std::min(shown.size(), most_columns));
  std::vector<std::string> head = {"", "log score"};
  for (VariableId v : shown) head.push_back(word(answer.names.variable(v)));
  if (answer.query.empty() && answer.variables > shown.size()) head.emplace_back("...");
  std::vector<std::vector<std::string>> rows;
  for (std::size_t k = 0; k < std::min(answer.states.size(), most_rows); ++k) {
    rows.push_back({fmt::format("{}", k), fmt::format("{:.8g}", answer.states[k].log_score)});
    for (VariableId v : shown) rows.back().push_back(state_text(answer, v, answer.states[k].assignment[v]));
  }
  std::string text = fmt::format("BestStates{}: the {} best\n", about(answer), answer.states.size()) +
                     columns_text(head, rows);
  if (answer.states.size() > rows.size())
    text += fmt::format("  ... and {} more\n", answer.states.size() - rows.size());
  return text + ending(answer.provenance, judge(answer));
}

std::string text_of(const PythonBestValues& answer) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t k = 0; k < std::min(answer.of.size(), most_rows); ++k)
    rows.push_back(
        {word(answer.names.variable(answer.of[k])), state_text(answer, answer.of[k], answer.assignment[k])});
  std::string text = fmt::format("BestValues{}: log probability {:.8g}, the others summed out\n",
                                 about(answer), answer.log_probability) +
                     columns_text({}, rows);
  if (answer.of.size() > rows.size())
    text += fmt::format("  ... and {} more\n", answer.of.size() - rows.size());
  return text + ending(answer.provenance, judge(answer));
}

std::string text_of(const PythonRows& answer) {
  constexpr std::size_t most_columns = 8;
  std::vector<std::string> head = {""};
  std::size_t shown = 0;
  for (std::size_t k = 0; k < answer.query.size(); ++k)
    for (std::size_t e = answer.offsets[k]; e < answer.offsets[k + 1] && shown < most_columns; ++e, ++shown) {
      const VariableId v = answer.query[k];
      head.push_back(word(answer.names.variable(v) + "=" + answer.names.state(v, e - answer.offsets[k])));
    }
  if (answer.offsets.back() > shown) head.emplace_back("...");
  std::vector<std::vector<std::string>> rows;
  for (std::size_t r = 0; r < std::min(answer.cases, most_rows); ++r) {
    rows.push_back({fmt::format("{}", r)});
    for (std::size_t e = 0; e < shown; ++e) {
      const double p = answer.probabilities[r * answer.offsets.back() + e];
      rows.back().push_back(std::isnan(p) ? "impossible" : fmt::format("{:.4f}", p));
    }
  }
  const std::string input = answer.provenance.input.empty() ? "" : " of " + answer.provenance.input;
  std::string text = fmt::format("RowMarginals{}: {} of evidence, {} asked for\n", input,
                                 counted(answer.cases, "row"), counted(answer.query.size(), "variable")) +
                     columns_text(head, rows);
  if (answer.cases > rows.size()) text += fmt::format("  ... and {} more\n", answer.cases - rows.size());
  return text + ending(answer.provenance, judge(answer));
}

void bind_joint(py::module_& module) {
  py::class_<PythonJoint> c(module, "Joint", "The joint distribution of some variables.");
  bind_model_answer(c);
  bind_pickle(c);
  const auto table = [](std::vector<double> Joint::*field) {
    return [field](const py::object& self) {
      const auto& answer = self.cast<const PythonJoint&>();
      return view((joint_of(answer).*field).data(), shape_of(joint_of(answer), *answer.model), self);
    };
  };
  c.def_property_readonly("values", table(&Joint::probabilities),
                          "An axis for each variable, in the order they were asked for; a read-only view.")
      .def_property_readonly("mcse", table(&Joint::mcse), "Standard errors; zeros when exact.")
      .def_property_readonly(
          "of",
          [](const PythonJoint& a) {
            py::list names;
            for (VariableId v : joint_of(a).variables) names.append(a.names.variable(v));
            return names;
          },
          "The names of the variables that were asked for.")
      .def_property_readonly("exact", [](const PythonJoint& a) { return a.exact; })
      .def_property_readonly("converged", [](const PythonJoint& a) { return a.converged; })
      .def(
          "__getitem__",
          [](const PythonJoint& a, const py::object& key) {
            const Joint& joint = joint_of(a);
            const py::tuple states =
                py::isinstance<py::tuple>(key) ? key.cast<py::tuple>() : py::make_tuple(key);
            if (states.size() != joint.variables.size())
              throw Error(ErrorKind::usage,
                          fmt::format("expected a state for each of {}, found {}",
                                      counted(joint.variables.size(), "variable"), states.size()));
            std::size_t at = 0;
            for (std::size_t k = 0; k < joint.variables.size(); ++k)
              at = at * a.model->model.cardinalities[joint.variables[k]] +
                   a.model->state(joint.variables[k], states[k]);
            return joint.probabilities[at];
          },
          "The probability of a state of each variable.")
      .def(
          "__array__",
          [](const py::object& self, const py::object& dtype) {
            const py::object values = self.attr("values");
            return dtype.is_none() ? values : values.attr("astype")(dtype);
          },
          py::arg("dtype") = py::none())
      .def("to_frame", forward("drover._export", "joint_frame"),
           "A pandas DataFrame: a row for each joint state.")
      .def("to_xarray", forward("drover._export", "joint_xarray"),
           "An xarray DataArray: a dimension for each variable.")
      .def(
          "to_json", [](const PythonJoint& a) { return drover::to_json(a, joint_of(a).variables).text(); },
          "What the command prints, as a text.", Unlocked())
      .def(
          "_page",
          [](const PythonJoint& a) {
            const std::span<const VariableId> of = joint_of(a).variables;
            return page_of(a, a.model->model, drover::to_json(a, of).text(), of);
          },
          Unlocked())
      .def("__repr__", [](const PythonJoint& a) { return text_of(a); });
}

void bind_best_states(py::module_& module) {
  py::class_<PythonBestStates> c(module, "BestStates", "The most probable states, best first.");
  bind_model_answer(c);
  bind_pickle(c);
  c.def_property_readonly(
       "assignments", [](const PythonBestStates& a) { return ranked_states(a); },
       "(rank, variable): numbers of states.")
      .def_property_readonly(
          "log_scores",
          [](const PythonBestStates& a) {
            std::vector<double> scores;
            for (const RankedState& one : a.states) scores.push_back(one.log_score);
            return adopt(std::move(scores));
          },
          "The logarithm of the unnormalised probability of each.")
      .def_property_readonly(
          "query", [](const PythonBestStates& a) { return a.query; },
          "Numbers of the variables that are shown; empty: all.")
      .def_property_readonly(
          "optimal", [](const PythonBestStates& a) { return a.optimal; },
          "Whether it is proven that no other state is better than any of them.")
      .def("__len__", [](const PythonBestStates& a) { return a.states.size(); })
      .def(
          "__getitem__",
          [](const PythonBestStates& a, py::ssize_t rank) {
            const auto count = static_cast<py::ssize_t>(a.states.size());
            if (rank < -count || rank >= count)
              throw py::index_error(fmt::format("rank {} of {}", rank, counted(a.states.size(), "state")));
            const RankedState& one = a.states[static_cast<std::size_t>(rank < 0 ? rank + count : rank)];
            PythonBestState state = a;
            state.assignment = one.assignment;
            state.log_score = one.log_score;
            state.states.clear();
            return state;
          },
          "A BestState, by its rank from 0.")
      .def("to_frame", forward("drover._export", "states_frame"),
           "A pandas DataFrame: a row for each state, a column for each variable, and the log score.")
      .def(
          "to_json", [](const PythonBestStates& a) { return drover::to_json(a, a.query).text(); },
          "What the command prints, as a text.", Unlocked())
      .def(
          "_page",
          [](const PythonBestStates& a) { return page_of(a, drover::to_json(a, a.query).text(), a.query); },
          Unlocked())
      .def("__repr__", [](const PythonBestStates& a) { return text_of(a); });
}

void bind_best_values(py::module_& module) {
  py::class_<PythonBestValues> c(module, "BestValues",
                                 "The most probable values of some variables, the others summed out.");
  bind_model_answer(c);
  bind_pickle(c);
  c.def_property_readonly(
       "of",
       [](const PythonBestValues& a) {
         py::list names;
         for (VariableId v : a.of) names.append(a.names.variable(v));
         return names;
       },
       "The names of the variables that were asked for.")
      .def_property_readonly(
          "assignment",
          [](const py::object& self) { return view(self.cast<const PythonBestValues&>().assignment, self); },
          "Their states, as numbers; a read-only view.")
      .def_property_readonly(
          "log_probability", [](const PythonBestValues& a) { return a.log_probability; },
          "Of these values, given what was observed; a lower bound when it is not exact.")
      .def_property_readonly("lower", [](const PythonBestValues& a) { return a.lower; })
      .def_property_readonly(
          "upper", [](const PythonBestValues& a) { return a.upper; },
          "No values of these variables have a larger log probability.")
      .def_property_readonly(
          "optimal", [](const PythonBestValues& a) { return a.optimal; },
          "Whether it is proven that no values are more probable.")
      .def("__len__", [](const PythonBestValues& a) { return a.of.size(); })
      .def(
          "__getitem__",
          [](const PythonBestValues& a, py::handle key) {
            const VariableId v = a.model->variable(key);
            const auto found = std::ranges::find(a.of, v);
            if (found == a.of.end())
              throw Error(ErrorKind::usage,
                          fmt::format("variable {} was not asked for", a.names.variable(v)));
            return a.model->state_of(v, a.assignment[static_cast<std::size_t>(found - a.of.begin())]);
          },
          "The value of one of them.")
      .def("to_dict", forward("drover._export", "values_dict"), "{variable: state}.")
      .def(
          "to_json", [](const PythonBestValues& a) { return drover::to_json(a).text(); },
          "What the command prints, as a text.", Unlocked())
      .def(
          "_page", [](const PythonBestValues& a) { return page_of(a, drover::to_json(a).text()); },
          Unlocked())
      .def("__repr__", [](const PythonBestValues& a) { return text_of(a); });
}

// r["disease"] has the shape (row, state), r["disease", "yes"] the shape (row).
py::array rows_of(const py::object& self, const py::object& key) {
  const auto& answer = self.cast<const PythonRows&>();
  const bool has_state = py::isinstance<py::tuple>(key) && py::len(key) == 2;
  const VariableId v = answer.model->variable(has_state ? py::object(key[py::int_(0)]) : key);
  const auto found = std::ranges::find(answer.query, v);
  if (found == answer.query.end())
    throw Error(ErrorKind::usage, fmt::format("variable {} was not asked for", answer.names.variable(v)));
  const std::size_t first = answer.offsets[static_cast<std::size_t>(found - answer.query.begin())];
  const auto rows = static_cast<py::ssize_t>(answer.cases);
  const auto step = static_cast<py::ssize_t>(answer.offsets.back() * sizeof(double));
  const double* data = answer.probabilities.data() + first;
  if (has_state) return view(data + answer.model->state(v, key[py::int_(1)]), {rows}, self, {step});
  return view(data, {rows, static_cast<py::ssize_t>(answer.model->model.cardinalities[v])}, self,
              {step, sizeof(double)});
}

void bind_rows(py::module_& module) {
  py::class_<PythonRows> c(module, "RowMarginals",
                           "The marginals of some variables for many rows of evidence.");
  bind_provenance(c);
  c.def_property_readonly(
       "values",
       [](const py::object& self) {
         const auto& a = self.cast<const PythonRows&>();
         return view(a.probabilities.data(),
                     {static_cast<py::ssize_t>(a.cases), static_cast<py::ssize_t>(a.offsets.back())}, self);
       },
       "(row, entry): the distributions of a row one after the other; NaN where the evidence of a row is "
       "impossible. A read-only view.")
      .def_property_readonly(
          "offsets",
          [](const py::object& self) {
            const auto& offsets = self.cast<const PythonRows&>().offsets;
            return view(reinterpret_cast<const py::ssize_t*>(offsets.data()),
                        {static_cast<py::ssize_t>(offsets.size())}, self);
          },
          "The k-th variable asked for has values[:, offsets[k]:offsets[k + 1]].")
      .def_property_readonly(
          "of",
          [](const PythonRows& a) {
            py::list names;
            for (VariableId v : a.query) names.append(a.names.variable(v));
            return names;
          },
          "The names of the variables that were asked for.")
      .def_property_readonly(
          "log_z", [](const py::object& self) { return view(self.cast<const PythonRows&>().log_z, self); },
          "Of each row: log Z given its evidence, of a Bayesian network the logarithm of the evidence's "
          "probability; minus infinity where it is impossible, NaN where it is not known.")
      .def_property_readonly(
          "impossible",
          [](const PythonRows& a) {
            return adopt(std::vector<std::int64_t>(a.impossible.begin(), a.impossible.end()));
          },
          "The rows whose evidence is impossible.")
      .def_property_readonly(
          "model", [](const PythonRows& a) { return StatedModel(a.model); }, "The model that was asked.")
      .def_property_readonly("exact", [](const PythonRows& a) { return a.exact; })
      .def_property_readonly("converged", [](const PythonRows& a) { return a.not_converged == 0; })
      .def_property_readonly(
          "mcse_max", [](const PythonRows& a) { return a.mcse_max; }, "The largest standard error of all.")
      .def_property_readonly(
          "interrupted", [](const PythonRows& a) { return a.interrupted; },
          "Whether Ctrl-C ended the run, so that these are the first rows.")
      .def_property_readonly("_index", [](const PythonRows& a) { return a.index; })
      .def("__getitem__", &rows_of)
      .def("__len__", [](const PythonRows& a) { return a.cases; })
      .def("to_frame", forward("drover._export", "rows_frame"),
           "A pandas DataFrame with the index of the rows: a column for each state of each variable.")
      .def(
          "to_json", [](const PythonRows& a) { return drover::to_json(a).text(); },
          "What the command prints, as a text; without the rows.", Unlocked())
      .def(
          "save",
          [](const PythonRows& a, const py::object& path) {
            save(path_of(path), drover::to_json(a), ".csv or .json", [&](const std::string& name) {
              if (!ends_in(name, ".csv")) return false;
              write_file(name, csv_of(a));
              return true;
            });
          },
          py::arg("path"), "Write the answer: .csv, or .json without the rows.")
      .def("__repr__", [](const PythonRows& a) { return text_of(a); })
      .def(py::pickle(
          [](const PythonRows& a) {
            const py::bytes bytes =
                pickled([&](auto& archive) { visit_answer(archive, const_cast<PythonRows&>(a)); });
            return py::make_tuple(bytes, a.index);
          },
          [](const py::tuple& parts) {
            PythonRows a;
            unpickle(parts[0].cast<py::bytes>(), [&](auto& archive) { visit_answer(archive, a); });
            a.index = parts[1];
            return a;
          }));
}

}  // namespace

void bind_joint_answers(py::module_& module) {
  bind_joint(module);
  bind_best_states(module);
  bind_best_values(module);
  bind_rows(module);
}

}  // namespace drover::python
