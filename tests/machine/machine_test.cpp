// Learning machines: graphs and models agree, gradients against enumeration and differences, known models are
// found again.
#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <cmath>
#include <numeric>

#include "drover/compile/graph.hpp"
#include "drover/compile/spin_graph.hpp"
#include "drover/core/random.hpp"
#include "drover/infer/enumerate.hpp"
#include "drover/machine/fit.hpp"
#include "drover/machine/machine_sampler.hpp"
#include "drover/machine/rbm_batch.hpp"
#include "drover/machine/rbm_likelihood.hpp"
#include "drover/machine/train.hpp"
#include "tests/support/thread_ranks.hpp"

namespace drover {
namespace {

BinaryMachine random_machine(MachineKind kind, std::uint32_t visible, std::uint32_t hidden,
                             std::uint64_t seed, double scale = 0.7) {
  BinaryMachine machine = kind == MachineKind::rbm ? restricted_machine(visible, hidden)
                                                   : complete_machine(kind, visible, hidden);
  RandomSequence random(seed, Stream::generate);
  for (float& w : machine.weights) w = static_cast<float>(scale * random.normal());
  for (float& b : machine.biases) b = static_cast<float>(scale * random.normal());
  return machine;
}

std::vector<Value> random_rows(std::uint64_t seed, std::size_t rows, std::size_t variables) {
  RandomSequence random(seed, Stream::generate);
  std::vector<Value> values(rows * variables);
  for (Value& v : values) v = static_cast<Value>(random.below(2));
  return values;
}

std::vector<std::uint32_t> all_rows(std::size_t rows) {
  std::vector<std::uint32_t> list(rows);
  for (std::size_t r = 0; r < rows; ++r) list[r] = static_cast<std::uint32_t>(r);
  return list;
}

constexpr MachineKind kinds[] = {MachineKind::ising, MachineKind::boltzmann, MachineKind::rbm};

TEST(BinaryMachine, GraphAndModelHaveItsEnergy) {
  for (MachineKind kind : kinds)
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const BinaryMachine machine = random_machine(kind, 4, kind == MachineKind::ising ? 0 : 3, seed);
      const Model model = to_model(machine);
      const SpinGraph direct = spin_graph(machine), compiled = spin_graph(compile(model));
      ASSERT_EQ(direct.neighbour, compiled.neighbour);
      for (std::size_t k = 0; k < direct.weight.size(); ++k)
        EXPECT_NEAR(direct.weight[k], compiled.weight[k], 1e-5);
      const auto rows = random_rows(seed, 10, machine.variables());
      for (std::size_t r = 0; r < 10; ++r) {
        const std::span<const Value> x(rows.data() + r * machine.variables(), machine.variables());
        double energy = 0;
        for (std::size_t i = 0; i < x.size(); ++i) energy += x[i] * machine.biases[i];
        for (std::size_t e = 0; e < machine.edges(); ++e)
          energy += x[machine.first[e]] * x[machine.second[e]] * machine.weights[e];
        EXPECT_NEAR(log_score(model, x), energy, 1e-5);
      }
    }
}

/// The mean log likelihood of rows, by enumerating the compiled model.
double log_likelihood(const BinaryMachine& machine, const std::vector<Value>& rows) {
  const Enumeration exact = enumerate(compile(to_model(machine)));
  double total = 0;
  const std::size_t count = rows.size() / machine.visible;
  for (std::size_t r = 0; r < count; ++r) {
    double p = 0;
    for (std::size_t s = 0; s < exact.probabilities.size(); ++s) {
      bool match = true;
      for (std::size_t i = 0; i < machine.visible; ++i)
        match = match && (s >> (machine.variables() - 1 - i) & 1) == rows[r * machine.visible + i];
      if (match) p += exact.probabilities[s];
    }
    total += std::log(p) / static_cast<double>(count);
  }
  return total;
}

TEST(Gradient, ExactIsTheSlopeOfTheLikelihood) {
  for (MachineKind kind : kinds) {
    BinaryMachine machine = random_machine(kind, 4, kind == MachineKind::ising ? 0 : 2, 3);
    const auto rows = random_rows(5, 12, 4);
    const auto source = exact_gradient({rows, 4});
    Statistics gradient, unused;
    const auto list = all_rows(12);
    EXPECT_NEAR(source->gradient(machine, list, 0, gradient), log_likelihood(machine, rows), 1e-6);
    // A central difference of step h errs by h^2 / 6 times a third derivative below 1, and by the rounding of
    // the float parameters, about 1e-7 / h.
    const float h = 0.01F;
    const auto slope = [&](float& parameter) {
      const float kept = parameter;
      parameter = kept + h;
      const double up = source->gradient(machine, list, 0, unused);
      parameter = kept - h;
      const double down = source->gradient(machine, list, 0, unused);
      parameter = kept;
      return (up - down) / (2 * h);
    };
    for (std::size_t e = 0; e < machine.edges(); ++e) {
      EXPECT_NEAR(gradient.weights[e], slope(machine.weights[e]), 1e-4) << choice_name(kind);
    }
    for (std::size_t i = 0; i < machine.variables(); ++i) {
      EXPECT_NEAR(gradient.biases[i], slope(machine.biases[i]), 1e-4);
    }
  }
}

/// Sampled gradients scatter about the exact one; averaged over `repeats` batches of `chains` independent
/// chains each statistic has a standard error of at most 0.5 / sqrt(repeats chains).
void expect_unbiased(const BinaryMachine& machine, GradientSource& source, const std::vector<Value>& rows,
                     int repeats, int skipped, double chains) {
  const auto list = all_rows(rows.size() / machine.visible);
  Statistics exact, one;
  exact_gradient({rows, machine.visible})->gradient(machine, list, 0, exact);
  std::vector<double> weights(machine.edges(), 0.0), biases(machine.variables(), 0.0);
  for (int t = 0; t < repeats + skipped; ++t) {
    source.gradient(machine, list, static_cast<std::uint64_t>(t), one);
    if (t < skipped) continue;
    for (std::size_t e = 0; e < weights.size(); ++e) weights[e] += one.weights[e] / repeats;
    for (std::size_t i = 0; i < biases.size(); ++i) biases[i] += one.biases[i] / repeats;
  }
  const double bound = 5 * 0.5 / std::sqrt(repeats * chains);
  for (std::size_t e = 0; e < weights.size(); ++e)
    EXPECT_NEAR(weights[e], exact.weights[e], bound) << "edge " << e;
  for (std::size_t i = 0; i < biases.size(); ++i)
    EXPECT_NEAR(biases[i], exact.biases[i], bound) << "bias " << i;
}

TEST(Gradient, SampledAgreesWithExact) {
  for (MachineKind kind : kinds) {
    const BinaryMachine machine = random_machine(kind, 4, kind == MachineKind::ising ? 0 : 2, 11, 0.4);
    // Clamped hidden states of one row each are independent of the batch: as many rows as chains.
    const auto rows = random_rows(7, 100, 4);
    MachineSamplerOptions options{.chains = 100, .sweeps = 10, .persistent = false, .seed = 3};
    expect_unbiased(machine, *sampled_gradient({rows, 4}, gibbs_machine_sampler(options), 10, 5), rows, 40, 0,
                    100);
    options.sweeps = 20;
    expect_unbiased(machine, *sampled_gradient({rows, 4}, gwg_machine_sampler(options), 10, 5), rows, 40, 0,
                    100);
    // Persistent chains ten sweeps apart are nearly independent at these weak couplings; allow half.
    options.sweeps = 10;
    options.persistent = true;
    expect_unbiased(machine, *sampled_gradient({rows, 4}, gibbs_machine_sampler(options), 10, 5), rows, 80, 5,
                    50);
  }
}

// Without weights pmp samples are exact, so that its gradient is; persistent noise changes slowly, but every
// step of it has the right distribution: over steps far apart it averages to the same.
TEST(Gradient, PmpAgreesWithExactOnBiases) {
  BinaryMachine machine = random_machine(MachineKind::ising, 4, 0, 17);
  std::fill(machine.weights.begin(), machine.weights.end(), 0.0F);
  const auto rows = random_rows(9, 50, 4);
  MachineSamplerOptions options{.chains = 100, .sweeps = 2, .persistent = false, .seed = 3};
  expect_unbiased(machine, *sampled_gradient({rows, 4}, pmp_machine_sampler(options), 0, 5), rows, 60, 0,
                  100);
  options.persistent = true;
  options.correlation = 0.5;  // autocorrelation of the normal numbers 0.7^t: at least every sixth step is new
  expect_unbiased(machine, *sampled_gradient({rows, 4}, pmp_machine_sampler(options), 0, 5), rows, 120, 0,
                  100.0 / 6);
}

// A batch of another iteration is drawn with other random numbers, from the same chains and from fresh ones.
TEST(MachineSampler, EveryIterationHasItsOwnRandomNumbers) {
  for (const std::uint32_t visible : {4U, 60U}) {  // dense and sparse
    const BinaryMachine machine = random_machine(MachineKind::rbm, visible, 2, 3, 0.1);
    for (const bool persistent : {false, true})
      for (const auto& make : {gibbs_machine_sampler, gwg_machine_sampler, pmp_machine_sampler}) {
        const MachineSamplerOptions options{
            .chains = 100, .sweeps = 3, .persistent = persistent, .correlation = 0.5};
        const auto second_batch = [&](std::uint64_t iteration) {
          const auto sampler = make(options);
          BitBatch batch;
          sampler->draw(machine, 0, batch);
          sampler->draw(machine, iteration, batch);
          return batch.words;
        };
        EXPECT_EQ(second_batch(1), second_batch(1));
        EXPECT_NE(second_batch(1), second_batch(2));
        if (!persistent) {
          EXPECT_NE(second_batch(0), second_batch(1));
        }
      }
  }
}

TEST(Gradient, BlockGibbsAgreesWithExact) {
  const BinaryMachine machine = random_machine(MachineKind::rbm, 5, 3, 13, 0.5);
  const auto rows = random_rows(8, 30, 5);
  for (bool persistent : {true, false}) {
    const MachineSamplerOptions options{.chains = 100, .sweeps = 15, .persistent = persistent, .seed = 3};
    // Chains that start at the data (CD) have as many rows as the data.
    expect_unbiased(machine, *block_gibbs_gradient({rows, 5}, options), rows, 80, 5, persistent ? 50 : 15);
    // What it returns is the root mean square of the 15 weights' and 8 biases' slopes.
    Statistics gradient;
    const double said =
        block_gibbs_gradient({rows, 5}, options)->gradient(machine, all_rows(30), 0, gradient);
    double squares = 0;
    for (const std::vector<float>* part : {&gradient.weights, &gradient.biases})
      for (const double slope : *part) squares += slope * slope;
    EXPECT_NEAR(said, std::sqrt(squares / 23), 1e-6);
  }
}

// What k steps of block Gibbs from given rows make of a machine of two visible and two hidden units, exactly,
// by the matrix of one step. Strong weights: after a step or two the rows are far from forgotten, so every
// step must draw afresh. 400 rows and 250 repetitions are 10^5 independent chains.
TEST(Gradient, ContrastiveDivergenceHasTheLawOfItsSteps) {
  BinaryMachine machine = random_machine(MachineKind::rbm, 2, 2, 4, 2.0);
  constexpr std::size_t rows = 400;
  std::vector<Value> values;
  for (std::size_t r = 0; r < rows; ++r) {
    values.push_back(1);
    values.push_back(static_cast<Value>(r % 2));
  }
  const auto probability = [&](std::size_t unit, bool hidden, std::uint32_t others) {
    double field = machine.biases[hidden ? 2 + unit : unit];
    for (std::size_t o = 0; o < 2; ++o)
      if (others >> o & 1) field += machine.weights[hidden ? o * 2 + unit : unit * 2 + o];
    return 1 / (1 + std::exp(-field));
  };
  const auto joint = [&](std::uint32_t state, bool hidden, std::uint32_t others) {
    double p = 1;
    for (std::size_t u = 0; u < 2; ++u) {
      const double one = probability(u, hidden, others);
      p *= state >> u & 1 ? one : 1 - one;
    }
    return p;
  };
  const TrainingData data{values, 2};
  for (std::uint32_t turn = 0; turn < 5; ++turn) {
    const std::uint32_t steps = turn % 3 + 1;
    if (turn == 3) {  // pairs that hold on to each other, and would more so if their steps shared a number
      machine.weights = {2, 0, 0, 2};
      machine.biases.assign(4, -1);
    }
    std::vector<double> law(4, 0.0);
    law[1] = law[3] = 0.5;
    std::vector<double> start = law;
    for (std::uint32_t step = 0; step < steps; ++step) {
      std::vector<double> next(4, 0.0);
      for (std::uint32_t v = 0; v < 4; ++v)
        for (std::uint32_t h = 0; h < 4; ++h)
          for (std::uint32_t w = 0; w < 4; ++w) next[w] += law[v] * joint(h, true, v) * joint(w, false, h);
      law = next;
    }
    const MachineSamplerOptions options{.chains = rows, .sweeps = steps, .persistent = false, .seed = 9};
    const auto source = block_gibbs_gradient(data, options);
    const auto list = all_rows(rows);
    constexpr int repeats = 250;
    std::vector<double> found(4, 0.0);
    Statistics one;
    for (int t = 0; t < repeats; ++t) {
      source->gradient(machine, list, static_cast<std::uint64_t>(t), one);
      for (std::size_t e = 0; e < 4; ++e) found[e] += static_cast<double>(one.weights[e]) / repeats;
    }
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < 2; ++j) {
        double expected = 0;
        for (std::uint32_t v = 0; v < 4; ++v)
          if (v >> i & 1) expected += (start[v] - law[v]) * probability(j, true, v);
        EXPECT_NEAR(found[i * 2 + j], expected, 5 * 0.5 / std::sqrt(repeats * rows)) << steps << " steps";
      }
  }
}

