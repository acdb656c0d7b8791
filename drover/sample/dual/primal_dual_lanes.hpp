// Primal-dual Gibbs sampling of 64 chains at once on any spin graph: one bit per chain and variable.
//
// Source: Mescheder, Nowozin, Geiger: Probabilistic duality for parallel Gibbs sampling without graph
// colouring, 2016. Every pair gets a binary dual (compile/dual.hpp); a sweep draws all duals given all
// variables, then all variables given all duals, each factorising:
//
//   t_e = s_i up to noise:  P(t_e != s_i) = noise_e where s_i = sign_e s_j, one half elsewhere,
//   log p(x_i = 1) / p(x_i = 0) = field_i + sum over pairs e of i of (+-) strength_e t_e.
//
// The marginal distribution of the variables is exactly p. Duals live only within a sweep: the state is the
// variables.
//
// Random numbers are the cost, so probabilities are compared byte by byte: two random bytes per draw decide
// all but one draw in 65536, which take two more; they are honoured to 2^-32 as in GibbsSpinLanes. Variables
// of at most four pairs look up one of 16 thresholds, others multiply odds as in GibbsSpinLanes.
//
// It mixes more slowly per sweep than single-site Gibbs (by 2 to 7 on grids in the paper), the more so the
// more and the stronger the pairs of a variable are. It needs no colouring and takes any change of the graph
// in its stride. At temperatures other than 1 it runs plain scalar code.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/dual.hpp"
#include "drover/core/aligned.hpp"
#include "drover/sample/kernel.hpp"

namespace drover {

class PrimalDualLanes {
 public:
  struct State {
    std::uint64_t seed = 0;
    std::uint32_t first_chain = 0;
    std::vector<std::uint64_t> words;         ///< bit l of words[i]: x_i of lane l
    std::vector<float> inverse_temperatures;  ///< of the 64 lanes
    std::vector<std::uint64_t> duals;         ///< of this sweep; nothing in it outlives a sweep

    template <class Archive>
    void visit(Archive& archive) {
      archive(seed);
      archive(first_chain);
      archive(words);
      archive(inverse_temperatures);
    }
  };

  explicit PrimalDualLanes(const SpinGraph& graph);

  std::size_t size() const { return spins_.size(); }
  std::uint32_t lanes() const { return 64; }
  std::size_t entry_count() const { return size(); }

  State start(std::uint64_t seed, std::uint32_t first_chain) const;
  void sweep(State& state, std::uint64_t sweep) const;
  void sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const;
  void read(const State& state, std::uint32_t lane, std::span<Value> values) const;
  void write(State& state, std::uint32_t lane, std::span<const Value> values) const;
  void log_scores(const State& state, std::span<double> scores) const;
  void set_inverse_temperatures(State& state, std::span<const float> inverse_temperatures) const;

  struct DualEdge {
    std::uint32_t first, second;
    std::uint32_t noise;  ///< 2^32 times the probability of noise
    std::uint32_t flip;
  };
  /// Thresholds 2^32 p(x = 1 | duals) of the 16 states of four duals, most significant bytes first.
  struct Thresholds {
    std::uint8_t bytes[4][16];
  };

  /// The kernel as flat arrays, for the vector code.
  struct View {
    std::size_t size = 0, edge_count = 0;
    const DualEdge* edges = nullptr;
    const float* bias = nullptr;                 ///< log-odds of x_i when all its duals are 0
    const float* bias_odds = nullptr;            ///< exp(-bias)
    const std::uint32_t* group_begin = nullptr;  ///< groups of variable i: group_begin[i] .. group_begin[i+1]
    const std::uint32_t* duals = nullptr;        ///< four per group
    const float* weights = nullptr;              ///< four per group; zero where a group is not full
    const float* odds = nullptr;                 ///< exp(-weight)
    const std::uint32_t* table = nullptr;        ///< index of the variable's thresholds, or no_table
    const Thresholds* thresholds = nullptr;
    bool moderate = false;  ///< products of odds stay in the range of floats
  };
  static constexpr std::uint32_t no_table = 0xffffffffU;

 private:
  View view() const;
  void run(State& state, std::uint64_t sweep, float* sums) const;
  void run_tempered(State& state, std::uint64_t sweep, float* sums) const;

  SpinEdges spins_;
  bool moderate_ = false;
  std::vector<DualEdge> edges_;
  std::vector<float> bias_;
  std::vector<float> bias_odds_;
  std::vector<std::uint32_t> group_begin_;
  std::vector<std::uint32_t> duals_;
  std::vector<float> weights_;
  std::vector<float> odds_;
  std::vector<std::uint32_t> table_;
  AlignedVector<Thresholds> thresholds_;
};

}  // namespace drover
