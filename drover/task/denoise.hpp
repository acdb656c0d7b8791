// An image without its noise (drover/image/denoising.hpp): pixels are variables of a grid, and any method
// that gives marginals or a best state finds them.
//
//   Denoised clean = denoise(read_image("noisy.png"), {.levels = 2});
//   write_image(clean.output, "clean.png");
//
// The control ends it early with the result so far; Error (stopped, interrupted) is raised when there is
// none.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drover/core/option_list.hpp"
#include "drover/core/run_control.hpp"
#include "drover/image/denoising.hpp"
#include "drover/image/image.hpp"
#include "drover/run/inference_options.hpp"
#include "drover/run/result.hpp"
#include "drover/task/provenance.hpp"

namespace drover {

struct DenoiseOptions {
  /// Method, seed, chains, messages, herded Gibbs, memory limit; start and observations are the image's.
  InferenceOptions inference{};
  std::uint32_t levels = 2;          ///< grey levels of the result; 2 is black and white
  std::optional<double> coupling{};  ///< how much neighbours like to agree
  std::optional<double> sigma{};     ///< standard deviation of the noise, where black is -1 and white +1
  double noise = 0;  ///< first add noise of this standard deviation; the image itself is then the truth
  double truncation =
      0.5;  ///< grey levels, of methods other than auto: differences of neighbours beyond this cost no more
  bool grey = false;  ///< the output is the posterior mean, not the nearest level
  GreyImage truth{};  ///< to measure the error; may be empty
  std::string truth_name = "the clean image";
  std::string input{};  ///< what the image is called
};

void describe(OptionList& list, DenoiseOptions& options);

/// What is known of pictures beside what was seen of each pixel.
enum class PicturePrior {
  coupling,  ///< neighbours like to agree, all alike
  patterns,  ///< what pixels do beside each pattern of neighbours, learnt from the image
  scales     ///< differences of neighbours have scales of their own (scale-mixture)
};

template <>
struct ChoiceNames<PicturePrior> {
  static constexpr std::array names = {std::pair{PicturePrior::coupling, std::string_view("coupling")},
                                       std::pair{PicturePrior::patterns, std::string_view("patterns")},
                                       std::pair{PicturePrior::scales, std::string_view("scales")}};
};

struct Denoised {
  Provenance provenance;
  GreyImage output;
  NoisyImage noisy;           ///< what was cleaned, added noise included
  std::vector<double> mean;   ///< of every pixel, -1 .. +1; the state itself for methods that give a state
  std::vector<double> truth;  ///< empty when it is not known
  std::uint32_t levels = 2;
  PicturePrior prior = PicturePrior::coupling;
  double coupling = 0;  ///< of the prior, or what it would be
  bool coupling_estimated = false;
  double black = -1, white = 1;  ///< levels that were taken for black and white; -1 and 1 are the ends
  bool light_evened = false;     ///< slow changes of the light were taken out
  double sigma = 0;
  bool sigma_estimated = false;
  std::uint64_t sweeps = 0;
  std::uint32_t chains = 0;
  double updates = 0;
  double error = not_known;          ///< mean squared, of the mean
  double misclassified = not_known;  ///< share of pixels on the wrong side of the middle
  double error_before = not_known;   ///< of every pixel taken by itself
};

Denoised denoise(const GreyImage& image, const DenoiseOptions& options = {},
                 const RunControl& control = no_control());

Judgement judge(const Denoised& result);
JsonObject to_json(const Denoised& result);
/// The prior in words, for people: "coupling 0.74 (estimated)".
std::string prior_text(const Denoised& result);

/// The grid model of an image, for whoever runs it otherwise than denoise() does: watched, or painted on.
struct ImageModel {
  Model model;
  NoisyImage noisy;  ///< what it is a model of, added noise included
};

/// Of the options, levels, noise, seed, sigma, coupling and truncation are heeded. An unset sigma is estimated;
/// an unset coupling is 1, and 8 with grey levels.
ImageModel image_model(const GreyImage& image, const DenoiseOptions& options = {});

}  // namespace drover
