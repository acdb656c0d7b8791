// The four questions through the task layer: every method that fits, against enumeration, on small models.
#include "drover/task/inference.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "drover/compile/graph.hpp"
#include "drover/infer/enumerate.hpp"
#include "drover/methods/method.hpp"
#include "drover/model/builders.hpp"
#include "drover/task/guess.hpp"
#include "drover/task/model_info.hpp"
#include "tests/support/random_models.hpp"

namespace drover {
namespace {

/// Ten models: binary and not, pairwise and not, with zeros and without; some variables observed.
struct Case {
  Model model;
  Evidence evidence;
  Graph graph;
  Enumeration truth;
};

std::vector<Case> ten_models() {
  std::vector<Case> cases;
  for (std::uint64_t k = 0; k < 10; ++k) {
    testing::RandomModelOptions shape;
    shape.variables = 5 + k % 3;
    shape.max_states = k % 2 == 0 ? 2 : 3;
    shape.max_arity = k < 6 ? 2 : 3;
    shape.scale = 0.5;
    shape.zero_share = k == 4 || k == 9 ? 0.15 : 0;
    Case one;
    one.model = testing::random_model(100 + k, shape);
    const std::vector<Value> possible = enumerate(compile(one.model)).best;
    if (k % 2 == 1) one.evidence.add(1, possible[1]);
    one.graph = compile(one.model, one.evidence);
    one.truth = enumerate(one.graph);
    cases.push_back(std::move(one));
  }
  return cases;
}

InferenceOptions asking(const Case& one, std::string_view method) {
  InferenceOptions options;
  options.evidence = one.evidence;
  options.method = method;
  return options;
}

bool fits(const Case& one, const Method& method, Task task) {
  return method.does(task) && why_not(method, Problem(one.graph, asking(one, method.name)), task).empty();
}

/// Methods whose marginals are those of the model itself, up to Monte Carlo error.
bool is_consistent(std::string_view method) {
  for (std::string_view approximate :
       {"bp", "trw", "mean-field", "primal-dual-mean-field", "pmp", "herded-gibbs"})
    if (method == approximate) return false;
  return true;
}

// One chain of Gibbs sampling on some hundred spins is drawn colour by colour, and not as one of 64 lanes: with the right
// marginals.
// Not working out the R-hat of each changes nothing else.
TEST(Marginals, DiagnosesOfEachVariableMayBeLeftOut) {
  const Model model = ising(grid_edges(6, 5, false), Draw::normal(0, 0.5), Draw::normal(0, 0.5), 1);
  InferenceOptions options;
  options.method = "gibbs";
  options.chains.sweeps = 100;
  const Marginals all = marginals(model, options);
  options.every_diagnosis = false;
  const Marginals few = marginals(model, options);
  EXPECT_EQ(all.rhat.size(), 30U);
  EXPECT_EQ(all.ess.size(), 30U);
  EXPECT_TRUE(few.rhat.empty());
  EXPECT_TRUE(few.ess.empty());
  EXPECT_EQ(few.probabilities.values(), all.probabilities.values());
  EXPECT_EQ(few.mcse.values(), all.mcse.values());
  EXPECT_EQ(few.diagnostics.rhat_max, all.diagnostics.rhat_max);
  EXPECT_EQ(few.diagnostics.rhat_max, *std::ranges::max_element(all.rhat));
  EXPECT_EQ(few.diagnostics.ess_min, *std::ranges::min_element(all.ess));
}

TEST(Tasks, OneChainOfAFewHundredSpinsGoesByColours) {
  const Model model = ising(grid_edges(7, 80, false), Draw::uniform(-0.4, 0.4), Draw::normal(0, 0.5), 1);
  InferenceOptions options;
  options.method = "exact";
  const Marginals truth = marginals(model, options);
  options.method = "gibbs";
  options.chains.count = 1;
  options.chains.sweeps = 40'000;
  const Marginals answer = marginals(model, options);
  const Detail* const kernel = answer.provenance.details.find("kernel");
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(std::get<std::string>(kernel->value()), "one chain by colour classes");
  for (std::size_t v = 0; v < model.variable_count(); ++v)
    EXPECT_NEAR(answer.probabilities[v][1], truth.probabilities[v][1], 7 * answer.mcse[v][1]) << v;
}

// The samples are independent: the error of a share among them, one more of each kind counted.
TEST(Tasks, PerturbedSamplesHaveTheErrorOfIndependentOnes) {
  for (const Case& one : ten_models()) {
    if (!fits(one, method_named("pmp"), Task::marginals)) continue;
    const Marginals answer = marginals(one.model, asking(one, "pmp"));
    for (VariableId v = 0; v < one.model.variable_count(); ++v) {
      if (std::ranges::find(one.evidence.variables, v) != one.evidence.variables.end()) continue;
      const double total = answer.ess[v];
      for (std::size_t k = 0; k < one.model.cardinalities[v]; ++k) {
        const double q = (answer.probabilities[v][k] * total + 1) / (total + 2);
        EXPECT_NEAR(answer.mcse[v][k], std::sqrt(q * (1 - q) / total), 1e-12);
      }
    }
  }
}

// Eight variables are annealed to their best state by every batch of reads, and all are counted.
TEST(Tasks, BatchesThatFoundTheBestStateAreCounted) {
  const Model model = ising(grid_edges(2, 4, false), Draw::uniform(-2, 2), Draw::uniform(-1, 1), 3);
  InferenceOptions options;
  options.method = "annealed-gibbs";
  const BestState answer = best_state(model, options);
  options.method = "exact";
  EXPECT_NEAR(answer.log_score, best_state(model, options).log_score, 1e-9);
  EXPECT_GT(answer.log_score, 1);
  const auto count = [&](const char* name) {
    return std::get<std::int64_t>(answer.provenance.details.find(name)->value());
  };
  EXPECT_GE(count("batches_at_best"), 1);
  EXPECT_EQ(count("batches_at_best"), count("batches"));
}

// Further starts of mean field are other starts: on frustrated models some of sixteen find a better bound
// than the first two, none a worse.
TEST(Tasks, MeanFieldGainsByFurtherStarts) {
  int better = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Model model = ising(complete_edges(14), Draw::normal(0, 0.8), Draw::constant(0), seed);
    InferenceOptions options;
    options.method = "mean-field";
    options.chains.count = 2;
    const double two = log_z(model, options).log_z;
    options.chains.count = 16;
    const double sixteen = log_z(model, options).log_z;
    EXPECT_GE(sixteen, two - 1e-9);
    better += sixteen > two + 1e-3;
  }
  // Were the random starts alike, two would do as well as sixteen everywhere.
  EXPECT_GE(better, 1);
}

TEST(Tasks, MarginalsOfEveryMethodAgreeWithEnumeration) {
  const std::vector<Case> cases = ten_models();
  for (const Method& method : all_methods())
    for (std::size_t k = 0; k < cases.size(); ++k) {
      const Case& one = cases[k];
      if (!fits(one, method, Task::marginals)) continue;
      const Marginals answer = marginals(one.model, asking(one, method.name));
      ASSERT_EQ(answer.probabilities.size(), one.model.variable_count());
      const std::string_view ran = method.name == "race" ? answer.provenance.method : method.name;
      EXPECT_EQ(answer.provenance.method, ran);
      for (std::size_t v = 0; v < one.model.variable_count(); ++v) {
        const std::span<const double> p = answer.probabilities[v];
        EXPECT_NEAR(std::accumulate(p.begin(), p.end(), 0.0), 1, 1e-6) << method.name;
        const VariableId free = one.graph.free_variable[v];
        for (std::size_t state = 0; state < p.size(); ++state) {
          const double exact = free == no_variable ? (one.graph.clamped_value[v] == state ? 1.0 : 0.0)
                                                   : one.truth.marginals[free][state];
          // Five standard errors, and rounding of single precision; approximations only stay in range.
          const double error = answer.mcse[v][state];
          const double bound =
              is_consistent(method.name) ? (std::isnan(error) ? 1e-6 : 5 * error + 1e-6) : 1.0;
          EXPECT_LE(std::abs(p[state] - exact), bound) << method.name << " model " << k << " variable " << v;
        }
      }
    }
}

// What the check says is what one counts oneself.
TEST(Tasks, TheCheckComparesWithTheExactMarginals) {
  const Case one = ten_models()[0];
  InferenceOptions options = asking(one, "gibbs");
  options.check = true;
  options.chains.sweeps = 40;
  const Marginals answer = marginals(one.model, options);
  ASSERT_EQ(one.graph.size(), one.model.variable_count());
  double worst = 0, within = 0, entries = 0;
  for (VariableId v = 0; v < one.graph.size(); ++v)
    for (Value k = 0; k < one.graph.cardinalities[v]; ++k) {
      const double error = std::abs(answer.probabilities[v][k] - one.truth.marginals[v][k]);
      worst = std::max(worst, error);
      within += error <= 3 * answer.mcse[v][k] ? 1 : 0;
      ++entries;
    }
  const nlohmann::json check = nlohmann::json::parse(to_json(answer).text())["details"]["check"];
  EXPECT_NEAR(check["max_abs_error"].get<double>(), worst, 1e-9);
  EXPECT_NEAR(check["share_within_three_mcse"].get<double>(), within / entries, 1e-9);
}

TEST(Tasks, BestStatesHaveTheirScoreAndNoneIsAboveTheBest) {
  const std::vector<Case> cases = ten_models();
  for (const Method& method : all_methods())
    for (const Case& one : cases) {
      if (!fits(one, method, Task::map)) continue;
      const BestState answer = best_state(one.model, asking(one, method.name));
      ASSERT_EQ(answer.assignment.size(), one.model.variable_count());
      const double best = one.truth.best_log_score;
      EXPECT_NEAR(answer.log_score, log_score(one.model, answer.assignment), 1e-9) << method.name;
      EXPECT_LE(answer.log_score, best + 1e-9) << method.name;
      if (answer.optimal) {
        EXPECT_NEAR(answer.log_score, best, 1e-9) << method.name;
      }
      if (std::isfinite(answer.upper)) {
        EXPECT_GE(answer.upper, best - 1e-6) << method.name;
      }
      for (std::size_t e = 0; e < one.evidence.size(); ++e)
        EXPECT_EQ(answer.assignment[one.evidence.variables[e]], one.evidence.values[e]);
    }
}

TEST(Tasks, BoundsOfLogZAreOnTheRightSide) {
  const std::vector<Case> cases = ten_models();
  for (const Method& method : all_methods())
    for (const Case& one : cases) {
      if (!fits(one, method, Task::logz)) continue;
      const LogZ answer = log_z(one.model, asking(one, method.name));
      const double truth = one.truth.log_z, slack = 1e-6 + (std::isfinite(answer.mcse) ? 5 * answer.mcse : 0);
      if (std::isfinite(answer.lower)) {
        EXPECT_LE(answer.lower, truth + 1e-6) << method.name;
      }
      if (std::isfinite(answer.upper)) {
        EXPECT_GE(answer.upper, truth - 1e-6) << method.name;
      }
      if (answer.exact) {
        EXPECT_NEAR(answer.log_z, truth, 1e-6) << method.name;
      }
      if (answer.bound == Bound::lower) {
        EXPECT_LE(answer.log_z, truth + slack) << method.name;
      }
      if (answer.bound == Bound::upper) {
        EXPECT_GE(answer.log_z, truth - slack) << method.name;
      }
      if (method.name == "ais") {
        EXPECT_NEAR(answer.log_z, truth, slack);
      }
    }
}

TEST(Tasks, SamplesOfEveryMethodAreOfTheWholeModel) {
  const std::vector<Case> cases = ten_models();
  for (const Method& method : all_methods())
    for (const Case& one : cases) {
      if (!fits(one, method, Task::sample)) continue;
      InferenceOptions options = asking(one, method.name);
      options.samples = 500;
      const Samples answer = sample(one.model, options);
      ASSERT_EQ(answer.values.size(), answer.draws * one.model.variable_count()) << method.name;
      EXPECT_GE(answer.draws, 500U);
      // A draw that needs updates at all needs one or more.
      EXPECT_TRUE(answer.updates == 0 || answer.updates >= static_cast<double>(answer.draws)) << method.name;
      for (std::uint64_t t = 0; t < answer.draws / answer.chains; ++t) {
        const std::span<const Value> x = answer.draw(t, 0);
        const double score = log_score(one.model, x);
        ASSERT_GT(score, log_zero) << method.name;
        EXPECT_NEAR(score, answer.log_scores[t * answer.chains], 1e-4) << method.name;
        for (std::size_t e = 0; e < one.evidence.size(); ++e)
          EXPECT_EQ(x[one.evidence.variables[e]], one.evidence.values[e]);
      }
    }
}

TEST(Tasks, TheOptionsThatRanAreStated) {
  const Model model = grid_ising(4, 4, false, 0.3, 0.1);
  const Marginals answer = marginals(model, {.method = "gibbs", .seed = 7});
  const auto json = nlohmann::json::parse(to_json(answer).text());
  EXPECT_EQ(json["command"], "marginals");
  EXPECT_EQ(json["seed"], 7);
  EXPECT_EQ(json["settings"]["chains"], answer.chains);
  EXPECT_EQ(json["settings"]["sweeps"], answer.sweeps);
  EXPECT_EQ(json["settings"]["burn-in"], answer.burn_in);
  EXPECT_EQ(json["chains"], answer.chains);
  // What the method does not heed is no part of the run.
  EXPECT_EQ(json["settings"]["scan"], "fixed");
  for (const char* other : {"bins", "bond-share", "redraw", "tolerance", "iterations"})
    EXPECT_FALSE(json["settings"].contains(other)) << other;
  // With what it states the same run is made again.
  InferenceOptions again{.method = "gibbs", .seed = 7};
  again.chains.count = json["settings"]["chains"].get<std::uint32_t>();
  again.chains.sweeps = json["settings"]["sweeps"].get<std::uint64_t>();
  again.chains.burn_in = json["settings"]["burn-in"].get<std::uint64_t>();
  EXPECT_EQ(marginals(model, again).probabilities.values(), answer.probabilities.values());
}

TEST(Tasks, ObservationsByNameAndOptionsThatDoNotFit) {
  Model model = grid_ising(3, 3, false, 0.5, 0);
  for (int v = 0; v < 9; ++v) model.variable_names.push_back("site" + std::to_string(v));
  const Marginals answer = marginals(model, {.observe = {{"site4", "1"}}});
  EXPECT_EQ(answer.of("site4")[1], 1);
  EXPECT_GT(answer.of("site3")[1], 0.5);
  ASSERT_EQ(answer.fixed.size(), 1U);
  EXPECT_THROW(answer.of("site9"), Error);
  try {
    marginals(model, {.method = "gibs"});
    ADD_FAILURE();
  } catch (const OptionError& error) {
    EXPECT_EQ(error.name(), "method");
    EXPECT_EQ(error.value(), "gibs");
    EXPECT_NE(error.expected().find("gibbs"), std::string::npos);
    EXPECT_EQ(std::string(error.what()).find("--"), std::string::npos);
  }
}

TEST(Tasks, ADeadlineNeedsNoOtherClock) {
  const Model model = grid_ising(40, 40, false, 0.9, 0);  // two modes: no chain ever agrees with all others
  RunControl control;
  control.limit_time(3);
  const Marginals answer = marginals(model, {.method = "gibbs"}, control);
  EXPECT_TRUE(control.out_of_time());
  EXPECT_GT(answer.sweeps, 0U);
  RunControl stopped;
  stopped.request_stop();
  try {
    marginals(model, {.method = "gibbs"}, stopped);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::interrupted);
  }
}

