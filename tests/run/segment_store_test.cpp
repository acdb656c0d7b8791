// The store keeps the mean of everything it was given, whatever it merged on the way.
#include "drover/run/segment_store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "drover/core/random.hpp"
#include "drover/run/segment_diagnostics.hpp"

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

// 21 chains in groups of 4: the last group is one chain, and counts as one.
TEST(SegmentStore, AGroupCountsAsManyTimesAsItHasChains) {
  constexpr std::size_t entries = 10;
  constexpr std::uint32_t chains = 21, lanes = 8;
  SegmentStore store(entries, chains, entries * 8 * 8 * sizeof(float));
  ASSERT_EQ(store.chains_per_group(), 4U);
  ASSERT_EQ(store.groups(), 6U);
  RandomSequence random(3, Stream::generate);
  std::vector<LaneSums> sums(3, LaneSums(entries * lanes, 0.0F));
  std::vector<double> total(entries, 0.0);
  for (int segment = 0; segment < 3; ++segment) {
    for (std::uint32_t c = 0; c < chains; ++c)
      for (std::size_t e = 0; e < entries; ++e) {
        const auto value = static_cast<float>(random.uniform());
        sums[c / lanes][e * lanes + c % lanes] = value;
        total[e] += value;
      }
    store.close_segment(sums, lanes, 1);
  }
  for (std::size_t e = 0; e < entries; ++e) EXPECT_NEAR(store.mean(e), total[e] / (3 * chains), 1e-6);
}

// One full batch takes a road of its own: groups of every size have the means of their chains.
TEST(SegmentStore, GroupsOfAFullBatch) {
  constexpr std::size_t entries = 5, lanes = 64;
  for (std::size_t size : {1, 2, 4, 8}) {
    SegmentStore store(entries, lanes, entries * 8 * (lanes / size) * sizeof(float));
    ASSERT_EQ(store.chains_per_group(), size);
    RandomSequence random(size, Stream::generate);
    std::vector<LaneSums> sums(1, LaneSums(entries * lanes, 0.0F));
    std::vector<double> expected(entries * store.groups(), 0.0);
    for (const std::uint64_t draws : {3, 2}) {
      for (std::size_t k = 0; k < entries * lanes; ++k) {
        sums[0][k] = static_cast<float>(random.uniform()) * static_cast<float>(draws);
        expected[k / size] += sums[0][k] / (5.0 * static_cast<double>(size));
      }
      store.absorb(sums, lanes, draws);
      for (const float sum : sums[0]) EXPECT_EQ(sum, 0);
    }
    store.close_segment(sums, lanes, 0);
    std::vector<double> means;
    for (std::size_t e = 0; e < entries; ++e) {
      store.means_of_entry(e, means);
      for (std::size_t g = 0; g < store.groups(); ++g)
        EXPECT_NEAR(means[g], expected[e * store.groups() + g], 1e-6);
    }
  }
}

// Absorbed in parts or at once, in groups or apart, a segment is the mean of all its draws.
TEST(SegmentStore, PartsOfASegmentAreWeighedByTheirDraws) {
  for (const std::size_t memory : {std::size_t{1} << 20, std::size_t{4 * 8 * 8}}) {
    SegmentStore store(4, 16, memory);
    std::vector<LaneSums> sums(1, LaneSums(4 * 16, 0.0F));
    std::fill(sums[0].begin(), sums[0].end(), 3.0F);
    store.absorb(sums, 16, 3);  // three draws of 1
    store.absorb(sums, 16, 2);  // two of 0
    std::fill(sums[0].begin(), sums[0].end(), 0.5F);
    store.close_segment(sums, 16, 1);  // one of 1/2
    std::vector<double> means;
    store.means_of_entry(2, means);
    EXPECT_EQ(store.draws(), 6U);
    for (const double mean : means) EXPECT_NEAR(mean, 3.5 / 6, 1e-6);
  }
}

