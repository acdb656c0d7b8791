// The race behind `auto`: right marginals on whatever it meets, honest about what it does not know, the same
// bits whatever the threads.
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "drover/compile/graph.hpp"
#include "drover/diagnose/nested_rhat.hpp"
#include "drover/infer/enumerate.hpp"
#include "drover/infer/junction_tree.hpp"
#include "drover/methods/chains.hpp"
#include "drover/methods/method.hpp"
#include "drover/methods/mixed_chains.hpp"
#include "drover/methods/race_starts.hpp"
#include "drover/methods/standing.hpp"
#include "drover/model/builders.hpp"
#include "drover/run/chain_run.hpp"
#include "drover/task/inference.hpp"
#include "tests/support/random_models.hpp"

namespace drover {
namespace {

InferenceOptions racing() {
  InferenceOptions options;
  options.method = "race";
  return options;
}

struct Agreement {
  std::size_t entries = 0, within_two = 0;
  double largest = 0;  ///< distance in standard errors
};

/// Distances of a converged answer from the truth, in its own standard errors.
Agreement agreement(const Marginals& answer, const Graph& graph,
                    const std::vector<std::vector<double>>& truth) {
  Agreement result;
  for (std::size_t f = 0; f < truth.size(); ++f)
    for (std::size_t k = truth[f].size() == 2 ? 1 : 0; k < truth[f].size(); ++k) {
      const VariableId v = graph.model_variable[f];
      const double off = std::abs(answer.probabilities[v][k] - truth[f][k]);
      // An entry that never moved has no error; it must be right up to single precision.
      const double error = std::isfinite(answer.mcse[v][k]) ? answer.mcse[v][k] : 1e-5;
      result.largest = std::max(result.largest, off / error);
      result.within_two += off <= 2 * error ? 1 : 0;
      ++result.entries;
    }
  return result;
}

// What samplers are compared by is what their store holds: means, and how far groups of starts are apart.
TEST(Race, StandingHasTheMeansOfTheStore) {
  constexpr std::uint32_t entries = 5, chains = 12, lanes = 16, share_a_start = 4;
  SegmentStore store(entries, chains, 1 << 20);
  ASSERT_EQ(store.chains_per_group(), 1U);
  RandomSequence random(5, Stream::generate);
  std::vector<LaneSums> sums(1, LaneSums(entries * lanes, 0.0F));
  std::vector<double> of_chain(entries * chains, 0.0);
  for (int segment = 0; segment < 4; ++segment) {
    const std::uint64_t draws = store.segment_length();
    for (std::uint32_t e = 0; e < entries; ++e)
      for (std::uint32_t c = 0; c < chains; ++c) {
        const double ones = random.below(static_cast<std::uint32_t>(draws) + 1);
        sums[0][e * lanes + c] = static_cast<float>(ones);
        of_chain[e * chains + c] += ones / static_cast<double>(draws) / 4;
      }
    store.close_segment(sums, lanes, draws);
  }
  const Standing standing = look_at(store, share_a_start);
  ASSERT_EQ(standing.means.size(), entries);
  double nested = 0;
  for (std::uint32_t e = 0; e < entries; ++e) {
    const std::span<const double> means(of_chain.data() + e * chains, chains);
    const double mean = std::accumulate(means.begin(), means.end(), 0.0) / chains;
    EXPECT_NEAR(standing.means[e], mean, 1e-6);  // single precision
    nested = std::max(nested, nested_figures(means, share_a_start).rhat);
  }
  EXPECT_NEAR(standing.nested_rhat_max, nested, 1e-5);
}

// 200 models: zeros, more than two states, three variables to a factor, evidence. Errors are normal or
// Student's with 31 degrees of freedom or more; of about 1700 entries in all none is 7 of them away but once
// in 10^3 tests, and well over 85 % are within two.
TEST(Race, AgreesWithEnumeration) {
  Agreement all;
  int converged = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    testing::RandomModelOptions shape;
    shape.variables = 6 + seed % 4;
    shape.max_states = seed % 2 == 0 ? 2 : 3;
    shape.max_arity = seed % 3 == 0 ? 3 : 2;
    shape.scale = 0.8;
    shape.zero_share = seed % 5 == 0 ? 0.2 : 0;
    const Model model = testing::random_model(seed, shape);
    InferenceOptions options = racing();
    options.seed = seed;
    if (seed % 4 == 1) options.evidence.add(2, enumerate(compile(model)).best[2]);
    const Graph graph = compile(model, options.evidence);
    const Marginals answer = marginals(model, options);
    const Agreement one = agreement(answer, graph, enumerate(graph).marginals);
    EXPECT_FALSE(answer.race.empty());
    converged += answer.converged ? 1 : 0;
    if (!answer.converged) continue;
    EXPECT_LT(one.largest, 7) << "seed " << seed << " by " << answer.provenance.method;
    // 400 effective samples: .5 / 20, with what 400 of them may not have met.
    EXPECT_LT(answer.diagnostics.mcse_max, std::hypot(0.025, 0.0025) + 1e-6);
    all.entries += one.entries;
    all.within_two += one.within_two;
  }
  EXPECT_GE(converged, 190);
  EXPECT_GT(static_cast<double>(all.within_two), 0.85 * static_cast<double>(all.entries));
}

// Chains that two samplers move in turns have the model's distribution, whatever the two are.
TEST(Race, TwoSamplersInTurnsAgreeWithEnumeration) {
  const char* const pairs[][2] = {{"gibbs", "blocked-gibbs"},
                                  {"gibbs", "generalized-swendsen-wang"},
                                  {"primal-dual", "gwg"},
                                  {"tree-primal-dual", "gibbs"},
                                  {"gibbs", "tempering"}};
  std::size_t models = 0, entries = 0, within_two = 0;
  for (std::uint64_t seed = 0; seed < 250; ++seed) {
    testing::RandomModelOptions shape;
    shape.variables = 6;
    shape.max_states = seed % 2 == 0 ? 2 : 3;
    shape.max_arity = 2;
    shape.scale = 0.8;
    const Model model = testing::random_model(seed, shape);
    InferenceOptions options = racing();
    if (seed % 4 == 1) options.evidence.add(2, 0);
    const Problem problem(model, options.evidence, options);
    const char* const first = pairs[seed % std::size(pairs)][0];
    const char* const second = pairs[seed % std::size(pairs)][1];
    if (!why_not(method_named(first), problem, Task::marginals).empty() ||
        !why_not(method_named(second), problem, Task::marginals).empty())
      continue;
    ++models;
    ChainOptions chains;
    chains.chains = 64;
    chains.burn_in = 100;
    chains.seed = seed;
    const auto truth = enumerate(problem.graph()).marginals;
    enter_mixture(method_named(first), method_named(second), problem, chains, no_control(),
                  [&](LiveChains& both) {
                    both.run_to(150, no_control());
                    both.run_to(700, no_control());
                    const MarginalsResult result = both.result();
                    for (std::size_t v = 0; v < truth.size(); ++v)
                      for (std::size_t k = 0; k < truth[v].size(); ++k) {
                        const double off = std::abs(result.marginals[v][k] - truth[v][k]);
                        const double error = std::isfinite(result.mcse[v][k]) ? result.mcse[v][k] : 1e-5;
                        EXPECT_LT(off, 7 * error) << first << " and " << second << ", seed " << seed;
                        within_two += off <= 2 * error ? 1 : 0;
                        ++entries;
                      }
                  });
  }
  EXPECT_GE(models, 200U);
  EXPECT_GT(static_cast<double>(within_two), 0.85 * static_cast<double>(entries));
}

// A ferromagnet, whose clusters must turn as a whole, beside a frustrated graph, where clusters are of no use:
// each sampler is slow somewhere, and two in turns are not.
TEST(Race, MixesTwoSamplersThatAreSlowInDifferentPlaces) {
  Model model = ising(grid_edges(16, 16, false), Draw::constant(0.6), Draw::uniform(-0.1, 0.1), 3);
  const Model right = ising(regular_edges(40, 3, 15), Draw::normal(0, 1), Draw::normal(0, 0.3), 15);
  const VariableId n = model.variable_count();
  model.cardinalities.resize(n + right.variable_count(), 2);
  for (std::size_t p = 0; p < right.spin_pairs.size(); ++p)
    model.spin_pairs.add(n + right.spin_pairs.first[p], n + right.spin_pairs.second[p],
                         right.spin_pairs.couplings[p]);
  for (std::size_t f = 0; f < right.unaries.size(); ++f)
    model.unaries.add(n + right.unaries.variables[f], right.unaries.values(f));
  model.spin_pairs.add(n - 1, n, 0.1);
  const Graph graph = compile(model);
  const Marginals answer = marginals(model, racing());
  EXPECT_TRUE(answer.converged);
  EXPECT_NE(answer.provenance.method.find(" and "), std::string::npos) << answer.provenance.method;
  const auto chosen = std::ranges::find(answer.race, true, &RaceEntry::chosen);
  ASSERT_NE(chosen, answer.race.end());
  EXPECT_EQ(chosen->method, answer.provenance.method);
  EXPECT_LT(agreement(answer, graph, JunctionTree(graph).marginals()).largest, 7);
}

TEST(Standing, WhatTwoSamplersPromiseInTurns) {
  Standing a, b;
  for (int k = 0; k < 100; ++k) {
    a.rates.push_back(k < 50 ? 6.0F : 0.0F);
    b.rates.push_back(k < 50 ? 0.0F : 8.0F);
  }
  a.means.resize(100);
  b.means.resize(100);
  EXPECT_EQ(slowest(a.rates), 0);
  // Half of the work each: 6 / 3 / 2 in the first half, 8 / 2 / 2 in the second.
  EXPECT_EQ(rate_in_turns(a, 3, b, 2), 1);
  // What one never moved counts as nothing, what neither moved not at all.
  a.rates.assign(100, std::nanf(""));
  EXPECT_EQ(rate_in_turns(a, 3, b, 2), 0);
  b.rates.assign(100, std::nanf(""));
  EXPECT_TRUE(std::isnan(rate_in_turns(a, 3, b, 2)));
}

TEST(Standing, RatesAreByRhatWhereGrowthSaysLittle) {
  Standing good, noisy, near;
  good.diagnostics.rhat_max = 1.02;
  good.ess_per_sweep = 0.3;
  EXPECT_EQ(sure_rate(good, 64, 1000), 0.3);
  // Chains that hardly agree, and by chance seem to gain, are behind those that nearly agree and by chance do not.
  noisy.diagnostics.rhat_max = 11;
  noisy.ess_per_sweep = 5;
  near.diagnostics.rhat_max = 1.2;
  near.ess_per_sweep = 0;
  EXPECT_DOUBLE_EQ(sure_rate(noisy, 120, 1000), 0.001 * 1.25 / 120);  // 120 / (11^2 - 1) draws in 1000 sweeps
  EXPECT_DOUBLE_EQ(sure_rate(near, 16, 1000), 16 / 0.44 / 1000);
  near.ess_per_sweep = not_known;
  EXPECT_GT(sure_rate(near, 16, 1000), sure_rate(noisy, 120, 1000));
  EXPECT_EQ(sure_rate(Standing(), 16, 0), 0);  // nothing ran
  good.diagnostics.rhat_max = 1;
  good.ess_per_sweep = std::numeric_limits<double>::infinity();  // exact averages
  EXPECT_EQ(sure_rate(good, 64, 1000), std::numeric_limits<double>::infinity());
}

TEST(Standing, LooksAreComparedWhereBothWere) {
  Standing all, few;
  few.step = 3;
  all.means = {0.5F, 9, 9, 0.5F, 9, 9, 0.5F, 9};
  all.errors.assign(8, 0.3F);
  few.means = {0.5F, 0.75F, 0.5F};
  few.errors.assign(3, 0.4F);
  EXPECT_NEAR(largest_difference(all, few), 0.5, 1e-6);
  EXPECT_NEAR(largest_difference(few, all), 0.5, 1e-6);
}

// Two modes that single-site moves hardly ever join: cluster moves must win, and the weights be right.
TEST(Race, FindsTheSamplerThatCrosses) {
  const Model model = ising(grid_edges(8, 8, false), Draw::constant(0.8), Draw::uniform(-0.05, 0.15), 1);
  const Graph graph = compile(model);
  const Marginals answer = marginals(model, racing());
  EXPECT_TRUE(answer.converged);
  EXPECT_NE(answer.provenance.method, "gibbs");
  EXPECT_LT(agreement(answer, graph, JunctionTree(graph).marginals()).largest, 7);
}

// Copies: no single variable can change by itself, so single-site samplers are refused and blocks cross.
TEST(Race, CrossesHardZerosByBlocks) {
  Model model;
  model.cardinalities.assign(12, 3);
  std::vector<double> equal(9, log_zero);
  for (std::size_t k = 0; k < 3; ++k) equal[4 * k] = 0.1 * static_cast<double>(k);
  const std::vector<double> soft = {0.5, -0.2, 0, 0.1, 0.3, 0, -0.4, 0.2, 0.6};
  for (VariableId v = 0; v < 12; v += 2) {
    model.tables.add(std::vector<VariableId>{v, v + 1}, equal);
    if (v > 0) model.tables.add(std::vector<VariableId>{v - 1, v}, soft);
  }
  const Graph graph = compile(model);
  const Marginals answer = marginals(model, racing());
  EXPECT_TRUE(answer.converged);
  EXPECT_EQ(answer.provenance.method, "blocked-gibbs");
  EXPECT_LT(agreement(answer, graph, JunctionTree(graph).marginals()).largest, 7);
}

// Where all pairs have ten states, tables of 512 entries hold no more than trees do: the second of two samplers that are the
// same does not run.
TEST(Race, TriesTheSameBlocksOnce) {
  const Model model = random_tables(14, 10, 28, 2, Draw::normal(0, 2), 0, 4);
  const Marginals answer = marginals(model, racing());
  const auto at = std::ranges::find(answer.race, "blocked-gibbs (tables of 512)", &RaceEntry::method);
  ASSERT_NE(at, answer.race.end());
  EXPECT_EQ(at->note, "draws the same blocks as blocked-gibbs");
  EXPECT_EQ(at->work, 0);
}

// Cluster moves seem fast in a short look at this glass and come to a standstill; the one that waited takes over.
TEST(Race, ComesBackToTheOneThatWaitedWhenTheWinnerStandsStill) {
  const Model model = ising(grid_edges(12, 12, false), Draw::normal(0, 2), Draw::uniform(-0.2, 0.2), 105);
  const Marginals answer = marginals(model, racing());
  EXPECT_TRUE(answer.converged);
  EXPECT_EQ(answer.provenance.method, "tempering");
  const bool came_back = std::ranges::any_of(
      answer.race, [](const RaceEntry& entry) { return entry.note.starts_with("left at last"); });
  EXPECT_TRUE(came_back);
  EXPECT_LT(agreement(answer, compile(model), JunctionTree(compile(model)).marginals()).largest, 7);
}

// The one that waited may be faster and yet have just begun: a run that is ended when it has taken over answers from the one
// that came further.
TEST(Race, ARunThatIsEndedAnswersFromTheOneThatCameFurthest) {
  const Model model = ising(grid_edges(12, 12, false), Draw::normal(0, 2), Draw::constant(0.1), 3);
  RunControl control;
  std::string winner, next;  // who samples after the heats, and who takes over
  control.watch([&](const Progress& progress) {
    if (!progress.phase.starts_with("sampling: ")) return;
    if (winner.empty()) winner = progress.phase;
    if (progress.phase == winner) return;
    next = progress.phase;
    control.request_stop();
  });
  const Marginals answer = marginals(model, racing(), control);
  ASSERT_NE(next, "");
  EXPECT_FALSE(answer.converged);
  EXPECT_EQ("sampling: " + answer.provenance.method, winner);
  const auto other = std::ranges::find_if(
      answer.race, [](const RaceEntry& entry) { return entry.note.starts_with("left at the end"); });
  ASSERT_NE(other, answer.race.end());
  EXPECT_GT(other->rhat_max, std::ranges::find_if(answer.race, &RaceEntry::chosen)->rhat_max);
}

// Where sweeps are asked for nobody escalates: whoever fits runs from the start.
TEST(Race, WithSweepsGivenDearPilotsRunToo) {
  const Model model = ising(grid_edges(40, 40, false), Draw::normal(0, 1), Draw::normal(0, 0.2), 1);
  InferenceOptions options = racing();
  options.chains.sweeps = 40;
  const Marginals answer = marginals(model, options);
  const auto one = std::ranges::find(answer.race, "tree-primal-dual", &RaceEntry::method);
  ASSERT_NE(one, answer.race.end());
  EXPECT_GT(one->work, 0);
}

TEST(Race, SameBitsWhateverTheThreads) {
  const Model model = ising(grid_edges(7, 7, true), Draw::normal(0, 0.6), Draw::normal(0, 0.3), 2);
  const auto run = [&](std::size_t threads) {
    tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    return marginals(model, racing());
  };
  const Marginals one = run(1), three = run(3);
  EXPECT_EQ(one.probabilities.values(), three.probabilities.values());
  EXPECT_EQ(one.provenance.method, three.provenance.method);
  ASSERT_EQ(one.race.size(), three.race.size());
  for (std::size_t k = 0; k < one.race.size(); ++k) EXPECT_EQ(one.race[k].work, three.race[k].work);
}

TEST(Race, TellsWhoRan) {
  const Model model = ising(grid_edges(5, 5, false), Draw::normal(0, 0.5), Draw::normal(0, 0.3), 3);
  const Marginals answer = marginals(model, racing());
  const auto json = nlohmann::json::parse(to_json(answer).line());
  int chosen = 0;
  ASSERT_GE(json["race"].size(), 4U);
  for (const auto& entry : json["race"]) {
    EXPECT_TRUE(entry["method"].is_string());
    EXPECT_TRUE(entry["work"].is_number());
    EXPECT_TRUE(entry.contains("ess_per_work"));
    EXPECT_TRUE(entry.contains("rhat_max"));
    if (!entry["chosen"].get<bool>()) continue;
    ++chosen;
    EXPECT_EQ(entry["method"], json["method"]);
    EXPECT_GT(entry["work"].get<double>(), 0);
  }
  EXPECT_EQ(chosen, 1);
  EXPECT_FALSE(json["chosen_because"].get<std::string>().empty());
}

// Blocks of a few spins do not move where couplings are this strong, and those of some more hardly: the pilots of ever
// larger ones, the dearest of all, are left out while tempering moves.
TEST(Race, TriesNoLargerBlocksWhereThoseThatRanAreFarBehind) {
  const Model model = ising(grid_edges(8, 8, false), Draw::normal(0, 6), Draw::normal(0, 0.3), 3);
  const Marginals answer = marginals(model, racing());
  EXPECT_TRUE(answer.converged);
  EXPECT_EQ(answer.provenance.method, "tempering");
  bool blocks_ran = false;
  for (const RaceEntry& entry : answer.race) {
    blocks_ran |= entry.method == "blocked-gibbs" && entry.work > 0;
    EXPECT_EQ(entry.method.find("tables of"), std::string::npos) << entry.method;
  }
  EXPECT_TRUE(blocks_ran);
}

// However short the time there is an answer, and it does not claim what it cannot know.
TEST(Race, AnswersWhenTheTimeIsUpBeforeItBegins) {
  const Model model = ising(grid_edges(60, 60, false), Draw::normal(0, 1), Draw::constant(0), 4);
  RunControl control;
  control.limit_time(1e-9);
  const Marginals answer = marginals(model, racing(), control);
  EXPECT_FALSE(answer.converged);
  EXPECT_GT(answer.sweeps, 0U);
  for (double p : answer.probabilities.values()) EXPECT_TRUE(p >= 0 && p <= 1);
}

// The usual chains of a large model take longer to lay out than the time allows: a few long ones have an answer, and no
// time goes into samplers whose pilots do not fit.
TEST(Race, GoesStraightOnWithFewChainsWhereALargeModelLeavesLittleTime) {
  const Model model = ising(grid_edges(600, 500, false), Draw::normal(0, 1), Draw::constant(0), 4);
  RunControl control;
  control.limit_time(1);
  const Marginals answer = marginals(model, racing(), control);
  EXPECT_EQ(answer.provenance.method, "gibbs");
  EXPECT_EQ(answer.chains, 8U);
  EXPECT_GT(answer.sweeps, 0U);
  EXPECT_EQ(answer.race.size(), 1U);
  EXPECT_NE(answer.provenance.because.find("too much of the time"), std::string::npos)
      << answer.provenance.because;
  // What is asked for stands.
  InferenceOptions options = racing();
  options.chains.count = 4;
  RunControl again;
  again.limit_time(2);
  EXPECT_EQ(marginals(model, options, again).chains, 4U);
}

// The usual 128 chains of 320,000 entries take 160 MB and, at a tenth of a millisecond a sweep and chain, a third of a
// second for some sweeps: in half a second there are few, in minutes and without a limit there are all.
TEST(Chains, AreFewWhereTheTimeLetsNoMoreBeSwept) {
  const Graph graph =
      compile(potts(grid_edges(200, 200, false), 8, Draw::constant(0.5), Draw::constant(0), 1));
  const Problem problem(graph, {});
  RunControl moment, minutes;
  moment.limit_time(0.5);
  minutes.limit_time(300);
  EXPECT_EQ(chains_in_time(problem, "gibbs", 128, moment), 8U);
  EXPECT_EQ(chains_in_time(problem, "gibbs", 128, minutes), 128U);
  EXPECT_EQ(chains_in_time(problem, "gibbs", 128, no_control()), 128U);
  EXPECT_EQ(chains_in_time(problem, "gibbs", 4, moment), 4U);
  InferenceOptions kept;
  kept.checkpoint.file = "kept.drc";
  EXPECT_EQ(chains_in_time(Problem(graph, kept), "gibbs", 128, moment), 128U);
}

// The number of sweeps and chains that is asked for is what the winner runs.
TEST(Race, HeedsSweepsAndPairs) {
  const Model model = ising(grid_edges(4, 4, false), Draw::normal(0, 0.5), Draw::normal(0, 0.3), 5);
  InferenceOptions options = racing();
  options.chains.sweeps = 900;
  options.chains.burn_in = 100;
  options.chains.count = 64;
  const Marginals answer = marginals(model, options);
  EXPECT_EQ(answer.sweeps, 900U);
  EXPECT_EQ(answer.burn_in, 100U);
  EXPECT_EQ(answer.chains, 64U);
  InferenceOptions with_pairs = racing();
  with_pairs.pairs = true;
  const Marginals pairs = marginals(model, with_pairs);
  ASSERT_EQ(pairs.pairs.size(), 24U);
  // 256 draws of 16 chains or more, nearly independent on so small a model: a standard error of 0.01 or less.
  const Graph graph = compile(model);
  const auto truth = JunctionTree(graph).pair_marginals(pairs.pairs);
  for (std::size_t p = 0; p < truth.size(); ++p)
    for (std::size_t e = 0; e < 4; ++e) EXPECT_NEAR(pairs.pair_probabilities[p][e], truth[p][e], 0.06);
}

// Groups of chains begin far apart: likely states first, all variables at their first and at their last state,
// and others at random; every start is possible.
TEST(Race, StartsAreFarApart) {
  for (const bool zeros : {false, true}) {
    const Model model = random_tables(20, 3, 20, 2, Draw::normal(0, 1), zeros ? 0.1 : 0, 8);
    const Problem problem(model, {}, racing());
    const Graph& graph = problem.graph();
    const auto starts = race_starts(problem, 8);
    ASSERT_EQ(starts.size(), 8U);
    for (const auto& x : starts) EXPECT_GT(log_score(graph, x), log_zero);
    double most = log_zero;
    for (std::size_t k = 1; k < 8; ++k) most = std::max(most, log_score(graph, starts[k]));
    EXPECT_GE(log_score(graph, starts[0]), most);
    EXPECT_NE(starts[6], starts[7]);
    if (zeros) continue;
    EXPECT_EQ(starts[1], std::vector<Value>(graph.size(), 0));
    EXPECT_EQ(starts[2], std::vector<Value>(graph.size(), 2));
  }
}

// An easy model is answered by the first pilot: those that were not tried say so and did no work.
TEST(Race, EndsWithTheFirstPilotOfAnEasyModel) {
  const Model model = ising(grid_edges(6, 6, false), Draw::constant(0.1), Draw::uniform(-0.5, 0.5), 6);
  const Marginals answer = marginals(model, racing());
  EXPECT_TRUE(answer.converged);
  EXPECT_EQ(answer.provenance.method, "gibbs");
  ASSERT_GE(answer.race.size(), 4U);
  for (const RaceEntry& entry : answer.race) {
    if (entry.chosen) continue;
    EXPECT_EQ(entry.work, 0) << entry.method;
    EXPECT_TRUE(entry.note.starts_with("not tried")) << entry.method;
  }
  const Graph graph = compile(model);
  EXPECT_LT(agreement(answer, graph, JunctionTree(graph).marginals()).largest, 7);
}

// What ends a run is what its result says: on easy models, which end at their targets and not by the work that
// is allowed, every result is converged.
TEST(Race, ARunThatEndsAtItsTargetsIsConverged) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    InferenceOptions options = racing();
    options.seed = seed;
    const Marginals answer =
        marginals(ising(grid_edges(5, 5, false), Draw::normal(0, 0.6), Draw::normal(0, 0.3), seed), options);
    EXPECT_TRUE(answer.converged) << "seed " << seed << ", R-hat " << answer.diagnostics.rhat_max;
  }
}

