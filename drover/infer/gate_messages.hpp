// The messages of gates (model/gates.hpp), exact in both semirings:
//
//   out_s(k) = reduce over x with x_s = k of
//              ( scale * log factor(x) + sum over the other slots t of in_t(x_t) )
//
// OR, AND and counts are chains: a counter of ones that stops at a cap runs along the inputs, and its last
// value decides. Forward and backward sums over the counter give every message, in O(inputs * cap) and
// without subtraction: OR and AND have cap 1; a count has the smaller of its caps for ones and for zeros (at
// most k: k + 1, at least k: k). A noisy-OR is a chain too when messages are sums (an active input fails to
// switch the child on with probability q_i). Its maximum has no such form (it is a knapsack problem), so
// there, and for a scale other than 1, all states of up to `largest_noisy_or` inputs are visited.
#pragma once

#include "drover/infer/factor_messages.hpp"

namespace drover {

inline constexpr std::size_t largest_noisy_or = 16;

/// Whether some noisy-OR is too large for maxima and scales.
bool has_large_noisy_or(const Graph& graph);

void gate_messages(Semiring semiring, const Gates& gates, std::size_t gate, double scale, const double* in,
                   double* out, FactorScratch& scratch);

}  // namespace drover
