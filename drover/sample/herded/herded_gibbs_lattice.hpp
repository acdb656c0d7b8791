// Herded Gibbs on a grid of equal couplings with shared weights: 64 sites at a time, two bytes per weight.
//
// The rule is that of herded_gibbs_tables.hpp with `exact` sharing (Bornn et al., Herded Gibbs sampling, ICLR
// 2013) in the order of the checkerboard's two colours. All couplings being equal, the conditional
//   p_n = 1 / (1 + exp(-beta (bias + weight n)))
// depends on the number n of neighbours that are 1 (0 .. 4), so a site has five weights, whatever its field.
//
// Phases. With a = p - w, the rule "x = [w > 0], w += p - x" for w in (p - 1, p] reads
//   x = [a < p],   a = (a - p) mod 1:
// the weight is the phase of an accumulator, and x what it borrows. A sweep of a large grid is bounded by the
// memory that it moves, so phases have 16 bits: ten bytes per site, a quarter of what the tables need. The
// first phases are the upper bits of those of the tables.
//
// Probabilities. A step of 2^-16 would falsify small probabilities, so the probability q of the less likely
// value is not rounded to the nearest multiple but up or down,
//   q_t = floor(2^16 q + d_t) / 2^16   with d_t in [0, 1), a fixed hash of the sweep and the colour.
// Whether a site is in case n at sweep t depends on earlier hashes only, so the error q_t - q is that of fair
// rounding: over V visits of (site, n), |ones - V p| < 1 + |sum of errors|, where the sum is below
// 2^-16 sqrt(V ln(2 / delta) / 2) but with probability delta (Hoeffding, Azuma), were the hashes random:
// 0.05 after a million visits (delta = 1e-9). Worst case, if visits conspired with the hash: V 2^-16.
// q itself is a quotient of floats: relative error below 2^-22, and 2^-24 times the field, which is a float
// too; so probabilities of 1e-6 are herded as well as those of 0.5. Only integer and correctly rounded float
// operations are used: the same bits on every instruction set and for any number of threads.
//
// Use it for graphs that herded_lattice() accepts: spin graphs on a row-major grid, all couplings between
// free variables equal, any fields; open borders of any size, periodic sides even, both sides at least 3.
// Observed variables are holes, whose influence is in the fields. Rows are padded to 128 sites.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "drover/compile/lattice.hpp"
#include "drover/sample/gibbs/gibbs_spin_checkerboard.hpp"
#include "drover/sample/kernel.hpp"

namespace drover {

struct HerdedLatticeRow;

/// A lattice over the variables of the model; those observed have no pairs.
struct HerdedLattice {
  Lattice lattice;
  double weight = 0;             ///< of every pair
  std::vector<VariableId> site;  ///< of every free variable
};

/// Empty when the kernel cannot run the graph, and where fields exceed 80.
std::optional<HerdedLattice> herded_lattice(const Graph& graph);

class HerdedGibbsLattice {
 public:
  /// The phases of 64 sites for n = 0 .. 4.
  struct alignas(64) Phases {
    std::uint16_t of[5][64];
  };
  /// A number for each of 64 sites, first those of even bits, then those of odd ones.
  struct alignas(64) Numbers {
    float of[64];
    bool operator==(const Numbers&) const = default;
  };
  struct State {
    std::uint64_t seed = 0;
    std::uint32_t chain = 0;
    float inverse_temperature = 1;
    std::vector<std::uint64_t> words;  ///< as Checkerboard lays them out; zero where nothing is free
    std::vector<Phases> phases;        ///< by colour, row and word
    std::vector<Numbers> odds;         ///< at other temperatures than 1; else the kernel's

    template <class Archive>
    void visit(Archive& archive) {
      archive(seed);
      archive(chain);
      archive(inverse_temperature);
      archive(words);
      archive(phases);
      archive(odds);
    }
  };

  /// The graph must outlive the kernel; `lattice` is herded_lattice(graph). `starts`: see check_starts().
  HerdedGibbsLattice(const Graph& graph, HerdedLattice lattice, std::vector<std::vector<Value>> starts = {});
  HerdedGibbsLattice(Graph&&, HerdedLattice, std::vector<std::vector<Value>> = {}) = delete;

  std::size_t size() const { return site_.size(); }
  std::uint32_t lanes() const { return 1; }
  std::size_t entry_count() const { return size(); }

  State start(std::uint64_t seed, std::uint32_t first_chain) const;
  void sweep(State& state, std::uint64_t sweep) const;
  void sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const;
  void read(const State& state, std::uint32_t lane, std::span<Value> values) const;
  void write(State& state, std::uint32_t lane, std::span<const Value> values) const;
  void log_scores(const State& state, std::span<double> scores) const;
  /// Fields times the inverse temperature may reach 80.
  void set_inverse_temperatures(State& state, std::span<const float> inverse_temperatures) const;

  /// d_t for one colour of one sweep.
  static float rounding(std::uint64_t sweep, std::size_t colour);

 private:
  std::size_t row_blocks() const { return ((board_.width + 1) / 2 + 63) / 64; }
  std::size_t block(std::size_t colour, std::size_t y) const {  ///< the first one of a row
    return (colour * board_.height + y) * row_blocks();
  }
  std::size_t block_count() const { return 2 * board_.height * row_blocks(); }
  std::size_t above(std::size_t y) const;  ///< the neighbouring rows; row `height` is the zero row
  std::size_t below(std::size_t y) const;
  HerdedLatticeRow row_of(std::uint64_t* words, std::size_t colour, std::size_t y) const;
  bool has_holes() const { return size() != board_.size(); }
  std::vector<Numbers> odds_at(float inverse_temperature) const;

  const Graph* graph_;
  Checkerboard board_;
  bool periodic_y_;
  double weight_;
  double log_constant_;
  std::vector<std::vector<Value>> starts_;
  std::vector<VariableId> site_;          ///< of every free variable
  std::vector<std::uint64_t> free_;       ///< by block, when there are holes
  std::vector<std::uint32_t> fields_of_;  ///< by block: its place in biases_ and odds_
  std::vector<Numbers> biases_;           ///< blocks that are equal stand here once
  std::vector<Numbers> odds_;             ///< exp(-(bias + 2 weight))
};

}  // namespace drover
