#include "drover/herd/features.hpp"

#include <gtest/gtest.h>

#include <set>

#include "drover/herd/consistency.hpp"
#include "drover/herd/herding.hpp"

namespace drover {
namespace {

const std::vector<std::uint32_t> three_binary = {2, 2, 2};

TEST(Features, CountsAndOrder) {
  for (std::uint32_t order : {1U, 2U, 3U}) {
    for (const std::vector<std::uint32_t>& cardinalities :
         {std::vector<std::uint32_t>{2, 2, 2, 2, 2}, std::vector<std::uint32_t>{2, 3, 4}, {2, 5}}) {
      const FeatureSet set = complete_features(cardinalities, order);
      EXPECT_EQ(static_cast<double>(set.size()), complete_feature_count(cardinalities, order));
    }
  }
  EXPECT_EQ(complete_features(std::vector<std::uint32_t>(100, 2), 3).size(), 100U + 4950U + 161700U);
  EXPECT_EQ(complete_features(three_binary, 2).complete_order, 2U);
  EXPECT_EQ(complete_features(three_binary, 3).complete_order, 3U);
  EXPECT_EQ(complete_features({2, 3}, 2).complete_order, 0U);
  const std::vector<std::vector<VariableId>> some = {{0}, {1}, {2}, {0, 1}, {2, 1}, {1, 2}};
  const FeatureSet chosen = chosen_features(three_binary, some);
  EXPECT_EQ(chosen.size(), 5U);
  EXPECT_EQ(chosen.complete_order, 0U);
  EXPECT_EQ(feature_text(chosen, 4, {}), "1=1 2=1");
}

TEST(Features, MomentsAreAverages) {
  const std::vector<std::uint32_t> cardinalities = {2, 3, 2};
  std::vector<Value> rows;
  for (std::size_t r = 0; r < 131; ++r)
    for (std::uint32_t v = 0; v < 3; ++v)
      rows.push_back(static_cast<Value>((r * r + r / 3 + 7 * v * r) % cardinalities[v]));
  const Moments moments = moments_of(complete_features(cardinalities, 3), rows);
  for (std::size_t f = 0; f < moments.set.size(); ++f) {
    double count = 0;
    for (std::size_t r = 0; r < 131; ++r)
      count += moments.set.holds(moments.set.features[f], std::span(rows).subspan(3 * r, 3));
    EXPECT_DOUBLE_EQ(moments.values[f], count / 131) << f;
  }
}

TEST(Consistency, MomentsOfDataPass) {
  std::vector<Value> rows;
  for (std::size_t r = 0; r < 60 * 5; ++r) rows.push_back(static_cast<Value>((r * r / 3 + r % 7) % 2));
  EXPECT_TRUE(find_inconsistencies(moments_of(complete_features({2, 2, 2, 2, 2}, 3), rows)).empty());
  EXPECT_TRUE(find_inconsistencies(moments_of(complete_features({2, 2, 2, 2, 2}, 2), rows)).empty());
  for (Value& value : rows) value = static_cast<Value>(value * 2);
  EXPECT_TRUE(find_inconsistencies(moments_of(complete_features({3, 3, 3, 3, 3}, 2), rows)).empty());
}

TEST(Consistency, EveryConditionIsSeen) {
  const FeatureSet two = complete_features(three_binary, 2), three = complete_features(three_binary, 3);
  const auto first = [](Moments moments) {
    const auto found = find_inconsistencies(moments);
    return found.empty() ? "" : found.front().condition;
  };
  EXPECT_EQ(first({two, {.3, .3, .3, .5, .1, .1}}), "p_ab <= p_a");
  EXPECT_EQ(first({two, {.8, .8, .5, .1, .4, .4}}), "p_a + p_b - 1 <= p_ab");
  EXPECT_EQ(first({two, {.5, .5, .5, .4, .4, .1}}), "p_ab + p_ac - p_bc <= p_a");
  EXPECT_EQ(first({two, {.5, .5, .5, .1, .1, .1}}), "p_a + p_b + p_c - p_ab - p_ac - p_bc <= 1");
  EXPECT_EQ(first({two, {1.5, .5, .5, .5, .5, .25}}), "p <= 1");
  EXPECT_EQ(first({three, {.5, .5, .5, .25, .25, .25, .3}}), "p_abc <= p_ab");
  EXPECT_EQ(first({three, {.5, .5, .5, .4, .4, .4, .2}}), "p_ab + p_ac - p_a <= p_abc");
  EXPECT_EQ(first({complete_features({3}, 1), {.3, .3, .3}}), "states of a variable sum to 1");
  EXPECT_EQ(first({two, {.5, .5, .5, .25, .25, .25}}), "");
}

// The pairs contradict the single of variable 0; the weights show it, at the rate of the excess.
TEST(Consistency, GrowthNamesTheFeatures) {
  const Moments moments{complete_features({2, 2, 2, 2}, 2), {.3, .5, .5, .5, .5, .15, .15, .25, .25, .25}};
  for (HerdSearch search : {HerdSearch::enumerate, HerdSearch::local}) {
    Herding herding(moments, {.search = search});
    const HerdSummary summary = run_herding(herding, 20000, {});
    ASSERT_FALSE(summary.growing.empty());
    std::set<std::size_t> named;
    for (const auto& [feature, rate] : summary.growing) named.insert(feature);
    EXPECT_TRUE(named.count(0) && named.count(4)) << "single 0 and pair (0, 1)";
    EXPECT_GT(summary.moment_error_max, 0.05);
    EXPECT_EQ(summary.samples, 20000U);
  }
}

}  // namespace
}  // namespace drover
