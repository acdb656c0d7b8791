// The vector form of LaneRandom, for inclusion in Highway translation units (once per target).
#if defined(DROVER_LANE_RANDOM_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DROVER_LANE_RANDOM_INL
#undef DROVER_LANE_RANDOM_INL
#else
#define DROVER_LANE_RANDOM_INL
#endif

#include <hwy/highway.h>

#include "drover/sample/aes_pairs-inl.hpp"
#include "drover/sample/lane_random.hpp"

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// 64 lanes are `vector_count` vectors of words or floats.
using WordTag = hn::CappedTag<std::uint32_t, 16>;
using WordVector = hn::Vec<WordTag>;
using FloatTag = hn::Rebind<float, WordTag>;
using FloatVector = hn::Vec<FloatTag>;
inline constexpr std::size_t vector_lanes = hn::MaxLanes(WordTag());
inline constexpr std::size_t vector_count = 64 / vector_lanes;

// What sets the counters of the 16 blocks apart: their numbers, in the second word.
alignas(64) inline constexpr std::uint32_t block_numbers[64] = {
    0, 0, 0, 0, 0, 1, 0, 0, 0, 2,  0, 0, 0, 3,  0, 0, 0, 4,  0, 0, 0, 5,  0, 0, 0, 6,  0, 0, 0, 7,  0, 0,
    0, 8, 0, 0, 0, 9, 0, 0, 0, 10, 0, 0, 0, 11, 0, 0, 0, 12, 0, 0, 0, 13, 0, 0, 0, 14, 0, 0, 0, 15, 0, 0};

/// The words of one batch and sweep, site by site.
class LaneWords {
// AES works on 128 bits; only the newest instruction sets do several at once.
#if HWY_TARGET == HWY_AVX3_DL
  using BlockTag = hn::Repartition<std::uint8_t, WordTag>;
#else
  using BlockTag = hn::FixedTag<std::uint8_t, 16>;
#endif
  using BlockWordTag = hn::Repartition<std::uint32_t, BlockTag>;
  using BlockVector = hn::Vec<BlockTag>;
  static constexpr std::size_t block_words = hn::MaxLanes(BlockWordTag());
  static constexpr std::size_t block_vectors = 64 / block_words;
  // So many at once as registers hold.
  static constexpr std::size_t at_once = block_vectors < 8 ? block_vectors : 8;
  static constexpr std::size_t blocks_per_vector = vector_lanes / block_words;

 public:
  HWY_INLINE LaneWords(const LaneRandom& random, std::uint32_t batch, std::uint64_t sweep) {
    const BlockTag bytes;
    const auto& keys = random.round_keys();
    for (unsigned r = 0; r <= LaneRandom::rounds; ++r)
      keys_[r] = hn::BitCast(bytes, hn::LoadDup128(BlockWordTag(), keys[r].data()));
    // Not by way of memory: words that are stored one by one are slow to load together.
    const BlockWordTag words;
    start_ = hn::BitCast(words, keys_[0]);
    start_ = hn::Xor(start_, in_word<1>(16 * batch));
    start_ = hn::Xor(start_, in_word<2>(static_cast<std::uint32_t>(sweep)));
    start_ = hn::Xor(start_, in_word<3>(static_cast<std::uint32_t>(sweep >> 32)));
  }

  /// out[k] holds the words of lanes k * vector_lanes and following.
  HWY_INLINE void draw(std::uint32_t site, WordVector* HWY_RESTRICT out) const {
#if HWY_TARGET == HWY_AVX2
    if (in_pairs_) return draw_pairs(site, out);
#endif
    const BlockTag bytes;
    const BlockWordTag words;
    const auto place = hn::Xor(start_, in_word<0>(site));
    for (std::size_t first = 0; first < block_vectors; first += at_once) {
      BlockVector v[at_once];
      for (std::size_t k = 0; k < at_once; ++k)
        v[k] = hn::BitCast(bytes, hn::Xor(hn::Load(words, block_numbers + (first + k) * block_words), place));
      for (unsigned r = 1; r < LaneRandom::rounds; ++r)
        for (std::size_t k = 0; k < at_once; ++k) v[k] = hn::AESRound(v[k], keys_[r]);
      for (std::size_t k = 0; k < at_once; ++k) v[k] = hn::AESLastRound(v[k], keys_[LaneRandom::rounds]);
      for (std::size_t k = 0; k < at_once; k += blocks_per_vector)
        out[(first + k) / blocks_per_vector] = joined(v + k);
    }
  }

 private:
#if HWY_TARGET == HWY_AVX2
  static HWY_INLINE PairVector twice(BlockVector block) {
    return hn::Combine(hn::FixedTag<std::uint8_t, 32>(), block, block);
  }
  HWY_INLINE void draw_pairs(std::uint32_t site, WordVector* HWY_RESTRICT out) const {
    const WordTag words;
    const hn::FixedTag<std::uint8_t, 32> bytes;
    const PairVector place = twice(hn::BitCast(BlockTag(), hn::Xor(start_, in_word<0>(site))));
    PairVector v[vector_count];
    for (std::size_t k = 0; k < vector_count; ++k)
      v[k] = hn::Xor(hn::BitCast(bytes, hn::Load(words, block_numbers + k * vector_lanes)), place);
    for (unsigned r = 1; r < LaneRandom::rounds; ++r)
      for (std::size_t k = 0; k < vector_count; ++k) v[k] = pair_round(v[k], twice(keys_[r]));
    for (std::size_t k = 0; k < vector_count; ++k)
      out[k] = hn::BitCast(words, last_pair_round(v[k], twice(keys_[LaneRandom::rounds])));
  }

  bool in_pairs_ = has_pair_rounds();
#endif

  // A value in one word of every block, zeros in the others.
  template <int which>
  static HWY_INLINE hn::Vec<BlockWordTag> in_word(std::uint32_t value) {
    static constexpr std::uint32_t all = 0xffffffffU;
    alignas(16) static constexpr std::uint32_t mask[4] = {which == 0 ? all : 0, which == 1 ? all : 0,
                                                          which == 2 ? all : 0, which == 3 ? all : 0};
    return hn::And(hn::Set(BlockWordTag(), value), hn::LoadDup128(BlockWordTag(), mask));
  }

  // One WordVector of its blocks.
  static HWY_INLINE WordVector joined(const BlockVector* HWY_RESTRICT blocks) {
    const WordTag words;
    [[maybe_unused]] const hn::Repartition<std::uint8_t, WordTag> whole;
#if HWY_TARGET == HWY_AVX3_DL || HWY_MAX_BYTES == 16
    return hn::BitCast(words, blocks[0]);
#elif HWY_MAX_BYTES == 32
    return hn::BitCast(words, hn::Combine(whole, blocks[1], blocks[0]));
#else
    const hn::Half<decltype(whole)> half;
    return hn::BitCast(words, hn::Combine(whole, hn::Combine(half, blocks[3], blocks[2]),
                                          hn::Combine(half, blocks[1], blocks[0])));
#endif
  }

  BlockVector keys_[LaneRandom::rounds + 1];
  hn::Vec<BlockWordTag> start_;  // the counter of site 0 and block 0, and the first key
};

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#endif