// Rows with few units on are summed unit by unit, those with many by tables of four units.
TEST(RbmBatch, ConditionalsAndSumsAreTheirDefinition) {
  constexpr std::size_t count = 41;
  for (const auto& [visible, hidden] :
       {std::pair{5U, 3U}, std::pair{70U, 130U}, std::pair{64U, 128U}, std::pair{783U, 33U}})
    for (const std::size_t keep : {1U, 4U}) {  // one unit in `keep` that is on stays so
      const BinaryMachine machine = random_machine(MachineKind::rbm, visible, hidden, 1, 0.2);
      auto rows = random_rows(2, count, visible);
      for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = rows[k] && k % keep == 0;
      const RbmBatch batch(machine);
      ActiveUnits v, drawn_beside, drawn;
      AlignedVector<float> p;
      select_rows(rows, visible, all_rows(count), v);
      batch.hidden_probabilities(v, p, 7, 3, 5, drawn_beside);
      batch.draw_hidden(v, 7, 3, 5, drawn);
      EXPECT_EQ(drawn_beside.list, drawn.list);
      EXPECT_EQ(drawn_beside.count, drawn.count);
      const std::size_t stride = p.size() / count;
      Statistics sums;
      batch.add(v, p, 0.75F, sums);
      batch.add(v, p, -0.25F, sums);
      std::vector<double> expected(count * hidden);
      for (std::size_t r = 0; r < count; ++r)
        for (std::size_t j = 0; j < hidden; ++j) {
          double field = machine.biases[visible + j];
          for (std::size_t i = 0; i < visible; ++i)
            field += rows[r * visible + i] * machine.weights[i * hidden + j];
          expected[r * hidden + j] = 1 / (1 + std::exp(-field));
          EXPECT_NEAR(p[r * stride + j], expected[r * hidden + j], 1e-5);
        }
      // As many are drawn as should be, in each part of 64 units, within five standard deviations.
      for (std::size_t begin = 0; begin < hidden; begin += 64) {
        double difference = 0, variance = 0;
        for (std::size_t r = 0; r < count; ++r) {
          for (const std::uint32_t j : drawn.row(r)) difference += j / 64 == begin / 64;
          for (std::size_t j = begin; j < std::min<std::size_t>(hidden, begin + 64); ++j) {
            difference -= expected[r * hidden + j];
            variance += expected[r * hidden + j] * (1 - expected[r * hidden + j]);
          }
        }
        EXPECT_LT(std::abs(difference), 5 * std::sqrt(variance)) << begin;
      }
      for (std::size_t j = 0; j < hidden; ++j) {
        double hidden_sum = 0;
        for (std::size_t r = 0; r < count; ++r) hidden_sum += 0.5 * expected[r * hidden + j];
        EXPECT_NEAR(sums.biases[visible + j], hidden_sum, 1e-4);
      }
      for (std::size_t i = 0; i < visible; ++i) {
        double visible_sum = 0;
        std::vector<double> weight_sums(hidden, 0.0);
        for (std::size_t r = 0; r < count; ++r) {
          if (!rows[r * visible + i]) continue;
          visible_sum += 0.5;
          for (std::size_t j = 0; j < hidden; ++j) weight_sums[j] += 0.5 * expected[r * hidden + j];
        }
        EXPECT_NEAR(sums.biases[i], visible_sum, 1e-4);
        for (std::size_t j = 0; j < hidden; ++j)
          EXPECT_NEAR(sums.weights[i * hidden + j], weight_sums[j], 1e-4);
      }
    }
}

