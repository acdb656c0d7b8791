// Every factor of a model as a table, one at a time: for formats that know nothing but tables. The order is
// the model's: constant (not here), unaries, spin pairs, Potts pairs, dense layers (one table per weight that
// is not zero), tables. Gates are not among them: write_model() makes tables of them first, where a format
// has no words for them.
#pragma once

#include <fmt/format.h>

#include <span>
#include <string>
#include <vector>

#include "drover/core/error.hpp"
#include "drover/model/model.hpp"

namespace drover {

/// Calls visit(scope, values) with `values(buffer)` giving the table's log values, last variable fastest;
/// the buffer is only used where the model holds no table.
template <class Visit>
void visit_factors(const Model& model, Visit visit) {
  using Buffer = std::vector<double>;
  using Values = std::span<const double>;
  for (std::size_t f = 0; f < model.unaries.size(); ++f)
    visit(std::span<const VariableId>(&model.unaries.variables[f], 1),
          [&](Buffer&) -> Values { return model.unaries.values(f); });
  const auto& spins = model.spin_pairs;
  for (std::size_t f = 0; f < spins.size(); ++f) {
    const VariableId scope[2] = {spins.first[f], spins.second[f]};
    visit(std::span<const VariableId>(scope), [&](Buffer& buffer) -> Values {
      const double J = spins.couplings[f];
      buffer.assign({J, -J, -J, J});
      return buffer;
    });
  }
  const auto& potts = model.potts_pairs;
  for (std::size_t f = 0; f < potts.size(); ++f) {
    const VariableId scope[2] = {potts.first[f], potts.second[f]};
    visit(std::span<const VariableId>(scope), [&](Buffer& buffer) -> Values {
      const std::size_t states = model.cardinalities[scope[0]];
      buffer.assign(states * states, 0.0);
      for (std::size_t k = 0; k < states; ++k) buffer[k * states + k] = potts.couplings[f];
      return buffer;
    });
  }
  for (const DenseLayer& layer : model.dense_layers)
    for (std::uint32_t i = 0; i < layer.visible_count; ++i)
      for (std::uint32_t j = 0; j < layer.hidden_count; ++j) {
        const double weight = layer.weights[std::size_t{i} * layer.hidden_count + j];
        if (weight == 0) continue;
        const VariableId scope[2] = {layer.first_visible + i, layer.first_hidden + j};
        visit(std::span<const VariableId>(scope), [&](Buffer& buffer) -> Values {
          buffer.assign({0, 0, 0, weight});
          return buffer;
        });
      }
  for (std::size_t f = 0; f < model.tables.size(); ++f)
    visit(model.tables.scope(f), [&](Buffer&) -> Values { return model.tables.values(f); });
}

inline std::size_t count_factor_tables(const Model& model) {
  std::size_t count = model.factor_count() - model.dense_layers.size() - model.gates.size();
  for (const DenseLayer& layer : model.dense_layers)
    for (double weight : layer.weights) count += weight != 0 ? 1 : 0;
  return count;
}

/// The refusal of a format of plain values for an entry that exp() cannot hold.
[[noreturn]] inline void fail_out_of_range(const Model& model, const std::string& file,
                                           std::span<const VariableId> scope, double logarithm) {
  std::string names;
  for (VariableId v : scope.subspan(0, std::min<std::size_t>(scope.size(), 8)))
    names += (names.empty() ? "" : ", ") + model.variable_name(v);
  throw Error(
      ErrorKind::misfit,
      fmt::format("cannot write {}: the factor over ({}{}) has an entry exp({:.6g}), beyond the range "
                  "of numbers in this format",
                  file, names, scope.size() > 8 ? ", ..." : "", logarithm));
}

}  // namespace drover
