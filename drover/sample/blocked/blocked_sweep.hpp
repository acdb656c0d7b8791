// Draws all variables of a block jointly from their distribution given the rest, for 16 chains side by side.
//
// Up, in the order of elimination, with T the log table of a bucket (see blocked_plan.hpp):
//   T(c, k) = beta * (constant + fields + slices) + messages of the children
//   p(k | c) = exp T(c, k) / sum_j exp T(c, j),    message(c) = log sum_k exp T(c, k), largest entry made 0
// Down, in the reverse order: x_v ~ p( . | values drawn for the parents).
// Logarithms throughout the upward pass: nothing underflows, and a hard zero stays exactly zero.
// Nodes of strictly positive binary trees carry log-odds instead of tables (one exponential per value of the
// parent, one logarithm per message), or odds where they cannot overflow (no exponential at all).
#pragma once

#include <cstdint>
#include <vector>

#include "drover/sample/blocked/blocked_plan.hpp"

namespace drover {

inline constexpr std::uint32_t block_lanes = 16;

/// One number per chain.
struct alignas(64) LaneFloats {
  float lane[block_lanes];
};
struct alignas(64) LaneValues {
  std::int32_t lane[block_lanes];
};

struct BlockRun {
  const float* table_values;  ///< of the graph's tables, for slices
  const LaneFloats* inverse_temperatures;
  LaneValues* values;   ///< per variable
  LaneFloats* scratch;  ///< BlockPlan::rows of them
  std::uint64_t seed, sweep;
  std::uint32_t first_chain;
  float* sums;                       ///< ConditionalSums, or null
  const std::size_t* entry_offsets;  ///< of ConditionalSums
  const float* sum_weights;          ///< per variable: 1 / the number of blocks that hold it
};

void run_chunk(const BlockPlan& plan, const Chunk& chunk, const BlockRun& run);

/// Words (site & 3) of Random(seed, Stream::sweep).block(chain, sweep, site >> 2) as numbers in (0, 1], for
/// the four sites of one block; for tests.
void block_uniforms(std::uint64_t seed, std::uint32_t first_chain, std::uint64_t sweep,
                    std::uint32_t site_block, LaneFloats uniforms[4]);

}  // namespace drover