TEST(Fit, FindsAKnownModelAgain) {
  // Exact gradients on data that has the model's own statistics: the maximum is the model itself.
  const BinaryMachine truth = random_machine(MachineKind::ising, 3, 0, 21, 0.8);
  const Enumeration exact = enumerate(compile(to_model(truth)));
  std::vector<Value> rows;
  for (std::size_t s = 0; s < 8; ++s)
    for (int copies = 0; copies < std::lround(5000 * exact.probabilities[s]); ++copies)
      for (int i = 2; i >= 0; --i) rows.push_back(static_cast<Value>(s >> i & 1));
  BinaryMachine machine = complete_machine(MachineKind::ising, 3, 0);
  FitOptions options;
  options.iterations = 2500;
  options.batch = 0;
  options.update = {.rule = StepRule::adam, .rate = 0.02};
  const TrainingData data{rows, 3};
  fit(machine, data, *exact_gradient(data), options);
  for (std::size_t e = 0; e < 3; ++e) EXPECT_NEAR(machine.weights[e], truth.weights[e], 0.02);
}

TEST(Fit, CentredStepsAreThoseOfTheMachineWithoutMeans) {
  // With energies written in x - mean, a step of the centred parameters (W, b', c') changes the plain ones by
  // b = b' - W n and c = c' - W^T m: the direction must be that, up to the means' own movement. Rows are worked on by 64,
  // their entries by 16, and some are left over.
  constexpr std::uint32_t visible = 70, hidden = 20;
  const auto rows = random_rows(8, 200, visible);
  const TrainingData data{rows, visible};
  const BinaryMachine machine = random_machine(MachineKind::rbm, visible, hidden, 5, 0.7);
  std::vector<std::uint32_t> all(200);
  std::iota(all.begin(), all.end(), 0U);
  MachineSamplerOptions sampler{.chains = 50, .sweeps = 2, .persistent = true, .seed = 1};
  Statistics plain, centred;
  block_gibbs_gradient(data, sampler)->gradient(machine, all, 0, plain);
  sampler.centred = true;
  block_gibbs_gradient(data, sampler)->gradient(machine, all, 0, centred);
  double m[visible] = {}, n[hidden] = {};
  for (std::size_t r = 0; r < 200; ++r) {
    for (std::size_t i = 0; i < visible; ++i) m[i] += rows[r * visible + i] / 200.0;
    for (std::size_t j = 0; j < hidden; ++j) {
      double field = machine.biases[visible + j];
      for (std::size_t i = 0; i < visible; ++i)
        field += rows[r * visible + i] * machine.weights[i * hidden + j];
      n[j] += 1 / (1 + std::exp(-field)) / 200;
    }
  }
  double down[hidden] = {};
  for (std::size_t i = 0; i < visible; ++i) {
    double back = 0;
    for (std::size_t j = 0; j < hidden; ++j) {
      // <(v - m)(h - n)> of the data less that of the model, from the plain differences.
      const double expected =
          plain.weights[i * hidden + j] - m[i] * plain.biases[visible + j] - n[j] * plain.biases[i];
      EXPECT_NEAR(centred.weights[i * hidden + j], expected, 1e-5);
      back += expected * n[j];
      down[j] += expected * m[i];
    }
    EXPECT_NEAR(centred.biases[i], plain.biases[i] - back, 1e-5);
  }
  for (std::size_t j = 0; j < hidden; ++j)
    EXPECT_NEAR(centred.biases[visible + j], plain.biases[visible + j] - down[j], 1e-5);
}

