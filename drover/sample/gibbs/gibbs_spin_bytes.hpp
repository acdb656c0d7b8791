// Gibbs sampling of 64 chains at once on any spin graph: a byte per chain and variable, 0 or 255.
//
// x_i is drawn from p(x_i = 1 | rest) = 1 / (1 + exp(-f_i)), f_i = bias_i + sum_j weight_ij x_j (Geman and
// Geman 1984), for all 64 chains of a State together. Neighbours are taken in groups of four. The bytes of a
// group, masked with 1, 2, 4, 8 and joined, are an index 0 .. 15 per chain, and a byte shuffle looks up one
// byte of a 16-entry table for 16, 32 or 64 chains in one instruction. What the tables hold:
//
// - a variable of at most four neighbours: T = 2^32 p for the 16 states of its neighbours, compared with
//   random bits (byte_thresholds-inl.hpp); of five or six neighbours the same in 32 or 64 entries.
// - any other variable: the product of exp(-weight) of the neighbours that are 1, a float, per group. The
//   product over groups and exp(-bias) is exp(-f); x = 1 when u (1 + exp(-f)) < 1, again with 16 random bits
//   first. Where products could leave the range of floats, and at temperatures other than 1, groups hold sums
//   of weights instead, made on the way, and one exponential per chain follows (byte_odds-inl.hpp).
//
// Probabilities are honoured to 2^-31 absolutely, those of exp(-f) also to a few 1e-7 relatively. Conditional
// sums add p rounded down to 24 bits. Only operations that IEEE 754 defines to the last bit are used, so that
// every instruction set gives the same bits.
//
// Where the neighbours of a large graph lie far from one another the states are bits in memory, unpacked as they are
// read: an eighth of the memory, and the same results.
//
// Use it whenever several chains are wanted: no colouring, no gathers, the fastest on sparse graphs. On dense
// graphs GibbsSpinLanes, with one bit per chain, moves eight times less memory. For one long chain on a big
// graph use GibbsSpinChain, or the lattice kernels where they fit. It mixes as Gibbs sampling mixes: badly at
// strong couplings.
//
// Random scan is as in GibbsSpinLanes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/spin_graph.hpp"
#include "drover/core/aligned.hpp"
#include "drover/core/run_control.hpp"
#include "drover/sample/kernel.hpp"
#include "drover/sample/scan.hpp"

namespace drover {

class LaneRandom;

/// How the states of 64 chains lie in memory; results do not depend on it.
enum class SpinStorage : std::uint8_t { chosen, bytes, bits };

class GibbsSpinBytes {
 public:
  using Bytes = AlignedVector<std::uint8_t>;

  struct State {
    std::uint64_t seed = 0;
    std::uint32_t first_chain = 0;
    Bytes states;  ///< 64 bytes of x_i, 255 when it is 1 in the lane of that place, or 64 bits
    std::vector<float> inverse_temperatures;  ///< of the 64 lanes
    std::vector<std::uint32_t> order;         ///< room for the order of a random scan

    template <class Archive>
    void visit(Archive& archive) {
      archive(seed);
      archive(first_chain);
      archive(states);
      archive(inverse_temperatures);
      archive(order);
    }
  };

  explicit GibbsSpinBytes(const SpinGraph& graph, Scan scan = Scan::fixed,
                          SpinStorage storage = SpinStorage::chosen);

  std::size_t size() const { return bias_.size(); }
  /// Whether a state that was read from somewhere is laid out as this kernel's are.
  bool fits(const State& state) const { return state.states.size() == bytes_each() * size(); }
  std::uint32_t lanes() const { return 64; }
  std::size_t entry_count() const { return size(); }

  State start(std::uint64_t seed, std::uint32_t first_chain, const RunControl& control = no_control()) const;
  void sweep(State& state, std::uint64_t sweep) const;
  void sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const;
  /// Sweeps first .. first + count - 1: the same bits as one by one, but several go through memory together
  /// where neighbours are near one another, as in a grid.
  void sweeps(State& state, std::uint64_t first, std::uint64_t count) const;
  void sweeps(State& state, std::uint64_t first, std::uint64_t count, ConditionalSums sums) const;
  void read(const State& state, std::uint32_t lane, std::span<Value> values) const;
  void write(State& state, std::uint32_t lane, std::span<const Value> values) const;
  void log_scores(const State& state, std::span<double> scores) const;
  void set_inverse_temperatures(State& state, std::span<const float> inverse_temperatures) const;

  /// The lanes stand in a variable's 64 bytes as a transposed 4 x 4 matrix of runs of four. Bytes that are
  /// interleaved to words of 32 bits, 16 bytes by 16 bytes as vector instructions do it, are then in order.
  static constexpr std::uint32_t place_of_lane(std::uint32_t lane) {
    return lane / 4 % 4 * 16 + lane / 16 * 4 + lane % 4;
  }

  /// The kernel as flat arrays, for the vector code.
  struct View {
    std::size_t size = 0;
    const float* bias = nullptr;
    const float* bias_odds = nullptr;            ///< exp(-bias)
    const std::uint32_t* group_begin = nullptr;  ///< groups of variable i: group_begin[i] .. group_begin[i+1]
    const std::uint32_t* table_begin = nullptr;  ///< the tables of variable i begin at 64 table_begin[i]
    const std::uint8_t* beyond = nullptr;        ///< 1, 2: thresholds of so many neighbours more than four
    const std::uint32_t* neighbours = nullptr;   ///< four per group; the last group is filled with i itself
    const float* weights = nullptr;              ///< four per group; zero for the filling
    const float* odds = nullptr;                 ///< exp(-weight)
    const std::uint8_t* tables =
        nullptr;            ///< thresholds, or 64 of odds per group: byte b of entry e at 16 b + e
    bool moderate = false;  ///< products of odds stay in the range of floats
    bool prefetch = false;  ///< neighbours are far away in memory
    bool packed = false;    ///< states are bits
    std::size_t reach = 0;  ///< the largest |i - j| of neighbours
  };

  /// What one call of the vector code does; null stands for inverse temperatures 1, ascending order, no sums.
  struct Job {
    std::uint8_t* states = nullptr;
    const float* inverse_temperatures = nullptr;
    const std::uint32_t* order = nullptr;
    const LaneRandom* random = nullptr;
    std::uint32_t batch = 0;
    std::uint64_t first_sweep = 0;
    std::uint64_t count = 1;  ///< sweeps, at most most_together
    float* sums = nullptr;
  };
  static constexpr std::size_t most_together = 4;

 private:
  View view() const;
  std::size_t bytes_each() const { return packed_ ? 8 : 64; }
  void run(State& state, std::uint64_t first_sweep, std::uint64_t count, float* sums) const;

  Scan scan_;
  bool moderate_ = false;
  bool prefetch_ = false;
  std::size_t reach_ = 0;
  std::size_t together_ = 1;
  bool packed_ = false;
  double log_constant_ = 0;
  std::vector<float> bias_;
  std::vector<float> bias_odds_;
  std::vector<std::uint32_t> group_begin_;
  std::vector<std::uint32_t> table_begin_;
  std::vector<std::uint8_t> beyond_;
  std::vector<std::uint32_t> neighbours_;
  std::vector<float> weights_;
  std::vector<float> odds_;
  Bytes tables_;
};

}  // namespace drover
