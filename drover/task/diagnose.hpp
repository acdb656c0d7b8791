// How far draws can be relied on: R-hat, effective sample size, standard error and autocorrelation of every
// variable of a draws file (drover/io/draws_diagnosis.hpp).
//
// They are those of the draws themselves. A run that makes draws (drover/task/inference.hpp) judges itself by
// all its sweeps, so its figures differ from these when draws are thinned.
#pragma once

#include <string>
#include <vector>

#include "drover/core/run_control.hpp"
#include "drover/io/draws_diagnosis.hpp"
#include "drover/task/provenance.hpp"

namespace drover {

struct DiagnoseResult {
  Provenance provenance;
  std::size_t draws = 0;  ///< per chain
  std::size_t chains = 0;
  std::vector<std::string> names;
  DrawDiagnostics diagnostics;
  bool converged = false;  ///< R-hat at most 1.01 and 400 effective draws, for all variables that change
  bool random = true;      ///< false for pseudo-samples of herding, of which these figures say nothing
};

/// `input` is what the draws are called.
DiagnoseResult diagnose(const DrawFile& draws, const std::string& input = "",
                        const RunControl& control = no_control());

Judgement judge(const DiagnoseResult& result);
JsonObject to_json(const DiagnoseResult& result);

}  // namespace drover
