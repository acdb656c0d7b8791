// Boolean products by max-product against enumeration.
#include "drover/infer/boolean_products.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "drover/core/random.hpp"

namespace drover {
namespace {

constexpr std::size_t lanes = BooleanMaxProduct::lanes;

/// Outputs in a row: each shares one variable with the next, so that the whole is a tree.
BooleanProducts chain_of_outputs(std::size_t outputs, RandomSequence& random) {
  BooleanProducts products;
  std::uint32_t shared = 0, next = 1;
  for (std::size_t p = 0; p < outputs; ++p) {
    const std::uint32_t terms = 1 + random.below(3);
    for (std::uint32_t k = 0; k < terms; ++k) {
      const std::uint32_t left = k == 0 ? shared : next++;
      const std::uint32_t right = next++;
      const bool swap = random.below(2) == 1;
      products.left.push_back(swap ? right : left);
      products.right.push_back(swap ? left : right);
    }
    shared = next - 1;
    products.end_output(
        static_cast<float>(random.below(2) == 0 ? 2 * random.normal() : 200 * random.normal()));
  }
  products.bias.resize(next);
  for (float& b : products.bias) b = static_cast<float>(random.normal());
  return products;
}

std::vector<float> random_extra(const BooleanProducts& products, RandomSequence& random) {
  std::vector<float> extra(lanes * products.size());
  for (float& e : extra) e = static_cast<float>(2 * random.normal());
  return extra;
}

/// For every variable the best score with it on less that with it off, and the best state.
struct Best {
  std::vector<double> difference;
  std::vector<std::uint8_t> state;
  double score = -INFINITY;
};

Best enumerate_best(const BooleanProducts& products, std::span<const float> extra) {
  const std::size_t n = products.size();
  std::vector<double> on(n, -INFINITY), off(n, -INFINITY);
  Best best;
  std::vector<std::uint8_t> state(n);
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << n; ++bits) {
    double value = 0;
    for (std::size_t i = 0; i < n; ++i) {
      state[i] = bits >> i & 1;
      if (state[i]) value += static_cast<double>(products.bias[i]) + extra[i];
    }
    for (std::size_t p = 0; p < products.outputs(); ++p) {
      bool any = false;
      for (std::size_t k = products.first[p]; k < products.first[p + 1]; ++k)
        any |= state[products.left[k]] && state[products.right[k]];
      if (any) value += products.odds[p];
    }
    EXPECT_NEAR(score(products, extra, state), value, 1e-9);
    for (std::size_t i = 0; i < n; ++i) (state[i] ? on : off)[i] = std::max((state[i] ? on : off)[i], value);
    if (value > best.score) {
      best.score = value;
      best.state = state;
    }
  }
  for (std::size_t i = 0; i < n; ++i) best.difference.push_back(on[i] - off[i]);
  return best;
}

// On a tree the sums are max-marginals once messages have crossed it, whatever they started from.
TEST(BooleanMaxProduct, IsExactOnTrees) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomSequence random(seed, Stream::generate);
    const BooleanProducts products = chain_of_outputs(1 + random.below(3), random);
    const std::vector<float> extra = random_extra(products, random);
    const std::vector<float> lean = random_extra(products, random);
    const BooleanMaxProduct solver(products);
    const std::size_t n = products.size();
    for (const bool leaning : {false, true}) {
      auto state = leaning ? solver.start(extra, lean) : solver.start(extra);
      solver.run(state, 5, 0.0F);  // without damping a message crosses an output per sweep
      for (std::size_t l = 0; l < lanes; ++l) {
        const Best best = enumerate_best(products, {extra.data() + l * n, n});
        std::vector<std::uint8_t> decoded(n);
        solver.decode(state, l, decoded);
        EXPECT_EQ(decoded, best.state) << "seed " << seed;
        // Sums of numbers up to some hundreds in single precision.
        for (std::size_t i = 0; i < n; ++i)
          EXPECT_NEAR(state.sums[lanes * i + l], best.difference[i], 2e-4) << "seed " << seed;
      }
    }
  }
}

TEST(BooleanMaxProduct, DampingKeepsTheFixedPoint) {
  RandomSequence random(3, Stream::generate);
  const BooleanProducts products = chain_of_outputs(3, random);
  const std::vector<float> extra = random_extra(products, random);
  const BooleanMaxProduct solver(products);
  auto quick = solver.start(extra), slow = solver.start(extra);
  solver.run(quick, 5, 0.0F);
  solver.run(slow, 80, 0.5F);
  for (std::size_t k = 0; k < quick.sums.size(); ++k) EXPECT_NEAR(quick.sums[k], slow.sums[k], 1e-3);
}

TEST(BooleanMaxProduct, StartsWhereItIsTold) {
  RandomSequence random(4, Stream::generate);
  const BooleanProducts products = chain_of_outputs(4, random);
  const std::vector<float> extra = random_extra(products, random), lean = random_extra(products, random);
  const auto state = BooleanMaxProduct(products).start(extra, lean);
  const std::size_t n = products.size();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t l = 0; l < lanes; ++l)
      EXPECT_NEAR(state.sums[lanes * i + l], products.bias[i] + extra[l * n + i] + lean[l * n + i], 1e-5);
}

}  // namespace
}  // namespace drover