// Parities over many variables: no block of moderate size crosses them all, and the chains, which begin in
// different states, must say that they do not agree.
TEST(Race, ParitiesThatNoBlockCrossesAreNotCalledConverged) {
  Model model;
  const VariableId n = 30;
  model.cardinalities.assign(n, 2);
  RandomSequence random(9, Stream::generate);
  std::vector<double> even(64);
  for (std::uint32_t x = 0; x < 64; ++x) even[x] = std::popcount(x) % 2 == 0 ? 0 : log_zero;
  for (int check = 0; check < 20; ++check) {
    std::vector<VariableId> scope;
    while (scope.size() < 6)
      if (const VariableId v = random.below(n); std::ranges::find(scope, v) == scope.end())
        scope.push_back(v);
    model.tables.add(scope, even);
  }
  for (VariableId v = 0; v < n; ++v) model.unaries.add(v, std::vector<double>{0, 0.5});
  InferenceOptions options = racing();
  options.chains.sweeps = 200;
  const Marginals answer = marginals(model, options);
  EXPECT_FALSE(answer.converged);
  EXPECT_FALSE(answer.provenance.warnings.empty());
}

TEST(Race, IsRefusedWhereItCannotKeepItsPromises) {
  const Model model = ising(grid_edges(4, 4, false), Draw::normal(0, 0.5), Draw::normal(0, 0.3), 5);
  InferenceOptions options = racing();
  options.checkpoint.file = "/nonexistent/checkpoint";
  EXPECT_THROW(marginals(model, options), Error);
}

}  // namespace
}  // namespace drover