// However short the time, and however large the model: there is an answer, which says what it is.
TEST(Tasks, AutoGuessesWhereTheTimeEndsBeforeThereIsADraw) {
  const Model model = ising(grid_edges(400, 300, false), Draw::normal(0, 0.3), Draw::normal(0, 0.5), 3);
  RunControl control;
  control.limit_time(0);
  const Marginals answer = marginals(model, {}, control);
  EXPECT_EQ(answer.provenance.method, "bp");
  EXPECT_NE(answer.provenance.because.find("the time ended"), std::string::npos) << answer.provenance.because;
  EXPECT_FALSE(answer.converged);
  EXPECT_FALSE(answer.exact);
  EXPECT_EQ(judge(answer).verdict, Verdict::bad);
  ASSERT_FALSE(answer.provenance.warnings.empty());
  EXPECT_NE(answer.provenance.warnings.back().find("a guess"), std::string::npos);
  ASSERT_EQ(answer.probabilities.size(), 120'000U);
  // Where a method was named, or there is a sampler's answer to wait for, nothing is guessed.
  EXPECT_FALSE(guesses_at_deadline({.method = "gibbs"}, 1));
  EXPECT_FALSE(guesses_at_deadline({.pairs = true}, 1));
  EXPECT_FALSE(guesses_at_deadline({}, 2));
}

// Chains that agree end long before the limit, whoever runs them, and not before the usual sweeps are done.
TEST(Tasks, ATimeLimitIsNoDuration) {
  const Model model = grid_ising(6, 6, false, 0.3, 0.1);
  const auto truth = marginals(model, {.method = "exact"});
  for (const char* method : {"gibbs", "blocked-gibbs", "tempering", "primal-dual", "swendsen-wang", "race"}) {
    RunControl control;
    control.limit_time(3600);
    const Marginals answer = marginals(model, {.method = method}, control);
    EXPECT_FALSE(control.out_of_time());
    EXPECT_TRUE(answer.converged) << method;
    for (VariableId v = 0; v < 36; ++v)
      EXPECT_NEAR(answer.probabilities[v][1], truth.probabilities[v][1], 7 * answer.mcse[v][1]) << method;
    if (std::string_view(method) == "race") continue;
    const Marginals without = marginals(model, {.method = method});
    EXPECT_GE(answer.sweeps + answer.burn_in, without.sweeps + without.burn_in) << method;
    EXPECT_LT(answer.sweeps + answer.burn_in, 100 * (without.sweeps + without.burn_in)) << method;
    EXPECT_GE(2 * answer.burn_in, answer.sweeps / 2) << method;
  }
  // The number of sweeps that is asked for is done.
  RunControl control;
  control.limit_time(3600);
  InferenceOptions options{.method = "gibbs"};
  options.chains.sweeps = 12'345;
  EXPECT_EQ(marginals(model, options, control).sweeps, 12'345U);
}

TEST(Tasks, WarningsTakeTheGoodWordBack) {
  EXPECT_EQ(with_warnings({Verdict::good, "Fine."}, {}).verdict, Verdict::good);
  EXPECT_EQ(with_warnings({Verdict::good, "Fine."}, {"but"}).verdict, Verdict::caution);
  EXPECT_EQ(with_warnings({Verdict::bad, "No."}, {"but"}).verdict, Verdict::bad);
}

TEST(Tasks, ApproximationsAreNeverCalledTrustworthy) {
  const Model model = grid_ising(4, 4, false, 0.4, 0.1);
  for (const char* method : {"bp", "trw", "mean-field", "primal-dual-mean-field", "pmp", "herded-gibbs"}) {
    InferenceOptions options;
    options.method = method;
    const Judgement judgement = judge(marginals(model, options));
    EXPECT_NE(judgement.verdict, Verdict::good) << method;
    EXPECT_NE(judgement.text.find("approximates"), std::string::npos) << method << ": " << judgement.text;
  }
}

TEST(Tasks, SweepsOfDualMeanFieldAreThoseOfBothStages) {
  InferenceOptions options;
  options.method = "primal-dual-mean-field";
  options.chains.count = 1;
  const Marginals answer = marginals(grid_ising(4, 4, false, 0.4, 0.1), options);
  const auto count = [&](std::string_view name) {
    const Detail* detail = answer.provenance.details.find(name);
    return detail == nullptr ? 0 : std::get<std::int64_t>(detail->value());
  };
  EXPECT_GT(count("dual_iterations"), 0);
  EXPECT_GT(count("finish_iterations"), 0);
  EXPECT_EQ(static_cast<std::int64_t>(answer.sweeps), count("dual_iterations") + count("finish_iterations"));
}

// Three variables of which each differs from each: elimination alone meets it, beside a part that is searched or not.
TEST(Tasks, ThePortfolioNamesAnImpossibleModel) {
  for (const bool alone : {true, false})
    for (const std::uint32_t best : {1U, 2U}) {
      Model model =
          alone ? Model() : ising(grid_edges(8, 8, false), Draw::normal(0, 1), Draw::normal(0, 1), 1);
      const auto first = static_cast<VariableId>(model.variable_count());
      model.cardinalities.resize(first + 3, 2);
      const double differ[4] = {log_zero, 0, 0, log_zero};
      for (VariableId k = 0; k < 3; ++k) {
        const VariableId pair[2] = {first + k, first + (k + 1) % 3};
        model.tables.add(pair, differ);
      }
      InferenceOptions options;
      options.method = "portfolio";
      options.best = best;
      try {
        best_state(model, options);
        ADD_FAILURE() << alone << ' ' << best;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::bad_data);
        EXPECT_NE(std::string(error.what()).find("impossible"), std::string::npos) << error.what();
      }
    }
}

TEST(Tasks, MoreClimbsFindBetterStates) {
  int better = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Model model = ising(grid_edges(10, 10, false), Draw::normal(0, 1), Draw::constant(0), seed);
    const auto score = [&](std::uint32_t climbs) {
      InferenceOptions options;
      options.method = "icm";
      options.chains.count = climbs;
      return best_state(model, options).log_score;
    };
    EXPECT_GE(score(64), score(2));
    better += score(64) > score(2) ? 1 : 0;
  }
  EXPECT_GT(better, 0);  // they begin in different states
}

