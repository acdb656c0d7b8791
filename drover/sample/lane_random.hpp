// The generator of the vectorised kernels: 64 words of 32 bits for every (seed, stream, batch, sweep, site).
//
// ARS-7 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011): seven AES rounds
// of a 128-bit counter, with keys that advance by a Weyl sequence instead of the AES key schedule. Five
// rounds already pass the authors' Crush tests; seven is their recommended margin. Bit for bit it is
// Random123's ars4x32. Counter and key, in words of 32 bits from the lowest:
//
//   counter = (site, 16 batch + block, sweep low, sweep high), block = 0 .. 15; word w of a block is word
//   4 block + w of the 64;   key = (seed low, seed high, stream, 0).
//
// Kernels with 64 chains per State draw chain 64 batch + lane from word `lane`; kernels with one chain use
// the chain as batch and let `site` number groups of 64 variables. The bits are the same on every instruction
// set. Chosen by measurement (bench/gibbs_spin.cpp) over Philox and Threefry: AES rounds are single
// instructions on x86 and ARM; where they are not (SSSE3 and older) they are emulated, right but slow.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "drover/core/random.hpp"

namespace drover {

class LaneRandom {
 public:
  static constexpr unsigned rounds = 7;
  static constexpr unsigned width = 64;
  using Block = std::array<std::uint32_t, 4>;
  using Words = std::array<std::uint32_t, width>;

  LaneRandom(std::uint64_t seed, Stream stream)
      : LaneRandom(Block{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                         static_cast<std::uint32_t>(stream), 0}) {}

  /// With any key; the usual way is by seed and stream.
  explicit LaneRandom(const Block& key);

  /// The 64 words of one place.
  Words words(std::uint32_t batch, std::uint64_t sweep, std::uint32_t site) const;

  const std::array<Block, rounds + 1>& round_keys() const { return round_keys_; }

 private:
  std::array<Block, rounds + 1> round_keys_;
};

}  // namespace drover
