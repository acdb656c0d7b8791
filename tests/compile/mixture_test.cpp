#include "drover/compile/mixture.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "drover/core/random.hpp"
#include "drover/core/types.hpp"

namespace drover {
namespace {

using Shape = std::vector<std::uint32_t>;

std::size_t entries(const Shape& shape) {
  std::size_t count = 1;
  for (std::uint32_t states : shape) count *= states;
  return count;
}

// Every entry of the table is what the mixtures say, and nothing in them is negative.
void expect_exact(const Shape& shape, const std::vector<double>& table, const FactorDual& dual) {
  for (const Mixture& mixture : dual.mixtures) {
    for (double value : mixture.values) ASSERT_TRUE(value >= 0 && std::isfinite(value));
    for (double value : mixture.residual) ASSERT_TRUE(value >= 0 && std::isfinite(value));
  }
  double size = 1;
  for (double value : table)
    if (value != log_zero) size = std::max(size, std::abs(value));
  for (std::size_t index = 0; index < table.size(); ++index) {
    Shape x(shape.size());
    std::size_t rest = index;
    for (std::size_t j = shape.size(); j-- > 0;) {
      x[j] = static_cast<std::uint32_t>(rest % shape[j]);
      rest /= shape[j];
    }
    const double value = log_value(dual, shape, x);
    if (table[index] == log_zero) {
      EXPECT_EQ(value, log_zero);
    } else {
      EXPECT_NEAR(value, table[index], 1e-11 * size * static_cast<double>(table.size()));
    }
  }
}

std::vector<double> random_table(const Shape& shape, double scale, double zero_share, std::uint64_t seed) {
  RandomSequence random(seed, Stream::generate);
  std::vector<double> table(entries(shape));
  for (std::size_t e = 0; e < table.size(); ++e)
    table[e] = e > 0 && random.uniform() < zero_share ? log_zero : scale * random.normal();
  return table;
}

TEST(Mixture, PairsOfAnySizeAreExact) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Shape shape = {2 + static_cast<std::uint32_t>(seed % 5),
                         2 + static_cast<std::uint32_t>(seed / 5 % 4)};
    const double scale = std::pow(10.0, static_cast<double>(seed % 4) - 2);
    const auto table = random_table(shape, scale, seed % 3 == 0 ? 0.3 : 0, seed);
    const FactorDual dual = dual_of_factor(shape, table);
    expect_exact(shape, table, dual);
    EXPECT_FALSE(dual.fitted);
    // A spanning tree of entries can always be made one.
    if (seed % 3 != 0) {
      EXPECT_LE(dual.mixtures.size(), (shape[0] - 1) * (shape[1] - 1));
    }
  }
}

TEST(Mixture, PottsPairsNeedOneDualPerState) {
  for (std::uint32_t states : {3U, 5U, 8U})
    for (double coupling : {-2.0, 0.4}) {
      std::vector<double> table(std::size_t{states} * states, 0.7);
      for (std::uint32_t k = 0; k < states; ++k) table[k * states + k] += coupling;
      const FactorDual dual = dual_of_factor(Shape{states, states}, table);
      expect_exact({states, states}, table, dual);
      EXPECT_EQ(dual.mixtures.size(), states);
    }
}

TEST(Mixture, ProductsNeedNoDual) {
  std::vector<double> table;
  for (double row : {0.3, -1.0, 2.0})
    for (double column : {0.1, 0.2, -3.0, 4.0}) table.push_back(row + column);
  const FactorDual dual = dual_of_factor(Shape{3, 4}, table);
  expect_exact({3, 4}, table, dual);
  EXPECT_TRUE(dual.mixtures.empty());
}

TEST(Mixture, HigherOrdersAreExactWhateverTheFit) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Shape shapes[] = {{2, 2, 2}, {3, 2, 3}, {2, 2, 2, 2}, {3, 3, 3}};
    const Shape& shape = shapes[seed % 4];
    const auto table =
        random_table(shape, 0.3 + 0.2 * static_cast<double>(seed % 5), seed % 5 == 4 ? 0.2 : 0, seed);
    MixtureOptions options;
    options.most_components = 1U << seed % 4;
    const FactorDual dual = dual_of_factor(shape, table, options);
    expect_exact(shape, table, dual);
    EXPECT_TRUE(dual.fitted);
    EXPECT_GE(dual.residual_share, 0);
    EXPECT_LT(dual.residual_share, 1);
  }
}

// A table that is a mixture of two products is found again.
TEST(Mixture, FitsWhatCanBeFitted) {
  const Shape shape = {2, 3, 2};
  RandomSequence random(4, Stream::generate);
  std::vector<double> table(entries(shape), 0.0);
  for (int r = 0; r < 2; ++r) {
    std::vector<double> factors;
    for (int k = 0; k < 7; ++k) factors.push_back(0.05 + 2 * random.uniform() * random.uniform());
    for (std::uint32_t a = 0; a < 2; ++a)
      for (std::uint32_t b = 0; b < 3; ++b)
        for (std::uint32_t c = 0; c < 2; ++c)
          table[(a * 3 + b) * 2 + c] += factors[a] * factors[2 + b] * factors[5 + c];
  }
  for (double& value : table) value = std::log(value);
  MixtureOptions options;
  options.small_residual = 0;
  const FactorDual dual = dual_of_factor(shape, table, options);
  expect_exact(shape, table, dual);
  EXPECT_LT(dual.divergence, 1e-5);
  EXPECT_LT(dual.residual_share, 0.05);
}

TEST(Mixture, CliquesThatWantToAgree) {
  const Shape shape = {3, 3, 3};
  std::vector<double> table(27, -0.4);
  for (std::size_t k = 0; k < 3; ++k) table[13 * k] = 1.1;
  const FactorDual dual = dual_of_factor(shape, table);
  expect_exact(shape, table, dual);
  EXPECT_FALSE(dual.fitted);
  ASSERT_EQ(dual.mixtures.size(), 1U);
  EXPECT_EQ(dual.mixtures[0].components, 4U);
}

TEST(Mixture, NoisyOrWithALeak) {
  const double start = 0.9, lambdas[3] = {0.3, 0.8, 0.05};
  std::vector<double> table;
  for (unsigned state = 0; state < 8; ++state) {
    double off = start;
    for (unsigned i = 0; i < 3; ++i)
      if (state >> (2 - i) & 1) off *= lambdas[i];
    table.push_back(std::log(off));
    table.push_back(std::log(1 - off));
  }
  const FactorDual dual = dual_of_factor(Shape{2, 2, 2, 2}, table);
  expect_exact({2, 2, 2, 2}, table, dual);
  EXPECT_FALSE(dual.fitted);
  ASSERT_EQ(dual.mixtures.size(), 1U);
  EXPECT_EQ(dual.mixtures[0].components, 4U);
}

}  // namespace
}  // namespace drover
