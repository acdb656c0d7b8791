// Counter-based random numbers: a draw is a function of (seed, stream, chain, sweep, site), so results never
// depend on the number of threads or lanes, and a checkpoint needs no generator state.
//
// Generator: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC
// 2011), from the Random123 library. The vectorised kernels have their own generator in
// sample/lane_random.hpp.
#pragma once

#include <Random123/philox.h>

#include <array>
#include <cmath>
#include <cstdint>

namespace drover {

/// What the numbers are for; different streams of one seed are independent.
enum class Stream : std::uint32_t {
  start = 0,         ///< starting states
  sweep = 1,         ///< updates of variables
  order = 2,         ///< random scan order
  swap = 3,          ///< tempering swaps
  generate = 4,      ///< random models
  exact = 5,         ///< independent draws from a junction tree
  tie_break = 6,     ///< elimination orders
  resample = 7,      ///< bootstrap and other uses after sampling
  weights = 8,       ///< first weights of herded Gibbs
  hidden_units = 9,  ///< draws of hidden units given visible ones
  learn = 10,        ///< first parameters and the order of training rows
  perturb = 11,      ///< Gumbel noise
  text_words = 40,   ///< word probabilities of classes of text
  text_labels = 41,  ///< labels of documents
  text_counts = 42,  ///< pseudo-counts
  text_hide = 43,    ///< which labels are hidden
};

class Random {
 public:
  using Block = std::array<std::uint32_t, 4>;

  Random(std::uint64_t seed, Stream stream) : seed_(seed), stream_(stream) {}

  /// Four independent 32-bit words for one place of one run.
  Block block(std::uint32_t chain, std::uint64_t sweep, std::uint32_t site) const {
    const r123::Philox4x32::ctr_type counter{
        {site, chain, static_cast<std::uint32_t>(sweep),
         static_cast<std::uint32_t>(sweep >> 32) ^ (static_cast<std::uint32_t>(stream_) << 24)}};
    const r123::Philox4x32::key_type key{
        {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)}};
    const auto out = r123::Philox4x32()(counter, key);
    return {out[0], out[1], out[2], out[3]};
  }

  /// A double in [0, 1) with 53 random bits.
  double uniform(std::uint32_t chain, std::uint64_t sweep, std::uint32_t site) const {
    const Block words = block(chain, sweep, site);
    return to_unit(words[0], words[1]);
  }

  /// A standard normal (Box-Muller, one of the pair).
  double normal(std::uint32_t chain, std::uint64_t sweep, std::uint32_t site) const {
    const Block words = block(chain, sweep, site);
    const double radius = std::sqrt(-2 * std::log1p(-to_unit(words[0], words[1])));
    return radius * std::cos(2 * 3.14159265358979323846 * to_unit(words[2], words[3]));
  }

  std::uint64_t seed() const { return seed_; }

  static double to_unit(std::uint32_t high, std::uint32_t low) {
    const std::uint64_t bits = (static_cast<std::uint64_t>(high) << 32) | low;
    return static_cast<double>(bits >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t seed_;
  Stream stream_;
};

/// A generator for std algorithms and for code that has no natural counter; one per purpose, never shared.
class RandomSequence {
 public:
  using result_type = std::uint32_t;
  RandomSequence(std::uint64_t seed, Stream stream, std::uint32_t chain = 0)
      : random_(seed, stream), chain_(chain) {}
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return 0xffffffffU; }
  result_type operator()() {
    if (used_ == 4) {
      words_ = random_.block(chain_, count_++, 0);
      used_ = 0;
    }
    return words_[used_++];
  }
  double uniform() {
    const std::uint32_t high = (*this)();
    return Random::to_unit(high, (*this)());
  }
  double normal() {
    const double radius = std::sqrt(-2 * std::log1p(-uniform()));
    return radius * std::cos(2 * 3.14159265358979323846 * uniform());
  }
  /// A whole number in 0 .. bound - 1 (Lemire's method without the rejection loop's bias).
  std::uint32_t below(std::uint32_t bound) {
    std::uint64_t product = static_cast<std::uint64_t>((*this)()) * bound;
    if (static_cast<std::uint32_t>(product) < bound) {
      const std::uint32_t threshold = (0U - bound) % bound;
      while (static_cast<std::uint32_t>(product) < threshold)
        product = static_cast<std::uint64_t>((*this)()) * bound;
    }
    return static_cast<std::uint32_t>(product >> 32);
  }

 private:
  Random random_;
  std::uint32_t chain_;
  std::uint64_t count_ = 0;
  Random::Block words_{};
  unsigned used_ = 4;
};

}  // namespace drover
