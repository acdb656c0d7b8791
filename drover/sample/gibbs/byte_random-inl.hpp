// LaneRandom for kernels that keep 64 chains as bytes (once per Highway target).
//
// A place (batch, sweep, site) has 256 random bytes: the 16 blocks of LaneRandom, in order. Chains draw from
// them most significant first: byte p of the chain's number k is byte 64 k + p. Most draws need two bytes of
// the four, so blocks 0 .. 7 are made first and 8 .. 15 only where the first do not decide.
#if defined(DROVER_BYTE_RANDOM_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DROVER_BYTE_RANDOM_INL
#undef DROVER_BYTE_RANDOM_INL
#else
#define DROVER_BYTE_RANDOM_INL
#endif

#include <hwy/highway.h>

#include "drover/sample/aes_pairs-inl.hpp"
#include "drover/sample/lane_random.hpp"

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// 64 chains are `byte_vectors` vectors of bytes.
using ByteTag = hn::CappedTag<std::uint8_t, 64>;
using ByteVector = hn::Vec<ByteTag>;
inline constexpr std::size_t byte_lanes = hn::MaxLanes(ByteTag());
inline constexpr std::size_t byte_vectors = 64 / byte_lanes;

/// The random bytes of one batch and sweep, site by site.
class LaneBytes {
// AES works on 128 bits; only the newest instruction sets do several at once.
#if HWY_TARGET == HWY_AVX3_DL
  using BlockTag = ByteTag;
#else
  using BlockTag = hn::FixedTag<std::uint8_t, 16>;
#endif
  using BlockVector = hn::Vec<BlockTag>;
  static constexpr std::size_t block_bytes = hn::MaxLanes(BlockTag());
  static constexpr std::size_t half_vectors = 128 / block_bytes;  // of blocks 0 .. 7 or 8 .. 15

 public:
  HWY_INLINE void start(const LaneRandom& random, std::uint32_t batch, std::uint64_t sweep) {
    const hn::Repartition<std::uint32_t, BlockTag> words;
    const auto& keys = random.round_keys();
    for (unsigned r = 0; r <= LaneRandom::rounds; ++r)
      for (std::size_t byte = 0; byte < 64; byte += block_bytes)
        hn::Store(hn::BitCast(BlockTag(), hn::LoadDup128(words, keys[r].data())), BlockTag(),
                  keys_ + 64 * r + byte);
    for (std::uint32_t block = 0; block < 16; ++block) {
      const std::uint32_t counter[4] = {0, 16 * batch + block, static_cast<std::uint32_t>(sweep),
                                        static_cast<std::uint32_t>(sweep >> 32)};
      for (std::size_t w = 0; w < 4; ++w) starts_[4 * block + w] = counter[w] ^ keys[0][w];
    }
  }

  /// Two bytes for every chain: high[k] and low[k] belong to the chains in places k * byte_lanes and
  /// following. `half` 0 is the first two of the four bytes, 1 the others.
  template <int half>
  HWY_INLINE void draw(std::uint32_t site, ByteVector* HWY_RESTRICT high,
                       ByteVector* HWY_RESTRICT low) const {
#if HWY_TARGET == HWY_AVX2
    if (in_pairs_) return draw_pairs(site, 32 * half, high, low);
#endif
    const BlockTag d;
    const hn::Repartition<std::uint32_t, BlockTag> words;
    static constexpr std::uint32_t site_word_only[4] = {0xffffffffU, 0, 0, 0};
    const auto place = hn::And(hn::Set(words, site), hn::LoadDup128(words, site_word_only));
    BlockVector v[half_vectors];
    for (std::size_t k = 0; k < half_vectors; ++k)
      v[k] = hn::BitCast(d, hn::Xor(hn::Load(words, starts_ + 32 * half + k * block_bytes / 4), place));
    for (unsigned r = 1; r < LaneRandom::rounds; ++r)
      for (std::size_t k = 0; k < half_vectors; ++k) v[k] = hn::AESRound(v[k], hn::Load(d, keys_ + 64 * r));
    for (std::size_t k = 0; k < half_vectors; ++k)
      v[k] = hn::AESLastRound(v[k], hn::Load(d, keys_ + 64 * LaneRandom::rounds));
    for (std::size_t k = 0; k < byte_vectors; ++k) {
      high[k] = joined(v + k * (byte_lanes / block_bytes));
      low[k] = joined(v + half_vectors / 2 + k * (byte_lanes / block_bytes));
    }
  }

 private:
#if HWY_TARGET == HWY_AVX2
  HWY_INLINE void draw_pairs(std::uint32_t site, std::size_t first_word, ByteVector* HWY_RESTRICT high,
                             ByteVector* HWY_RESTRICT low) const {
    const ByteTag d;
    const hn::Repartition<std::uint32_t, ByteTag> words;
    static constexpr std::uint32_t site_word_only[4] = {0xffffffffU, 0, 0, 0};
    const auto place = hn::And(hn::Set(words, site), hn::LoadDup128(words, site_word_only));
    PairVector v[4];
    for (std::size_t k = 0; k < 4; ++k)
      v[k] = hn::BitCast(d, hn::Xor(hn::Load(words, starts_ + first_word + 8 * k), place));
    for (unsigned r = 1; r < LaneRandom::rounds; ++r)
      for (std::size_t k = 0; k < 4; ++k) v[k] = pair_round(v[k], hn::Load(d, keys_ + 64 * r));
    for (std::size_t k = 0; k < 4; ++k)
      v[k] = last_pair_round(v[k], hn::Load(d, keys_ + 64 * LaneRandom::rounds));
    for (std::size_t k = 0; k < byte_vectors; ++k) {
      high[k] = v[k];
      low[k] = v[byte_vectors + k];
    }
  }

  bool in_pairs_ = has_pair_rounds();
#endif

  // One ByteVector of its blocks.
  static HWY_INLINE ByteVector joined(const BlockVector* HWY_RESTRICT blocks) {
#if HWY_TARGET == HWY_AVX3_DL || HWY_MAX_BYTES == 16
    return blocks[0];
#elif HWY_MAX_BYTES == 32
    return hn::Combine(ByteTag(), blocks[1], blocks[0]);
#else
    const hn::Half<ByteTag> half;
    return hn::Combine(ByteTag(), hn::Combine(half, blocks[3], blocks[2]),
                       hn::Combine(half, blocks[1], blocks[0]));
#endif
  }

  alignas(64) std::uint8_t keys_[64 * (LaneRandom::rounds + 1)];
  alignas(64) std::uint32_t starts_[64];
};

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#endif
