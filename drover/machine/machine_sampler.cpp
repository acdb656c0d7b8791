#include "drover/machine/machine_sampler.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "drover/compile/reweight.hpp"
#include "drover/core/all_gather.hpp"
#include "drover/core/parallel.hpp"
#include "drover/core/random.hpp"
#include "drover/sample/gibbs/dense_gibbs_with_gradients.hpp"
#include "drover/sample/gibbs/gibbs_spin_lanes.hpp"
#include "drover/sample/gibbs/gibbs_with_gradients.hpp"
#include "drover/sample/pmp/perturb_and_max_product.hpp"

namespace drover {

namespace {

/// A new seed for each iteration, so that chains that are reset do not start alike.
std::uint64_t seed_of(std::uint64_t seed, std::uint64_t iteration) {
  const Random::Block words = Random(seed, Stream::learn).block(0, iteration, 1);
  return (std::uint64_t{words[0]} << 32) | words[1];
}

/// The graph of a machine whose edges stay from one step to the next.
const SpinGraph& graph_of(const BinaryMachine& machine, SpinGraph& kept) {
  if (kept.size() == machine.variables() && kept.weight.size() == 2 * machine.edges())
    reweight(kept, machine);
  else
    kept = spin_graph(machine);
  return kept;
}

template <class Archive, class State>
void visit_states(Archive& archive, std::vector<State>& states) {
  std::uint64_t count = states.size();
  archive(count);
  states.resize(count);
  for (State& state : states) state.visit(archive);
}

/// The words of a batch, 64 rows each, that this rank draws.
struct OwnWords {
  OwnWords(const BitBatch& batch, const Ranks& ranks)
      : begin(part_begin(batch.stride, ranks.rank(), ranks.size())),
        end(part_begin(batch.stride, ranks.rank() + 1, ranks.size())) {}
  std::size_t begin, end;
};

/// Tells the other ranks the words that this one drew.
void share_words(const Ranks& ranks, BitBatch& batch) {
  if (ranks.size() == 1) return;
  const OwnWords own(batch, ranks);
  std::string bytes;
  for (std::size_t v = 0; v < batch.variables; ++v)
    bytes.append(reinterpret_cast<const char*>(batch.words.data() + v * batch.stride + own.begin),
                 (own.end - own.begin) * sizeof(std::uint64_t));
  const std::vector<std::string> parts = all_gather(ranks, std::move(bytes));
  for (std::uint32_t rank = 0; rank < parts.size(); ++rank) {
    const std::size_t begin = part_begin(batch.stride, rank, ranks.size()),
                      size =
                          (part_begin(batch.stride, rank + 1, ranks.size()) - begin) * sizeof(std::uint64_t);
    for (std::size_t v = 0; size > 0 && v < batch.variables; ++v)
      std::memcpy(batch.words.data() + v * batch.stride + begin, parts[rank].data() + v * size, size);
  }
}

class GibbsMachineSampler : public MachineSampler {
 public:
  explicit GibbsMachineSampler(const MachineSamplerOptions& options) : options_(options) {}

  void draw(const BinaryMachine& machine, std::uint64_t iteration, BitBatch& batch) override {
    const GibbsSpinLanes kernel(graph_of(machine, graph_));
    const std::size_t groups = (options_.chains + 63) / 64;
    const bool fresh = states_.empty() || !options_.persistent;
    states_.resize(groups);
    batch = BitBatch(machine.variables(), options_.chains);
    const OwnWords own(batch, *options_.ranks);
    parallel_for(own.begin, own.end, [&](std::size_t g) {
      if (fresh)
        states_[g] = kernel.start(options_.persistent ? options_.seed : seed_of(options_.seed, iteration),
                                  static_cast<std::uint32_t>(64 * g));
      for (std::uint32_t sweep = 0; sweep < options_.sweeps && !options_.control->should_stop(); ++sweep)
        kernel.sweep(states_[g], iteration * options_.sweeps + sweep);
      const std::uint64_t mask = g + 1 == groups ? batch.last_mask() : ~std::uint64_t{0};
      for (std::size_t v = 0; v < batch.variables; ++v)
        batch.words[v * batch.stride + g] = states_[g].words[v] & mask;
    });
    share_words(*options_.ranks, batch);
  }

  void save(SaveArchive& archive) override { visit_states(archive, states_); }
  void load(LoadArchive& archive) override { visit_states(archive, states_); }

