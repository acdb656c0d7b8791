// All figures of one scalar at once.
#pragma once

#include "drover/core/run_control.hpp"
#include "drover/diagnose/draws.hpp"

namespace drover {

struct DrawsSummary {
  double mean;
  double sd;  ///< divisor S - 1
  double rhat;
  double ess_bulk;
  double ess_tail;
  double ess_mean;
  double mcse;                  ///< of the mean
  double autocorrelation;       ///< at lag 1, between and within split chains (initial_sequence.hpp)
  double autocorrelation_time;  ///< draws for one independent draw of the mean
};

/// Mean and sd are those of the draws; the rest is NaN for what undiagnosable() names.
/// Raises stopped or interrupted when the control ends it.
DrawsSummary summarise(Draws draws, const RunControl& control = no_control());

}  // namespace drover
