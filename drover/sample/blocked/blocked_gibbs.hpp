// Blocked Gibbs sampling: in every sweep each block of variables is drawn jointly given all others.
//
//   x_B ~ p(x_B | x_rest)   exactly, by elimination: sum-product up, sampling down
// (Hamze and de Freitas: From fields to trees, UAI 2004; Jensen, Kong and Kjaerulff 1995). The blocks come
// from compile/blocks.hpp: forests covering more than half of a sparse graph each, wider blocks around hard
// zeros. Sweep s draws the blocks of round s modulo the number of rounds, in order; 16 chains run side by
// side.
//
// Rao-Blackwell sums: a variable adds its probability given the rest and given the parents' drawn values,
// averaged over its parent where it has a single one (so on forests: its exact marginal given the variables
// outside the block). A variable in several blocks of a sweep adds the mean over them.
//
// Assumptions: every chain is in the support (start() sees to that; write() must be given such states). When
// blocks().warning() is not empty, it is not known whether all states can be reached from the start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/blocks.hpp"
#include "drover/compile/graph.hpp"
#include "drover/core/run_control.hpp"
#include "drover/sample/blocked/blocked_plan.hpp"
#include "drover/sample/blocked/blocked_sweep.hpp"
#include "drover/sample/kernel.hpp"

namespace drover {

class BlockedGibbs {
 public:
  /// Chain c starts at starts[c % starts.size()]. Without starts: at random values of a strictly positive
  /// graph, otherwise at 64 states of find_supported_states. The graph must outlive the kernel.
  explicit BlockedGibbs(const Graph& graph, const BlockOptions& options = {},
                        std::vector<std::vector<Value>> starts = {});
  /// With blocks chosen by the caller. The control can end what planning them takes: Error (stopped,
  /// interrupted).
  BlockedGibbs(const Graph& graph, Blocks blocks, std::vector<std::vector<Value>> starts = {},
               const RunControl& control = no_control());

  struct State {
    std::vector<LaneValues> values;  ///< per variable
    LaneFloats inverse_temperatures{};
    std::uint64_t seed = 0;
    std::uint32_t first_chain = 0;
    std::vector<LaneFloats> scratch;  ///< nothing in it outlives a sweep

    template <class Archive>
    void visit(Archive& archive) {
      archive(values);
      for (float& beta : inverse_temperatures.lane) archive(beta);
      archive(seed);
      archive(first_chain);
    }
  };

  std::size_t size() const { return graph_->size(); }
  std::uint32_t lanes() const { return block_lanes; }
  std::size_t entry_count() const { return entry_offsets_.back(); }
  const Blocks& blocks() const { return blocks_; }
  /// Variables drawn per sweep and lane, on average over the rounds; more than size() where blocks overlap.
  double updates_per_sweep() const;

  State start(std::uint64_t seed, std::uint32_t first_chain, const RunControl& control = no_control()) const;
  void sweep(State& state, std::uint64_t sweep) const { run(state, sweep, nullptr); }
  void sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const {
    run(state, sweep, sums.sums.data());
  }
  void read(const State& state, std::uint32_t lane, std::span<Value> values) const;
  void write(State& state, std::uint32_t lane, std::span<const Value> values) const;
  void log_scores(const State& state, std::span<double> scores) const;
  void set_inverse_temperatures(State& state, std::span<const float> inverse_temperatures) const;

 private:
  void run(State& state, std::uint64_t sweep, float* sums) const;

  const Graph* graph_;
  Blocks blocks_;
  std::vector<BlockPlan> plans_;
  std::vector<std::vector<Value>> starts_;
  std::vector<float> table_values_;
  std::vector<std::size_t> entry_offsets_;
  std::vector<std::vector<float>> sum_weights_;  // per round and variable
  std::uint32_t scratch_rows_ = 0;
};

static_assert(Kernel<BlockedGibbs>);

}  // namespace drover
