// Sums over the neighbours of a spin variable, for 64 chains at once, neighbours in groups of four (once per
// Highway target).
//
// The bits of a group are an index 0 .. 15 per chain; with AVX-512 the 16 partial sums (or products) of the
// group are one register and a table lookup replaces the adds. Narrower instruction sets add masked terms.
#if defined(DROVER_SPIN_GROUPS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DROVER_SPIN_GROUPS_INL
#undef DROVER_SPIN_GROUPS_INL
#else
#define DROVER_SPIN_GROUPS_INL
#endif

#include "drover/sample/gibbs/gibbs_spin_draw-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {

#if HWY_TARGET <= HWY_AVX3

using LaneBytes = hn::ScalableTag<std::uint8_t>;  // one byte per lane
static_assert(hn::MaxLanes(LaneBytes()) == 64);

// The index 0 .. 15 that four neighbours' bits spell in every lane, as vectors of 16 lanes.
HWY_INLINE void group_index(const std::uint64_t* HWY_RESTRICT words,
                            const std::uint32_t* HWY_RESTRICT neighbours, WordVector* HWY_RESTRICT index) {
  const LaneBytes d;
  const hn::Half<LaneBytes> half;
  const hn::Half<decltype(half)> quarter;
  auto bytes = hn::Zero(d);
  for (int j = 0; j < 4; ++j) {
    const auto bits = hn::LoadMaskBits(d, reinterpret_cast<const std::uint8_t*>(words + neighbours[j]));
    bytes = hn::IfThenElse(bits, hn::Add(bytes, hn::Set(d, static_cast<std::uint8_t>(1 << j))), bytes);
  }
  const auto low = hn::LowerHalf(half, bytes), high = hn::UpperHalf(half, bytes);
  index[0] = hn::PromoteTo(WordTag(), hn::LowerHalf(quarter, low));
  index[1] = hn::PromoteTo(WordTag(), hn::UpperHalf(quarter, low));
  index[2] = hn::PromoteTo(WordTag(), hn::LowerHalf(quarter, high));
  index[3] = hn::PromoteTo(WordTag(), hn::UpperHalf(quarter, high));
}

// Combines into every lane the terms of the neighbours that are 1: a lookup in the 16 sums (or products) of
// their subsets.
template <bool product>
HWY_INLINE void combine_group(const std::uint64_t* HWY_RESTRICT words,
                              const std::uint32_t* HWY_RESTRICT neighbours, const float* HWY_RESTRICT terms,
                              FloatVector* HWY_RESTRICT totals) {
  static constexpr std::uint16_t has_bit[4] = {0xAAAA, 0xCCCC, 0xF0F0, 0xFF00};
  const FloatTag d;
  FloatVector subsets = hn::Set(d, product ? 1.0f : 0.0f);
  for (int j = 0; j < 4; ++j)
    subsets = combine<product>(subsets, mask_of(has_bit[j], 0), hn::Set(d, terms[j]));
  WordVector index[4];
  group_index(words, neighbours, index);
  for (int k = 0; k < 4; ++k) {
    const FloatVector term = hn::TableLookupLanes(subsets, hn::IndicesFromVec(d, index[k]));
    totals[k] = product ? hn::Mul(totals[k], term) : hn::Add(totals[k], term);
  }
}

#else

template <bool product>
HWY_INLINE void combine_group(const std::uint64_t* HWY_RESTRICT words,
                              const std::uint32_t* HWY_RESTRICT neighbours, const float* HWY_RESTRICT terms,
                              FloatVector* HWY_RESTRICT totals) {
  const FloatTag d;
  for (std::size_t k = 0; k < vector_count; ++k) {
    FloatVector total = hn::Set(d, product ? 1.0f : 0.0f);
    for (int j = 0; j < 4; ++j)
      total = combine<product>(total, mask_of(words[neighbours[j]], k), hn::Set(d, terms[j]));
    totals[k] = product ? hn::Mul(totals[k], total) : hn::Add(totals[k], total);
  }
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#endif
