#include "drover/model/observations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "drover/core/error.hpp"
#include "drover/core/plural.hpp"

namespace drover {

void Observations::add(const Observations& more) {
  for (std::size_t e = 0; e < more.size(); ++e) add(more.variables[e], more.values[e]);
  for (std::size_t l = 0; l < more.likelihoods.size(); ++l)
    likelihoods.add(more.likelihoods.variables[l], more.likelihoods.values(l));
}

void Observations::add_likelihood(VariableId variable, std::span<const double> likelihood) {
  std::vector<double> logs;
  for (double value : likelihood) logs.push_back(std::log(value));
  likelihoods.add(variable, logs);
}

Model with_likelihoods(Model model, const Unaries& likelihoods) {
  const auto fail = [](const std::string& message) { throw Error(ErrorKind::bad_data, message); };
  for (std::size_t l = 0; l < likelihoods.size(); ++l) {
    const VariableId v = likelihoods.variables[l];
    const auto values = likelihoods.values(l);
    if (v >= model.variable_count())
      fail(fmt::format("evidence names variable {}, but the model has {}", v,
                       counted(model.variable_count(), "variable")));
    const std::string name = model.variable_name(v);
    if (values.size() != model.cardinalities[v])
      fail(fmt::format("evidence gives variable {} {}, but it has {}", name,
                       counted(values.size(), "likelihood"), counted(model.cardinalities[v], "state")));
    for (double value : values)
      if (std::isnan(value) || value == -log_zero)
        fail(fmt::format("evidence gives variable {} a likelihood that is not a finite number of 0 or more",
                         name));
    if (std::ranges::all_of(values, [](double value) { return value == log_zero; }))
      fail(fmt::format("evidence gives every state of variable {} the likelihood 0", name));
    model.unaries.add(v, values);
  }
  return model;
}

}  // namespace drover
