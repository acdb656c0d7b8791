// Random small models whose factors share tables, and the same models with a table for every factor.
#pragma once

#include <algorithm>
#include <set>
#include <vector>

#include "drover/core/random.hpp"
#include "drover/model/model.hpp"

namespace drover::testing {

struct TiedModel {
  Model model;
  Evidence evidence;  ///< always possible
};

/// Few tables, used by many factors in either direction and in several shapes (2 x 8 and 4 x 4 entries are
/// one size); among them Potts tables and one that is constant. Hard zeros stand where no factor forbids the
/// state 0 of all variables. One or two variables are observed, or none.
inline TiedModel random_tied_model(std::uint64_t seed, bool with_zeros) {
  RandomSequence random(seed, Stream::generate);
  TiedModel result;
  Model& model = result.model;
  model.cardinalities = seed % 3 == 0   ? std::vector<std::uint32_t>{2, 2, 2, 2, 2, 2, 2, 2}
                        : seed % 3 == 1 ? std::vector<std::uint32_t>{3, 3, 3, 3, 3, 3}
                                        : std::vector<std::uint32_t>{2, 8, 4, 4, 2, 4};
  const std::size_t n = model.cardinalities.size();
  for (VariableId v = 0; v < n; ++v) {
    std::vector<double> values(model.cardinalities[v]);
    for (double& value : values) value = random.normal();
    model.unaries.add(v, values);
  }
  struct Kind {
    std::size_t entries;
    std::uint32_t table;
  };
  std::vector<Kind> kinds;
  const auto add_kind = [&](std::size_t entries, auto value_of) {
    std::vector<double> values(entries);
    for (std::size_t e = 0; e < entries; ++e) values[e] = value_of(e);
    kinds.push_back({entries, model.tables.add_table(values)});
  };
  const auto any = [&](std::size_t e) {
    const double value = random.normal();
    return with_zeros && e > 0 && random.below(4) == 0 ? log_zero : value;
  };
  for (std::size_t entries : {4U, 9U, 16U, 8U, 27U}) {
    add_kind(entries, any);
    add_kind(entries, any);
    const double constant = random.normal();
    if (seed % 4 == 0) add_kind(entries, [&](std::size_t) { return constant; });
  }
  for (std::size_t states : {3U, 4U}) {
    const double equal = random.normal(), other = random.normal();
    add_kind(states * states, [&](std::size_t e) { return e % (states + 1) == 0 ? equal : other; });
  }
  std::set<std::set<VariableId>> seen;
  for (std::uint32_t f = 0; f < 60; ++f) {
    std::vector<VariableId> scope;
    const std::size_t arity = 2 + random.below(2);
    while (scope.size() < arity) {
      const VariableId v = random.below(static_cast<std::uint32_t>(n));
      if (std::find(scope.begin(), scope.end(), v) == scope.end()) scope.push_back(v);
    }
    if (!seen.insert({scope.begin(), scope.end()}).second)
      continue;  // compile() would make one factor of the two
    std::size_t entries = 1;
    for (VariableId v : scope) entries *= model.cardinalities[v];
    std::vector<std::uint32_t> fitting;
    for (const Kind& kind : kinds)
      if (kind.entries == entries) fitting.push_back(kind.table);
    if (!fitting.empty())
      model.tables.add_factor(scope, fitting[random.below(static_cast<std::uint32_t>(fitting.size()))]);
  }
  const std::uint32_t observed = random.below(3);
  for (std::uint32_t e = 0; e < observed; ++e) {
    const VariableId v = e == 0 ? 0 : static_cast<VariableId>(n - 1);
    result.evidence.add(v, with_zeros ? Value{0} : static_cast<Value>(random.below(model.cardinalities[v])));
  }
  return result;
}

/// Every factor with a table of its own.
inline Model untied(const Model& model) {
  Model result = model;
  result.tables = {};
  for (std::size_t f = 0; f < model.tables.size(); ++f)
    result.tables.add(model.tables.scope(f), model.tables.values(f));
  return result;
}

}  // namespace drover::testing