TEST(Fit, CentredAndFallingStepsReachTheLikelihoodOfExactLearning) {
  std::vector<Value> rows;
  RandomSequence random(5, Stream::generate);
  for (int r = 0; r < 600; ++r) {
    const double rate = random.uniform() < 0.5 ? 0.85 : 0.15;
    for (int i = 0; i < 6; ++i) rows.push_back(random.uniform() < rate ? 1 : 0);
  }
  const TrainingData data{rows, 6};
  const auto likelihood = [&](TrainMethod method, const FitOptions& fit_options, bool centred) {
    BinaryMachine machine = restricted_machine(6, 3);
    TrainOptions options{.method = method, .fit = fit_options};
    options.sampler.centred = centred;
    train(machine, data, options);
    double sum = 0;
    for (const double score : rbm_log_scores(machine, rows)) sum += score - rbm_exact_log_z(machine);
    return sum / 600;
  };
  const double exact =
      likelihood(TrainMethod::exact,
                 {.iterations = 1500, .batch = 0, .update = {.rule = StepRule::adam, .rate = 0.03}}, false);
  const double sampled =
      likelihood(TrainMethod::block_gibbs,
                 {.iterations = 3000, .update = {.rule = StepRule::sgd, .rate = 0.1}, .falling = true}, true);
  // Three parameters' worth of likelihood per 600 rows is noise; the rest is what learning may miss.
  EXPECT_GT(sampled, exact - 0.02);
}

