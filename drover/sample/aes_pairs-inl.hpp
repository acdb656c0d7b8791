// AES rounds on two blocks at once for AVX2, for inclusion in Highway translation units (once per target).
//
// Processors that have AVX2, no AVX-512, and AES on 256 bits (VAES: AMD since Zen 3, Intel since Alder Lake) are usual, but
// Highway's AVX2 makes two of such a round. So here is the instruction itself, to be used where has_pair_rounds() says
// that the processor knows it. The bits are the same.
#if defined(DROVER_AES_PAIRS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DROVER_AES_PAIRS_INL
#undef DROVER_AES_PAIRS_INL
#else
#define DROVER_AES_PAIRS_INL
#endif

#include <hwy/highway.h>

#include <cstdint>

#if HWY_TARGET == HWY_AVX2
#ifndef DROVER_HAS_PAIR_ROUNDS
#define DROVER_HAS_PAIR_ROUNDS
namespace drover {
inline bool has_pair_rounds() {
  return __builtin_cpu_supports("vaes") != 0;
}
}  // namespace drover
#endif

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {

using PairVector = hwy::HWY_NAMESPACE::Vec<hwy::HWY_NAMESPACE::FixedTag<std::uint8_t, 32>>;

HWY_INLINE PairVector pair_round(PairVector state, PairVector key) {
  asm("vaesenc %1, %0, %0" : "+x"(state.raw) : "x"(key.raw));  // NOLINT(hicpp-no-assembler)
  return state;
}

HWY_INLINE PairVector last_pair_round(PairVector state, PairVector key) {
  asm("vaesenclast %1, %0, %0" : "+x"(state.raw) : "x"(key.raw));  // NOLINT(hicpp-no-assembler)
  return state;
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();
#endif

#endif
