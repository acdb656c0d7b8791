// Models and answers as bytes, for pickle and copy: every member in order. The bytes are of this version on
// this kind of machine, as Python's users expect of a pickle.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "drover/core/archive.hpp"
#include "drover/core/shared_array.hpp"
#include "drover/core/version.hpp"
#include "python_answers.hpp"

namespace drover::python {

template <class Archive>
inline constexpr bool loads = std::is_same_v<Archive, LoadArchive>;

template <class Archive, class T>
void visit(Archive& archive, T& member);

template <class Archive, class... Members>
void visit_all(Archive& archive, Members&... members) {
  (visit(archive, members), ...);
}

template <class Archive, class T>
void visit_each(Archive& archive, std::vector<T>& members) {
  std::uint64_t count = members.size();
  archive(count);
  if constexpr (loads<Archive>) {
    members.clear();
    for (std::uint64_t k = 0; k < count; ++k) visit(archive, members.emplace_back());
  } else {
    for (T& member : members) visit(archive, member);
  }
}

template <class Archive>
void visit_distributions(Archive& archive, Distributions& rows) {
  std::vector<std::uint32_t> counts;
  std::vector<double> values = rows.values();
  for (std::size_t v = 0; v < rows.size(); ++v) counts.push_back(static_cast<std::uint32_t>(rows[v].size()));
  archive(counts);
  archive(values);
  if constexpr (loads<Archive>) {
    rows.assign(counts, 0);
    std::size_t at = 0;
    for (std::size_t v = 0; v < rows.size(); ++v)
      for (double& p : rows[v]) p = values.at(at++);
  }
}

template <class Archive>
void visit_detail(Archive& archive, Detail& detail);

template <class Archive>
void visit_details(Archive& archive, Details& details) {
  std::uint64_t count = details.entries().size();
  archive(count);
  if constexpr (loads<Archive>) {
    details = {};
    for (std::uint64_t k = 0; k < count; ++k) {
      std::string name;
      archive(name);
      visit_detail(archive, details[name]);
    }
  } else {
    for (const auto& [name, value] : details.entries()) {
      std::string word = name;
      Detail copy = value;
      archive(word);
      visit_detail(archive, copy);
    }
  }
}

template <class Archive, std::size_t kind = 0>
void visit_alternative(Archive& archive, Detail& detail, std::uint64_t wanted) {
  using Variant = Detail::Variant;
  if constexpr (kind < std::variant_size_v<Variant>) {
    if (kind != wanted) return visit_alternative<Archive, kind + 1>(archive, detail, wanted);
    using T = std::variant_alternative_t<kind, Variant>;
    if constexpr (std::is_same_v<T, std::monostate>) {
      if constexpr (loads<Archive>) detail = {};
    } else if constexpr (std::is_same_v<T, std::shared_ptr<const Details>>) {
      Details inner;
      if constexpr (!loads<Archive>) inner = *std::get<kind>(detail.value());
      visit_details(archive, inner);
      if constexpr (loads<Archive>) detail = Detail(std::move(inner));
    } else {
      T value{};
      if constexpr (!loads<Archive>) value = std::get<kind>(detail.value());
      visit(archive, value);
      if constexpr (loads<Archive>) detail = Detail(std::move(value));
    }
  }
}

template <class Archive>
void visit_detail(Archive& archive, Detail& detail) {
  std::uint64_t kind = detail.value().index();
  archive(kind);
  visit_alternative(archive, detail, kind);
}

template <class Archive>
void visit_provenance(Archive& archive, Provenance& p) {
  visit_all(archive, p.question, p.input, p.method, p.because, p.seed, p.seconds, p.warnings, p.options,
            p.details);
}

template <class Archive>
void visit_model(Archive& a, Model& m) {
  visit_all(a, m.kind, m.cardinalities, m.log_constant, m.name, m.variable_names, m.state_names, m.warnings);
  visit_all(a, m.unaries.variables, m.unaries.offsets, m.unaries.log_values);
  visit_all(a, m.spin_pairs.first, m.spin_pairs.second, m.spin_pairs.couplings);
  visit_all(a, m.potts_pairs.first, m.potts_pairs.second, m.potts_pairs.couplings);
  visit_all(a, m.tables.table_offsets, m.tables.log_values, m.tables.scope_offsets, m.tables.scopes,
            m.tables.table_of);
  visit_all(a, m.dense_layers);
  visit_all(a, m.gates.kinds, m.gates.scope_offsets, m.gates.scopes, m.gates.log_off, m.gates.log_leak_off,
            m.gates.low, m.gates.high);
}

template <class Archive>
void visit_model_answer(Archive& archive, ModelAnswer& m) {
  visit_all(archive, m.provenance, m.names.variables, m.names.states, m.variables, m.factors,
            m.max_cardinality, m.evidence, m.set, m.fixed, m.sweeps, m.burn_in, m.chains, m.updates);
}

template <class Archive>
void visit_observations(Archive& archive, Observations& observed) {
  visit_all(archive, observed.variables, observed.values, observed.likelihoods.variables,
            observed.likelihoods.offsets, observed.likelihoods.log_values);
}

/// A copy without the index of names, which other threads may be making. Null: empty.
inline NamedModel stated_in(const std::shared_ptr<const NamedModel>& shared) {
  return shared ? NamedModel(shared->model, shared->source) : NamedModel(Model{}, "");
}

template <class Archive, class Answer>
void visit_about(Archive& archive, AboutModel<Answer>& about) {
  visit_model_answer(archive, about);
  NamedModel named = stated_in(about.model);
  visit_all(archive, named.model, named.source, about.query, about.interrupted);
  if constexpr (loads<Archive>) about.model = std::make_shared<const NamedModel>(std::move(named));
}

/// What a member is decides how it is written.
template <class Archive, class T>
void visit(Archive& archive, T& x) {
  if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    archive(x);
  } else if constexpr (std::is_enum_v<T>) {
    auto number = static_cast<std::int64_t>(x);
    archive(number);
    x = static_cast<T>(number);
  } else if constexpr (std::is_same_v<T, Model>) {
    visit_model(archive, x);
  } else if constexpr (std::is_same_v<T, DenseLayer>) {
    visit_all(archive, x.first_visible, x.visible_count, x.first_hidden, x.hidden_count, x.weights);
  } else if constexpr (std::is_same_v<T, Details>) {
    visit_details(archive, x);
  } else if constexpr (std::is_same_v<T, Distributions>) {
    visit_distributions(archive, x);
  } else if constexpr (std::is_same_v<T, Provenance>) {
    visit_provenance(archive, x);
  } else if constexpr (std::is_same_v<T, Diagnostics>) {
    visit_all(archive, x.rhat_max, x.ess_min, x.mcse_max);
  } else if constexpr (std::is_same_v<T, Trace>) {
    visit_all(archive, x.sweep, x.series);
  } else if constexpr (std::is_same_v<T, Observations>) {
    visit_observations(archive, x);
  } else if constexpr (std::is_same_v<T, Joint>) {
    visit_all(archive, x.variables, x.probabilities, x.mcse);
  } else if constexpr (std::is_same_v<T, RankedState>) {
    visit_all(archive, x.assignment, x.log_score);
  } else if constexpr (std::is_same_v<T, RaceEntry>) {
    visit_all(archive, x.method, x.chains, x.sweeps, x.work, x.ess_per_work, x.rhat_max, x.nested_rhat_max,
              x.chosen, x.note);
  } else if constexpr (requires {
                         x.first;
                         x.second;
                       }) {
    visit_all(archive, x.first, x.second);
  } else if constexpr (std::is_same_v<T, SharedArray<typename T::value_type>>) {
    std::vector<typename T::value_type> values = std::as_const(x);
    archive(values);
    if constexpr (loads<Archive>) x = std::move(values);
  } else if constexpr (std::is_trivially_copyable_v<typename T::value_type>) {
    archive(x);
  } else {
    visit_each(archive, x);
  }
}

