// One writer and one reader per format, for draws.cpp only.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "drover/io/draws.hpp"

namespace drover {

/// What a line of a .csv file begins with that has the metadata behind it, as a JSON object.
inline constexpr std::string_view csv_draws_remark = "# drover ";

std::unique_ptr<DrawWriter> make_npz_writer(const std::string& path, DrawFileHeader header);
std::unique_ptr<DrawWriter> make_csv_writer(const std::string& path, DrawFileHeader header);
std::unique_ptr<DrawWriter> make_netcdf_writer(const std::string& path, DrawFileHeader header);

DrawFile read_draws_netcdf(const std::string& path, const RunControl& control);

}  // namespace drover
