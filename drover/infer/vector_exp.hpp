// exp and log of whole arrays of doubles (Highway), for messages in logs: no call per entry.
//
//   exp x = 2^k 2^f with k the whole number nearest to x / log 2, 2^f the polynomial of spin_kernels.hpp;
//           relative error below 6e-16 for -700 <= x <= 0
//   log x = (k + (2 / log 2) atanh t) log 2 of x = 2^k m, sqrt(1/2) <= m < sqrt 2, t = (m - 1) / (m + 1);
//           error below 3e-16 + 3e-16 |log x|
#pragma once

#include <cstddef>

namespace drover {

/// out[k] = exp x[k] for x <= 0; 0 below -700. out may be x.
void exp_all(const double* x, std::size_t count, double* out);

/// out[k] = log x[k] for positive, normal x. out may be x.
void log_all(const double* x, std::size_t count, double* out);

}  // namespace drover
