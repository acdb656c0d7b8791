// LaneRandom: it is ARS-7, on every instruction set, and its bits look independent along every direction that
// the kernels use. Bounds are normal scores: |z| > 5 has probability 6e-7, and about 500 are looked at.
#include "drover/sample/lane_random.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "tests/sample/spin_checks.hpp"

namespace drover {
namespace {

using Block = LaneRandom::Block;

// AES from its definition (FIPS 197), byte by byte: the S-box is the inverse in GF(256) and an affine map.
std::uint8_t times(std::uint8_t a, std::uint8_t b) {
  std::uint8_t product = 0;
  for (; b; b >>= 1) {
    if (b & 1) product ^= a;
    a = static_cast<std::uint8_t>(a << 1 ^ (a & 0x80 ? 0x1b : 0));
  }
  return product;
}

std::uint8_t substitute(std::uint8_t a) {
  std::uint8_t inverse = 1;
  for (int i = 0; i < 254; ++i) inverse = times(inverse, a);  // a^254 = 1 / a
  std::uint8_t out = 0x63;
  for (int shift = 0; shift < 5; ++shift) out ^= std::rotl(inverse, shift);
  return out;
}

Block aes_round(const Block& state, const Block& key, bool last) {
  static const std::vector<std::uint8_t> box = [] {
    std::vector<std::uint8_t> table;
    for (int a = 0; a < 256; ++a) table.push_back(substitute(static_cast<std::uint8_t>(a)));
    return table;
  }();
  const auto byte = [&](int column, int row) { return box[state[(column + row) % 4] >> 8 * row & 0xff]; };
  Block out{};
  for (int column = 0; column < 4; ++column)
    for (int row = 0; row < 4; ++row) {
      std::uint8_t value = byte(column, row);
      if (!last)
        value =
            static_cast<std::uint8_t>(times(2, byte(column, row)) ^ times(3, byte(column, (row + 1) % 4)) ^
                                      byte(column, (row + 2) % 4) ^ byte(column, (row + 3) % 4));
      out[column] |= std::uint32_t{value} << 8 * row;
    }
  for (int w = 0; w < 4; ++w) out[w] ^= key[w];
  return out;
}

Block ars7(Block counter, Block key) {
  for (int w = 0; w < 4; ++w) counter[w] ^= key[w];
  for (int r = 1; r <= 7; ++r) {
    const std::uint64_t low = (std::uint64_t{key[1]} << 32 | key[0]) + 0x9E3779B97F4A7C15U;
    const std::uint64_t high = (std::uint64_t{key[3]} << 32 | key[2]) + 0xBB67AE8584CAA73BU;
    key = {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
           static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32)};
    counter = aes_round(counter, key, r == 7);
  }
  return counter;
}

// The block that LaneRandom makes for any counter.
Block block_of(const LaneRandom& random, const Block& counter) {
  const std::uint64_t sweep = std::uint64_t{counter[3]} << 32 | counter[2];
  const auto words = random.words(counter[1] / 16, sweep, counter[0]);
  const std::uint32_t first = counter[1] % 16 * 4;
  return {words[first], words[first + 1], words[first + 2], words[first + 3]};
}

TEST(LaneRandom, KnownAnswers) {
  // Made with Random123's ars4x32_R(7, counter, key) on AES-NI.
  const Block zeros{0, 0, 0, 0}, ones{~0U, ~0U, ~0U, ~0U};
  const Block pi{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344};
  const Block more_pi{0xa4093822, 0x299f31d0, 0x082efa98, 0xec4e6c89};
  testing::for_each_target([&] {
    EXPECT_EQ(block_of(LaneRandom(zeros), zeros), (Block{0xdacf61ff, 0xc45798f3, 0x113c7eeb, 0x101e27f3}));
    EXPECT_EQ(block_of(LaneRandom(ones), ones), (Block{0xfbaaff1f, 0xbb547ef9, 0x13d8cd78, 0x7aaa969b}));
    EXPECT_EQ(block_of(LaneRandom(more_pi), pi), (Block{0xd1df87af, 0xf67d43ba, 0x4f66afdb, 0x393dcb2d}));
  });
}

TEST(LaneRandom, IsArsOnEveryInstructionSet) {
  testing::for_each_target([] {
    RandomSequence any(1, Stream::generate);
    for (int trial = 0; trial < 50; ++trial) {
      const std::uint64_t seed = std::uint64_t{any()} << 32 | any(),
                          sweep = std::uint64_t{any()} << 32 | any();
      const std::uint32_t batch = any() >> 4, site = any();
      const auto words = LaneRandom(seed, Stream::order).words(batch, sweep, site);
      for (std::uint32_t block = 0; block < 16; ++block) {
        const Block expected = ars7({site, 16 * batch + block, static_cast<std::uint32_t>(sweep),
                                     static_cast<std::uint32_t>(sweep >> 32)},
                                    {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                                     static_cast<std::uint32_t>(Stream::order), 0});
        for (std::uint32_t w = 0; w < 4; ++w) ASSERT_EQ(words[4 * block + w], expected[w]);
      }
    }
  });
}

constexpr double limit = 5;

// Words laid out the way a kernel meets them: `rows` sites (or sweeps, seeds, batches) of 64 lanes.
struct Sheet {
  const char* direction;
  std::vector<LaneRandom::Words> rows;
};

std::vector<Sheet> sheets() {
  constexpr std::uint32_t count = 1 << 14;
  std::vector<Sheet> all{{"sites", {}}, {"sweeps", {}}, {"batches", {}}, {"seeds", {}}, {"far sites", {}}};
  const LaneRandom random(1, Stream::sweep);
  for (std::uint32_t i = 0; i < count; ++i) {
    all[0].rows.push_back(random.words(0, 0, i));
    all[1].rows.push_back(random.words(0, i, 0));
    all[2].rows.push_back(random.words(i, 0, 0));
    all[3].rows.push_back(LaneRandom(i, Stream::sweep).words(0, 0, 0));
    all[4].rows.push_back(random.words(0, 0, i << 18));
  }
  return all;
}

double chi_square(const std::vector<double>& counts) {
  return testing::chi_square_score(counts, std::vector<double>(counts.size(), 1.0 / counts.size()));
}

TEST(LaneRandom, BitsAndBytesAreUniform) {
  for (const Sheet& sheet : sheets()) {
    SCOPED_TRACE(sheet.direction);
    std::vector<double> bits(32, 0.0), high(4096, 0.0), low(4096, 0.0);
    std::vector<std::vector<double>> bytes(4, std::vector<double>(256, 0.0));
    double words = 0;
    for (const auto& row : sheet.rows)
      for (std::uint32_t word : row) {
        ++words;
        for (int b = 0; b < 32; ++b) bits[b] += word >> b & 1;
        for (int b = 0; b < 4; ++b) ++bytes[b][word >> 8 * b & 0xff];
        ++high[word >> 20];
        ++low[word & 0xfff];
      }
    for (double ones : bits) EXPECT_LT(std::abs(ones - words / 2) / std::sqrt(words / 4), limit);
    for (const auto& counts : bytes) EXPECT_LT(std::abs(chi_square(counts)), limit);
    EXPECT_LT(std::abs(chi_square(high)), limit);
    EXPECT_LT(std::abs(chi_square(low)), limit);
  }
}

// The correlation of uniforms, as a normal score: each product has mean 0 and variance 1/144.
double correlation_score(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - 0.5) * (b[i] - 0.5);
  return sum / std::sqrt(static_cast<double>(a.size()) / 144);
}

