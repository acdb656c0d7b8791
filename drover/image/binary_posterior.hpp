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
// One coupling knows no strokes: it rounds corners and eats lines. Where it is not given, a second round of turns learns
// what pixels do beside each of the 4096 patterns of their twelve nearest neighbours (a dependency network: Heckerman et
// al. 2000; contexts as in the universal denoiser of Weissman et al. 2005), counted in x as a coupling is estimated from it:
//   P(white | 4k neighbours) = (white + strength * P(white | the nearest 4(k-1))) / (all + strength)
// so that patterns that are rarely seen count as their nearer part does. These conditionals need not be those of one
// joint distribution; sampled in turn they still have a stationary one. Fails: at 1 % of flipped pixels fine print may be
// taken for noiseless, as dots are then as likely to be picture.
//
// The posterior: one chain or a few by Gibbs sampling in colours that start at the more likely side of
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
