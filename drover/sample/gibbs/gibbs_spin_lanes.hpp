// Gibbs sampling of 64 chains at once on any spin graph: one bit per chain and variable.
//
// x_i is drawn from p(x_i = 1 | rest) = 1 / (1 + exp(-f_i)), f_i = bias_i + sum_j weight_ij x_j (Geman and
// Geman 1984), for all 64 chains of a State together. Neighbours are taken in groups of four: the bits of a
// group are an index 0 .. 15 per chain, and the 16 partial sums (or, for a whole variable of at most four
// neighbours at temperature 1, its 16 probabilities as 32-bit thresholds, made once) are one AVX-512
// register, so that a table lookup replaces the adds and the exponential. Narrower instruction sets add
// masked weights. Probabilities are honoured to 2^-32 absolutely, and to a few 1e-7 relatively.
//
// Use it whenever several chains are wanted: no colouring, no gathers, the fastest on any graph. For one long
// chain on a big graph use GibbsSpinChain, or the lattice kernels where they fit. It mixes as Gibbs sampling
// mixes: badly at strong couplings.
//
// Random scan: every sweep visits the variables in a new random permutation, a function of (seed, sweep) and
// shared by all lanes and batches. That is valid: given the order, every update leaves p unchanged and the
// chains are independent; the order does not look at any state, so each chain alone is a Gibbs
// chain in random order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/spin_graph.hpp"
#include "drover/core/aligned.hpp"
#include "drover/sample/kernel.hpp"
#include "drover/sample/scan.hpp"

namespace drover {

class GibbsSpinLanes {
 public:
  struct State {
    std::uint64_t seed = 0;
    std::uint32_t first_chain = 0;
    std::vector<std::uint64_t> words;         ///< bit l of words[i]: x_i of lane l
    std::vector<float> inverse_temperatures;  ///< of the 64 lanes
    std::vector<std::uint32_t> order;         ///< room for the order of a random scan

    template <class Archive>
    void visit(Archive& archive) {
      archive(seed);
      archive(first_chain);
      archive(words);
      archive(inverse_temperatures);
      archive(order);
    }
  };

  explicit GibbsSpinLanes(const SpinGraph& graph, Scan scan = Scan::fixed);

  std::size_t size() const { return bias_.size(); }
  std::uint32_t lanes() const { return 64; }
  std::size_t entry_count() const { return size(); }

  State start(std::uint64_t seed, std::uint32_t first_chain) const;
  void sweep(State& state, std::uint64_t sweep) const;
  void sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const;
  void read(const State& state, std::uint32_t lane, std::span<Value> values) const;
  void write(State& state, std::uint32_t lane, std::span<const Value> values) const;
  void log_scores(const State& state, std::span<double> scores) const;
  void set_inverse_temperatures(State& state, std::span<const float> inverse_temperatures) const;

  /// The kernel as flat arrays, for the vector code.
  struct View {
    std::size_t size = 0;
    const float* bias = nullptr;
    const float* bias_odds = nullptr;            ///< exp(-bias)
    const std::uint32_t* group_begin = nullptr;  ///< groups of variable i: group_begin[i] .. group_begin[i+1]
    const std::uint32_t* neighbours = nullptr;   ///< four per group; the last group is filled with i itself
    const float* weights = nullptr;              ///< four per group; zero for the filling
    const float* odds = nullptr;                 ///< exp(-weight)
    const std::uint32_t* table = nullptr;        ///< index of the variable's thresholds, or no_table
    const std::uint32_t* thresholds = nullptr;   ///< 16 per table: 2^32 p(x_i = 1 | neighbours)
    bool moderate = false;                       ///< products of odds stay in the range of floats
    bool prefetch = false;                       ///< neighbours are far away in memory
  };
  static constexpr std::uint32_t no_table = 0xffffffffU;

 private:
  View view() const;
  void run(State& state, std::uint64_t sweep, float* sums) const;

  Scan scan_;
  bool moderate_ = false;
  bool prefetch_ = false;
  double log_constant_ = 0;
  std::vector<float> bias_;
  std::vector<float> bias_odds_;
  std::vector<std::uint32_t> group_begin_;
  std::vector<std::uint32_t> neighbours_;
  std::vector<float> weights_;
  std::vector<float> odds_;
  std::vector<std::uint32_t> table_;
  AlignedVector<std::uint32_t> thresholds_;
};

}  // namespace drover