TEST(LaneRandom, NeighboursAreUncorrelated) {
  for (const Sheet& sheet : sheets()) {
    SCOPED_TRACE(sheet.direction);
    for (std::size_t lag : {1, 2, 3, 4, 50, 64, 1000}) {  // along sites, sweeps, batches, seeds
      std::vector<double> a, b;
      double equal_bits = 0;
      for (std::size_t r = 0; r + lag < sheet.rows.size(); ++r)
        for (std::size_t lane = 0; lane < 64; ++lane) {
          a.push_back(sheet.rows[r][lane] * 0x1p-32);
          b.push_back(sheet.rows[r + lag][lane] * 0x1p-32);
          equal_bits += std::popcount(~(sheet.rows[r][lane] ^ sheet.rows[r + lag][lane]));
        }
      EXPECT_LT(std::abs(correlation_score(a, b)), limit) << "lag " << lag;
      const double bits = 32.0 * static_cast<double>(a.size());
      EXPECT_LT(std::abs(equal_bits - bits / 2) / std::sqrt(bits / 4), limit) << "lag " << lag;
    }
    for (std::size_t shift : {1, 2, 3, 4, 8, 16, 32}) {  // across lanes
      std::vector<double> a, b;
      for (const auto& row : sheet.rows)
        for (std::size_t lane = 0; lane + shift < 64; ++lane) {
          a.push_back(row[lane] * 0x1p-32);
          b.push_back(row[lane + shift] * 0x1p-32);
        }
      EXPECT_LT(std::abs(correlation_score(a, b)), limit) << "shift " << shift;
    }
  }
}

