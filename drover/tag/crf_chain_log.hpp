// Forward-backward in log space: slow, for any scores whatever. What crf_chain.hpp falls back on.
#pragma once

#include <cstddef>
#include <vector>

#include "drover/core/log_math.hpp"

namespace drover {

/// Marginals of one sentence into `marginals` (tokens x stride); adds the probabilities of neighbouring pairs
/// to `pairs` (labels x stride) unless it is null. Returns log Z.
template <class Real>
double chain_in_log_space(std::size_t tokens, std::size_t labels, std::size_t stride, const Real* scores,
                          const Real* transitions, Real* marginals, double* pairs) {
  std::vector<double> forward(tokens * labels), backward(tokens * labels, 0.0), terms(labels);
  for (std::size_t y = 0; y < labels; ++y) forward[y] = static_cast<double>(scores[y]);
  for (std::size_t t = 1; t < tokens; ++t)
    for (std::size_t y = 0; y < labels; ++y) {
      for (std::size_t k = 0; k < labels; ++k)
        terms[k] = forward[(t - 1) * labels + k] + static_cast<double>(transitions[k * stride + y]);
      forward[t * labels + y] = log_sum_exp(terms) + static_cast<double>(scores[t * stride + y]);
    }
  for (std::size_t t = tokens - 1; t > 0; --t)
    for (std::size_t k = 0; k < labels; ++k) {
      for (std::size_t y = 0; y < labels; ++y)
        terms[y] = static_cast<double>(transitions[k * stride + y]) +
                   static_cast<double>(scores[t * stride + y]) + backward[t * labels + y];
      backward[(t - 1) * labels + k] = log_sum_exp(terms);
    }
  for (std::size_t y = 0; y < labels; ++y) terms[y] = forward[(tokens - 1) * labels + y];
  const double log_z = log_sum_exp(terms);
  for (std::size_t t = 0; t < tokens; ++t)
    for (std::size_t y = 0; y < labels; ++y)
      marginals[t * stride + y] =
          static_cast<Real>(std::exp(forward[t * labels + y] + backward[t * labels + y] - log_z));
  if (pairs == nullptr) return log_z;
  for (std::size_t t = 1; t < tokens; ++t)
    for (std::size_t k = 0; k < labels; ++k)
      for (std::size_t y = 0; y < labels; ++y)
        pairs[k * stride + y] +=
            std::exp(forward[(t - 1) * labels + k] + static_cast<double>(transitions[k * stride + y]) +
                     static_cast<double>(scores[t * stride + y]) + backward[t * labels + y] - log_z);
  return log_z;
}

}  // namespace drover
