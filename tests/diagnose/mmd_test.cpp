// MMD and pair statistics against their definitions.
#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <cmath>

#include "drover/core/random.hpp"
#include "drover/diagnose/mmd.hpp"

namespace drover {
namespace {

std::vector<Value> random_rows(std::uint64_t seed, std::size_t rows,
                               const std::vector<std::uint32_t>& cardinalities) {
  RandomSequence random(seed, Stream::generate);
  std::vector<Value> values;
  for (std::size_t r = 0; r < rows; ++r)
    for (std::uint32_t states : cardinalities) values.push_back(static_cast<Value>(random.below(states)));
  return values;
}

double mean_kernel(const std::vector<Value>& a, const std::vector<Value>& b, std::size_t n) {
  double sum = 0;
  for (std::size_t r = 0; r < a.size(); r += n)
    for (std::size_t s = 0; s < b.size(); s += n) {
      double different = 0;
      for (std::size_t v = 0; v < n; ++v) different += a[r + v] != b[s + v];
      sum += std::exp(-different / static_cast<double>(n));
    }
  return sum / (static_cast<double>(a.size() / n) * static_cast<double>(b.size() / n));
}

TEST(Mmd, IsItsDefinition) {
  const std::vector<std::vector<std::uint32_t>> shapes = {
      {2}, {2, 2, 2}, std::vector<std::uint32_t>(130, 2), {3, 2, 5}, std::vector<std::uint32_t>(30, 7)};
  for (const auto& shape : shapes)
    for (std::size_t rows : {1U, 7U, 64U, 300U}) {
      const auto a = random_rows(rows, rows, shape), b = random_rows(rows + 1, 2 * rows + 1, shape);
      const double expected = mean_kernel(a, a, shape.size()) + mean_kernel(b, b, shape.size()) -
                              2 * mean_kernel(a, b, shape.size());
      // The plain sums here round once per pair: at most three times 180,600 pairs times 2^-53.
      EXPECT_NEAR(squared_mmd(pack_samples(a, shape), pack_samples(b, shape)), expected, 6e-11);
    }
}

TEST(Mmd, OfASetWithItselfIsZero) {
  const std::vector<std::uint32_t> shape(40, 2);
  const PackedSamples a = pack_samples(random_rows(1, 100, shape), shape);
  EXPECT_NEAR(squared_mmd(a, a), 0, 1e-15);
  EXPECT_EQ(statistic_distance(a, a).pair_rms, 0);
}

TEST(Mmd, DoesNotDependOnTheNumberOfThreads) {
  const std::vector<std::uint32_t> shape(100, 2);
  const PackedSamples a = pack_samples(random_rows(1, 500, shape), shape);
  const PackedSamples b = pack_samples(random_rows(2, 400, shape), shape);
  tbb::task_arena one(1);
  double alone = 0, pairs_alone = 0;
  one.execute([&] {
    alone = squared_mmd(a, b);
    pairs_alone = statistic_distance(a, b).pair_rms;
  });
  EXPECT_EQ(squared_mmd(a, b), alone);
  EXPECT_EQ(statistic_distance(a, b).pair_rms, pairs_alone);
}

TEST(StatisticDistance, OfManyRowsIsItsDefinition) {
  constexpr std::size_t variables = 5, rows = 200;  // more than fit into a word
  const std::vector<std::uint32_t> binary(variables, 2);
  std::vector<Value> values[2];
  std::uint32_t state = 1;
  for (auto& set : values)
    for (std::size_t k = 0; k < variables * rows; ++k) {
      state = state * 1664525 + 1013904223;
      set.push_back(static_cast<Value>(state >> 30 == 0));
    }
  double squares = 0;
  for (std::size_t i = 0; i < variables; ++i)
    for (std::size_t j = i + 1; j < variables; ++j) {
      double difference = 0;
      for (std::size_t r = 0; r < rows; ++r)
        difference += values[0][r * variables + i] * values[0][r * variables + j] -
                      values[1][r * variables + i] * values[1][r * variables + j];
      squares += difference / rows * difference / rows;
    }
  EXPECT_NEAR(statistic_distance(pack_samples(values[0], binary), pack_samples(values[1], binary)).pair_rms,
              std::sqrt(squares / (variables * (variables - 1) / 2.0)), 1e-12);
}

TEST(StatisticDistance, IsItsDefinition) {
  // Two variables, always equal against always different: means agree, the pair does not.
  const std::vector<std::uint32_t> shape = {2, 2};
  const PackedSamples equal = pack_samples(std::vector<Value>{0, 0, 1, 1}, shape);
  const PackedSamples different = pack_samples(std::vector<Value>{0, 1, 1, 0}, shape);
  const StatisticDistance distance = statistic_distance(equal, different);
  EXPECT_EQ(distance.mean_largest, 0);
  EXPECT_DOUBLE_EQ(distance.pair_rms, 0.5);
  // Three states against each other: P(0, 0) and so on by hand.
  const std::vector<std::uint32_t> three = {3, 2};
  const StatisticDistance more = statistic_distance(pack_samples(std::vector<Value>{0, 0, 2, 1}, three),
                                                    pack_samples(std::vector<Value>{0, 1, 2, 1}, three));
  EXPECT_DOUBLE_EQ(more.mean_largest, 0.5);
  // Six pairs of indicators; (0, 0) and (0, 1) differ by 1/2.
  EXPECT_DOUBLE_EQ(more.pair_rms, std::sqrt(0.5 / 6));
}

}  // namespace
}  // namespace drover
