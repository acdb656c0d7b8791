// The two additions of message passing, in logs.
#pragma once

#include <algorithm>

#include "drover/core/log_math.hpp"

namespace drover {

enum class Semiring { sum, maximum };

struct SumOfExp {
  static double add(double a, double b) { return log_add(a, b); }
};
struct Maximum {
  static double add(double a, double b) { return std::max(a, b); }
};

}  // namespace drover