 private:
  MachineSamplerOptions options_;
  SpinGraph graph_;
  std::vector<GibbsSpinLanes::State> states_;
};

class GwgMachineSampler : public MachineSampler {
 public:
  explicit GwgMachineSampler(const MachineSamplerOptions& options) : options_(options) {}

  void draw(const BinaryMachine& machine, std::uint64_t iteration, BitBatch& batch) override {
    const SpinGraph& graph = graph_of(machine, graph_);
    const double pairs = static_cast<double>(graph.size()) * static_cast<double>(graph.size());
    if (static_cast<double>(graph.weight.size()) >= dense_share * pairs)
      draw_with(DenseGibbsWithGradients(graph), dense_states_, iteration, batch,
                [](const auto& state, std::size_t v) { return state.signs[v] < 0; });
    else
      draw_with(GibbsWithGradients(graph), states_, iteration, batch,
                [](const auto& state, std::size_t v) { return state.values[v] != 0; });
  }

  void save(SaveArchive& archive) override { visit(archive); }
  void load(LoadArchive& archive) override { visit(archive); }

 private:
  template <class Archive>
  void visit(Archive& archive) {
    visit_states(archive, states_);
    visit_states(archive, dense_states_);
  }

  static constexpr double dense_share = 0.25;  ///< of all pairs: from here on whole rows beat lists

  template <class Kernel, class State, class ValueOf>
  void draw_with(const Kernel& kernel, std::vector<State>& states, std::uint64_t iteration, BitBatch& batch,
                 const ValueOf& value_of) {
    const bool fresh = states.empty() || !options_.persistent;
    states.resize(options_.chains);
    batch = BitBatch(kernel.size(), options_.chains);
    // A word of the batch belongs to 64 chains: one task each.
    const OwnWords own(batch, *options_.ranks);
    parallel_for(own.begin, own.end, [&](std::size_t g) {
      for (std::size_t c = 64 * g; c < std::min<std::size_t>(64 * g + 64, options_.chains); ++c) {
        if (fresh)
          states[c] = kernel.start(options_.persistent ? options_.seed : seed_of(options_.seed, iteration),
                                   static_cast<std::uint32_t>(c));
        for (std::uint32_t sweep = 0; sweep < options_.sweeps && !options_.control->should_stop(); ++sweep)
          kernel.sweep(states[c], iteration * options_.sweeps + sweep);
        for (std::size_t v = 0; v < batch.variables; ++v) batch.set(c, v, value_of(states[c], v));
      }
    });
    share_words(*options_.ranks, batch);
  }

  MachineSamplerOptions options_;
  SpinGraph graph_;
  std::vector<GibbsWithGradients::State> states_;
  std::vector<DenseGibbsWithGradients::State> dense_states_;
};

class PmpMachineSampler : public MachineSampler {
 public:
  explicit PmpMachineSampler(const MachineSamplerOptions& options) : options_(options) {}

  void draw(const BinaryMachine& machine, std::uint64_t iteration, BitBatch& batch) override {
    const std::size_t n = machine.variables(), chains = options_.chains;
    const auto solver = batch_max_product(graph_of(machine, graph_));
    extra_.resize(chains * n);
    states_.resize(chains * n);
    const bool fresh = noise_.empty() || !options_.persistent;
    if (options_.persistent) noise_.resize(2 * chains * n);
    const Random random(options_.seed, Stream::perturb);
    parallel_for(std::size_t{0}, chains, [&](std::size_t c) {
      if (options_.control->should_stop()) return;
      for (std::size_t i = 0; i < n; ++i) {
        const auto chain = static_cast<std::uint32_t>(c), site = static_cast<std::uint32_t>(i);
        if (options_.persistent) {
          extra_[c * n + i] =
              next_noise(random, iteration, chain, site, fresh, noise_.data() + 2 * (c * n + i));
        } else {
          extra_[c * n + i] = logistic_noise(random.block(chain, iteration, site));
        }
      }
    });
    BatchOptions batch_options;
    batch_options.iterations = options_.sweeps;
    batch_options.damping = static_cast<float>(options_.damping);
    batch_options.control = options_.control;
    solver->solve(extra_, chains, batch_options, states_, options_.persistent ? &messages_ : nullptr);
    batch = BitBatch(n, chains);
    for (std::size_t c = 0; c < chains; ++c)
      for (std::size_t i = 0; i < n; ++i)
        batch.words[i * batch.stride + c / 64] |= std::uint64_t{states_[c * n + i]} << (c % 64);
  }

