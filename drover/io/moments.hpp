// Moments files: what herding is to reproduce, without the data.
//
//   moments              the word that says what this is
//   2 2 3                cardinalities of variables 0, 1, 2, ...
//   0 0.3                P(x_0 = 1), for binary variables
//   0 1 0.12             P(x_0 = 1, x_1 = 1); three numbers before the value: a triple
//   0 2=2 0.05           P(x_0 = 1, x_2 = 2); i=a names a state, needed where there are more than two
// Blank lines are passed over; # starts a comment. Values lie in [0, 1]. Whether they belong to a
// distribution is not asked here (herd/consistency.hpp).
#pragma once

#include <string>

#include "drover/core/run_control.hpp"
#include "drover/herd/features.hpp"

namespace drover {

class TextSource;

/// Whether the file starts with the word.
bool is_moments_file(const std::string& path);

Moments read_moments(const std::string& path, const RunControl& control = no_control());
Moments parse_moments(TextSource& source);

}  // namespace drover
