#include "drover/io/netcdf_draws_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "drover/core/error.hpp"

namespace drover {

namespace {

template <typename Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr)
    throw Error(ErrorKind::internal, fmt::format("the NetCDF library has no function {}", name));
}

NetcdfLibrary load() {
  void* library = nullptr;
  // The file names of versions 4.9, 4.9.3 and 4.8, then that of a development package.
  for (const char* name : {"libnetcdf.so.19", "libnetcdf.so.22", "libnetcdf.so.18", "libnetcdf.so"})
    if (library == nullptr) library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw Error(ErrorKind::internal, ".nc files need the NetCDF library (libnetcdf), which is not installed");
  NetcdfLibrary functions{};
#define DROVER_NETCDF_FIND(name) find(library, #name, functions.name);
  DROVER_NETCDF_FUNCTIONS(DROVER_NETCDF_FIND)
#undef DROVER_NETCDF_FIND
  return functions;
}

}  // namespace

const NetcdfLibrary& netcdf_library() {
  static const NetcdfLibrary library = load();
  return library;
}

}  // namespace drover