// Steps are counted from one, and each climbs.
TEST(Fit, TraceOfPseudoLikelihoodHasEveryStep) {
  const auto rows = random_rows(6, 60, 4);
  BinaryMachine machine = complete_machine(MachineKind::boltzmann, 4, 0);
  const FitSummary summary =
      train(machine, {rows, 4}, {.method = TrainMethod::pseudo_likelihood, .fit = {.iterations = 5}}).summary;
  ASSERT_GT(summary.iteration.size(), 1U);
  ASSERT_EQ(summary.iteration.size(), summary.objective.size());
  EXPECT_EQ(static_cast<double>(summary.iterations), summary.iteration.back());
  for (std::size_t i = 0; i < summary.iteration.size(); ++i)
    EXPECT_EQ(summary.iteration[i], static_cast<double>(i + 1));
  for (std::size_t i = 1; i < summary.objective.size(); ++i)
    EXPECT_GT(summary.objective[i], summary.objective[i - 1]);
}

// What is noted at a check is the mean log-likelihood per row of the machine as it was there: the one check is at the end.
TEST(Fit, LikelihoodsAtTheChecksAreThoseOfTheRows) {
  const auto rows = random_rows(3, 40, 5), held_out = random_rows(4, 25, 5);
  BinaryMachine machine = restricted_machine(5, 3);
  const TrainOptions options{.method = TrainMethod::block_gibbs,
                             .fit = {.iterations = 30, .check_every = 30}};
  const FitSummary summary = train(machine, {rows, 5}, options, no_control(), held_out).summary;
  ASSERT_EQ(summary.held_out_log_likelihood.size(), 1U);
  EXPECT_NEAR(summary.held_out_log_likelihood[0], log_likelihood(machine, held_out), 1e-5);
  // As many rows that were learnt from as were kept apart.
  EXPECT_NEAR(summary.training_log_likelihood[0],
              log_likelihood(machine, {rows.begin(), rows.begin() + 25 * 5}), 1e-5);
}

