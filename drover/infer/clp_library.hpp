// The functions of COIN-OR CLP that drover calls, as its C interface states them (version 1.17). The library
// is loaded when the first linear program is solved, not when the program starts: with the linear algebra it
// stands on, that would cost every command milliseconds. Building needs none of its headers.
#pragma once

namespace drover {

struct ClpLibrary {
  struct Model;          // known to the library only
  using BigIndex = int;  // CoinBigIndex, as CLP is built unless told otherwise

  Model* (*newModel)();
  void (*deleteModel)(Model*);
  void (*setLogLevel)(Model*, int);
  void (*loadProblem)(Model*, int columns, int rows, const BigIndex* start, const int* index,
                      const double* value, const double* column_lower, const double* column_upper,
                      const double* objective, const double* row_lower, const double* row_upper);
  void (*setOptimizationDirection)(Model*, double);
  void (*setMaximumIterations)(Model*, int);
  int (*dual)(Model*, int values_pass);
  int (*status)(Model*);
  double (*objectiveValue)(Model*);
  double* (*primalColumnSolution)(Model*);
};

/// Loads the library on the first call; raises misfit when it is not installed.
const ClpLibrary& clp_library();

}  // namespace drover
