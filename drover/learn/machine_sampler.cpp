#include "drover/learn/machine_sampler.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "drover/compile/spin_graph.hpp"
#include "drover/core/random.hpp"
#include "drover/sample/gibbs_spin_lanes.hpp"
#include "drover/sample/gibbs_with_gradients.hpp"

namespace drover {

namespace {

/// A new seed for each iteration, so that chains that are reset do not start alike.
std::uint64_t seed_of(std::uint64_t seed, std::uint64_t iteration) {
  const Random::Block words = Random(seed, Stream::learn).block(0, iteration, 1);
  return (std::uint64_t{words[0]} << 32) | words[1];
}

class GibbsMachineSampler : public MachineSampler {
 public:
  explicit GibbsMachineSampler(const MachineSamplerOptions& options) : options_(options) {}

  void draw(const BinaryMachine& machine, std::uint64_t iteration, BitBatch& batch) override {
    const SpinGraph graph = spin_graph(machine);
    const GibbsSpinLanes kernel(graph);
    const std::size_t groups = (options_.chains + 63) / 64;
    const bool fresh = states_.empty() || !options_.persistent;
    states_.resize(groups);
    batch = BitBatch(machine.variables(), options_.chains);
    tbb::parallel_for(std::size_t{0}, groups, [&](std::size_t g) {
      if (fresh)
        states_[g] = kernel.start(options_.persistent ? options_.seed : seed_of(options_.seed, iteration),
                                  static_cast<std::uint32_t>(64 * g));
      for (std::uint32_t sweep = 0; sweep < options_.sweeps; ++sweep)
        kernel.sweep(states_[g], iteration * options_.sweeps + sweep);
      const std::uint64_t mask = g + 1 == groups ? batch.last_mask() : ~std::uint64_t{0};
      for (std::size_t v = 0; v < batch.variables; ++v)
        batch.words[v * batch.stride + g] = states_[g].words[v] & mask;
    });
  }

 private:
  MachineSamplerOptions options_;
  std::vector<GibbsSpinLanes::State> states_;
};

class GwgMachineSampler : public MachineSampler {
 public:
  explicit GwgMachineSampler(const MachineSamplerOptions& options) : options_(options) {}

  void draw(const BinaryMachine& machine, std::uint64_t iteration, BitBatch& batch) override {
    const SpinGraph graph = spin_graph(machine);
    const GibbsWithGradients kernel(graph);
    const bool fresh = states_.empty() || !options_.persistent;
    states_.resize(options_.chains);
    batch = BitBatch(machine.variables(), options_.chains);
    // A word of the batch belongs to 64 chains: one task each.
    tbb::parallel_for(std::size_t{0}, batch.stride, [&](std::size_t g) {
      for (std::size_t c = 64 * g; c < std::min<std::size_t>(64 * g + 64, options_.chains); ++c) {
        if (fresh)
          states_[c] = kernel.start(options_.persistent ? options_.seed : seed_of(options_.seed, iteration),
                                    static_cast<std::uint32_t>(c));
        for (std::uint32_t sweep = 0; sweep < options_.sweeps; ++sweep)
          kernel.sweep(states_[c], iteration * options_.sweeps + sweep);
        for (std::size_t v = 0; v < batch.variables; ++v) batch.set(c, v, states_[c].values[v] != 0);
      }
    });
  }

 private:
  MachineSamplerOptions options_;
  std::vector<GibbsWithGradients::State> states_;
};

}  // namespace

std::unique_ptr<MachineSampler> gibbs_machine_sampler(const MachineSamplerOptions& options) {
  return std::make_unique<GibbsMachineSampler>(options);
}

std::unique_ptr<MachineSampler> gwg_machine_sampler(const MachineSamplerOptions& options) {
  return std::make_unique<GwgMachineSampler>(options);
}

void draw_clamped(const BinaryMachine& machine, const BitBatch& data, std::uint32_t sweeps,
                  std::uint64_t seed, std::uint64_t iteration, BitBatch& batch) {
  const SpinGraph graph = spin_graph(machine);
  const std::size_t n = machine.variables();
  batch = BitBatch(n, data.rows);
  std::copy(data.words.begin(), data.words.end(), batch.words.begin());
  const Random random(seed, Stream::hidden_units);
  tbb::parallel_for(std::size_t{0}, batch.stride, [&](std::size_t g) {
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
}

}  // namespace drover
