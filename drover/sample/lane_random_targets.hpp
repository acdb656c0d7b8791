// Which instruction sets the vector code is compiled for; include it before any Highway header.
#pragma once

// AVX-512 with vector AES: the fastest home of LaneRandom. Highway leaves it out unless asked.
#ifndef HWY_WANT_AVX3_DL
#define HWY_WANT_AVX3_DL
#endif

// Highway falls back to single scalars, without AES, where GCC before 12.3 may vectorise a high multiply
// wrongly (GCC bug 106322). Nothing here multiplies high, so the emulated 128-bit vectors are safe.
#undef HWY_BROKEN_EMU128
#define HWY_BROKEN_EMU128 0
