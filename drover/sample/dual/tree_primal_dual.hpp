// Primal-dual Gibbs sampling on any graph, with or without a forest of pairs that are not dualised.
//
// Source: Mescheder, Nowozin, Geiger 2016, sections 4.2 (any factor) and 5.4 (blocking). A sweep
//   1. draws the duals of all factors outside the forest given the variables (compile/mixture.hpp; for
//      attractive Potts and all spin pairs one dual with a state per value, bond_law.hpp),
//   2. draws all variables jointly given these duals: sum-product up the forest, sampling down.
// The distribution of the variables is exactly p for any forest, which may change from sweep to sweep as long
// as it does not look at the variables: `heaviest` takes the strongest pairs, `redrawn` draws a forest anew
// for every sweep, stronger pairs more likely (Gumbel noise on the logarithm of their weights). Without a
// forest this is the plain primal-dual sampler for K-ary variables, factors of any order and hard zeros.
//
// Rao-Blackwell: a variable adds its marginal given the duals, by one pass down the forest.
//
// 16 chains run side by side, in double; messages are products of linear values, rescaled when they leave
// 1e-150 .. 1e150. Hard zeros: every chain must start in the support; it reaches what single-site Gibbs
// reaches.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "drover/core/run_control.hpp"
#include "drover/sample/dual/dual_plan.hpp"
#include "drover/sample/kernel.hpp"

namespace drover {

enum class ForestChoice { none, heaviest, redrawn };

class TreePrimalDual {
 public:
  struct State {
    std::uint64_t seed = 0;
    std::uint32_t first_chain = 0;
    float inverse_temperature = 1;  ///< of all lanes
    std::vector<Value> values;      ///< variable-major, lane-minor
    // What follows does not outlive a sweep, but for the plan of another temperature.
    std::vector<double> beliefs;  ///< entry-major, lane-minor
    std::vector<double> margins;
    std::shared_ptr<const DualPlan> plan;

    template <class Archive>
    void visit(Archive& archive) {
      archive(seed);
      archive(first_chain);
      archive(inverse_temperature);
      archive(values);
      plan.reset();  // that of the temperature it had
    }
  };

  /// The graph must outlive the kernel. `starts` as in draw_start(): needed when tables have hard zeros.
  TreePrimalDual(const Graph& graph, ForestChoice choice, std::vector<std::vector<Value>> starts = {});
  TreePrimalDual(Graph&&, ForestChoice, std::vector<std::vector<Value>> = {}) = delete;

  static constexpr std::uint32_t lane_count = 16;
  std::size_t size() const { return graph_->size(); }
  std::uint32_t lanes() const { return lane_count; }
  std::size_t entry_count() const { return conditional_offsets_.back(); }

  State start(std::uint64_t seed, std::uint32_t first_chain, const RunControl& control = no_control()) const;
  void sweep(State& state, std::uint64_t sweep) const { run(state, sweep, nullptr); }
  void sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const {
    run(state, sweep, sums.sums.data());
  }
  void read(const State& state, std::uint32_t lane, std::span<Value> values) const;
  void write(State& state, std::uint32_t lane, std::span<const Value> values) const;
  void log_scores(const State& state, std::span<double> scores) const;
  /// One temperature for all lanes: duals of different temperatures are different mixtures.
  void set_inverse_temperatures(State& state, std::span<const float> inverse_temperatures) const;

  const DualPlan& plan() const { return *plan_; }
  const Graph& graph() const { return *graph_; }

  /// What one of several ranks draws (PrimalDualMixtureSpread), where there is no forest: the duals of some
  /// factors, given the variables, and some variables, all of whose factors they are, given the duals.
  struct Share {
    std::vector<std::uint32_t> links;             ///< in order
    std::vector<std::uint32_t> mixtures;          ///< in order, of factors of three and more variables
    std::vector<VariableId> touched;              ///< by these factors, and those that are drawn
    std::vector<std::size_t> conditional_offset;  ///< by variable: its entries in the sums of the rank
  };
  void draw_duals(State& state, std::uint64_t sweep, const Share& share) const;
  /// `sums` may be null.
  void draw_variables(State& state, std::uint64_t sweep, const Share& share,
                      std::span<const VariableId> variables, float* sums) const;
  /// Links of the forest (of the fixed one, when it is redrawn).
  std::size_t forest_links() const;
  /// How many numbers a sweep of one chain multiplies to draw duals that are no bonds, and along the forest.
  double products() const;

 private:
  void run(State& state, std::uint64_t sweep, float* sums) const;

  const Graph* graph_;
  ForestChoice choice_;
  std::vector<std::vector<Value>> starts_;
  std::shared_ptr<const DualPlan> plan_;
  DualForest forest_;
  std::vector<std::size_t> conditional_offsets_;
};

}  // namespace drover