TEST(Fit, DoesNotDependOnTheNumberOfThreads) {
  const auto rows = random_rows(3, 300, 70);
  const auto train = [&] {
    BinaryMachine machine = restricted_machine(70, 80);
    const TrainingData data{rows, 70};
    initialise(machine, data, 0.01, 1);
    FitOptions options;
    options.iterations = 20;
    const MachineSamplerOptions sampler{.chains = 50, .sweeps = 2, .persistent = true, .seed = 1};
    fit(machine, data, *block_gibbs_gradient(data, sampler), options);
    return machine;
  };
  const BinaryMachine many = train();
  BinaryMachine one;
  tbb::task_arena(1).execute([&] { one = train(); });
  EXPECT_EQ(many.weights, one.weights);
  EXPECT_EQ(many.biases, one.biases);
}

// Machines of more than one block of columns, with more ranks than blocks too.
TEST(Fit, DoesNotDependOnTheNumberOfRanks) {
  const auto rows = random_rows(3, 300, 200);
  const TrainingData data{rows, 200};
  const auto train = [&](MachineKind kind, bool persistent, bool centred, const Ranks& ranks) {
    BinaryMachine machine = kind == MachineKind::rbm
                                ? restricted_machine(200, 300)
                                : complete_machine(kind, 200, kind == MachineKind::ising ? 0 : 9);
    initialise(machine, data, 0.01, 1);
    FitOptions options;
    options.iterations = 6;
    MachineSamplerOptions sampler{.chains = 150, .sweeps = 2, .persistent = persistent, .seed = 1};
    sampler.centred = centred;
    sampler.ranks = &ranks;
    RunControl control;
    control.share_with(ranks);
    fit(machine, data,
        kind == MachineKind::rbm
            ? *block_gibbs_gradient(data, sampler)
            : *sampled_gradient(data,
                                persistent ? gibbs_machine_sampler(sampler) : gwg_machine_sampler(sampler), 3,
                                1, ranks),
        options, control);
    return machine;
  };
  for (MachineKind kind : kinds)
    for (bool persistent : {true, false}) {
      const BinaryMachine alone = train(kind, persistent, persistent, one_process());
      for (std::uint32_t count : {1U, 2U, 3U, 4U})
        testing::run_ranks(count, [&](const Ranks& ranks) {
          const BinaryMachine shared = train(kind, persistent, persistent, ranks);
          EXPECT_EQ(shared.weights, alone.weights) << count << " ranks";
          EXPECT_EQ(shared.biases, alone.biases) << count << " ranks";
        });
    }
}

