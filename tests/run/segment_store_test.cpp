// The store keeps the mean of everything it was given, whatever it merged on the way.
#include "drover/run/segment_store.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "drover/core/random.hpp"

namespace drover {
namespace {

TEST(SegmentStore, KeepsMeansThroughMerging) {
  constexpr std::uint32_t chains = 5, lanes = 4;
  constexpr std::size_t entries = 3;
  SegmentStore store(entries, chains, 1 << 20);
  RandomSequence random(7, Stream::generate);
  std::vector<LaneSums> sums(2, LaneSums(entries * lanes, 0.0F));
  std::vector<double> total(entries, 0.0);
  std::uint64_t draws = 0;
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t length = store.segment_length();
    for (std::uint32_t c = 0; c < chains; ++c)
      for (std::size_t e = 0; e < entries; ++e) {
        const double mean = random.uniform();
        sums[c / lanes][e * lanes + c % lanes] += static_cast<float>(mean * static_cast<double>(length));
        total[e] += mean * static_cast<double>(length);
      }
    draws += length;
    store.close_segment(sums, lanes, length);
    for (const auto& batch : sums)
      for (float sum : batch) ASSERT_EQ(sum, 0.0F);
  }
  EXPECT_EQ(store.draws(), draws);
  EXPECT_LE(store.segments(), 16U);
  EXPECT_GE(store.segments(), 8U);
  for (std::size_t e = 0; e < entries; ++e)
    EXPECT_NEAR(store.mean(e), total[e] / static_cast<double>(draws * chains), 1e-6);
}

TEST(SegmentStore, GroupsChainsWhenMemoryIsShort) {
  SegmentStore store(1000, 64, 1000 * 8 * 4 * sizeof(float));
  EXPECT_EQ(store.groups(), 8U);
  EXPECT_EQ(store.chains_per_group(), 8U);
  std::vector<LaneSums> sums(1, LaneSums(1000 * 64, 0.0F));
  for (std::size_t e = 0; e < 1000; ++e)
    for (std::uint32_t c = 0; c < 64; ++c) sums[0][e * 64 + c] = c < 32 ? 1.0F : 0.0F;
  store.close_segment(sums, 64, 1);
  std::vector<double> means;
  store.means_of_entry(17, means);
  EXPECT_EQ(means, (std::vector<double>{1, 1, 1, 1, 0, 0, 0, 0}));
  EXPECT_DOUBLE_EQ(store.mean(17), 0.5);
}

// What is dropped is as if it had never been: the means are those of the rest.
TEST(SegmentStore, ForgetsItsFirstSegments) {
  SegmentStore whole(3, 2, 1 << 20), late(3, 2, 1 << 20);
  for (int segment = 0; segment < 5; ++segment) {
    const auto sums = [&] {
      LaneSums lanes(3 * 2, 0.0F);
      for (std::size_t k = 0; k < lanes.size(); ++k)
        lanes[k] = static_cast<float>(segment + 1) * 0.01F * (k + 1);
      return std::vector<LaneSums>{lanes};
    };
    auto one = sums(), two = sums();
    whole.close_segment(one, 2, 1);
    if (segment >= 2) late.close_segment(two, 2, 1);
  }
  whole.drop_first(2);
  EXPECT_EQ(whole.segments(), 3U);
  EXPECT_EQ(whole.draws(), late.draws());
  for (std::size_t entry = 0; entry < 3; ++entry) EXPECT_EQ(whole.mean(entry), late.mean(entry));
}

}  // namespace
}  // namespace drover
