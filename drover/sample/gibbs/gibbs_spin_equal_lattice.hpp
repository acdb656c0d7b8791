// Gibbs sampling of one chain on a grid with one coupling and one field, 512 sites at a time by bit logic.
//
// The conditional depends on nothing but the number n of neighbours that are 1 (0 .. 4) and of neighbours at
// all (4, fewer on open borders):  p_n = 1 / (1 + exp(-beta (2 h + 2 J (2 n - neighbours)))).  So (multi-spin
// coding, Jacobs and Rebbi 1981) n is added up by bit adders over whole words, and the comparison of a random
// number with the threshold p_n is made bit by bit from the top, for 512 sites at once, until every site has
// met a bit where the two differ: a dozen bits on average instead of 32. Thresholds have 64 bits, so
// probabilities are exact to 2^-64 (their value to the rounding of double). Only integer logic is used: the
// same bits on every instruction set.
//
// Conditionals to be added up are counted first: how often n was 1, 2, 3, 4 is kept in numbers of five bits,
// bit b of all sites together, to which 512 sites are added by a dozen operations; after 31 sweeps, or at the
// end of a call, counts times p_n go to the sums.
//
// Use it for one long chain on a big grid that equal_lattice() accepts: open borders of any size, periodic
// sides even, both sides at least 3. Rows are padded to multiples of 1024 sites, so narrow lattices waste
// most of the work: below a width of about 200 use GibbsSpinLanes or GibbsSpinLattice. Threads share bands of
// rows; the bits do not depend on them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/lattice.hpp"
#include "drover/sample/gibbs/gibbs_spin_checkerboard.hpp"

namespace drover {

class GibbsSpinEqualLattice : public CheckerboardKernel<GibbsSpinEqualLattice> {
 public:
  /// Requires the periodic sides to be even.
  explicit GibbsSpinEqualLattice(const EqualLattice& lattice);

  void log_scores(const State& state, std::span<double> scores) const;

 private:
  friend class CheckerboardKernel<GibbsSpinEqualLattice>;
  using Conditionals = std::array<std::array<float, 5>, 5>;  ///< p_n by number of neighbours and n
  /// p(x = 1) with `neighbours` neighbours of which n are 1.
  long double probability(int neighbours, int n, float inverse_temperature) const;
  std::size_t above(std::size_t y) const;  ///< the neighbouring rows; row `height` is the zero row
  std::size_t below(std::size_t y) const;
  int neighbours_inside(std::size_t y) const;  ///< of a site in row y that is not at the left or right border
  /// Where the counts of a row begin in State::room.
  std::size_t counts_of_row(std::size_t colour, std::size_t y) const;
  void add_conditionals(State& state, std::size_t colour, std::size_t y, std::size_t sweeps,
                        const Conditionals& conditionals, float* sums) const;
  void run(State& state, std::uint64_t first, std::uint64_t count, float* sums) const;

  EqualLattice lattice_;
  std::vector<std::uint64_t> border_[2];  ///< open borders: which bits of a row lack a neighbour, by shift
};

}  // namespace drover
