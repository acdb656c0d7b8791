#include "drover/infer/clp_library.hpp"

#include <dlfcn.h>

#include <string>

#include "drover/core/error.hpp"

namespace drover {

namespace {

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function)
    throw Error(ErrorKind::misfit, std::string("the installed CLP library has no function ") + name);
}

ClpLibrary load() {
  void* library = nullptr;
  for (const char* name : {"libClp.so.1", "libClp.so"})
    if (!library) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw Error(ErrorKind::misfit,
                "linear programs need the CLP library, which is not installed (Debian: coinor-libclp1)");
  ClpLibrary clp{};
  find(library, "Clp_newModel", clp.newModel);
  find(library, "Clp_deleteModel", clp.deleteModel);
  find(library, "Clp_setLogLevel", clp.setLogLevel);
  find(library, "Clp_loadProblem", clp.loadProblem);
  find(library, "Clp_setOptimizationDirection", clp.setOptimizationDirection);
  find(library, "Clp_setMaximumSeconds", clp.setMaximumSeconds);
  find(library, "Clp_setMaximumIterations", clp.setMaximumIterations);
  find(library, "Clp_dual", clp.dual);
  find(library, "Clp_status", clp.status);
  find(library, "Clp_objectiveValue", clp.objectiveValue);
  find(library, "Clp_primalColumnSolution", clp.primalColumnSolution);
  return clp;
}

}  // namespace

const ClpLibrary& clp_library() {
  static const ClpLibrary library = load();
  return library;
}

}  // namespace drover
