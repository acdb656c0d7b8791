// One array of a NumPy .npz file, as numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "drover/core/run_control.hpp"

namespace drover {

struct NpzArray {
  std::vector<std::uint64_t> shape;
  std::vector<double> values;  ///< row-major
};

/// Raises cannot_read, or bad_data for a damaged file, a missing array, or one that does not hold numbers.
NpzArray read_npz_array(const std::string& path, const std::string& name,
                        const RunControl& control = no_control());

}  // namespace drover
