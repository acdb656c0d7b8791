#include "drover/image/binary_posterior.hpp"

#include "drover/core/random.hpp"
#include "drover/image/pixel_chain.hpp"

namespace drover {

BinaryPosterior binary_posterior(const NoisyImage& image, const BinaryImageModel& model, std::uint32_t chains,
                                 std::uint64_t burn_in, std::uint64_t sweeps, std::uint64_t seed,
                                 const RunControl& control) {
  PixelChain pixels(image.width, image.height);
  const SideOdds odds(model.sigma, image.range);
  pixels.see([&](std::size_t x, std::size_t y) { return odds(image.values[y * image.width + x]); });
  const bool has_patterns = !model.patterns.empty();
  BinaryPosterior result;
  double counted = 0, done = 0;
  const double all = static_cast<double>(chains) * static_cast<double>(burn_in + sweeps);
  for (std::uint32_t chain = 0; chain < chains; ++chain) {
    pixels.start();
    pixels.stop_counting();
    for (std::uint64_t s = 0; s < burn_in + sweeps; ++s) {
      if (control.should_stop()) break;
      const auto key = static_cast<std::uint32_t>(Random(seed, Stream::sweep).block(chain, s, 0)[0]);
      const bool counts = s >= burn_in || control.time_fraction() > 0.5;
      if (counts) pixels.count();
      if (has_patterns && s == burn_in / 2) pixels.frame(model.frame);
      if (has_patterns && s >= burn_in / 2)
        pixels.sweep(model.patterns, key);
      else
        pixels.sweep(model.coupling, key);
      if (counts) {
        ++counted;
        if (chain == 0) ++result.sweeps;
      }
      ++done;
      control.report({"denoising", done / all, s + 1, done * static_cast<double>(image.values.size()), 0});
    }
  }
  if (counted == 0) fail_stopped(control, "denoising");
  result.mean.reserve(image.values.size());
  for (const float sum : pixels.sums()) result.mean.push_back(2 * static_cast<double>(sum) / counted - 1);
  return result;
}

}  // namespace drover
