// The primal-dual sweep of one chain in double precision at any temperature, as the formula says it: what the
// vectorised kernels run when their temperature is not 1.
#pragma once

#include <cstdint>
#include <span>

#include "drover/compile/dual.hpp"
#include "drover/core/random.hpp"

namespace drover {

/// Draws all duals given x, then all x; p[i] becomes the probability of 1 that x_i was drawn with.
void plain_primal_dual_sweep(const SpinEdges& graph, double inverse_temperature, const Random& random,
                             std::uint32_t chain, std::uint64_t sweep, std::span<Value> x,
                             std::span<double> p);

/// log p~(x).
double log_score(const SpinEdges& graph, std::span<const Value> x);

}  // namespace drover
