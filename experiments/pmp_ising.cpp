#include "experiments/pmp_ising.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "drover/compile/spin_graph.hpp"
#include "drover/core/parallel.hpp"
#include "drover/core/random.hpp"
#include "drover/diagnose/mmd.hpp"
#include "drover/machine/machine_statistics.hpp"
#include "drover/machine/update_rule.hpp"
#include "drover/sample/gibbs/dense_gibbs_with_gradients.hpp"
#include "drover/sample/gibbs/gibbs_spin_lanes.hpp"
#include "drover/sample/pmp/perturb_and_max_product.hpp"

namespace drover::experiments {

namespace {

// s_i s_j = 4 x_i x_j - 2 x_i - 2 x_j + 1 and s_i = 2 x_i - 1, every W_ij twice.
void set_machine(const SpinModel& model, BinaryMachine& machine) {
  if (model.bits) {
    std::copy(model.biases.begin(), model.biases.end(), machine.biases.begin());
    std::copy(model.pairs.begin(), model.pairs.end(), machine.weights.begin());
    return;
  }
  for (std::size_t i = 0; i < model.size; ++i) machine.biases[i] = 2 * model.biases[i];
  std::size_t e = 0;
  for (std::size_t i = 0; i < model.size; ++i)
    for (std::size_t j = i + 1; j < model.size; ++j, ++e) {
      machine.weights[e] = 8 * model.pairs[e];
      machine.biases[i] -= 4 * model.pairs[e];
      machine.biases[j] -= 4 * model.pairs[e];
    }
}

/// One variable after another, drawn at random, in every chain by itself; the fields come from rows of W.
class FewGibbsUpdates : public MachineSampler {
 public:
  FewGibbsUpdates(std::uint32_t chains, std::uint32_t updates, std::uint64_t seed)
      : chains_(chains), updates_(updates), seed_(seed) {}

  void draw(const BinaryMachine& machine, std::uint64_t iteration, BitBatch& batch) override {
    const std::size_t n = machine.variables();
    matrix_.assign(n * n, 0.0F);
    for (std::size_t e = 0; e < machine.edges(); ++e)
      matrix_[machine.first[e] * n + machine.second[e]] = matrix_[machine.second[e] * n + machine.first[e]] =
          machine.weights[e];
    if (states_.empty()) start(n);
    const Random random(seed_, Stream::sweep);
    parallel_for(std::uint32_t{0}, chains_, [&](std::uint32_t c) {
      float* const x = states_.data() + c * n;
      for (std::uint32_t k = 0; k < updates_; ++k) {
        const Random::Block words = random.block(c, iteration, k);
        const std::size_t i = static_cast<std::size_t>(std::uint64_t{words[0]} * n >> 32);
        float parts[16] = {};
        const float* const row = matrix_.data() + i * n;
        std::size_t j = 0;
        for (; j + 16 <= n; j += 16)
          for (std::size_t lane = 0; lane < 16; ++lane) parts[lane] += row[j + lane] * x[j + lane];
        double field = machine.biases[i];
        for (; j < n; ++j) field += row[j] * x[j];
        for (float part : parts) field += part;
        x[i] = Random::to_unit(words[1], words[2]) * (1 + std::exp(-field)) < 1 ? 1.0F : 0.0F;
      }
    });
    batch = BitBatch(n, chains_);
    for (std::size_t c = 0; c < chains_; ++c)
      for (std::size_t i = 0; i < n; ++i)
        batch.words[i * batch.stride + c / 64] |= std::uint64_t{states_[c * n + i] > 0} << (c % 64);
  }

 private:
  void start(std::size_t n) {
    RandomSequence random(seed_, Stream::start);
    states_.resize(chains_ * n);
    for (float& x : states_) x = static_cast<float>(random.below(2));
  }

  std::uint32_t chains_, updates_;
  std::uint64_t seed_;
  std::vector<float> matrix_, states_;
};

class FewGwgProposals : public MachineSampler {
 public:
  FewGwgProposals(std::uint32_t chains, std::uint32_t updates, std::uint64_t seed)
      : chains_(chains), updates_(updates), seed_(seed) {}

