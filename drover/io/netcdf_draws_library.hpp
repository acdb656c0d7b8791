// The NetCDF library, loaded at its first use.
//
// Linked in the usual way libnetcdf brings 43 further shared libraries (HDF5, curl, TLS, ...) and 5.6 ms to
// every start of the program (measured: 6.2 against 0.6 ms); so only a run that reads or writes .nc pays. The
// functions and numbers it uses stand here, so that building drover needs no NetCDF at all: they belong to
// the library's binary interface, which does not change. A test compares them with netcdf.h where there is
// one.
#pragma once

#include <cstddef>

namespace drover {

struct NetcdfLibrary {
  using Type = int;
  static constexpr Type character = 2, real = 6, byte = 7, word = 8, whole = 10, unsigned_whole = 11,
                        text = 12;
  static constexpr int no_error = 0, read_only = 0, overwrite = 0, version_4 = 0x1000, chunked = 0;
  static constexpr int of_group = -1;          ///< instead of a variable: an attribute of the group
  static constexpr std::size_t unlimited = 0;  ///< the extent of a dimension that grows
  static constexpr std::size_t longest_name = 256, most_dimensions = 1024;

  using Extents = const std::size_t*;
  int (*nc_create)(const char* path, int mode, int* file);
  int (*nc_open)(const char* path, int mode, int* file);
  int (*nc_close)(int file);
  int (*nc_enddef)(int file);
  const char* (*nc_strerror)(int code);
  int (*nc_def_grp)(int parent, const char* name, int* group);
  int (*nc_def_dim)(int group, const char* name, std::size_t extent, int* dimension);
  int (*nc_def_var)(int group, const char* name, Type type, int rank, const int* dimensions, int* variable);
  int (*nc_def_var_chunking)(int group, int variable, int storage, Extents chunk);
  int (*nc_def_var_deflate)(int group, int variable, int shuffle, int deflate, int level);
  int (*nc_put_att_text)(int group, int variable, const char* name, std::size_t size, const char* text);
  int (*nc_put_vara_uchar)(int group, int variable, Extents start, Extents count, const unsigned char* from);
  int (*nc_put_vara_ushort)(int group, int variable, Extents start, Extents count,
                            const unsigned short* from);
  int (*nc_put_vara_double)(int group, int variable, Extents start, Extents count, const double* from);
  int (*nc_put_vara_longlong)(int group, int variable, Extents start, Extents count, const long long* from);
  int (*nc_put_vara_string)(int group, int variable, Extents start, Extents count, const char** from);
  int (*nc_inq_ncid)(int file, const char* name, int* group);
  int (*nc_inq_varids)(int group, int* count, int* variables);
  int (*nc_inq_var)(int group, int variable, char* name, Type* type, int* rank, int* dimensions,
                    int* attributes);
  int (*nc_inq_varid)(int group, const char* name, int* variable);
  int (*nc_inq_dim)(int group, int dimension, char* name, std::size_t* extent);
  int (*nc_inq_dimid)(int group, const char* name, int* dimension);
  int (*nc_get_vara_ushort)(int group, int variable, Extents start, Extents count, unsigned short* to);
  int (*nc_get_vara_double)(int group, int variable, Extents start, Extents count, double* to);
  int (*nc_get_vara_string)(int group, int variable, Extents start, Extents count, char** to);
  int (*nc_free_string)(std::size_t count, char** texts);
  int (*nc_inq_att)(int group, int variable, const char* name, Type* type, std::size_t* size);
  int (*nc_get_att_text)(int group, int variable, const char* name, char* to);
};

/// use(name) for each of the functions.
#define DROVER_NETCDF_FUNCTIONS(use)                                                                        \
  use(nc_create) use(nc_open) use(nc_close) use(nc_enddef) use(nc_strerror) use(nc_def_grp) use(nc_def_dim) \
      use(nc_def_var) use(nc_def_var_chunking) use(nc_def_var_deflate) use(nc_put_att_text)                 \
          use(nc_put_vara_uchar) use(nc_put_vara_ushort) use(nc_put_vara_double) use(nc_put_vara_longlong)  \
              use(nc_put_vara_string) use(nc_inq_ncid) use(nc_inq_varids) use(nc_inq_var) use(nc_inq_varid) \
                  use(nc_inq_dim) use(nc_inq_dimid) use(nc_get_vara_ushort) use(nc_get_vara_double)         \
                      use(nc_get_vara_string) use(nc_free_string) use(nc_inq_att) use(nc_get_att_text)

/// Error internal when the library is not installed. Not for several threads at once, like HDF5 itself.
const NetcdfLibrary& netcdf_library();

}  // namespace drover
