// What this machine does: variable updates per nanosecond of the samplers, all in one run and as ratios to a
// plain loop; beside a kernel stands what a whole run of marginals makes of it, and how much of that is not
// the kernel's time. It takes half a minute.
#pragma once

#include <string>
#include <vector>

#include "drover/core/run_control.hpp"
#include "drover/run/result.hpp"
#include "drover/task/provenance.hpp"

namespace drover {

/// Updates per nanosecond; NaN where not measured.
struct KernelRate {
  std::string kernel, graph;
  double rate = not_known;
  double ratio = not_known;        ///< to the plain loop on the same graph
  double summed_rate = not_known;  ///< with sums of conditionals
  double run_rate = not_known;     ///< of a whole run of marginals
  double machinery = not_known;    ///< the share of that run that is not the kernel's
};

struct KernelRates {
  Provenance provenance;
  std::string instruction_set;
  std::vector<KernelRate> rows;
};

/// Raises stopped (interrupted) when the control ends it.
KernelRates kernel_rates(const RunControl& control = no_control());

JsonObject to_json(const KernelRates& rates);

}  // namespace drover
