// Diagnostics of a two-valued variable on packed bits.
//
// R-hat and ESS do not change under linear maps, and rank normalisation, folding and the tail indicators of a
// two-valued variable are linear maps of it. So one R-hat and one ESS, those of the 0/1 draws, are at once
// the bulk, folded and tail figures (see ranks.hpp, rhat.hpp, ess.hpp). With x in {0, 1} the autocovariance
// needs only counts of t with x_t = x_{t+lag} = 1: an AND with the shifted bits and a population count,
//   n a_t = C_t - m (head_t + tail_t) + (n - t) m^2,
// m the mean, head and tail the ones among the first and the last n - t draws. Lags are made on demand, so a
// chain that mixes costs a few dozen operations a draw-word; one that does not, O(n^2 / 64).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "drover/core/run_control.hpp"

namespace drover {

/// Bit t % 64 of word(t / 64, h) is draw t of half chain h; halves 2c and 2c + 1 are those of chain c, as
/// split_chains() makes them. Unused bits are zero.
struct BinaryDraws {
  BinaryDraws(std::size_t chain_count, std::size_t draw_count);

  std::uint64_t& word(std::size_t row, std::size_t half_chain) { return words[row * stride + half_chain]; }
  std::size_t row_count() const { return (half + 63) / 64; }
  /// Where the second half of a chain begins.
  std::size_t second_start() const { return draws - half; }

  std::size_t chains;
  std::size_t draws;                 ///< of a whole chain
  std::size_t half;                  ///< of a half chain: draws / 2
  std::size_t stride;                ///< half chains, rounded up to whole vectors
  std::uint64_t ones = 0;            ///< in all draws, also those in neither half
  std::vector<std::uint64_t> words;  ///< one row more than row_count(), zero, for the shifts
};

/// Packs is_one(chain, draw) for all draws; earlier contents are overwritten.
template <typename IsOne>
void pack(BinaryDraws& binary, IsOne&& is_one) {
  binary.ones = 0;
  for (std::size_t c = 0; c < binary.chains; ++c) {
    for (std::size_t side = 0; side < 2; ++side) {
      const std::size_t start = side * binary.second_start();
      for (std::size_t row = 0; row < binary.row_count(); ++row) {
        const std::size_t first = start + 64 * row;
        const std::size_t count = binary.half - 64 * row < 64 ? binary.half - 64 * row : 64;
        std::uint64_t bits = 0;
        for (std::size_t b = 0; b < count; ++b)
          bits |= static_cast<std::uint64_t>(is_one(c, first + b) ? 1 : 0) << b;
        binary.word(row, 2 * c + side) = bits;
        binary.ones += static_cast<std::uint64_t>(__builtin_popcountll(bits));
      }
    }
    if (binary.draws % 2 == 1) binary.ones += is_one(c, binary.half) ? 1U : 0U;
  }
}

struct BinaryDiagnosis {
  double mean;             ///< share of ones among all draws
  double rhat;             ///< NaN when all draws are equal or there are fewer than least_draws
  double ess;              ///< bulk, tail and of the mean
  double mcse;             ///< of the mean
  double autocorrelation;  ///< rho_1 as the ESS sees it (initial_sequence.hpp)
};
BinaryDiagnosis diagnose_binary(const BinaryDraws& binary, const RunControl& control = no_control());

}  // namespace drover
