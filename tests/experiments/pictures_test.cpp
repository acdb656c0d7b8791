// Pictures for the experiments: contours by hand, MNIST against the stored contours of its zeros.
#include "experiments/pictures.hpp"

#include <gtest/gtest.h>

#include "drover/io/data_table.hpp"
#include "drover/io/whole_file.hpp"

namespace drover::experiments {
namespace {

TEST(Pictures, ContourOfABlock) {
  // Two pixels side by side at the left edge of 4 x 3: their neighbours that are off, in a frame of one
  // pixel.
  const Pictures blocks{4, 3, {0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0}, ""};
  const Pictures edge = contours(blocks);
  EXPECT_EQ(edge.width, 6U);
  EXPECT_EQ(edge.height, 5U);
  const std::vector<Value> expected = {0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0,
                                       1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(edge.values, expected);
}

TEST(Pictures, ShrunkKeepsWhatIsOn) {
  const Pictures small = shrunk({3, 3, {0, 0, 1, 0, 0, 0, 1, 0, 0}, ""}, 1);
  EXPECT_EQ(small.width, 2U);
  EXPECT_EQ(small.values, (std::vector<Value>{0, 1, 1, 0}));
}

TEST(Pictures, ContoursOfZeros) {
  Options options;
  options.data = DROVER_SOURCE_DIR "/../shared/data";
  const auto stored = find_data(options, "pmp/mnist-zeros-contours-idx3-ubyte.gz");
  if (!stored) GTEST_SKIP() << "the stored contours are not there";
  const auto zeros = mnist_digit(options, 0);
  if (!zeros) GTEST_SKIP() << "MNIST is not there";
  const Pictures ours = contours(*zeros);
  const std::string bytes = first_bytes(stored->string(), 16 + 5923 * 900);
  ASSERT_EQ(bytes.size(), 16U + ours.values.size());
  std::size_t different = 0;
  for (std::size_t k = 0; k < ours.values.size(); ++k)
    different += (bytes[16 + k] != 0) != (ours.values[k] != 0);
  EXPECT_EQ(different, 0U);
}

}  // namespace
}  // namespace drover::experiments
