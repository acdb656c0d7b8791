// What perturb-and-max-product takes of memory, for `info` and for the limit.
#pragma once

#include "drover/methods/method.hpp"

namespace drover {

/// The samples that are drawn together, and what drawing them takes where lanes do it.
double pmp_bytes(const Problem& problem, Task task);

}  // namespace drover