TEST(Tasks, BlockedGibbsTellsOfItsBlocks) {
  InferenceOptions options;
  options.method = "blocked-gibbs";
  const Marginals answer =
      marginals(ising(grid_edges(10, 1, false), Draw::constant(0.3), Draw::constant(0.1), 1), options);
  const Detail* largest = answer.provenance.details.find("largest_block");
  ASSERT_NE(largest, nullptr);
  EXPECT_EQ(std::get<std::int64_t>(largest->value()), 10);  // a chain is one block
}

// Exact draws come in blocks of at most 1024.
TEST(Tasks, ExactDrawsAreAsManyAsAskedFor) {
  const Model model = grid_ising(3, 3, false, 0.4, 0.2);
  InferenceOptions options;
  options.method = "exact";
  options.samples = 2500;
  const Samples all = sample(model, options);
  EXPECT_EQ(all.draws, 2500U);
  EXPECT_EQ(all.values.size(), 2500U * 9);
  options.samples = 700;
  const Samples few = sample(model, options);
  EXPECT_EQ(few.draws, 700U);
  EXPECT_TRUE(std::equal(few.values.begin(), few.values.end(), all.values.begin()));
}

// One anneal in ten must carry the weight, and ten at least; else a warning says so. Stronger couplings after few
// sweeps pass through both limits.
TEST(Tasks, AnnealsThatCarryLittleAreSaid) {
  int between = 0;
  for (int strength = 1; strength <= 10; ++strength) {
    InferenceOptions options;
    options.method = "ais";
    options.chains.count = 400;
    options.chains.sweeps = 8;
    const LogZ answer = log_z(grid_ising(6, 6, false, 0.1 * strength, 0.1), options);
    const double effective = nlohmann::json::parse(to_json(answer).text())["details"]["effective_samples"];
    const bool said = std::ranges::any_of(answer.provenance.warnings, [](const std::string& warning) {
      return warning.find("carry the weight") != std::string::npos;
    });
    EXPECT_EQ(said, effective < 40) << effective;
    between += effective > 10 && effective < 40;
  }
  EXPECT_GT(between, 0);
}

