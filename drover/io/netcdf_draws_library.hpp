// The NetCDF library, loaded at its first use.
//
// Linked in the usual way libnetcdf brings 43 further shared libraries (HDF5, curl, TLS, ...) and 5.6 ms to
// every start of the program (measured: 6.2 against 0.6 ms); so only a run that reads or writes .nc pays.
#pragma once

#include <netcdf.h>

#include <string>

namespace drover {

/// Every function used, with the type netcdf.h gives it.
struct NetcdfLibrary {
#define DROVER_NETCDF_FUNCTIONS(use)                                                                        \
  use(nc_create) use(nc_open) use(nc_close) use(nc_enddef) use(nc_strerror) use(nc_def_grp) use(nc_def_dim) \
      use(nc_def_var) use(nc_def_var_chunking) use(nc_def_var_deflate) use(nc_put_att_text)                 \
          use(nc_put_vara_uchar) use(nc_put_vara_ushort) use(nc_put_vara_double) use(nc_put_vara_longlong)  \
              use(nc_put_vara_string) use(nc_inq_ncid) use(nc_inq_varids) use(nc_inq_var) use(nc_inq_varid) \
                  use(nc_inq_dim) use(nc_inq_dimid) use(nc_get_vara_ushort) use(nc_get_vara_double)         \
                      use(nc_get_vara_string) use(nc_free_string) use(nc_inq_att) use(nc_get_att_text)
#define DROVER_NETCDF_POINTER(name) decltype(&::name) name = nullptr;
  DROVER_NETCDF_FUNCTIONS(DROVER_NETCDF_POINTER)
#undef DROVER_NETCDF_POINTER
};

/// Error internal when the library is not installed. Not for several threads at once, like HDF5 itself.
const NetcdfLibrary& netcdf_library();

}  // namespace drover