// Pairs of neighbours fill the square evenly (serial test), which correlations alone do not see.
TEST(LaneRandom, PairsFillTheSquare) {
  for (const Sheet& sheet : sheets()) {
    SCOPED_TRACE(sheet.direction);
    std::vector<double> along(4096, 0.0), across(4096, 0.0);
    for (std::size_t r = 0; r + 1 < sheet.rows.size(); r += 2)
      for (std::size_t lane = 0; lane < 64; ++lane)
        ++along[sheet.rows[r][lane] >> 26 << 6 | sheet.rows[r + 1][lane] >> 26];
    for (const auto& row : sheet.rows)
      for (std::size_t lane = 0; lane < 64; lane += 2) ++across[row[lane] >> 26 << 6 | row[lane + 1] >> 26];
    EXPECT_LT(std::abs(chi_square(along)), limit);
    EXPECT_LT(std::abs(chi_square(across)), limit);
  }
}

// One changed bit of counter or key changes every output bit with probability 1/2.
TEST(LaneRandom, Avalanche) {
  constexpr int trials = 2000;
  std::vector<double> flips(32, 0.0);
  double total = 0;
  RandomSequence any(2, Stream::generate);
  for (int trial = 0; trial < trials; ++trial) {
    const std::uint64_t seed = any(), sweep = any();
    const std::uint32_t site = any(), batch = any() >> 4, bit = any.below(28);
    const auto base = LaneRandom(seed, Stream::sweep).words(batch, sweep, site);
    const LaneRandom::Words changed[4] = {
        LaneRandom(seed, Stream::sweep).words(batch, sweep, site ^ 1U << bit),
        LaneRandom(seed, Stream::sweep).words(batch ^ 1U << bit, sweep, site),
        LaneRandom(seed, Stream::sweep).words(batch, sweep ^ 1ULL << bit, site),
        LaneRandom(seed ^ 1ULL << bit, Stream::sweep).words(batch, sweep, site)};
    for (const auto& other : changed)
      for (std::size_t lane = 0; lane < 64; ++lane, ++total)
        for (int b = 0; b < 32; ++b) flips[b] += (base[lane] ^ other[lane]) >> b & 1;
  }
  for (double count : flips) EXPECT_LT(std::abs(count - total / 2) / std::sqrt(total / 4), limit);
}

TEST(LaneRandom, StreamsDiffer) {
  EXPECT_NE(LaneRandom(1, Stream::sweep).words(0, 0, 0), LaneRandom(1, Stream::start).words(0, 0, 0));
}

}  // namespace
}  // namespace drover