TEST(Tasks, TemperingWithoutARoundTripHasNotConvergedWhateverRhatSays) {
  // Two temperatures that are too far apart to exchange anything; the cold chains are all in the one large mode.
  const Model model = grid_ising(8, 8, false, 1, 0.5);
  InferenceOptions options;
  options.method = "tempering";
  options.chains.count = 4;
  options.chains.burn_in = 64;
  options.temperatures.count = 2;
  options.samples = 8000;
  const Samples draws = sample(model, options);
  EXPECT_TRUE(is_converged(draws.diagnostics));
  EXPECT_FALSE(draws.converged);
  EXPECT_EQ(judge(draws).verdict, Verdict::bad);
  EXPECT_EQ(nlohmann::json::parse(to_json(draws).text())["converged"], false);
  options.samples.reset();
  options.chains.sweeps = 2000;
  const Marginals answer = marginals(model, options);
  EXPECT_TRUE(is_converged(answer.diagnostics));
  EXPECT_FALSE(answer.converged);
  EXPECT_EQ(judge(answer).verdict, Verdict::bad);
}

TEST(Tasks, SamplesThatBreakHardConstraintsAreNoResultToRelyOn) {
  Model model;  // neighbours on a ring differ
  model.cardinalities.assign(12, 3);
  std::vector<double> differ(9, 0.0);
  for (std::size_t k = 0; k < 3; ++k) differ[4 * k] = log_zero;
  for (VariableId v = 0; v < 12; ++v) {
    const VariableId scope[2] = {v, (v + 1) % 12};
    model.tables.add(scope, differ);
  }
  InferenceOptions options;
  options.method = "pmp";
  options.messages.iterations = 3;
  const Samples draws = sample(model, options);
  EXPECT_FALSE(draws.converged);
  EXPECT_EQ(judge(draws).verdict, Verdict::bad);
  // Those that do are not among them; others were drawn in their place.
  EXPECT_EQ(draws.draws, 1000U);
  EXPECT_NE(draws.provenance.details.find("rejected"), nullptr);
  EXPECT_EQ(draws.log_scores, std::vector<double>(1000, 0.0));
  const Marginals answer = marginals(model, options);
  EXPECT_FALSE(answer.converged);
  EXPECT_EQ(judge(answer).verdict, Verdict::bad);
  for (VariableId v = 0; v < 12; ++v) {
    double sum = 0;
    for (std::size_t k = 0; k < 3; ++k) sum += answer.probabilities[v][k];
    EXPECT_NEAR(sum, 1, 1e-12);
  }
  // None at all is left of a long ring: exit code 78, and no file of nothing.
  Model ring;
  ring.cardinalities.assign(41, 3);
  for (VariableId v = 0; v < 41; ++v) {
    const VariableId scope[2] = {v, (v + 1) % 41};
    ring.tables.add(scope, differ);
  }
  options.samples = 1;
  options.messages.iterations = 1;
  std::size_t refused = 0;
  for (options.seed = 1; options.seed < 20; ++options.seed) try {
      EXPECT_EQ(sample(ring, options).draws, 1U);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::misfit) << error.what();
      ++refused;
    }
  EXPECT_GT(refused, 0U);  // four samples of forty-one links, each of which breaks one time in three
}

