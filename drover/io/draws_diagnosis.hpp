// Diagnoses a whole draws file, variable by variable, in parallel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "drover/core/run_control.hpp"
#include "drover/diagnose/summary.hpp"
#include "drover/io/draws.hpp"

namespace drover {

/// How a variable was diagnosed. A variable with whole values 0 .. 65535 counts as categorical: two values
/// that occur are a binary variable, up to max_categories are diagnosed by the indicator of each value, of
/// which the worst figures are kept; more are taken as numbers, like everything that is not whole.
enum class DiagnosedAs : std::uint8_t { constant, binary, categories, number };
inline constexpr std::size_t max_categories = 64;

struct VariableDiagnosis {
  DiagnosedAs as = DiagnosedAs::constant;
  std::size_t values = 0;            ///< that occur; 0 for numbers
  double mean;                       ///< of the values themselves
  double rhat;                       ///< largest over the indicators; NaN for a constant
  double ess_bulk;                   ///< smallest
  double ess_tail;                   ///< smallest
  double mcse;                       ///< largest; of the mean (binary, number) or of a probability
  double autocorrelation;            ///< at lag 1, largest
  double autocorrelation_time;       ///< largest
  bool worst_of_categories = false;  ///< the figures are the worst of several indicators
};

struct DrawDiagnostics {
  std::vector<VariableDiagnosis> variables;
  DrawsSummary log_score;  ///< all NaN when the file has none
  /// The worst over all variables that are not constant; NaN when there is none.
  double rhat_max;
  double ess_min;  ///< bulk and tail
  double mcse_max;
  std::size_t constant_variables = 0;
};

/// Raises stopped or interrupted when the control ends the run first.
DrawDiagnostics diagnose_draws(const DrawFile& file, const RunControl& control = no_control());

}  // namespace drover
