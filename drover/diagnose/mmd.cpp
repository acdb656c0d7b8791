#include "drover/diagnose/mmd.hpp"

#include <tbb/combinable.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/diagnose/mmd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "drover/core/parallel.hpp"

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Differing bits between one row (its words `step` apart) and rows [0, count) of the other set, whose words
// lie `stride` apart; count is a multiple of 8.
void CountDifferences(const std::uint64_t* HWY_RESTRICT row, std::size_t step,
                      const std::uint64_t* HWY_RESTRICT other, std::size_t stride, std::size_t words,
                      std::size_t count, std::uint64_t* HWY_RESTRICT out) {
  const hn::CappedTag<std::uint64_t, 8> d;
  for (std::size_t j = 0; j < count; j += hn::Lanes(d)) {
    auto total = hn::Zero(d);
    for (std::size_t w = 0; w < words; ++w)
      total = hn::Add(total, hn::PopulationCount(
                                 hn::Xor(hn::Set(d, row[w * step]), hn::LoadU(d, other + w * stride + j))));
    hn::StoreU(total, d, out + j);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

namespace {

HWY_EXPORT(CountDifferences);

constexpr std::size_t vector_rows = 8;

std::size_t word_count(const PackedSamples& samples) {
  return (samples.bits + 63) / 64;
}

/// The mean of k over all pairs of a row of `a` and a row of `b`.
double mean_kernel(const PackedSamples& a, const PackedSamples& b, const RunControl& control) {
  // Blocks of b small enough to stay in the nearest cache while rows of a pass over them.
  constexpr std::size_t block_rows = 256;
  const std::size_t words = word_count(a);
  tbb::combinable<std::vector<std::uint64_t>> counts(
      [&] { return std::vector<std::uint64_t>(a.bits + 1, 0); });
  parallel_for(IndexRange(0, a.rows, 64), [&](const IndexRange& range) {
    std::vector<std::uint64_t>& count = counts.local();
    std::uint64_t differences[block_rows];
    for (std::size_t begin = 0; begin < b.rows; begin += block_rows) {
      fail_if_stopped(control, "comparing samples");
      const std::size_t rows = std::min(block_rows, b.rows - begin);
      const std::size_t padded = std::min(block_rows, b.stride - begin);
      for (std::size_t r = range.begin(); r != range.end(); ++r) {
        HWY_DYNAMIC_DISPATCH(CountDifferences)
        (a.words.data() + r, a.stride, b.words.data() + begin, b.stride, words, padded, differences);
        for (std::size_t j = 0; j < rows; ++j) ++count[differences[j]];
      }
    }
  });
  std::vector<std::uint64_t> total(a.bits + 1, 0);
  counts.combine_each([&](const std::vector<std::uint64_t>& part) {
    for (std::size_t d = 0; d < total.size(); ++d) total[d] += part[d];
  });
  const double scale =
      1.0 / (a.bits_per_difference * static_cast<double>(std::max<std::size_t>(1, a.variables)));
  double sum = 0;
  for (std::size_t d = 0; d < total.size(); ++d)
    sum += static_cast<double>(total[d]) * std::exp(-static_cast<double>(d) * scale);
  return sum / (static_cast<double>(a.rows) * static_cast<double>(b.rows));
}

/// Row-packed bits of every column: bit r % 64 of word (r / 64) of column b.
std::vector<std::uint64_t> columns_of(const PackedSamples& samples) {
  const std::size_t words = (samples.rows + 63) / 64;
  std::vector<std::uint64_t> columns(samples.bits * words, 0);
  for (std::size_t b = 0; b < samples.bits; ++b)
    for (std::size_t r = 0; r < samples.rows; ++r)
      columns[b * words + r / 64] |= (samples.words[b / 64 * samples.stride + r] >> (b % 64) & 1) << (r % 64);
  return columns;
}

double joint_share(const std::vector<std::uint64_t>& columns, std::size_t rows, std::size_t i,
                   std::size_t j) {
  const std::size_t words = (rows + 63) / 64;
  std::uint64_t ones = 0;
  for (std::size_t w = 0; w < words; ++w)
    ones += static_cast<std::uint64_t>(std::popcount(columns[i * words + w] & columns[j * words + w]));
  return static_cast<double>(ones) / static_cast<double>(rows);
}

}  // namespace

PackedSamples pack_samples(std::span<const Value> values, std::span<const std::uint32_t> cardinalities) {
  PackedSamples packed;
  packed.variables = cardinalities.size();
  assert(packed.variables > 0 && values.size() % packed.variables == 0);
  packed.rows = values.size() / packed.variables;
  packed.stride = (packed.rows + vector_rows - 1) / vector_rows * vector_rows;
  const bool binary = std::all_of(cardinalities.begin(), cardinalities.end(), [](auto k) { return k <= 2; });
  packed.bits_per_difference = binary ? 1 : 2;
  std::vector<std::size_t> first_bit;
  for (std::size_t v = 0; v < packed.variables; ++v) {
    first_bit.push_back(packed.bits);
    packed.bits += binary ? 1 : cardinalities[v];
    packed.variable_of_bit.resize(packed.bits, static_cast<std::uint32_t>(v));
  }
  packed.words.assign(word_count(packed) * packed.stride, 0);
  for (std::size_t r = 0; r < packed.rows; ++r)
    for (std::size_t v = 0; v < packed.variables; ++v) {
      const Value x = values[r * packed.variables + v];
      if (binary && x == 0) continue;
      const std::size_t bit = first_bit[v] + (binary ? 0 : x);
      packed.words[bit / 64 * packed.stride + r] |= std::uint64_t{1} << (bit % 64);
    }
  return packed;
}

double squared_mmd(const PackedSamples& a, const PackedSamples& b, const RunControl& control) {
  assert(a.bits == b.bits && a.rows > 0 && b.rows > 0);
  return std::max(0.0,
                  mean_kernel(a, a, control) + mean_kernel(b, b, control) - 2 * mean_kernel(a, b, control));
}

std::vector<double> bit_means(const PackedSamples& samples) {
  std::vector<double> means(samples.bits);
  for (std::size_t b = 0; b < samples.bits; ++b) {
    std::uint64_t ones = 0;
    for (std::size_t r = 0; r < samples.rows; ++r)
      ones += samples.words[b / 64 * samples.stride + r] >> (b % 64) & 1;
    means[b] = static_cast<double>(ones) / static_cast<double>(samples.rows);
  }
  return means;
}

StatisticDistance statistic_distance(const PackedSamples& a, const PackedSamples& b,
                                     const RunControl& control) {
  assert(a.bits == b.bits);
  StatisticDistance distance;
  const std::vector<double> means_a = bit_means(a), means_b = bit_means(b);
  for (std::size_t i = 0; i < a.bits; ++i) {
    const double difference = std::abs(means_a[i] - means_b[i]);
    distance.mean_largest = std::max(distance.mean_largest, difference);
    distance.mean_rms += difference * difference / static_cast<double>(a.bits);
  }
  distance.mean_rms = std::sqrt(distance.mean_rms);

  const std::vector<std::uint64_t> columns_a = columns_of(a), columns_b = columns_of(b);
  std::vector<double> squares(a.bits, 0.0),
      pairs(a.bits, 0.0);  // per first bit: added in order, not by thread
  parallel_for(std::size_t{0}, a.bits, [&](std::size_t i) {
    fail_if_stopped(control, "comparing samples");
    for (std::size_t j = i + 1; j < a.bits; ++j) {
      if (a.variable_of_bit[i] == a.variable_of_bit[j]) continue;
      const double difference = joint_share(columns_a, a.rows, i, j) - joint_share(columns_b, b.rows, i, j);
      squares[i] += difference * difference;
      pairs[i] += 1;
    }
  });
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < a.bits; ++i) {
    sum += squares[i];
    count += pairs[i];
  }
  distance.pair_rms = count > 0 ? std::sqrt(sum / count) : 0;
  return distance;
}

}  // namespace drover
#endif
