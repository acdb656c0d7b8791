// Sums of rows through compressed lists: the three sparse products of a CRF's gradient.
//
// Each output row is written by one thread, its terms in a fixed order, so that results do not depend on the
// number of threads. Rows are `stride` numbers wide (label_stride of crf_chain.hpp).
#pragma once

#include <cstddef>

#include "drover/tag/crf_data.hpp"

namespace drover {

/// out[l] = sum over items of list l of factor * in[item].
template <class Real>
void weighted_rows(const Lists& lists, const Real* in, std::size_t stride, std::size_t first,
                   std::size_t last, Real* out);

/// out[l] = sum over items of list l of in[item]; long lists are added up in pieces, so that nothing is lost.
template <class Real>
void summed_rows(const Lists& lists, const Real* in, std::size_t stride, std::size_t first, std::size_t last,
                 Real* out);

/// The same as weighted_rows, summed in double; out[0] belongs to list `first`.
template <class Real>
void weighted_rows_in_double(const Lists& lists, const Real* in, std::size_t stride, std::size_t first,
                             std::size_t last, double* out);

}  // namespace drover
