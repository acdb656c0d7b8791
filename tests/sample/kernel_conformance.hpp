// What every kernel is put through, written once: a Subject says how to make a kernel and for which graphs.
//
//   struct Subject {
//     static Graph graph(std::uint64_t seed);   // small enough to enumerate
//     static Graph mixing(std::uint64_t seed);  // likewise, and mixes within `sweeps` sweeps
//     static Graph large();                     // so large that threads share the work of a sweep
//     static constexpr std::uint64_t sweeps;
//     static constexpr std::uint32_t chains;    // of the tests of a distribution
//     static constexpr double score_tolerance;  // relative
//     template <class Use> static void with_kernel(const Graph&, std::uint64_t seed, Use use);  // use(kernel)
//   };
//
// KernelConformance is for all of them, MarkovConformance for those that leave a distribution unchanged
// (herded Gibbs is deterministic and does not).
#pragma once

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "drover/core/archive.hpp"
#include "tests/sample/spin_checks.hpp"
#include "tests/sample/table_support.hpp"
#include "tests/support/kernel_test.hpp"

namespace drover::testing {

template <Kernel K>
std::string saved(typename K::State& state) {
  SaveArchive archive;
  state.visit(archive);
  return archive.take();
}

/// The state of every lane, and its score.
template <Kernel K>
std::pair<std::vector<std::vector<Value>>, std::vector<double>> contents(const K& kernel,
                                                                         const typename K::State& state) {
  std::pair<std::vector<std::vector<Value>>, std::vector<double>> all;
  all.second.resize(kernel.lanes());
  kernel.log_scores(state, all.second);
  for (std::uint32_t lane = 0; lane < kernel.lanes(); ++lane) {
    all.first.emplace_back(kernel.size());
    kernel.read(state, lane, all.first.back());
  }
  return all;
}

/// States of positive probability, one for each lane.
template <Kernel K>
std::vector<std::vector<Value>> possible_states(const K& kernel, const Graph& graph, std::uint64_t seed) {
  const Enumeration exact = enumerate(graph);
  RandomSequence random(seed, Stream::exact);
  std::vector<std::vector<Value>> states;
  for (std::uint32_t lane = 0; lane < kernel.lanes(); ++lane) {
    std::size_t s = random.below(static_cast<std::uint32_t>(exact.probabilities.size()));
    while (exact.probabilities[s] == 0) s = (s + 1) % exact.probabilities.size();
    states.push_back(state_of_index(graph, s));
  }
  return states;
}

template <class Subject>
class KernelConformance : public ::testing::Test {};
TYPED_TEST_SUITE_P(KernelConformance);

TYPED_TEST_P(KernelConformance, ReadsWhatWasWritten) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const Graph graph = TypeParam::graph(seed);
    TypeParam::with_kernel(graph, seed, [&](const auto& kernel) {
      auto state = kernel.start(seed, kernel.lanes());
      const auto states = possible_states(kernel, graph, seed);
      for (std::uint32_t lane = 0; lane < kernel.lanes(); ++lane) kernel.write(state, lane, states[lane]);
      const auto [read, scores] = contents(kernel, state);
      EXPECT_EQ(read, states);
      for (std::uint32_t lane = 0; lane < kernel.lanes(); ++lane)
        EXPECT_NEAR(scores[lane], log_score(graph, states[lane]),
                    TypeParam::score_tolerance * (1 + std::abs(scores[lane])));
    });
  }
}

TYPED_TEST_P(KernelConformance, ScoresAreThoseOfTheStates) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph = TypeParam::graph(seed);
    TypeParam::with_kernel(graph, seed, [&](const auto& kernel) {
      expect_scores(kernel, graph, seed, TypeParam::score_tolerance);
    });
  }
}

// A run of 4 + 4 sweeps, at a temperature of its own, and one that goes on after 4 from what was saved: also
// in a State that was something else.
TYPED_TEST_P(KernelConformance, GoesOnFromACheckpoint) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const Graph graph = TypeParam::graph(seed);
    TypeParam::with_kernel(graph, seed, [&]<class K>(const K& kernel) {
      auto state = kernel.start(seed, kernel.lanes());
      kernel.set_inverse_temperatures(state, std::vector<float>(kernel.lanes(), 0.7F));
      for (std::uint64_t sweep = 0; sweep < 4; ++sweep) kernel.sweep(state, sweep);
      auto resumed = kernel.start(seed + 1, 0);
      kernel.sweep(resumed, 0);
      LoadArchive archive(saved<K>(state));
      resumed.visit(archive);
      EXPECT_TRUE(archive.at_end());
      EXPECT_EQ(contents(kernel, resumed), contents(kernel, state));
      auto copy = state;
      for (std::uint64_t sweep = 4; sweep < 8; ++sweep) {
        kernel.sweep(state, sweep);
        kernel.sweep(resumed, sweep);
        kernel.sweep(copy, sweep);
      }
      EXPECT_EQ(saved<K>(resumed), saved<K>(state)) << "seed " << seed;
      EXPECT_EQ(saved<K>(copy), saved<K>(state));
      EXPECT_EQ(contents(kernel, resumed), contents(kernel, state));
    });
  }
}

