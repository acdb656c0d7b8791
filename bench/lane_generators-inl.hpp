// The generators that LaneRandom was chosen from, as vector code: 64 words per step (once per Highway
// target). Only for the measurement; their constants are those of Random123.
#if defined(DROVER_LANE_GENERATORS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DROVER_LANE_GENERATORS_INL
#undef DROVER_LANE_GENERATORS_INL
#else
#define DROVER_LANE_GENERATORS_INL
#endif

#include "drover/sample/lane_random-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {

HWY_INLINE std::uint32_t any_word(WordVector v) {
  return hn::GetLane(v);
}

inline std::uint32_t run_ars7(std::uint32_t sites, std::uint64_t seed) {
  const LaneWords words(LaneRandom(seed, Stream::sweep), 0, 0);
  WordVector sum = hn::Zero(WordTag());
  for (std::uint32_t site = 0; site < sites; ++site) {
    WordVector out[vector_count];
    words.draw(site, out);
    for (std::size_t k = 0; k < vector_count; ++k) sum = hn::Xor(sum, out[k]);
  }
  return any_word(sum);
}

inline std::uint32_t run_ars5(std::uint32_t sites, std::uint64_t seed) {
  using ByteTag = hn::Repartition<std::uint8_t, WordTag>;
  const WordTag d;
  const ByteTag bytes;
  hn::Vec<ByteTag> keys[6];
  for (int r = 0; r < 6; ++r)
    keys[r] = hn::BitCast(bytes, hn::LoadDup128(d, LaneRandom(seed, Stream::sweep).round_keys()[r].data()));
  WordVector sum = hn::Zero(d);
  for (std::uint32_t site = 0; site < sites; ++site)
    for (std::size_t k = 0; k < vector_count; ++k) {
      auto v = hn::Xor(hn::BitCast(bytes, hn::Set(d, site * 16 + static_cast<std::uint32_t>(k))), keys[0]);
      for (int r = 1; r < 5; ++r) v = hn::AESRound(v, keys[r]);
      sum = hn::Xor(sum, hn::BitCast(d, hn::AESLastRound(v, keys[5])));
    }
  return any_word(sum);
}

// The high and low halves of 32-bit products.
HWY_INLINE void multiply(WordVector a, WordVector m, WordVector& high, WordVector& low) {
  const WordTag d;
  const hn::Repartition<std::uint64_t, WordTag> d64;
  const auto even = hn::MulEven(a, m);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(d64, a))), m);
  high = hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)));
  low = hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even));
}

template <int rounds>
std::uint32_t run_philox(std::uint32_t sites, std::uint64_t seed) {
  const WordTag d;
  const WordVector m0 = hn::Set(d, 0xD2511F53U), m1 = hn::Set(d, 0xCD9E8D57U);
  WordVector sum = hn::Zero(d);
  for (std::uint32_t site = 0; site < sites; ++site)
    for (std::size_t group = 0; group < 16 / vector_lanes; ++group) {
      WordVector x0 = hn::Set(d, site), x1 = hn::Iota(d, static_cast<std::uint32_t>(group * vector_lanes));
      WordVector x2 = hn::Zero(d), x3 = hn::Zero(d);
      std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
      for (int r = 0; r < rounds; ++r, k0 += 0x9E3779B9U, k1 += 0xBB67AE85U) {
        WordVector high0, low0, high1, low1;
        multiply(x0, m0, high0, low0);
        multiply(x2, m1, high1, low1);
        x0 = hn::Xor(hn::Xor(high1, x1), hn::Set(d, k0));
        x1 = low1;
        x2 = hn::Xor(hn::Xor(high0, x3), hn::Set(d, k1));
        x3 = low0;
      }
      sum = hn::Xor(hn::Xor(sum, hn::Xor(x0, x1)), hn::Xor(x2, x3));
    }
  return any_word(sum);
}

template <int bits>
HWY_INLINE WordVector rotate(WordVector v) {
  return hn::RotateRight<32 - bits>(v);
}

template <int rounds>
std::uint32_t run_threefry(std::uint32_t sites, std::uint64_t seed) {
  static_assert(rounds % 4 == 0);
  const WordTag d;
  const std::uint32_t low = static_cast<std::uint32_t>(seed), high = static_cast<std::uint32_t>(seed >> 32);
  const std::uint32_t key[5] = {low, high, 0, 0, 0x1BD11BDAU ^ low ^ high};
  WordVector sum = hn::Zero(d);
  for (std::uint32_t site = 0; site < sites; ++site)
    for (std::size_t group = 0; group < 16 / vector_lanes; ++group) {
      WordVector x0 = hn::Set(d, site + low);
      WordVector x1 = hn::Iota(d, static_cast<std::uint32_t>(group * vector_lanes) + high);
      WordVector x2 = hn::Zero(d), x3 = hn::Zero(d);
      for (int r = 0; r < rounds; r += 4) {
        const bool odd = r / 4 % 2;
        x0 = hn::Add(x0, x1), x1 = hn::Xor(odd ? rotate<25>(x1) : rotate<10>(x1), x0);
        x2 = hn::Add(x2, x3), x3 = hn::Xor(odd ? rotate<18>(x3) : rotate<26>(x3), x2);
        x0 = hn::Add(x0, x3), x3 = hn::Xor(odd ? rotate<6>(x3) : rotate<11>(x3), x0);
        x2 = hn::Add(x2, x1), x1 = hn::Xor(odd ? rotate<23>(x1) : rotate<21>(x1), x2);
        x0 = hn::Add(x0, x1), x1 = hn::Xor(odd ? rotate<5>(x1) : rotate<13>(x1), x0);
        x2 = hn::Add(x2, x3), x3 = hn::Xor(odd ? rotate<20>(x3) : rotate<27>(x3), x2);
        x0 = hn::Add(x0, x3), x3 = hn::Xor(odd ? rotate<6>(x3) : rotate<23>(x3), x0);
        x2 = hn::Add(x2, x1), x1 = hn::Xor(odd ? rotate<20>(x1) : rotate<5>(x1), x2);
        const std::uint32_t s = static_cast<std::uint32_t>(r / 4 + 1);
        x0 = hn::Add(x0, hn::Set(d, key[s % 5]));
        x1 = hn::Add(x1, hn::Set(d, key[(s + 1) % 5]));
        x2 = hn::Add(x2, hn::Set(d, key[(s + 2) % 5]));
        x3 = hn::Add(x3, hn::Set(d, key[(s + 3) % 5] + s));
      }
      sum = hn::Xor(hn::Xor(sum, hn::Xor(x0, x1)), hn::Xor(x2, x3));
    }
  return any_word(sum);
}

inline std::uint32_t run_philox10(std::uint32_t sites, std::uint64_t seed) {
  return run_philox<10>(sites, seed);
}
inline std::uint32_t run_philox7(std::uint32_t sites, std::uint64_t seed) {
  return run_philox<7>(sites, seed);
}
inline std::uint32_t run_threefry20(std::uint32_t sites, std::uint64_t seed) {
  return run_threefry<20>(sites, seed);
}
inline std::uint32_t run_threefry12(std::uint32_t sites, std::uint64_t seed) {
  return run_threefry<12>(sites, seed);
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#endif
