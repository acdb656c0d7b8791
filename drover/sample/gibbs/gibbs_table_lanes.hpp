// Gibbs sampling of many chains as SIMD lanes, for any graph: K-ary variables, Potts and spin pairs, tables
// of any arity, hard zeros.
//
//   x_v ~ p(x_v | rest)^(beta),  p(x_v = k | rest) = exp(field_v(k)) / sum_k' exp(field_v(k'))   (Geman and
//   Geman, Stochastic relaxation, Gibbs distributions, and the Bayesian restoration of images, 1984)
//
// Values are stored variable-major, lane-minor, so the values of one neighbour in all chains are contiguous:
// a Potts link is a compare and a masked add, a table link is a permutation of the table's row held in a
// register while the other variables have at most four vectors of configurations, and a gather otherwise.
// Fields are float, scores double.
//
// When it fails: hard zeros may cut the support into parts that single-site moves do not connect (see
// compile/connectivity.hpp); each chain then stays in the part it started in.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/graph.hpp"
#include "drover/compile/table_graph.hpp"
#include "drover/core/run_control.hpp"
#include "drover/sample/gibbs/gibbs_table_schedule.hpp"
#include "drover/sample/kernel.hpp"

namespace drover {

class GibbsTableLanes {
 public:
  struct Options {
    std::uint32_t lanes = 64;  ///< 16, 32 or 64
    Scan scan = Scan::fixed;
    /// States in the support, used in turn by the chains. Needed when a table has hard zeros; without it a
    /// chain starts uniformly among the values that its unaries allow.
    std::vector<std::vector<Value>> starts;
  };

  struct State {
    std::uint64_t seed = 0;
    std::uint32_t first_chain = 0;
    std::vector<std::uint8_t> narrow;  ///< value of variable v in lane l at v * lanes + l, or
    std::vector<Value> wide;           ///< the same where a variable has more than 256 states
    std::vector<float> inverse_temperatures;
    std::vector<VariableId> order;  ///< of this sweep, for random scan

    template <class Archive>
    void visit(Archive& archive) {
      archive(seed);
      archive(first_chain);
      archive(narrow);
      archive(wide);
      archive(inverse_temperatures);
      archive(order);
    }
  };

  /// The graph must outlive the kernel. Raises misfit when hard zeros need starting states that are missing
  /// or have probability zero.
  GibbsTableLanes(const Graph& graph, Options options);
  explicit GibbsTableLanes(const Graph& graph) : GibbsTableLanes(graph, Options()) {}
  explicit GibbsTableLanes(Graph&&) = delete;
  GibbsTableLanes(Graph&&, Options) = delete;

  std::size_t size() const { return layout_.size(); }
  std::uint32_t lanes() const { return options_.lanes; }
  std::size_t entry_count() const { return conditional_offsets_.back(); }

  State start(std::uint64_t seed, std::uint32_t first_chain, const RunControl& control = no_control()) const;
  void sweep(State& state, std::uint64_t sweep) const;
  void sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const;
  void read(const State& state, std::uint32_t lane, std::span<Value> values) const;
  void write(State& state, std::uint32_t lane, std::span<const Value> values) const;
  void log_scores(const State& state, std::span<double> scores) const;
  void set_inverse_temperatures(State& state, std::span<const float> inverse_temperatures) const;

 private:
  const Graph* graph_;
  Options options_;
  TableGraph layout_;
  std::vector<std::size_t> conditional_offsets_;
  std::uint32_t max_states_;
};

}  // namespace drover