// The last segment of a run may be short; when it fills the store it is merged by its draws, not by halves.
TEST(SegmentStore, AShortSegmentIsMergedByItsDraws) {
  SegmentStore store(1, 1, 1 << 20);
  std::vector<LaneSums> sums(1, LaneSums(1, 0.0F));
  double total = 0;
  std::uint64_t draws = 0;
  const auto close = [&](float mean, std::uint64_t count) {
    sums[0][0] = mean * static_cast<float>(count);
    total += static_cast<double>(mean) * static_cast<double>(count);
    draws += count;
    store.close_segment(sums, 1, count);
  };
  while (store.segment_length() < 4) close(static_cast<float>(draws % 5) / 4, store.segment_length());
  while (store.segments() < 15) close(static_cast<float>(draws % 3) / 2, 4);
  const double fifteenth = static_cast<double>((draws - 4) % 3) / 2;
  close(static_cast<float>(1 - fifteenth), 1);  // the sixteenth
  ASSERT_EQ(store.segments(), 8U);
  EXPECT_EQ(store.draws_of_segments().back(), 5U);
  std::vector<double> means;
  store.means_of_entry(0, means);
  EXPECT_NEAR(means.back(), (4 * fifteenth + 1 - fifteenth) / 5, 1e-6);
  EXPECT_NE(fifteenth, 0.5);  // else a plain mean would give the same
  EXPECT_NEAR(store.mean(0), total / static_cast<double>(draws), 1e-6);
}

// 64 chains with means 1/2 + or - d, arranged so that the groups of four show every pattern of signs once:
// their means have exactly a quarter of the chains' variance, so both stores must say the same of the chains,
// up to their degrees of freedom: n halves estimate a variance with n / (n - 1) times the mean square.
TEST(SegmentDiagnostics, RhatOfGroupedChainsIsThatOfTheChains) {
  constexpr std::uint32_t chains = 64;
  constexpr double d = 0.1, draws = 1000;
  DiagnosisRoom room;
  for (const bool grouped : {false, true}) {
    SegmentStore store(1, chains, grouped ? 16 * 8 * sizeof(float) : 1 << 20);
    ASSERT_EQ(store.groups(), grouped ? 16U : 64U);
    std::vector<LaneSums> sums(1, LaneSums(chains, 0.0F));
    for (int segment = 0; segment < 4; ++segment) {
      for (std::uint32_t c = 0; c < chains; ++c)
        sums[0][c] = static_cast<float>(draws * (0.5 + ((c / 4) >> (c % 4) & 1 ? d : -d)));
      store.close_segment(sums, chains, static_cast<std::uint64_t>(draws));
    }
    const double halves = 2.0 * store.groups(), square = grouped ? d * d / 4 : d * d, length = 2 * draws;
    // Spread within and between, as segment_moments.hpp has them.
    const double within = 0.25 - square, between = square * halves / (halves - 1);
    const double ratio = (within + between) * (length - 1) / (length * within);
    const double expected = grouped ? std::sqrt(1 + 4 * (ratio - 1)) : std::sqrt(ratio);
    const EntryDiagnostics found = diagnose_entry(store, 0, room);
    EXPECT_NEAR(found.rhat, expected, 1e-5);
    // The whole point: within a tenth of what the chains themselves say.
    EXPECT_NEAR(found.rhat - 1, 0.0204, 0.002) << grouped;
    EXPECT_NEAR(worst_entry(store).rhat_max, found.rhat, 1e-12);
  }
}

