// The vector form of LaneRandom, for inclusion in Highway translation units (once per target).
#if defined(DROVER_LANE_RANDOM_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DROVER_LANE_RANDOM_INL
#undef DROVER_LANE_RANDOM_INL
#else
#define DROVER_LANE_RANDOM_INL
#endif

#include <hwy/highway.h>

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

/// The words of one batch and sweep, site by site.
class LaneWords {
  using ByteTag = hn::Repartition<std::uint8_t, WordTag>;
  using ByteVector = hn::Vec<ByteTag>;

 public:
  HWY_INLINE LaneWords(const LaneRandom& random, std::uint32_t batch, std::uint64_t sweep) {
    const WordTag words;
    const ByteTag bytes;
    const auto& keys = random.round_keys();
    for (unsigned r = 0; r <= LaneRandom::rounds; ++r)
      keys_[r] = hn::BitCast(bytes, hn::LoadDup128(words, keys[r].data()));
    site_mask_ = hn::LoadDup128(words, site_word_only);
    alignas(64) std::uint32_t counters[64];
    for (std::uint32_t block = 0; block < 16; ++block) {
      counters[4 * block] = 0;
      counters[4 * block + 1] = 16 * batch + block;
      counters[4 * block + 2] = static_cast<std::uint32_t>(sweep);
      counters[4 * block + 3] = static_cast<std::uint32_t>(sweep >> 32);
    }
    for (std::size_t k = 0; k < vector_count; ++k)
      starts_[k] = hn::Xor(hn::Load(words, counters + k * vector_lanes), hn::BitCast(words, keys_[0]));
  }

  /// out[k] holds the words of lanes k * vector_lanes and following.
  HWY_INLINE void draw(std::uint32_t site, WordVector* HWY_RESTRICT out) const {
    const WordTag words;
    const ByteTag bytes;
    const WordVector place = hn::And(hn::Set(words, site), site_mask_);
    ByteVector v[vector_count];
    for (std::size_t k = 0; k < vector_count; ++k) v[k] = hn::BitCast(bytes, hn::Xor(starts_[k], place));
    for (unsigned r = 1; r < LaneRandom::rounds; ++r)
      for (std::size_t k = 0; k < vector_count; ++k) v[k] = hn::AESRound(v[k], keys_[r]);
    for (std::size_t k = 0; k < vector_count; ++k)
      out[k] = hn::BitCast(words, hn::AESLastRound(v[k], keys_[LaneRandom::rounds]));
  }

 private:
  static constexpr std::uint32_t site_word_only[4] = {0xffffffffU, 0, 0, 0};
  ByteVector keys_[LaneRandom::rounds + 1];
  WordVector starts_[vector_count];
  WordVector site_mask_;
};

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#endif
