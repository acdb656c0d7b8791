#include "drover/infer/clp_library.hpp"

#include "drover/core/shared_library.hpp"

namespace drover {

namespace {

ClpLibrary load() {
  const SharedLibrary library(
      {"libClp.so.1", "libClp.so"},
      "linear programs need the CLP library, which is not installed (Debian: coinor-libclp1)");
  ClpLibrary clp{};
  library.find("Clp_newModel", clp.newModel);
  library.find("Clp_deleteModel", clp.deleteModel);
  library.find("Clp_setLogLevel", clp.setLogLevel);
  library.find("Clp_loadProblem", clp.loadProblem);
  library.find("Clp_setOptimizationDirection", clp.setOptimizationDirection);
  library.find("Clp_setMaximumIterations", clp.setMaximumIterations);
  library.find("Clp_dual", clp.dual);
  library.find("Clp_status", clp.status);
  library.find("Clp_objectiveValue", clp.objectiveValue);
  library.find("Clp_primalColumnSolution", clp.primalColumnSolution);
  return clp;
}

}  // namespace

const ClpLibrary& clp_library() {
  static const ClpLibrary library = load();
  return library;
}

}  // namespace drover
