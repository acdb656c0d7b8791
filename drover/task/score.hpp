// How likely data are under a model: log p(row), summed over everything the rows do not state.
//
//   log p(row) = log Z(model with the row as evidence) - log Z(model)
//
// A restricted Boltzmann machine too large for exact inference: drover/machine/rbm_likelihood.hpp. Else exact
// by one junction tree where that fits; else, when a row states every variable, by the score and an estimate
// of log Z.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "drover/core/json_writer.hpp"
#include "drover/core/option_list.hpp"
#include "drover/core/run_control.hpp"
#include "drover/io/data_table.hpp"
#include "drover/model/model.hpp"
#include "drover/run/result.hpp"
#include "drover/task/provenance.hpp"

namespace drover {

struct MachineFile;

struct ScoreOptions {
  std::uint64_t seed = 1;
  std::optional<std::uint32_t> chains{};  ///< anneals; unset: 128
  std::optional<std::uint64_t> sweeps{};  ///< steps of an anneal; unset: 10,000 (rbm)
  std::string input{};                    ///< what the data are called; empty: the file's name
};

void describe(OptionList& list, ScoreOptions& options);

struct ScoreResult {
  Provenance provenance;
  std::size_t rows = 0;
  std::size_t impossible = 0;         ///< rows of probability 0; they are not in the mean
  double log_likelihood = not_known;  ///< mean per row
  double spread_error = not_known;    ///< standard error of that mean, by the rows
  double log_z = not_known;
  double log_z_mcse = not_known;         ///< 0 when exact
  double effective_samples = not_known;  ///< of the anneals
  bool exact = false;
  std::vector<double> row_log_likelihoods;
};

/// Columns are matched with the model's variables by name, where they have the same names, else in order.
ScoreResult score(const MachineFile& machine, const DataTable& data, const ScoreOptions& options = {},
                  const RunControl& control = no_control());
ScoreResult score(const Model& model, const DataTable& data, const ScoreOptions& options = {},
                  const RunControl& control = no_control());

Judgement judge(const ScoreResult& result);
JsonObject to_json(const ScoreResult& result);

}  // namespace drover
