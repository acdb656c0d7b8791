// How far two sets of rows are apart: squared MMD (drover/diagnose/mmd.hpp) and differences of means and
// pairs.
//
//   CompareResult result = compare(read_rows("data.csv"), read_rows("draws.npz"));
//
// A text state of either set is the same state in both. Columns are matched by their place; the result warns
// when their names say otherwise.
#pragma once

#include <string>
#include <vector>

#include "drover/core/run_control.hpp"
#include "drover/io/data_table.hpp"
#include "drover/run/result.hpp"
#include "drover/task/provenance.hpp"

namespace drover {

struct CompareResult {
  Provenance provenance;  ///< its input is the first set
  std::string other;      ///< what the second set is called
  std::size_t rows[2] = {0, 0};
  std::size_t variables = 0;
  double squared_mmd = not_known;
  double halves_of_first = not_known;  ///< squared MMD of its even against its odd rows
  double mean_difference_max = not_known;
  double mean_difference_rms = not_known;
  double pair_difference_rms = not_known;
  /// How often rows that are dealt out anew to two sets of the same sizes are as far apart, by MMD and by
  /// pairs (a permutation test): small when the sets have different sources. At most some hundred rows of
  /// either set are dealt. Rows must be independent: those of one Markov chain look more different than they
  /// are.
  double p_value_mmd = not_known;
  double p_value_pairs = not_known;
  std::size_t rows_tested[2] = {0, 0};  ///< of the first and second set
};

/// Raises bad_data when the numbers of variables differ.
CompareResult compare(const DataTable& a, const DataTable& b, const RunControl& control = no_control());

/// A data table, or draws of any format as rows of all chains. Columns are chosen alike from either; whole
/// numbers of draws are numbers of states, whose names .npz and .nc tell.
DataTable read_rows(const std::string& path, const DataOptions& options = {},
                    const RunControl& control = no_control());

Judgement judge(const CompareResult& result);
JsonObject to_json(const CompareResult& result);

}  // namespace drover
