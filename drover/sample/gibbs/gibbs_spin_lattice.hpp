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

#include <algorithm>
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

  /// Draws rows of a State in any order that is right (Checkerboard::sweep_stretch).
  class Rows {
   public:
    Rows(const GibbsSpinLattice& kernel, State& state);
    /// `sums`, of that row, may be null.
    void draw(std::uint64_t sweep, std::size_t colour, std::size_t y, float* sums) const;
    /// How many of so many sweeps are drawn before close() adds to the sums what they still owe them: here nothing.
    static std::uint64_t next_part(std::uint64_t sweeps, bool) { return sweeps; }
    void close(std::size_t, std::uint64_t, float*) const {}

   private:
    const GibbsSpinLattice& kernel_;
    State& state_;
    LaneRandom random_;
    bool odds_;
  };
  Rows rows(State& state, bool) const { return {*this, state}; }

  /// For a chain that lies on several ranks: a row's states, as they travel.
  std::size_t row_words() const { return board_.row_words(); }
  void load_row(const State& state, std::size_t colour, std::size_t y, std::uint64_t* words) const {
    std::copy_n(state.words.data() + board_.row(colour, y), row_words(), words);
  }
  void store_row(State& state, std::size_t colour, std::size_t y, const std::uint64_t* words) const {
    std::copy_n(words, row_words(), state.words.data() + board_.row(colour, y));
    board_.mend_row(state.words.data(), colour, y);
  }
  /// The log score of rows begin .. end, in numbers that may be added up, and that of their sum.
  WholeSum::Parts score_parts(const State& state, std::size_t begin, std::size_t end) const;
  double score_of(const WholeSum::Parts& parts) const { return log_constant_ + WholeSum::of(parts).value(); }
  const Checkerboard& board() const { return board_; }

  /// Biases and weights by colour, row and bit, as the words of a Checkerboard: row (c, y) begins at
  /// terms_row(c, y); the number before it belongs to the last site of the row.
  struct Terms {
    UnfilledVector<float> bias, right, down;
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
