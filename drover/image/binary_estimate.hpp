// What a noisy black and white image says of its own model.
//
// The model is that of denoising.hpp, with levels and light of its own:
//   y_i = black or white (by x_i) + light at i + sigma * standard normal
// where light is a polynomial of degree 2. Parameters by stochastic expectation maximisation (Celeux, Diebolt 1985): sweeps of Gibbs sampling give x;
// given x, the coupling maximises the pseudo-likelihood of x (Besag 1975), levels, light and sigma are a
// least squares fit of y; estimates of the second half of the turns are averaged. Light is kept when it
// explains a twentieth of what is left without it. Where many pixels lie at the ends of the range, these are
// black and white, and sigma is that of denoising.hpp; where all do, it is known by the share of pixels that
// x has on the other side, between the limits for the two sides that patterns of the image as it was seen set
// (drover/image/pixel_patterns.hpp): an x that is what was seen, dots and all, would explain itself. Large
// images are read through 16 windows spread over them. Fails: noise that is correlated looks like picture.
//
// One coupling knows no strokes: it rounds corners and eats lines. Where it is not given, a second round of turns learns
// patterns, counted in x as a coupling is estimated from it.
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
  /// log P(white) / P(black) beside each pattern of the neighbours, apart from what was seen; empty: the coupling's.
  std::vector<float> patterns{};
  signed char frame = 1;  ///< the side that patterns see beyond the border: that of more pixels
};

/// What is given is kept; with the coupling given there are no patterns. With sigma given, black and white are the
/// ends of the range and the light is even.
BinaryImageModel estimate_binary_model(const NoisyImage& image, std::optional<double> coupling,
                                       std::optional<double> sigma, std::uint64_t seed,
                                       const RunControl& control = no_control());

/// The image as it would be with black at -1, white at +1 and even light; sigma by the same scale.
void normalise(NoisyImage& image, BinaryImageModel& model);

}  // namespace drover
