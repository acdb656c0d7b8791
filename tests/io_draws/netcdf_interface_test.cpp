// The part of NetCDF's interface that drover states itself is the one of netcdf.h, where that is installed.
#if __has_include(<netcdf.h>)
#include <gtest/gtest.h>
#include <netcdf.h>

#include <type_traits>

#include "drover/io/netcdf_draws_library.hpp"

namespace drover {
namespace {

#define DROVER_SAME_TYPE(name) \
  static_assert(std::is_same_v<decltype(&::name), decltype(NetcdfLibrary::name)>);
DROVER_NETCDF_FUNCTIONS(DROVER_SAME_TYPE)

TEST(NetcdfInterface, NumbersAreThoseOfTheHeader) {
  using N = NetcdfLibrary;
  EXPECT_EQ(N::character, NC_CHAR);
  EXPECT_EQ(N::real, NC_DOUBLE);
  EXPECT_EQ(N::byte, NC_UBYTE);
  EXPECT_EQ(N::word, NC_USHORT);
  EXPECT_EQ(N::whole, NC_INT64);
  EXPECT_EQ(N::unsigned_whole, NC_UINT64);
  EXPECT_EQ(N::text, NC_STRING);
  EXPECT_EQ(N::no_error, NC_NOERR);
  EXPECT_EQ(N::read_only, NC_NOWRITE);
  EXPECT_EQ(N::overwrite, NC_CLOBBER);
  EXPECT_EQ(N::version_4, NC_NETCDF4);
  EXPECT_EQ(N::chunked, NC_CHUNKED);
  EXPECT_EQ(N::of_group, NC_GLOBAL);
  EXPECT_EQ(N::unlimited, static_cast<std::size_t>(NC_UNLIMITED));
  EXPECT_EQ(N::longest_name, NC_MAX_NAME);
  EXPECT_EQ(N::most_dimensions, NC_MAX_VAR_DIMS);
}

}  // namespace
}  // namespace drover
#endif