template <class Archive>
void visit_answer(Archive& archive, PythonMarginals& m) {
  visit_about(archive, m);
  visit_all(archive, m.probabilities, m.mcse, m.rhat, m.ess, m.exact, m.converged, m.diagnostics, m.scores,
            m.rhat_over_time, m.score_autocorrelation, m.score_lag, m.best_state, m.best_log_score, m.pairs,
            m.pair_probabilities, m.joints, m.race);
}

template <class Archive>
void visit_answer(Archive& archive, PythonBestState& b) {
  visit_about(archive, b);
  visit_all(archive, b.assignment, b.log_score, b.upper, b.optimal, b.states);
}

template <class Archive>
void visit_answer(Archive& archive, PythonBestValues& b) {
  visit_about(archive, b);
  visit_all(archive, b.of, b.assignment, b.log_probability, b.lower, b.upper, b.optimal);
}

template <class Archive>
void visit_answer(Archive& archive, PythonRows& r) {
  NamedModel named = stated_in(r.model);
  visit_all(archive, r.provenance, r.names.variables, r.names.states, r.query, r.offsets, r.asked, r.cases,
            r.probabilities, r.log_z, r.impossible, r.exact, r.mcse_max, r.not_converged, named.model,
            named.source, r.interrupted);
  if constexpr (loads<Archive>) r.model = std::make_shared<const NamedModel>(std::move(named));
}

template <class Archive>
void visit_answer(Archive& archive, PythonLogZ& z) {
  visit_about(archive, z);
  visit_all(archive, z.log_z, z.bound, z.mcse, z.lower, z.upper, z.interval_lower, z.interval_upper, z.exact);
}

template <class Archive>
void visit_answer(Archive& archive, Draws& d) {
  visit_about(archive, d);
  visit_all(archive, d.Samples::draws, d.independent, d.exact, d.Samples::diagnostics, d.scores,
            d.arrays->log_scores, d.out);
  bool wide = d.arrays->values.index() == 1;
  archive(wide);
  if (wide && d.arrays->values.index() == 0) d.arrays->values = std::vector<std::uint16_t>();
  std::visit([&](auto& values) { archive(values); }, d.arrays->values);
}

/// The bytes of whatever `visitor` visits, under a heading that names the version. Visitors touch nothing of
/// Python, whose lock is released.
template <class Visitor>
py::bytes pickled(Visitor visitor) {
  SaveArchive archive;
  {
    const py::gil_scoped_release release;
    std::string heading = std::string("drover ") + version();
    archive(heading);
    visitor(archive);
  }
  return archive.bytes();
}

template <class Visitor>
void unpickle(const py::bytes& bytes, Visitor visitor) {
  LoadArchive archive{std::string(bytes)};
  const py::gil_scoped_release release;
  std::string heading;
  archive(heading);
  if (heading != std::string("drover ") + version())
    throw Error(ErrorKind::bad_data, "this pickle is of " + heading + ", which is another version");
  visitor(archive);
}

/// pickle, copy and deepcopy of an answer.
template <class Class>
void bind_pickle(Class& c) {
  using Answer = typename Class::type;
  c.def(py::pickle(
      [](const Answer& answer) {
        return pickled([&](auto& archive) { visit_answer(archive, const_cast<Answer&>(answer)); });
      },
      [](const py::bytes& bytes) {
        Answer answer;
        unpickle(bytes, [&](auto& archive) { visit_answer(archive, answer); });
        return answer;
      }));
}

}  // namespace drover::python