  void draw(const BinaryMachine& machine, std::uint64_t iteration, BitBatch& batch) override {
    const DenseGibbsWithGradients kernel(spin_graph(machine));
    const bool fresh = states_.empty();
    states_.resize(chains_);
    batch = BitBatch(machine.variables(), chains_);
    parallel_for(std::size_t{0}, batch.stride, [&](std::size_t g) {
      for (std::size_t c = 64 * g; c < std::min<std::size_t>(64 * g + 64, chains_); ++c) {
        if (fresh) states_[c] = kernel.start(seed_, static_cast<std::uint32_t>(c));
        kernel.advance(states_[c], iteration, updates_);
        for (std::size_t v = 0; v < batch.variables; ++v) batch.set(c, v, states_[c].signs[v] < 0);
      }
    });
  }

 private:
  std::uint32_t chains_, updates_;
  std::uint64_t seed_;
  std::vector<DenseGibbsWithGradients::State> states_;
};

using OnTheWay = std::vector<std::vector<Value>>;

void sample_pmp(const SpinGraph& graph, std::size_t rows, std::span<const std::uint32_t> sweeps,
                std::uint64_t seed, OnTheWay& drawn) {
  const std::size_t n = graph.size(), group = 128;
  const auto solver = batch_max_product(graph);
  const Random noise(seed, Stream::perturb);
  for (std::size_t first = 0; first < rows; first += group) {
    const std::size_t count = std::min(group, rows - first);
    std::vector<float> extra(count * n);
    for (std::size_t k = 0; k < extra.size(); ++k) {
      extra[k] = logistic_noise(noise.block(1, first + k / n, static_cast<std::uint32_t>(k % n)));
    }
    BatchMessages messages;
    std::vector<std::uint8_t> states(count * n);
    std::uint32_t before = 0;
    for (std::size_t k = 0; k < sweeps.size(); ++k) {
      solver->solve(extra, count, {.iterations = sweeps[k] - before, .damping = 0.5F}, states, &messages);
      before = sweeps[k];
      std::copy(states.begin(), states.end(), drawn[k].begin() + static_cast<std::ptrdiff_t>(first * n));
    }
  }
}

void sample_gibbs(const SpinGraph& graph, std::size_t rows, std::span<const std::uint32_t> sweeps,
                  std::uint64_t seed, OnTheWay& drawn) {
  const std::size_t n = graph.size();
  const GibbsSpinLanes kernel(graph);
  parallel_for(std::size_t{0}, (rows + 63) / 64, [&](std::size_t g) {
    GibbsSpinLanes::State state = kernel.start(seed, static_cast<std::uint32_t>(64 * g));
    std::uint32_t sweep = 0;
    for (std::size_t k = 0; k < sweeps.size(); ++k) {
      for (; sweep < sweeps[k]; ++sweep) kernel.sweep(state, sweep);
      for (std::size_t r = 64 * g; r < std::min(rows, 64 * g + 64); ++r)
        kernel.read(state, static_cast<std::uint32_t>(r % 64), {drawn[k].data() + r * n, n});
    }
  });
}

void sample_gwg(const SpinGraph& graph, std::size_t rows, std::span<const std::uint32_t> sweeps,
                std::uint64_t seed, OnTheWay& drawn) {
  const std::size_t n = graph.size();
  const DenseGibbsWithGradients kernel(graph);
  parallel_for(std::size_t{0}, rows, [&](std::size_t r) {
    DenseGibbsWithGradients::State state = kernel.start(seed, static_cast<std::uint32_t>(r));
    std::uint32_t sweep = 0;
    for (std::size_t k = 0; k < sweeps.size(); ++k) {
      for (; sweep < sweeps[k]; ++sweep) kernel.sweep(state, sweep);
      kernel.read(state, {drawn[k].data() + r * n, n});
    }
  });
}

}  // namespace

SpinModel spin_model(std::uint32_t size, bool bits) {
  return {size, bits, std::vector<float>(std::size_t{size} * (size - 1) / 2, 0.0F),
          std::vector<float>(size, 0.0F)};
}

BinaryMachine spin_machine(const SpinModel& model) {
  BinaryMachine machine = complete_machine(MachineKind::ising, model.size, 0);
  set_machine(model, machine);
  return machine;
}

SpinMeans spin_means(const BitBatch& batch, bool bits) {
  SpinMeans means;
  const double rows = static_cast<double>(batch.rows);
  std::vector<double> ones(batch.variables);
  for (std::size_t i = 0; i < batch.variables; ++i) {
    ones[i] = static_cast<double>(count_ones(batch.column(i))) / rows;
    means.biases.push_back(static_cast<float>(bits ? ones[i] : 2 * ones[i] - 1));
  }
  means.pairs.reserve(batch.variables * (batch.variables - 1) / 2);
  for (std::size_t i = 0; i < batch.variables; ++i)
    for (std::size_t j = i + 1; j < batch.variables; ++j) {
      const double both = static_cast<double>(count_both(batch.column(i), batch.column(j))) / rows;
      means.pairs.push_back(static_cast<float>(bits ? both : 4 * both - 2 * ones[i] - 2 * ones[j] + 1));
    }
  return means;
}

SpinMeans spin_means(std::span<const Value> rows, std::size_t size, bool bits) {
  std::vector<std::uint32_t> all(rows.size() / size);
  for (std::size_t r = 0; r < all.size(); ++r) all[r] = static_cast<std::uint32_t>(r);
  return spin_means(bit_batch(rows, size, all), bits);
}

std::unique_ptr<MachineSampler> named_sampler(const std::string& method,
                                              const MachineSamplerOptions& options) {
  if (method == "pmp") return pmp_machine_sampler(options);
  if (method == "gwg") return gwg_machine_sampler(options);
  return gibbs_machine_sampler(options);
}

std::unique_ptr<MachineSampler> few_updates_sampler(const std::string& method, std::uint32_t chains,
                                                    std::uint32_t updates, std::uint64_t seed) {
  if (method == "gwg") return std::make_unique<FewGwgProposals>(chains, updates, seed);
  return std::make_unique<FewGibbsUpdates>(chains, updates, seed);
}

double learn_spins(SpinModel& model, const SpinMeans& data, MachineSampler& sampler,
                   const SpinTraining& training, const RunControl& control, const std::string& phase) {
  const double begin = processor_seconds();
  BinaryMachine machine = spin_machine(model);
  const UpdateOptions update{.rule = StepRule::adam, .rate = training.rate};
  UpdateRule pair_rule(update, model.pairs.size()), bias_rule(update, model.biases.size());
  BitBatch batch;
  for (std::uint64_t t = 0; t < training.iterations; ++t) {
    if (control.should_stop()) return -1;
    control.report({phase, static_cast<double>(t) / static_cast<double>(training.iterations), t, 0, 0});
    sampler.draw(machine, t, batch);
    SpinMeans gradient = spin_means(batch, model.bits);
    const auto l1 = static_cast<float>(training.l1);
    for (std::size_t e = 0; e < gradient.pairs.size(); ++e) {
      const float w = model.pairs[e], sign = w > 0 ? 1.0F : w < 0 ? -1.0F : 0.0F;
      gradient.pairs[e] = data.pairs[e] - gradient.pairs[e] - l1 * sign;
    }
    for (std::size_t i = 0; i < gradient.biases.size(); ++i)
      gradient.biases[i] = data.biases[i] - gradient.biases[i];
    pair_rule.step(model.pairs, gradient.pairs, false);
    bias_rule.step(model.biases, gradient.biases, false);
    set_machine(model, machine);
  }
  return processor_seconds() - begin;
}

std::vector<std::vector<Value>> samples_on_the_way(const BinaryMachine& machine, const std::string& method,
                                                   std::size_t rows, std::span<const std::uint32_t> sweeps,
                                                   std::uint64_t seed) {
  const SpinGraph graph = spin_graph(machine);
  OnTheWay drawn(sweeps.size(), std::vector<Value>(rows * graph.size()));
  if (method == "pmp")
    sample_pmp(graph, rows, sweeps, seed, drawn);
  else if (method == "gwg")
    sample_gwg(graph, rows, sweeps, seed, drawn);
  else
    sample_gibbs(graph, rows, sweeps, seed, drawn);
  return drawn;
}

double log_mmd(std::span<const Value> a, std::span<const Value> b, std::size_t size) {
  const std::vector<std::uint32_t> binary(size, 2);
  return std::log(squared_mmd(pack_samples(a, binary), pack_samples(b, binary)));
}

double pair_distance(std::span<const Value> a, std::span<const Value> b, std::size_t size) {
  const std::vector<std::uint32_t> binary(size, 2);
  return statistic_distance(pack_samples(a, binary), pack_samples(b, binary)).pair_rms;
}

std::vector<Value> independent_rows(std::span<const Value> rows, std::size_t size, std::uint64_t seed) {
  const std::vector<double> means = bit_means(pack_samples(rows, std::vector<std::uint32_t>(size, 2)));
  RandomSequence random(seed, Stream::resample);
  std::vector<Value> drawn(rows.size());
  for (std::size_t k = 0; k < drawn.size(); ++k) drawn[k] = random.uniform() < means[k % size];
  return drawn;
}

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace drover::experiments
