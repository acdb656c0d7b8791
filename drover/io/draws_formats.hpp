// One writer and one reader per format, for draws.cpp only.
#pragma once

#include <memory>
#include <string>

#include "drover/io/draws.hpp"

namespace drover {

std::unique_ptr<DrawWriter> make_npz_writer(const std::string& path, DrawFileHeader header);
std::unique_ptr<DrawWriter> make_csv_writer(const std::string& path, DrawFileHeader header);
std::unique_ptr<DrawWriter> make_netcdf_writer(const std::string& path, DrawFileHeader header);

DrawFile read_draws_netcdf(const std::string& path, const RunControl& control);

}  // namespace drover
