#include "drover/io/netcdf_draws_library.hpp"

#include "drover/core/shared_library.hpp"

namespace drover {

namespace {

NetcdfLibrary load() {
  // The file names of versions 4.9, 4.9.3 and 4.8, then that of a development package.
  const SharedLibrary library(
      {"libnetcdf.so.19", "libnetcdf.so.22", "libnetcdf.so.18", "libnetcdf.so"},
      ".nc files need the NetCDF library, which is not installed (Debian: libnetcdf19)");
  NetcdfLibrary functions{};
#define DROVER_NETCDF_FIND(name) library.find(#name, functions.name);
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
