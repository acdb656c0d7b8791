#include "drover/core/simd.hpp"

#include <fmt/format.h>
#include <hwy/targets.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "drover/core/error.hpp"

namespace {

constexpr std::int64_t avx512 = HWY_AVX3 | HWY_AVX3_DL;

// What DROVER_SIMD asks for that cannot be had, as a sentence; empty when all is well.
std::string& complaint() {
  static std::string text;
  return text;
}

// What the processor has, the limit allows and this build holds; the build's own level is always there.
// Asking Highway makes it forget the limit until it is told again.
std::int64_t usable_targets() {
  const std::int64_t supported = hwy::SupportedTargets();
  hwy::GetChosenTarget().Update(supported);
  return (supported & HWY_TARGETS) != 0 ? supported & HWY_TARGETS : HWY_STATIC_TARGET;
}

// In a mask of targets better ones are lower bits.
std::int64_t limit_targets(const std::string& word) {
  const std::int64_t supported = usable_targets();
  const auto unless_missing = [&](std::int64_t wanted, std::int64_t better) {
    if ((supported & wanted) == 0)
      complaint() = fmt::format("DROVER_SIMD={}: this processor or build has no more than {}", word,
                                drover::simd_name());
    return better;
  };
  if (word == "avx512") return unless_missing(avx512, 0);
  if (word == "avx2") return unless_missing(HWY_AVX2, HWY_AVX2 - 1);
  if (word == "sse4") return unless_missing(HWY_SSE4, HWY_SSE4 - 1);
  if (word == "scalar" && (HWY_TARGETS & (HWY_EMU128 | HWY_SCALAR)) == 0)
    complaint() = "DROVER_SIMD=scalar: this build needs sse4; one with -DDROVER_X86_LEVEL=x86-64 does not";
  if (word == "scalar") return HWY_EMU128 - 1;
  complaint() = fmt::format("DROVER_SIMD={}: expected avx512, avx2, sse4 or scalar", word);
  return 0;
}

}  // namespace

// Named without a namespace so that the build can tell the linker to keep it (CMakeLists.txt).
extern "C" bool drover_simd_from_environment() {
  const char* const word = std::getenv("DROVER_SIMD");
  if (word == nullptr || *word == '\0') return false;
  hwy::DisableTargets(limit_targets(word));
  usable_targets();
  return true;
}

namespace {

[[maybe_unused]] const bool limited = drover_simd_from_environment();

}  // namespace

namespace drover {

std::string_view simd_name() {
  const std::int64_t usable = usable_targets(), best = usable & -usable;
  if (best & avx512) return "avx512";
  if (best == HWY_AVX2) return "avx2";
  if (best == HWY_SSE4) return "sse4";
  if (best == HWY_EMU128 || best == HWY_SCALAR) return "scalar";
  return hwy::TargetName(best);
}

void check_simd_limit() {
  if (!complaint().empty()) throw Error(ErrorKind::usage, complaint());
}

}  // namespace drover
