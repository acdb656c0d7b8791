// The marginals of some variables for many rows of evidence:
//
//   Cases cases = read_cases(model, "patients.csv");
//   CaseAnswers a = answer_cases(model, cases.rows, {disease});
//
// Where exact inference fits, a tree is planned once and rows go over threads (drover/infer/case_tree.hpp);
// else every row is a question of its own to marginals(). Rows whose evidence is impossible have no answer,
// and are listed.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "drover/core/json_writer.hpp"
#include "drover/core/run_control.hpp"
#include "drover/run/inference_options.hpp"
#include "drover/run/result.hpp"
#include "drover/task/provenance.hpp"

namespace drover {

struct Marginals;

struct CaseAnswers {
  Provenance provenance;
  Names names;
  std::vector<VariableId> query;
  std::vector<std::size_t> offsets;   ///< of the distributions of the query in a row, and the size of a row
  std::size_t asked = 0;              ///< rows of evidence
  std::size_t cases = 0;              ///< rows worked out before the end
  std::vector<double> probabilities;  ///< (row, entry); NaN where the evidence is impossible
  std::vector<double>
      log_z;  ///< of the evidence of each row; minus infinity where impossible; NaN when not known
  std::vector<std::size_t> impossible;  ///< rows
  bool exact = false;
  double mcse_max = 0;            ///< of all answers
  std::size_t not_converged = 0;  ///< rows

  /// P of the k-th queried variable in a row.
  std::span<const double> of(std::size_t row, std::size_t k) const {
    return {probabilities.data() + row * offsets.back() + offsets[k], offsets[k + 1] - offsets[k]};
  }
};

/// Each row of evidence is added to what the options observe. Empty query: all variables. Raises what
/// marginals() raises, but not for rows that cannot be.
CaseAnswers answer_cases(const Model& model, std::span<const Observations> rows,
                         std::span<const VariableId> query = {}, const InferenceOptions& options = {},
                         const RunControl& control = no_control());

Judgement judge(const CaseAnswers& answer);
/// Without the rows themselves.
JsonObject to_json(const CaseAnswers& answer);
/// A table with commas: a column NAME=STATE for every state of every queried variable, a row per case; cells
/// of impossible rows are empty.
std::string csv_of(const CaseAnswers& answer);
/// Of one answer: a line per variable (all, or those of `query`) and state with its probability and standard
/// error.
std::string csv_of(const Marginals& answer, std::span<const VariableId> query = {});

}  // namespace drover
