// Which instruction set the vector code runs on.
//
// Every vector loop is compiled for several instruction sets and the best that the processor has is taken.
// The environment variable DROVER_SIMD, one of avx512, avx2, sse4 and scalar, limits the choice, so that one
// machine can measure and test all of them. It is read once, before main; every program that links the
// library heeds it.
#pragma once

#include <string_view>

namespace drover {

/// avx512, avx2, sse4 or scalar; on other processors the library's name of what they have.
std::string_view simd_name();

/// Raises usage when DROVER_SIMD is set to anything but the four words, or to more
/// than the processor or less than the build has.
void check_simd_limit();

}  // namespace drover
