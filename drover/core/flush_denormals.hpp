// While it lives, floating-point numbers below the normal range (1e-38 in float) count as zero on this
// thread.
//
// Iterations that halve their numbers, such as damped messages on the way to zero, come there after some 126
// rounds, and each operation on such a number takes a processor a hundred cycles or more. On processors
// without this switch nothing happens.
#pragma once

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace drover {

class FlushDenormals {
 public:
#if defined(__SSE2__)
  FlushDenormals() : before_(_mm_getcsr()) {
    _mm_setcsr(before_ | results_to_zero | operands_as_zero);
  }
  ~FlushDenormals() {
    _mm_setcsr(before_);
  }
#else
  FlushDenormals() {}
#endif
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

#if defined(__SSE2__)
 private:
  static constexpr unsigned results_to_zero = 0x8000, operands_as_zero = 0x0040;
  unsigned before_;
#endif
};

}  // namespace drover
