// The order in which a tree is walked: every unit after what it needs, and with one thread the order for which memory is predicted.
#include "drover/infer/tree_schedule.hpp"

#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <mutex>
#include <vector>

#include "drover/core/random.hpp"

namespace drover {
namespace {

// A random tree, or several, numbered in postorder: children directly before parents.
std::vector<std::uint32_t> random_postorder(std::uint32_t size, std::uint64_t seed) {
  RandomSequence random(seed, Stream::generate);
  std::vector<std::uint32_t> parent(size, no_node), open;  // roots of the trees so far
  for (std::uint32_t c = 0; c < size; ++c) {
    for (std::uint32_t taken = random.below(3); taken > 0 && !open.empty(); --taken) {
      parent[open.back()] = c;
      open.pop_back();
    }
    open.push_back(c);
  }
  return parent;
}

TEST(TreeSchedule, OneThreadWalksDownByDescendingNumbers) {
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<std::uint32_t> parent = random_postorder(200, seed);
    const TreeSchedule schedule(parent, std::vector<double>(parent.size(), 1.0), 1.0);
    std::vector<std::uint32_t> walked;
    schedule.downward([&](std::uint32_t node) { walked.push_back(node); });
    ASSERT_EQ(walked.size(), parent.size());
    for (std::size_t k = 0; k < walked.size(); ++k) EXPECT_EQ(walked[k], parent.size() - 1 - k) << seed;
  }
}

TEST(TreeSchedule, NobodyGoesBeforeWhatItNeeds) {
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (const double unit_cost : {1.0, 7.0, 1e9}) {
      const std::vector<std::uint32_t> parent = random_postorder(300, seed);
      const TreeSchedule schedule(parent, std::vector<double>(parent.size(), 1.0), unit_cost);
      std::mutex mutex;
      std::vector<std::size_t> up(parent.size()), down(parent.size());
      std::size_t ups = 0, downs = 0;
      schedule.upward([&](std::uint32_t node) {
        const std::lock_guard lock(mutex);
        up[node] = ++ups;
      });
      schedule.downward([&](std::uint32_t node) {
        const std::lock_guard lock(mutex);
        down[node] = ++downs;
      });
      EXPECT_EQ(ups, parent.size());
      EXPECT_EQ(downs, parent.size());
      for (std::size_t c = 0; c < parent.size(); ++c) {
        if (parent[c] == no_node) continue;
        EXPECT_LT(up[c], up[parent[c]]) << seed;
        EXPECT_LT(down[parent[c]], down[c]) << seed;
      }
    }
}

}  // namespace
}  // namespace drover