TEST(UpdateRule, AdamAndShrinkage) {
  // The first step of Adam has the length of the rate, whatever the gradient.
  std::vector<float> p = {0, 0};
  UpdateRule adam({.rule = StepRule::adam, .rate = 0.1}, 2);
  adam.step(p, std::vector<float>{5, -0.001F}, false);
  EXPECT_NEAR(p[0], 0.1, 1e-5);
  EXPECT_NEAR(p[1], -0.1, 1e-5);
  // L2 pulls every rule's parameters towards zero, as a part of the gradient; biases are left alone.
  for (const StepRule rule : {StepRule::sgd, StepRule::momentum, StepRule::adam}) {
    std::vector<float> weights = {2, -2}, biases = {2, -2};
    UpdateRule shrinking({.rule = rule, .rate = 0.1, .l2 = 0.5}, 2),
        fixed({.rule = rule, .rate = 0.1, .l2 = 0.5}, 2);
    shrinking.step(weights, std::vector<float>{0, 0}, true);
    fixed.step(biases, std::vector<float>{0, 0}, false);
    EXPECT_NEAR(weights[0], 1.9, 1e-6);  // 0.1 * 0.5 * 2, and Adam's first step has the length of the rate
    EXPECT_NEAR(weights[1], -1.9, 1e-6);
    EXPECT_EQ(biases, (std::vector<float>{2, -2}));
  }
  // Two steps of momentum with decay of the rate: v = 1, then 0.9 + 1 - 0.5 * 0.1 ...
  std::vector<float> moving = {0};
  UpdateRule momentum({.rule = StepRule::momentum, .rate = 0.1, .decay = 1, .momentum = 0.9, .l2 = 0.5}, 1);
  momentum.step(moving, std::vector<float>{1}, true);
  EXPECT_NEAR(moving[0], 0.1, 1e-6);
  momentum.step(moving, std::vector<float>{1}, true);
  EXPECT_NEAR(moving[0], 0.1 + 0.05 * (0.9 + 1 - 0.05), 1e-6);
  // Two of Adam: g = 1, then 3; first moments 0.1, 0.39 over 0.19; second 0.001, 0.009999 over 0.001999.
  std::vector<float> adaptive = {0};
  UpdateRule second({.rule = StepRule::adam, .rate = 0.1}, 1);
  second.step(adaptive, std::vector<float>{1}, true);
  second.step(adaptive, std::vector<float>{3}, true);
  EXPECT_NEAR(adaptive[0], 0.1 + 0.1 * (0.39 / 0.19) / std::sqrt(0.009999 / 0.001999), 1e-5);
  // L1 takes rate * l1 and stops at zero.
  std::vector<float> q = {0.5F, 0.05F};
  UpdateRule sgd({.rule = StepRule::sgd, .rate = 0.1, .l1 = 1}, 2);
  sgd.step(q, std::vector<float>{0, 0}, true);
  EXPECT_NEAR(q[0], 0.4, 1e-6);
  EXPECT_EQ(q[1], 0);
}

}  // namespace
}  // namespace drover
