// Gibbs sampling of one chain on a grid with any couplings and fields: checkerboard, no gathers.
//
// All sites of one colour of the checkerboard are drawn together from
// p(x_i = 1 | rest) = 1 / (1 + exp(-f_i)); their neighbours' bits are the words of the other colour's rows
// (Checkerboard), shifted by one bit at most, and couplings are stored once, in rows too.
//
// Use it for one long chain on a big grid recognised by recognise_lattice(): open borders of any size,
// periodic sides even (is_checkerboard()), both sides at least 3. Equal couplings: GibbsSpinEqualLattice.
// Several chains: GibbsSpinLanes. Threads share bands of rows; the bits do not depend on them.
// Several sweeps go through memory together, each a row or two behind the one before.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/lattice.hpp"
#include "drover/core/aligned.hpp"
#include "drover/core/whole_sum.hpp"
#include "drover/sample/gibbs/gibbs_spin_checkerboard.hpp"

namespace drover {

class GibbsSpinLattice : public CheckerboardKernel<GibbsSpinLattice> {
 public:
  /// Requires lattice.is_checkerboard().
  explicit GibbsSpinLattice(const Lattice& lattice);

  void log_scores(const State& state, std::span<double> scores) const;

  /// For a chain that lies on several ranks: draws one row; `random` is of the state's seed and Stream::sweep,
  /// `sums`, of that row, may be null.
  void draw_row(State& state, const LaneRandom& random, std::uint64_t sweep, std::size_t colour,
                std::size_t y, float* sums) const;
  /// The log score of rows begin .. end, without its constant.
  WholeSum score_of(const State& state, std::size_t begin, std::size_t end) const;
  double log_constant() const { return log_constant_; }
  const Checkerboard& board() const { return board_; }

  /// Biases and weights by colour, row and bit, as the words of a Checkerboard: row (c, y) begins at
  /// terms_row(c, y); the number before it belongs to the last site of the row.
  struct Terms {
    AlignedFloats bias, right, down;
  };

 private:
  friend class CheckerboardKernel<GibbsSpinLattice>;
  void run(State& state, std::uint64_t first, std::uint64_t count, float* sums) const;

  bool moderate_ = false;  ///< products of odds stay in the range of floats
  double log_constant_ = 0;
  Terms weights_;
  Terms odds_;  ///< exp(-weight)
};

}  // namespace drover
