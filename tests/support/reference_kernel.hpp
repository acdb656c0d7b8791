// A second, independent Gibbs sampler for tests: one variable at a time, every factor as a table, any number
// of lanes. Slow on purpose; nothing is shared with the kernels it stands in for.
#pragma once

#include <stdexcept>
#include <vector>

#include "drover/compile/graph.hpp"
#include "drover/core/log_math.hpp"
#include "drover/core/random.hpp"
#include "drover/sample/kernel.hpp"

namespace drover::testing {

class ReferenceKernel {
 public:
  struct State {
    std::uint64_t seed = 0;
    std::uint32_t first_chain = 0;
    std::vector<Value> values;  ///< lane after lane
    std::vector<float> inverse_temperatures;

    template <class Archive>
    void visit(Archive& archive) {
      archive(seed);
      archive(first_chain);
      archive(values);
      archive(inverse_temperatures);
    }
  };

  ReferenceKernel(const Graph& graph, std::uint32_t lanes)
      : graph_(graph), lanes_(lanes), tables_(all_tables(graph)), factors_of_(graph.size()) {
    for (std::uint32_t k : graph.cardinalities) entry_count_ += k == 2 ? 1 : k;
    for (std::size_t f = 0; f < tables_.size(); ++f)
      for (VariableId v : tables_.scope(f)) factors_of_[v].push_back(f);
  }

  std::size_t size() const { return graph_.size(); }
  std::uint32_t lanes() const { return lanes_; }
  std::size_t entry_count() const { return entry_count_; }

  /// Uniform over all states, drawn again until it lies in the support.
  State start(std::uint64_t seed, std::uint32_t first_chain) const {
    State state{seed, first_chain, std::vector<Value>(lanes_ * size()), std::vector<float>(lanes_, 1.0F)};
    const Random random(seed, Stream::start);
    for (std::uint32_t lane = 0; lane < lanes_; ++lane) {
      const auto x = lane_of(state, lane);
      std::uint64_t attempt = 0;
      do {
        if (attempt == 1000000) throw std::logic_error("no state in the support");
        for (VariableId v = 0; v < size(); ++v)
          x[v] = static_cast<Value>(random.uniform(first_chain + lane, attempt, v) * graph_.cardinalities[v]);
        ++attempt;
      } while (log_score(graph_, x) == log_zero);
    }
    return state;
  }

  void sweep(State& state, std::uint64_t sweep) const { sweep_lanes(state, sweep, {}); }
  void sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const {
    sweep_lanes(state, sweep, sums.sums);
  }

  void read(const State& state, std::uint32_t lane, std::span<Value> values) const {
    std::copy_n(state.values.begin() + static_cast<std::ptrdiff_t>(lane * size()), size(), values.begin());
  }
  void write(State& state, std::uint32_t lane, std::span<const Value> values) const {
    std::copy(values.begin(), values.end(), lane_of(state, lane).begin());
  }
  void log_scores(const State& state, std::span<double> scores) const {
    for (std::uint32_t lane = 0; lane < lanes_; ++lane)
      scores[lane] = log_score(graph_, {state.values.data() + lane * size(), size()});
  }
  void set_inverse_temperatures(State& state, std::span<const float> inverse_temperatures) const {
    state.inverse_temperatures.assign(inverse_temperatures.begin(), inverse_temperatures.end());
  }

 private:
  std::span<Value> lane_of(State& state, std::uint32_t lane) const {
    return {state.values.data() + lane * size(), size()};
  }

  double local_score(VariableId v, std::span<const Value> x) const {
    double score = graph_.unary_of(v)[x[v]];
    for (std::size_t f : factors_of_[v]) {
      std::size_t index = 0;
      for (VariableId u : tables_.scope(f)) index = index * graph_.cardinalities[u] + x[u];
      score += tables_.values(f)[index];
    }
    return score;
  }

  void sweep_lanes(State& state, std::uint64_t sweep, std::span<float> sums) const {
    const Random random(state.seed, Stream::sweep);
    std::vector<double> conditional;
    for (std::uint32_t lane = 0; lane < lanes_; ++lane) {
      const auto x = lane_of(state, lane);
      std::size_t entry = 0;
      for (VariableId v = 0; v < size(); ++v) {
        const std::uint32_t states = graph_.cardinalities[v];
        conditional.resize(states);
        for (std::uint32_t k = 0; k < states; ++k) {
          x[v] = static_cast<Value>(k);
          const double score = local_score(v, x);
          conditional[k] = score == log_zero ? log_zero : state.inverse_temperatures[lane] * score;
        }
        normalise_logs(conditional);
        double u = random.uniform(state.first_chain + lane, sweep, v);
        std::uint32_t drawn = 0;
        while (drawn + 1 < states && (u -= conditional[drawn]) >= 0) ++drawn;
        while (conditional[drawn] == 0) --drawn;
        x[v] = static_cast<Value>(drawn);
        for (std::uint32_t k = states == 2 ? 1 : 0; k < states; ++k, ++entry)
          if (!sums.empty()) sums[entry * lanes_ + lane] += static_cast<float>(conditional[k]);
      }
    }
  }

  const Graph& graph_;
  std::uint32_t lanes_;
  Tables tables_;
  std::vector<std::vector<std::size_t>> factors_of_;
  std::size_t entry_count_ = 0;
};
static_assert(Kernel<ReferenceKernel>);

}  // namespace drover::testing
