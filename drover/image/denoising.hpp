// Denoising as inference: pixels are variables of a grid, neighbours like to agree, noise is Gaussian.
//
// Source: the model of Bornn, Chen, de Freitas, Eskelin, Fang and Welling, Herded Gibbs sampling, ICLR 2013,
// section 4.2 (after Geman and Geman 1984).
//
//   black and white:  log p(x | y) = J sum_(i~j) x_i x_j + sum_i log l(y_i | x_i),     x_i in {-1, +1}
//   grey levels:      the first sum becomes -J sum_(i~j) min(|x_i - x_j|, T),   x_i in K levels of [-1, +1]
//   noise:            y_i = x_i + sigma * standard normal
//
// J is per pair of neighbours, each pair once (the paper's J_ij / 2, summed over both orders). The truncated
// linear form with two levels and T >= 2 is the first one: x x' = 1 - |x - x'|.
//
// A file cannot hold values beyond black and white, so the likelihood depends on the range of y:
//   open      a density:  log l(y | x) = -(y - x)^2 / (2 sigma^2)
//   clipped   y = +1 says only that the value was at least 1:  l = Phi((x - 1) / sigma), and so at -1
//   two       y is a sign, all else is lost:  l = Phi(y x / sigma)
//
// Assumes that black and white are the ends of the range, and noise that is independent from pixel to pixel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/graph.hpp"
#include "drover/core/run_control.hpp"

namespace drover {

enum class PixelRange { open, clipped, two };

struct NoisyImage {
  std::size_t width = 0, height = 0;
  PixelRange range = PixelRange::open;
  std::vector<double> values;  ///< y, row by row; black is -1, white is +1
};

/// Adds sigma times a standard normal to every pixel; the range is open afterwards.
NoisyImage add_noise(std::span<const double> clean, std::size_t width, std::size_t height, double sigma,
                     std::uint64_t seed);

/// Values of a file, -1 .. +1: their range is recognised.
NoisyImage noisy_image(std::vector<double> values, std::size_t width, std::size_t height);

/// log l(y | x), up to a term that does not depend on x.
double log_likelihood(double y, double x, double sigma, PixelRange range);

/// The maximum-likelihood sigma of a black and white image. The law of |y| does not depend on the image, so
/// this needs no model of it; only for range `two` the correlation of neighbours, extrapolated to distance
/// zero, has to say how many signs are wrong. Between 0.05 and 100.
double estimate_sigma(const NoisyImage& image);
/// The same for grey levels: the second difference across both directions leaves noise and few edges
/// (Immerkaer, Computer Vision and Image Understanding 64, 1996). The least of three estimates: by its median, and
/// by its mean square in blocks of 8 x 8 and 16 x 16 pixels, of which the lowest twentieth, the quiet parts of the
/// picture, is held against what noise alone has there. Pixels at the ends of the range and blank ones are left out. A picture that is texture everywhere makes it too large. Between 0.002 and 100.
double estimate_sigma_grey(const NoisyImage& image);

/// State 1 is white.
Model denoising_model(const NoisyImage& image, double sigma, double coupling);
/// State k is level -1 + 2 k / (levels - 1).
Model grey_denoising_model(const NoisyImage& image, double sigma, std::uint32_t levels, double coupling,
                           double truncation);

/// What compile() makes of these (black and white for two levels), in half the memory: an image's
/// likelihoods, one for each pixel and level, are written where they stay. Raises stopped when the control
/// ends it.
Graph denoising_graph(const NoisyImage& image, double sigma, std::uint32_t levels, double coupling,
                      double truncation, const RunControl& control = no_control());

/// The level that state k of `states` stands for, -1 .. +1.
double level_of_state(std::uint32_t state, std::uint32_t states);
/// The most likely state of each pixel by itself: where the paper's chains start.
std::vector<Value> most_likely_states(const NoisyImage& image, std::uint32_t states);

/// The mean over pixels of (estimate - truth)^2, on the scale where black is -1 and white +1.
double mean_squared_error(std::span<const double> estimate, std::span<const double> truth);
/// The share of pixels on the wrong side of zero.
double wrong_share(std::span<const double> estimate, std::span<const double> truth);

}  // namespace drover
