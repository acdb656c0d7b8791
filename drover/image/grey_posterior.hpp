// A photograph without its noise: a Gaussian scale mixture, by mean field.
//
//   y_i = x_i + sigma * standard normal,      x_i - x_j ~ N(0, s_e) for the eight neighbours of a pixel,
// each scale s_e with Jeffreys' prior 1 / s_e, and common to the nine parallel differences around it, so that
// an edge is known by more than the one noisy difference across it (Portilla, Strela, Wainwright, Simoncelli,
// Image denoising using scale mixtures of Gaussians in the wavelet domain, IEEE Trans. Image Processing 12,
// 2003, have the shared scales, on wavelets). Jeffreys' prior has no scale of its own: nothing is to be set
// but sigma. Mean field q(x) = prod N(m_i, v_i) climbs by turns, all pixels at once:
//   w_e = c_e a / (mean over the nine of (m_i - m_j)^2 + v_i + v_j)
//   v_i = 1 / (1 / sigma^2 + sum_e w_e),    m_i = v_i (y_i / sigma^2 + sum_e w_e m_j)
// with c = 1 beside and above, 1 / sqrt(2) diagonally. a = 0.35 takes account of the eight differences of a
// pixel not being independent; it was found on photographs at two levels of noise, best or next to best on
// all. In a file whose values end at black and white, a y_i at such an end stands for the mean of what it may
// have been, E[y | y >= 1, m_i]: else white paper turns grey, which noise can only make darker.
//
// Fails: smooths fine texture that is weaker than the noise; noise that is not Gaussian, or correlated, is
// taken for the picture. Float numbers, 16 bytes a pixel.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/core/run_control.hpp"
#include "drover/image/denoising.hpp"

namespace drover {

struct GreyPosterior {
  std::vector<float> mean;
  std::vector<float> variance;  ///< of mean field: too small, as always
  std::uint32_t iterations = 0;
};

/// Ends early with what it has; the noisy image itself when not one iteration was done.
GreyPosterior grey_posterior(const NoisyImage& image, double sigma, std::uint32_t iterations = 25,
                             const RunControl& control = no_control());

}  // namespace drover
