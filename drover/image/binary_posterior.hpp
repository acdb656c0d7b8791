// Black and white images: what a noisy one says of its own model, and the posterior by Gibbs sampling.
//
// The model is that of denoising.hpp, with levels and light of its own:
//   y_i = black or white (by x_i) + light at i + sigma * standard normal
// where light is a polynomial of degree 2. Parameters by stochastic expectation maximisation (Celeux, Diebolt 1985): sweeps of Gibbs sampling give x;
// given x, the coupling maximises the pseudo-likelihood of x (Besag 1975), levels, light and sigma are a
// least squares fit of y; estimates of the second half of the turns are averaged. Light is kept when it
// explains a twentieth of what is left without it. Where many pixels lie at the ends of the range, these are
// black and white, and sigma is that of denoising.hpp; where all do, it is known by the share of pixels that
// x has on the other side. Large images are read through 16 windows spread over them. Fails: noise that is
// correlated looks like picture; half-tones have no place in it.
//
// The posterior: one chain or a few by checkerboard Gibbs sampling that start at the more likely side of
// every pixel; the mean is that of conditional expectations. A draw is a function of (seed, chain, sweep,
// pixel): the same bits for any number of threads. 9 bytes a pixel beside the image and the result.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "drover/core/run_control.hpp"
#include "drover/image/denoising.hpp"

namespace drover {

struct BinaryImageModel {
  double coupling = 1;
  double sigma = 1;              ///< in the units of y
  double black = -1, white = 1;  ///< at the middle of the picture
  std::array<double, 5>
      light{};  ///< of u, v, u^2, u v, v^2, where u and v run from -1 to 1; zero: even light
  bool even_light = true;
};

/// What is given is kept. With sigma given, black and white are the ends of the range and the light is even.
BinaryImageModel estimate_binary_model(const NoisyImage& image, std::optional<double> coupling,
                                       std::optional<double> sigma, std::uint64_t seed,
                                       const RunControl& control = no_control());

/// The image as it would be with black at -1, white at +1 and even light; sigma by the same scale.
void normalise(NoisyImage& image, BinaryImageModel& model);

struct BinaryPosterior {
  std::vector<double> mean;  ///< -1 .. +1
  std::uint64_t sweeps = 0;  ///< after burn-in, per chain
};

/// Of a normalised image. A time limit cuts sweeps; stopped is raised when none is left.
BinaryPosterior binary_posterior(const NoisyImage& image, double sigma, double coupling, std::uint32_t chains,
                                 std::uint64_t burn_in, std::uint64_t sweeps, std::uint64_t seed,
                                 const RunControl& control = no_control());

}  // namespace drover