TYPED_TEST_P(KernelConformance, SameBitsForAnyNumberOfThreads) {
  const Graph graph = TypeParam::large();
  TypeParam::with_kernel(graph, 0, [&]<class K>(const K& kernel) {
    const auto run = [&] {
      auto state = kernel.start(9, kernel.lanes());
      std::vector<float> sums(kernel.entry_count() * kernel.lanes(), 0.0F);
      kernel.sweep(state, 0);
      for (std::uint64_t sweep = 1; sweep < 4; ++sweep) kernel.sweep(state, sweep, ConditionalSums{sums});
      std::vector<double> scores(kernel.lanes());
      kernel.log_scores(state, scores);
      return std::tuple(saved<K>(state), sums, scores);
    };
    const auto alone = tbb::task_arena(1).execute(run);
    for (int threads : {2, 5}) EXPECT_TRUE(tbb::task_arena(threads).execute(run) == alone) << threads;
  });
}

// A chain is a function of its seed and number: what its neighbours in the batch do is nothing to it.
TYPED_TEST_P(KernelConformance, LanesDoNotMeet) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const Graph graph = TypeParam::graph(seed);
    TypeParam::with_kernel(graph, seed, [&](const auto& kernel) {
      auto one = kernel.start(seed, kernel.lanes()), other = kernel.start(seed, kernel.lanes());
      const auto states = possible_states(kernel, graph, seed);
      const std::uint32_t kept = static_cast<std::uint32_t>(seed) % kernel.lanes();
      for (std::uint32_t lane = 0; lane < kernel.lanes(); ++lane) {
        if (lane == kept) kernel.write(one, lane, states[lane]);
        kernel.write(other, lane, states[lane]);
      }
      for (std::uint64_t sweep = 0; sweep < 5; ++sweep) {
        kernel.sweep(one, sweep);
        kernel.sweep(other, sweep);
      }
      EXPECT_EQ(contents(kernel, one).first[kept], contents(kernel, other).first[kept]);
    });
  }
}

// Adding conditionals up changes no draw; a sweep tells the same either way, of proposals that were made.
TYPED_TEST_P(KernelConformance, SummingDoesNotChangeTheDraws) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const Graph graph = TypeParam::graph(seed);
    TypeParam::with_kernel(graph, seed, [&]<class K>(const K& kernel) {
      auto summing = kernel.start(seed, 0), silent = kernel.start(seed, 0);
      std::vector<float> sums(kernel.entry_count() * kernel.lanes(), 0.0F);
      TotalsOf<K> told, told_silently;
      for (std::uint64_t sweep = 0; sweep < 5; ++sweep) {
        sweep_and_tell(kernel, told, summing, sweep, ConditionalSums{sums});
        sweep_and_tell(kernel, told_silently, silent, sweep);
      }
      EXPECT_EQ(contents(kernel, summing), contents(kernel, silent));
      SaveArchive one, other;
      told.visit(one);
      told_silently.visit(other);
      EXPECT_EQ(one.bytes(), other.bytes());
      if constexpr (requires { told.acceptance(); }) {
        EXPECT_LE(told.accepted, told.proposed);
        EXPECT_GT(told.proposed, 0U);
      }
    });
  }
}

REGISTER_TYPED_TEST_SUITE_P(KernelConformance, ReadsWhatWasWritten, ScoresAreThoseOfTheStates,
                            GoesOnFromACheckpoint, SameBitsForAnyNumberOfThreads, LanesDoNotMeet,
                            SummingDoesNotChangeTheDraws);

template <class Subject>
class MarkovConformance : public ::testing::Test {};
TYPED_TEST_SUITE_P(MarkovConformance);

TYPED_TEST_P(MarkovConformance, LeavesTheDistribution) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = TypeParam::graph(seed);
    TypeParam::with_kernel(graph, seed, [&](const auto& kernel) {
      expect_leaves_distribution(kernel, graph, seed, TypeParam::chains);
    });
  }
}

TYPED_TEST_P(MarkovConformance, ReachesTheDistribution) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Graph graph = TypeParam::mixing(seed);
    TypeParam::with_kernel(graph, seed, [&](const auto& kernel) {
      expect_reaches_distribution(kernel, graph, seed, std::min(1024U, TypeParam::chains), TypeParam::sweeps);
    });
  }
}

TYPED_TEST_P(MarkovConformance, ConditionalsAverageToTheMarginals) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph = TypeParam::graph(seed);
    TypeParam::with_kernel(graph, seed,
                           [&](const auto& kernel) { expect_conditionals(kernel, graph, seed, 2048); });
  }
}

TYPED_TEST_P(MarkovConformance, TemperaturesRaiseTheFactorsAndKeepTheZeros) {
  std::uint64_t models = 30;
  std::uint32_t chains = 1024;
  if constexpr (requires { TypeParam::tempered_chains; }) {
    chains = TypeParam::tempered_chains;
    models = 12;
  }
  for (std::uint64_t seed = 0; seed < models; ++seed) {
    const Graph graph = TypeParam::graph(seed);
    TypeParam::with_kernel(graph, seed, [&](const auto& kernel) {
      for (float beta : {0.0F, 0.4F, 1.7F}) expect_tempered(kernel, graph, seed, beta, chains);
    });
  }
}

REGISTER_TYPED_TEST_SUITE_P(MarkovConformance, LeavesTheDistribution, ReachesTheDistribution,
                            ConditionalsAverageToTheMarginals, TemperaturesRaiseTheFactorsAndKeepTheZeros);

/// The name of a subject stands in the name of its tests.
struct SubjectNames {
  template <class Subject>
  static std::string GetName(int) {
    return Subject::name;
  }
};

}  // namespace drover::testing
