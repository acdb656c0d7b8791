// The functions of COIN-OR CLP that drover calls. The library is loaded when the first linear program is
// solved, not when the program starts: with the linear algebra it stands on, that would cost every command
// milliseconds.
#pragma once

#include <coin/Clp_C_Interface.h>

namespace drover {

struct ClpLibrary {
  decltype(&Clp_newModel) newModel;
  decltype(&Clp_deleteModel) deleteModel;
  decltype(&Clp_setLogLevel) setLogLevel;
  decltype(&Clp_loadProblem) loadProblem;
  decltype(&Clp_setOptimizationDirection) setOptimizationDirection;
  decltype(&Clp_setMaximumSeconds) setMaximumSeconds;
  decltype(&Clp_setMaximumIterations) setMaximumIterations;
  decltype(&Clp_dual) dual;
  decltype(&Clp_status) status;
  decltype(&Clp_objectiveValue) objectiveValue;
  decltype(&Clp_primalColumnSolution) primalColumnSolution;
};

/// Loads the library on the first call; raises misfit when it is not installed.
const ClpLibrary& clp_library();

}  // namespace drover
