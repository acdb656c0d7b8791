// figures_from_segments() of several entries at once, each in a lane of a vector: models of millions of
// variables have as many figures to make. The same sums in the same order on every instruction set.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace drover {

/// The mean over segment s of chain c of entry e is segments[s][c * chain_stride + e]; all finite, in [0, 1].
struct SegmentBlock {
  static constexpr std::size_t width = 16;  ///< entries

  std::span<const float* const> segments;
  std::size_t chains = 0;
  double draws_per_segment = 1;
  std::size_t chain_stride = 0;
};

struct BlockFigures {
  double mean[SegmentBlock::width];
  double rhat[SegmentBlock::width], ess[SegmentBlock::width], mcse[SegmentBlock::width];
};

/// segment_moments.hpp says what they are, and when they are NaN. `room` is reused between calls.
void figures_of_block(const SegmentBlock& block, std::vector<double>& room, BlockFigures& figures);

}  // namespace drover
