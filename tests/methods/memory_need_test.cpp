// What methods are said to need: held against what the process takes, and against the limit. tests/memory_predicted
// does so for whole programs and every method.
#include "drover/methods/memory_need.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "drover/core/process_memory.hpp"
#include "drover/model/builders.hpp"

namespace drover {
namespace {

/// The peak is that from here on, and nothing is kept in hand that was taken before.
void forget_peak() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << 5;
}

/// Whether this system says what a process takes, and forgets its peak.
bool peaks_are_known() {
  forget_peak();
  return std::abs(peak_resident_bytes() / resident_bytes() - 1) < 0.1;
}

/// Ends the process: with 0 when marginals take what was predicted, which is `least` bytes at least (too much for chance to matter).
[[noreturn]] void measure(const Model& model, const InferenceOptions& options, double least) {
  const Method& method = method_named(options.method);
  const Problem problem(model, {}, options);
  forget_peak();
  const double before = resident_bytes();
  method.marginals(problem, no_control());
  const double taken = peak_resident_bytes() - before;
  const double needed = needed_bytes(method, problem, Task::marginals);
  fmt::print(stderr, "{}: {:.1f} MB predicted, {:.1f} MB taken\n", options.method, needed / 1e6, taken / 1e6);
  std::_Exit(needed > least && std::abs(taken / needed - 1) < 0.2 ? 0 : 1);
}

/// What is taken shows in a process that has not held and freed other things before: the test program starts itself anew.
class MemoryTaken : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers take more";
#endif
    if (!peaks_are_known())
      GTEST_SKIP() << "this system does not say what a process takes, or does not forget the peak";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

TEST_F(MemoryTaken, ByChainsIsWhatWasPredicted) {
  for (const char* name : {"gibbs", "blocked-gibbs", "gwg", "primal-dual", "tree-primal-dual"}) {
    InferenceOptions options{.method = name};
    options.chains.count = 128;
    options.chains.sweeps = 32;  // so many that every segment is filled
    options.chains.burn_in = 0;
    EXPECT_EXIT(measure(ising(grid_edges(120, 120, false), Draw::normal(0, 0.5), Draw::normal(0, 0.3), 1),
                        options, 60e6),
                ::testing::ExitedWithCode(0), "");
  }
}

// Messages upward are held whole; of those downward few at a time.
TEST_F(MemoryTaken, ByExactInferenceIsWhatWasPredicted) {
  const InferenceOptions options{.method = "exact"};
  const Model ladder = ising(grid_edges(100, 12, false), Draw::normal(0, 0.5), Draw::normal(0, 0.3), 1);
  EXPECT_EXIT(measure(ladder, options, 30e6), ::testing::ExitedWithCode(0), "");
}

// Samples are drawn in lanes of 16, a thread's worth at a time: more of them take no more, but for their states.
TEST_F(MemoryTaken, ByPerturbedSamplesIsWhatTheirThreadsTake) {
  InferenceOptions options{.method = "pmp"};
  options.samples = 48;
  options.messages.iterations = 2;
  RunControl one_thread;
  one_thread.limit_threads(1);
  const Model model = ising(grid_edges(200, 200, false), Draw::normal(0, 0.5), Draw::normal(0, 0.3), 1);
  EXPECT_EXIT(with_threads(one_thread, [&] { measure(model, options, 25e6); }), ::testing::ExitedWithCode(0),
              "");
}

TEST(MemoryNeed, WhatDoesNotFitIsRefusedWithWhatWould) {
  const Model model = ising(grid_edges(100, 100, false), Draw::normal(0, 0.5), Draw::constant(0), 1);
  InferenceOptions options{.method = "gibbs", .memory_limit = 0.03};
  const std::string reason = why_not(method_named("gibbs"), Problem(model, {}, options), Task::marginals);
  EXPECT_NE(reason.find("GB with 128 chains, the memory limit is 0.03 GB; 32 chains would fit"),
            std::string::npos)
      << reason;
  options.chains.count = 32;
  EXPECT_EQ(why_not(method_named("gibbs"), Problem(model, {}, options), Task::marginals), "");
  options.chains.count = 64;
  EXPECT_NE(why_not(method_named("gibbs"), Problem(model, {}, options), Task::marginals), "");
}

TEST(MemoryNeed, ATableThatFactorsShareIsHeldOnce) {
  constexpr std::uint32_t states = 256;
  Model model;
  model.cardinalities.assign(1000, states);
  std::vector<double> values(states * states);
  for (std::size_t e = 0; e < values.size(); ++e) values[e] = 0.1 * std::cos(static_cast<double>(e));
  const std::uint32_t table = model.tables.add_table(values);
  for (VariableId v = 0; v + 1 < model.cardinalities.size(); ++v)
    model.tables.add_factor(std::vector<VariableId>{v, v + 1}, table);
  // Copies of the table for every pair would be 999 * 256 * 256 numbers: 262 MB in float.
  InferenceOptions options;
  options.chains.count = 1;
  for (const char* name : {"gibbs", "icm"}) {
    options.method = name;
    EXPECT_LT(needed_bytes(method_named(name), Problem(model, {}, options), Task::map), 262e6) << name;
  }
}

TEST(MemoryNeed, AShortRunTakesNoSegmentsThatItDoesNotFill) {
  const Model model = ising(grid_edges(100, 100, false), Draw::normal(0, 0.5), Draw::constant(0), 1);
  InferenceOptions options{.method = "gibbs"};
  options.chains.count = 64;
  options.chains.burn_in = 0;
  const auto needed = [&](std::uint64_t sweeps) {
    options.chains.sweeps = sweeps;
    return needed_bytes(method_named("gibbs"), Problem(model, {}, options), Task::marginals);
  };
  constexpr double segment = 4.0 * 64 * 10'000;  // of 4 sweeps; 16 at most
  EXPECT_EQ(needed(4), needed(1));
  EXPECT_EQ(needed(5), needed(4) + segment);
  EXPECT_EQ(needed(64), needed(4) + 15 * segment);
  EXPECT_EQ(needed(100'000), needed(64));
}

TEST(Problem, KnowsItsLargestFiniteLogFactor) {
  for (std::uint32_t variables : {1U, 2U, 3U, 5U, 8U})
    for (std::uint32_t largest = 0; largest < 2 * variables; ++largest) {
      Model model;
      model.cardinalities.assign(variables, 3);
      for (VariableId v = 0; v < variables; ++v) {
        std::vector<double> values{0.5, -0.25, log_zero};
        if (v == largest / 2) values[largest % 2] = largest % 3 == 0 ? -7 : 7;
        model.unaries.add(v, values);
      }
      EXPECT_EQ(Problem(model, {}, {}).largest_log_factor(), 7) << variables << ' ' << largest;
    }
  EXPECT_EQ(Problem(Graph(), {}).largest_log_factor(), 0);
}

/// One chain that is asked for means of values holds a number per variable, not one per state.
TEST(MemoryNeed, MeansOfValuesTakeLessThanMarginals) {
  constexpr std::uint32_t states = 64;
  const Model model = potts(grid_edges(110, 100, false), states, Draw::constant(0.3), Draw::constant(0), 1);
  InferenceOptions options{.method = "gibbs"};
  options.chains.count = 1;
  const Method& method = method_named("gibbs");
  const double marginals = needed_bytes(method, Problem(model, {}, options), Task::marginals);
  options.state_values.assign(states, 1);
  const double means = needed_bytes(method, Problem(model, {}, options), Task::marginals);
  // 8 to 16 segments, one of them open, of so many numbers.
  EXPECT_NEAR(marginals - means, 17.0 * sizeof(float) * (states - 1) * 11'000, 0.5 * (marginals - means));
  options.memory_limit = 0.5 * (marginals + means) / 1e9;
  EXPECT_EQ(why_not(method, Problem(model, {}, options), Task::marginals), "");
}

TEST(MemoryNeed, IsKnownOfEveryMethodButTheSearches) {
  const Model model = ising(grid_edges(5, 5, false), Draw::constant(0.3), Draw::constant(0.1), 1);
  const Problem problem(model, {}, {});
  for (const Method& method : all_methods())
    for (const Task task : {Task::marginals, Task::map, Task::logz, Task::sample}) {
      if (!method.does(task)) continue;
      const bool search = method.name == "portfolio" || method.name == "race" || method.name == "bracket";
      EXPECT_EQ(needed_bytes(method, problem, task) == 0, search) << method.name;
    }
}

}  // namespace
}  // namespace drover