TEST(Tasks, LogZByPmpIsNeverBelowAStateThatWasSeen) {
  // Max-product does not find the maxima of a complete graph of strong repulsion: their mean is far below zero.
  // Eight up and eight down score 3 * 8, and some state with that many or one fewer is always met.
  const Model model = ising(complete_edges(16), Draw::constant(-3), Draw::constant(0), 0);
  const LogZ answer = log_z(model, {.method = "pmp"});
  const double truth = log_z(model, {.method = "exact"}).log_z;
  EXPECT_LE(answer.log_z, truth);
  EXPECT_GE(answer.log_z, 18);
  EXPECT_EQ(answer.bound, Bound::lower);
  EXPECT_EQ(answer.log_z, answer.lower);
  EXPECT_NE(judge(answer).text.find("at least"), std::string::npos) << judge(answer).text;
}

TEST(Tasks, InfoKnowsWhichMethodsFit) {
  const ModelInfo info = model_info(grid_ising(3, 3, false, 0.5, 0));
  EXPECT_EQ(info.variables, 9U);
  EXPECT_EQ(info.spin_pairs, 12U);
  EXPECT_TRUE(info.binary && info.pairwise && info.strictly_positive);
  EXPECT_EQ(info.treewidth_bound, 3U);
  EXPECT_EQ(info.colours, 2U);
  for (const MethodFit& fit : info.methods) EXPECT_TRUE(fit.fits()) << fit.name << ": " << fit.why_not;
}

}  // namespace
}  // namespace drover