// A short last segment counts for the mean and not for the figures, which need equal lengths.
TEST(SegmentDiagnostics, AShortLastSegmentIsLeftOut) {
  DiagnosisRoom room;
  SegmentStore whole(1, 4, 1 << 20), longer(1, 4, 1 << 20);
  std::vector<LaneSums> sums(1, LaneSums(4, 0.0F));
  RandomSequence random(5, Stream::generate);
  for (int segment = 0; segment < 6; ++segment)
    for (SegmentStore* store : {&whole, &longer}) {
      if (store == &whole)
        for (float& sum : sums[0]) sum = static_cast<float>(8 * random.uniform());
      const LaneSums kept = sums[0];
      store->close_segment(sums, 4, 8);
      sums[0] = kept;
    }
  std::fill(sums[0].begin(), sums[0].end(), 3.0F);
  longer.close_segment(sums, 4, 3);
  const EntryDiagnostics a = diagnose_entry(whole, 0, room), b = diagnose_entry(longer, 0, room);
  EXPECT_EQ(a.rhat, b.rhat);
  EXPECT_EQ(a.mcse, b.mcse);
  EXPECT_NEAR(longer.mean(0), (48 * whole.mean(0) + 3) / 51, 1e-6);
}

// Chains that never leave their start have no error; a constant that is no certainty is exact.
TEST(SegmentDiagnostics, ConstantsAreEitherStuckOrExact) {
  DiagnosisRoom room;
  for (const double value : {0.0, 0.3, 1.0}) {
    SegmentStore store(1, 4, 1 << 20);
    std::vector<LaneSums> sums(1, LaneSums(4, 0.0F));
    for (int segment = 0; segment < 4; ++segment) {
      std::fill(sums[0].begin(), sums[0].end(), static_cast<float>(4 * value));
      store.close_segment(sums, 4, 4);
    }
    const EntryDiagnostics found = diagnose_entry(store, 0, room);
    const Diagnostics worst = worst_entry(store);
    if (value == 0.3) {
      EXPECT_EQ(found.mcse, precision_floor);
      EXPECT_EQ(worst.rhat_max, 1);
      EXPECT_TRUE(std::isinf(worst.ess_min));
    } else {
      EXPECT_TRUE(std::isnan(found.mcse));
      EXPECT_TRUE(std::isnan(worst.rhat_max));
    }
  }
}

// Many entries at once, from a store of one chain, of chains apart and of groups, with a short last segment and
// a number of entries that fills no block.
TEST(SegmentDiagnostics, EntriesTogetherAreThoseApart) {
  constexpr std::size_t entries = 37;
  const std::vector<std::uint64_t> last_is_short = {8, 8, 8, 8, 8, 3};
  const std::vector<std::uint64_t> one_closed_early = {8, 8, 5, 8, 8, 8, 3};
  // Twenty-one chains in groups of four: the last group has one.
  for (const std::uint32_t chains : {1U, 8U, 12U, 21U})
    for (const std::size_t memory : {std::size_t{1} << 22, entries * 8 * 8 * sizeof(float)})
      for (const auto& lengths : {last_is_short, one_closed_early}) {
        SegmentStore store(entries, chains, memory);
        RandomSequence random(chains, Stream::generate);
        std::vector<LaneSums> sums(1, LaneSums(entries * chains, 0.0F));
        for (const std::uint64_t draws : lengths) {
          for (float& sum : sums[0]) sum = static_cast<float>(static_cast<double>(draws) * random.uniform());
          std::fill_n(sums[0].begin(), chains, 0.0F);  // the first never moves
          store.close_segment(sums, chains, draws);
        }
        DiagnosisRoom room;
        std::vector<EntryDiagnostics> figures(entries - 2);
        std::vector<double> means(entries - 2);
        for (const std::size_t first : {0U, 2U}) {
          diagnose_entries(store, first, room, figures, means);
          for (std::size_t e = 0; e < means.size(); ++e) {
            const EntryDiagnostics expected = diagnose_entry(store, first + e, room);
            ASSERT_NEAR(means[e], store.mean(first + e), 1e-12);
            ASSERT_EQ(std::isnan(figures[e].mcse), std::isnan(expected.mcse)) << first + e;
            if (std::isnan(expected.mcse)) continue;
            ASSERT_NEAR(figures[e].rhat, expected.rhat, 1e-10 * expected.rhat);
            ASSERT_NEAR(figures[e].mcse, expected.mcse, 1e-10);
            ASSERT_NEAR(figures[e].ess, expected.ess, 1e-10 * (1 + expected.ess));
          }
        }
      }
}

