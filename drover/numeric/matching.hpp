// The one-to-one matching of rows and columns with the largest sum of weights.
//
// Kuhn's Hungarian method with potentials, O(n^3): rows are added one at a time, each along a shortest
// augmenting path.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace drover {

/// weights is n x n, row-major; the result gives the column of every row.
std::vector<std::uint32_t> best_matching(std::uint32_t n, std::span<const double> weights);

}  // namespace drover
