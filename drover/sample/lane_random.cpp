#include "drover/sample/lane_random.hpp"

#include "drover/sample/lane_random_targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/sample/lane_random.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "drover/sample/lane_random-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {

void lane_words(const LaneRandom& random, std::uint32_t batch, std::uint64_t sweep, std::uint32_t site,
                std::uint32_t* out) {
  WordVector words[vector_count];
  LaneWords(random, batch, sweep).draw(site, words);
  for (std::size_t k = 0; k < vector_count; ++k) hn::StoreU(words[k], WordTag(), out + k * vector_lanes);
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

namespace {

HWY_EXPORT(lane_words);

// Adds the Weyl constants (golden ratio, sqrt(3) - 1) to the two 64-bit halves of a key.
LaneRandom::Block next_key(const LaneRandom::Block& key) {
  const std::uint64_t low = (std::uint64_t{key[1]} << 32 | key[0]) + 0x9E3779B97F4A7C15U;
  const std::uint64_t high = (std::uint64_t{key[3]} << 32 | key[2]) + 0xBB67AE8584CAA73BU;
  return {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
          static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32)};
}

}  // namespace

LaneRandom::LaneRandom(const Block& key) {
  round_keys_[0] = key;
  for (unsigned r = 1; r <= rounds; ++r) round_keys_[r] = next_key(round_keys_[r - 1]);
}

LaneRandom::Words LaneRandom::words(std::uint32_t batch, std::uint64_t sweep, std::uint32_t site) const {
  Words out;
  HWY_DYNAMIC_DISPATCH(lane_words)(*this, batch, sweep, site, out.data());
  return out;
}

}  // namespace drover
#endif