// Large models begin with longer segments, as long as the burn-in leaves a run of twice its length a dozen.
TEST(SegmentStore, FirstSegmentsOfLargeModelsFollowTheBurnIn) {
  const auto length = [](std::size_t entries, std::uint32_t chains, std::uint64_t burn_in) {
    return SegmentStore(entries, chains, std::size_t{1} << 29, {0, 0}, burn_in).segment_length();
  };
  EXPECT_EQ(length(1000, 64, 1000), 1U);
  EXPECT_EQ(length(2500, 64, 1000), 32U);
  EXPECT_EQ(length(2500, 64, 0), 4U);
  EXPECT_EQ(length(2500, 64, 1'000'000), 64U);
  EXPECT_EQ(length(1'000'000, 64, 100), 16U);
  EXPECT_EQ(length(1'000'000, 64, 0), 8U);
  EXPECT_EQ(length(100'000, 64, 100), 16U);
  EXPECT_EQ(length(1'000'000, 64, 30), 8U);
  EXPECT_EQ(length(1'000'000, 1, 1000), 32U);
}

// A run takes the segments that it opens, at most, and what is said beforehand is that.
TEST(SegmentStore, TakesWhatWasPlanned) {
  constexpr std::uint32_t chains = 3;
  constexpr std::size_t entries = 50'000;
  for (const std::uint64_t burn_in : {0, 100}) {
    SegmentStore store(entries, chains, std::size_t{1} << 29, {entries, chains}, burn_in);
    std::vector<LaneSums> sums(1, LaneSums(entries * chains, 0.0F));
    std::size_t most = 0;
    for (std::uint64_t draws = 1, open = 0; draws <= 400; ++draws) {
      most = std::max(most, store.segments() + 1);
      if (++open == store.segment_length()) store.close_segment(sums, chains, open), open = 0;
      ASSERT_EQ(SegmentStore::planned_bytes(entries, chains, std::size_t{1} << 29, burn_in, draws),
                most * entries * chains * sizeof(float))
          << burn_in << ' ' << draws;
    }
    EXPECT_EQ(SegmentStore::planned_bytes(entries, chains, std::size_t{1} << 29), 16 * entries * chains * 4);
  }
}

// The worst of all entries: the largest R-hat and error, the smallest sample size, wherever they stand.
TEST(SegmentDiagnostics, TheWorstEntryIsTheWorst) {
  DiagnosisRoom room;
  constexpr std::size_t entries = 500;
  SegmentStore store(entries, 8, 1 << 22);
  RandomSequence random(9, Stream::generate);
  std::vector<LaneSums> sums(1, LaneSums(entries * 8, 0.0F));
  for (int segment = 0; segment < 6; ++segment) {
    for (float& sum : sums[0]) sum = static_cast<float>(8 * random.uniform());
    store.close_segment(sums, 8, 8);
  }
  Diagnostics expected{0, 1e300, 0};
  for (std::size_t e = 0; e < entries; ++e) {
    const EntryDiagnostics one = diagnose_entry(store, e, room);
    expected.rhat_max = std::max(expected.rhat_max, one.rhat);
    expected.ess_min = std::min(expected.ess_min, one.ess);
    expected.mcse_max = std::max(expected.mcse_max, one.mcse);
  }
  const Diagnostics worst = worst_entry(store);
  EXPECT_EQ(worst.rhat_max, expected.rhat_max);
  EXPECT_EQ(worst.ess_min, expected.ess_min);
  EXPECT_EQ(worst.mcse_max, expected.mcse_max);
}

}  // namespace
}  // namespace drover
