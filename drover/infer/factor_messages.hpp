// The messages that one factor sends, for every kind of factor and both semirings:
//
//   out_s(k) = reduce over x with x_s = k of ( scale * theta(x) + sum over the other slots t of in_t(x_t) )
//
// where reduce is log-sum-exp (sum-product) or the maximum (max-product). Messages in and out lie slot after
// slot; out is not normalised. Minus infinity is a hard zero on either side and ties need no care. Nothing is
// ever subtracted, so no term is lost to cancellation:
//
//   spin pair, table   every entry, with sums of the other slots from the left and from the right
//   Potts pair         O(K): the other states by prefixes and suffixes
//   truncated linear   O(K): a window of decaying prefixes and suffixes (van Herk's blocks), and what is
//                      outside it
//   gate               a chain of counters (gate_messages.hpp)
//
// Sums over Potts pairs and tables of two variables are made of plain numbers by vectors (vector_exp.hpp):
// one exponential per entry, one logarithm per state; where a sum comes near the smallest number, in logs as
// above.
//
// `scale` is 1 / (appearance probability) of the factor in tree-reweighted message passing, otherwise 1.
#pragma once

#include <vector>

#include "drover/infer/factor_graph.hpp"
#include "drover/infer/semiring.hpp"

namespace drover {

/// Working memory of factor_messages(); one per thread.
struct FactorScratch {
  std::vector<double> values;
  std::vector<double> sums;
  std::vector<std::uint32_t> states;
  std::vector<std::size_t> begins;
};

void factor_messages(Semiring semiring, const FactorGraph& graph, std::size_t factor, double scale,
                     const double* in, double* out, FactorScratch& scratch);

}  // namespace drover
