// The posterior of a black and white image: one chain or a few by Gibbs sampling in colours (drover/image/pixel_chain.hpp)
// that start at the more likely side of every pixel; the mean is that of conditional expectations. With patterns the
// coupling goes before, for half of the burn-in, as patterns are those of a clean image. 9 bytes a pixel beside the
// image and the result.
#pragma once

#include <cstdint>
#include <vector>

#include "drover/core/run_control.hpp"
#include "drover/image/binary_estimate.hpp"
#include "drover/image/denoising.hpp"

namespace drover {

struct BinaryPosterior {
  std::vector<double> mean;  ///< -1 .. +1
  std::uint64_t sweeps = 0;  ///< after burn-in, per chain
};

/// Of a normalised image and its model, of which the light plays no part. A time limit cuts sweeps; stopped is raised when
/// none is left.
BinaryPosterior binary_posterior(const NoisyImage& image, const BinaryImageModel& model, std::uint32_t chains,
                                 std::uint64_t burn_in, std::uint64_t sweeps, std::uint64_t seed,
                                 const RunControl& control = no_control());

}  // namespace drover