  void save(SaveArchive& archive) override { visit(archive); }
  void load(LoadArchive& archive) override { visit(archive); }

 private:
  template <class Archive>
  void visit(Archive& archive) {
    archive(noise_);
    archive(messages_.problems);
    archive(messages_.values);
  }

  /// Moves the two normal numbers of a variable on and returns the difference of their Gumbel numbers.
  float next_noise(const Random& random, std::uint64_t iteration, std::uint32_t chain, std::uint32_t site,
                   bool fresh, float* z) const {
    const auto words = random.block(chain, iteration, site);
    const double radius = std::sqrt(-2 * std::log1p(-Random::to_unit(words[0], words[1])));
    const double angle = 2 * 3.14159265358979323846 * Random::to_unit(words[2], words[3]);
    const double rho = options_.correlation;
    const double step[2] = {radius * std::cos(angle), radius * std::sin(angle)};
    double gumbel[2];
    for (int k = 0; k < 2; ++k) {
      z[k] = static_cast<float>(fresh ? step[k] : std::sqrt(rho) * z[k] + std::sqrt(1 - rho) * step[k]);
      gumbel[k] = centred_gumbel(0.5 * std::erfc(-z[k] / std::sqrt(2.0)));
    }
    return static_cast<float>(gumbel[0] - gumbel[1]);
  }

  MachineSamplerOptions options_;
  SpinGraph graph_;
  std::vector<float> noise_;  ///< normal numbers, two per chain and variable
  std::vector<float> extra_;
  std::vector<std::uint8_t> states_;
  BatchMessages messages_;
};

}  // namespace

std::unique_ptr<MachineSampler> pmp_machine_sampler(const MachineSamplerOptions& options) {
  return std::make_unique<PmpMachineSampler>(options);
}

std::unique_ptr<MachineSampler> gibbs_machine_sampler(const MachineSamplerOptions& options) {
  return std::make_unique<GibbsMachineSampler>(options);
}

std::unique_ptr<MachineSampler> gwg_machine_sampler(const MachineSamplerOptions& options) {
  return std::make_unique<GwgMachineSampler>(options);
}

void draw_clamped(const BinaryMachine& machine, const BitBatch& data, std::uint32_t sweeps,
                  std::uint64_t seed, std::uint64_t iteration, const Ranks& ranks, BitBatch& batch) {
  const SpinGraph graph = spin_graph(machine);
  const std::size_t n = machine.variables();
  batch = BitBatch(n, data.rows);
  std::copy(data.words.begin(), data.words.end(), batch.words.begin());
  const Random random(seed, Stream::hidden_units);
  const OwnWords own(batch, ranks);
  parallel_for(own.begin, own.end, [&](std::size_t g) {
    const auto first = static_cast<std::uint32_t>(64 * g);
    const std::size_t rows = std::min<std::size_t>(64, data.rows - first);
    const std::uint64_t all = rows == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << rows) - 1;
    const auto word = [&](std::size_t v) -> std::uint64_t& { return batch.words[v * batch.stride + g]; };
    for (std::size_t j = machine.visible; j < n; ++j) {
      const auto words = random.block(first, iteration * (sweeps + 1), static_cast<std::uint32_t>(j));
      word(j) = ((std::uint64_t{words[0]} << 32) | words[1]) & all;
    }
    std::array<float, 64> field;
    for (std::uint32_t sweep = 1; sweep <= sweeps; ++sweep)
      for (std::size_t j = machine.visible; j < n; ++j) {
        field.fill(graph.bias[j]);
        const auto neighbours = graph.neighbours(j);
        const auto weights = graph.weights(j);
        for (std::size_t k = 0; k < neighbours.size(); ++k)
          for (std::uint64_t on = word(neighbours[k]); on != 0; on &= on - 1)
            field[static_cast<std::size_t>(std::countr_zero(on))] += weights[k];
        std::uint64_t drawn = 0;
        for (std::size_t r = 0; r < rows; ++r) {
          const double u = random.uniform(first + static_cast<std::uint32_t>(r),
                                          iteration * (sweeps + 1) + sweep, static_cast<std::uint32_t>(j));
          drawn |= static_cast<std::uint64_t>(u * (1 + std::exp(-static_cast<double>(field[r]))) < 1) << r;
        }
        word(j) = drawn;
      }
  });
  share_words(ranks, batch);
}

}  // namespace drover
