#include "drover/compile/lattice.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "tests/sample/spin_checks.hpp"

namespace drover {
namespace {

double lattice_log_score(const Lattice& lattice, const std::vector<Value>& x) {
  double score = lattice.log_constant;
  for (std::size_t row = 0; row < lattice.height; ++row)
    for (std::size_t column = 0; column < lattice.width; ++column) {
      const std::size_t i = row * lattice.width + column;
      if (x[i] == 0) continue;
      score += lattice.bias[i];
      if (x[row * lattice.width + (column + 1) % lattice.width]) score += lattice.right[i];
      if (x[(row + 1) % lattice.height * lattice.width + column]) score += lattice.down[i];
    }
  return score;
}

// The same numbers whether pairs or rows of neighbours are gone through.
void expect_same(const std::optional<Lattice>& a, const std::optional<Lattice>& b) {
  ASSERT_EQ(a.has_value(), b.has_value());
  if (!a) return;
  EXPECT_EQ(a->width, b->width);
  EXPECT_EQ(a->height, b->height);
  EXPECT_EQ(a->periodic_x, b->periodic_x);
  EXPECT_EQ(a->periodic_y, b->periodic_y);
  EXPECT_EQ(a->log_constant, b->log_constant);
  EXPECT_EQ(a->bias, b->bias);
  EXPECT_EQ(a->right, b->right);
  EXPECT_EQ(a->down, b->down);
}

TEST(Lattice, RecognisesGridsOfAllSizes) {
  for (std::uint32_t width = 3; width < 9; ++width)
    for (std::uint32_t height = 3; height < 8; ++height)
      for (bool periodic : {false, true}) {
        const Graph graph = compile(testing::random_grid(width, height, periodic, width * height));
        const auto lattice = recognise_lattice(spin_graph(graph));
        ASSERT_TRUE(lattice) << width << " x " << height;
        expect_same(recognise_lattice(graph), lattice);
        EXPECT_EQ(lattice->width, width);
        EXPECT_EQ(lattice->height, height);
        EXPECT_EQ(lattice->periodic_x, periodic);
        EXPECT_EQ(lattice->periodic_y, periodic);
        EXPECT_EQ(lattice->is_checkerboard(), !periodic || (width % 2 == 0 && height % 2 == 0));
        EXPECT_FALSE(equal_lattice(*lattice));
        RandomSequence random(1, Stream::generate);
        std::vector<Value> x(graph.size());
        for (int trial = 0; trial < 10; ++trial) {
          for (Value& value : x) value = random.below(2);
          const double expected = log_score(graph, x);
          ASSERT_NEAR(lattice_log_score(*lattice, x), expected, 1e-5 * (1 + std::abs(expected)));
        }
      }
}

TEST(Lattice, MissingPairsAreZero) {
  Model model = testing::random_grid(6, 5, false, 1);
  const SpinPairs all = std::exchange(model.spin_pairs, {});
  for (std::size_t p = 0; p < all.size(); ++p)
    if (p % 4 != 0 || p >= 20) model.spin_pairs.add(all.first[p], all.second[p], all.couplings[p]);
  const auto lattice = recognise_lattice(spin_graph(compile(model)));
  ASSERT_TRUE(lattice);
  EXPECT_EQ(lattice->width, 6U);
  expect_same(recognise_lattice(compile(model)), lattice);
}

TEST(Lattice, RefusesOtherGraphs) {
  Model model = testing::random_grid(6, 5, false, 1);
  model.spin_pairs.add(0, 7, 0.5);  // a diagonal
  EXPECT_FALSE(recognise_lattice(spin_graph(compile(model))));
  EXPECT_FALSE(recognise_lattice(compile(model)));
  Model shifted = testing::random_grid(6, 5, false, 1);
  shifted.spin_pairs.add(5, 6, 0.5);  // the end of a row with the start of the next
  EXPECT_FALSE(recognise_lattice(spin_graph(compile(shifted))));
  EXPECT_FALSE(recognise_lattice(compile(shifted)));
  Evidence evidence;
  evidence.add(8, 1);  // a hole shifts the numbers
  EXPECT_FALSE(recognise_lattice(spin_graph(compile(testing::random_grid(6, 5, false, 1), evidence))));
  EXPECT_FALSE(recognise_lattice(spin_graph(compile(Model{}))));
}

TEST(Lattice, EqualCouplingsAndFields) {
  for (bool periodic : {false, true}) {
    const auto lattice =
        recognise_lattice(spin_graph(compile(testing::equal_grid(6, 4, periodic, 0.3, 0.2))));
    ASSERT_TRUE(lattice);
    const auto equal = equal_lattice(*lattice);
    ASSERT_TRUE(equal);
    EXPECT_NEAR(equal->weight, 1.2, 1e-6);
    EXPECT_NEAR(equal->field, 0.4, 1e-6);
    Model model = testing::equal_grid(6, 4, periodic, 0.3, 0.2);
    model.spin_pairs.couplings[7] = 0.31;
    EXPECT_FALSE(equal_lattice(*recognise_lattice(spin_graph(compile(model)))));
    model.spin_pairs.couplings[7] = 0.3;
    model.unaries.log_values[9] = 0.21;
    EXPECT_FALSE(equal_lattice(*recognise_lattice(spin_graph(compile(model)))));
  }
}

}  // namespace
}  // namespace drover
