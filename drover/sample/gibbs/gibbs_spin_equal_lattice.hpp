// Gibbs sampling of one chain on a grid with one coupling and one field: a byte per site, one table for all.
//
// The conditional depends on nothing but the number n of neighbours that are 1 (0 .. 4) and of neighbours at
// all (4, fewer on open borders):  p_n = 1 / (1 + exp(-beta (2 h + 2 J (2 n - neighbours)))).  Sites are
// bytes, 0 or 1, the two colours of the checkerboard apart, so that the neighbours' bytes of 16, 32 or 64
// sites are added in three instructions, and the sum is the index of a byte shuffle that looks up the upper
// eight bits of the threshold T = 2^64 p_n. They are compared with eight random bits; the one site in 256
// where the two are equal is settled by 56 more, so that probabilities are exact to 2^-64 (their value to the
// rounding of double). A neighbour that is missing at the left or right border counts `no_neighbour`, which
// leads into the second half of the table: what has a neighbour less. Only whole numbers are used: the same
// bits on every instruction set.
//
// Conditionals to be added up are counted first: how often n was 1, 2, 3, 4, four bits each, which are added
// by two shuffles; after at most 15 sweeps, or at the end of a call, counts times p_n go to the sums.
//
// Use it for one long chain on a big grid that equal_lattice() accepts: open borders of any size, periodic
// sides even, both sides at least 3. Random numbers are made for 256 sites of one colour and row, so narrow
// lattices waste most of them: below a width of about 200 use GibbsSpinBytes or GibbsSpinLattice. Threads
// share bands of rows; the bits do not depend on them. (Multi-spin coding, Jacobs and Rebbi 1981, one bit per
// site and bit adders, needs a dozen random bits per site.)
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "drover/compile/lattice.hpp"
#include "drover/core/aligned.hpp"
#include "drover/sample/gibbs/gibbs_spin_checkerboard.hpp"

namespace drover {

class GibbsSpinEqualLattice {
 public:
  using Bytes = AlignedVector<std::uint8_t>;

  struct State {
    std::uint64_t seed = 0;
    std::uint32_t chain = 0;
    float inverse_temperature = 1;
    Bytes bytes;  ///< site (x, y) of colour c = (x + y) % 2 is bytes[row(c, y) + x / 2], 0 or 1
    Bytes room;   ///< counts of sweeps; all zero between calls

    template <class Archive>
    void visit(Archive& archive) {
      archive(seed);
      archive(chain);
      archive(inverse_temperature);
      archive(bytes);
    }
  };

  /// Requires the periodic sides to be even.
  explicit GibbsSpinEqualLattice(const EqualLattice& lattice);

  std::size_t size() const { return board_.size(); }
  std::uint32_t lanes() const { return 1; }
  std::size_t entry_count() const { return size(); }

  State start(std::uint64_t seed, std::uint32_t first_chain) const;
  void sweep(State& state, std::uint64_t sweep) const { sweeps(state, sweep, 1); }
  void sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const { sweeps(state, sweep, 1, sums); }
  /// Sweeps first .. first + count - 1: the same states as one by one, but several go through memory together.
  void sweeps(State& state, std::uint64_t first, std::uint64_t count) const;
  void sweeps(State& state, std::uint64_t first, std::uint64_t count, ConditionalSums sums) const;
  void read(const State& state, std::uint32_t lane, std::span<Value> values) const;
  /// The same as bytes.
  void read(const State& state, std::span<std::uint8_t> values) const;
  void write(State& state, std::uint32_t lane, std::span<const Value> values) const;
  void log_scores(const State& state, std::span<double> scores) const;
  void set_inverse_temperatures(State& state, std::span<const float> inverse_temperatures) const {
    state.inverse_temperature = inverse_temperatures[0];
  }

  /// What a row's sites are drawn from, by the sum of their neighbours' bytes.
  struct Law {
    alignas(16) std::array<std::uint8_t, 16> first{};  ///< the upper 8 bits of T, as a signed number
    std::array<std::uint64_t, 16> rest{};              ///< the others
  };
  static constexpr std::uint8_t no_neighbour = 8;

  /// Draws rows of a State in any order that is right (Checkerboard::sweep_stretch).
  class Rows {
   public:
    /// `counted`: conditionals are wanted.
    Rows(const GibbsSpinEqualLattice& kernel, State& state, bool counted);
    /// Counts towards the row's sums unless `sums` is null.
    void draw(std::uint64_t sweep, std::size_t colour, std::size_t y, const float* sums) const;
    /// How many of so many sweeps are drawn before close() turns what was counted into sums: equal parts, so that the
    /// sums do not depend on who draws.
    static std::uint64_t next_part(std::uint64_t sweeps, bool counted);
    /// Adds what `sweeps` sweeps have counted in a row to its sums.
    void close(std::size_t y, std::uint64_t sweeps, float* sums) const;

   private:
    const GibbsSpinEqualLattice& kernel_;
    State& state_;
    LaneRandom random_;
    std::array<std::array<float, 5>, 5> conditionals_{};  ///< p_n by number of neighbours and n
    std::array<Law, 5> laws_;                             ///< by the number of neighbours inside
  };
  Rows rows(State& state, bool counted) const { return {*this, state, counted}; }

  /// For a chain that lies on several ranks: a row's states, as they travel.
  std::size_t row_words() const { return row_bytes() / 64; }
  void load_row(const State& state, std::size_t colour, std::size_t y, std::uint64_t* words) const;
  void store_row(State& state, std::size_t colour, std::size_t y, const std::uint64_t* words) const;
  /// What the log score of rows begin .. end counts: ones, their neighbours, pairs of ones; and the log score.
  using Counts = std::array<std::uint64_t, 3>;
  Counts score_parts(const State& state, std::size_t begin, std::size_t end) const;
  double score_of(const Counts& counts) const;
  const Checkerboard& board() const { return board_; }

 private:
  /// p(x = 1) with `neighbours` neighbours of which n are 1.
  long double probability(int neighbours, int n, float inverse_temperature) const;
  std::size_t above(std::size_t y) const;  ///< the neighbouring rows; row `height` is the zero row
  std::size_t below(std::size_t y) const;
  int neighbours_inside(std::size_t y) const;  ///< of a site in row y that is not at the left or right border
  std::size_t row_bytes() const;               ///< those of a row's sites, in whole vectors
  /// Where a row begins; row `height` of either colour is always zero.
  std::size_t row(std::size_t colour, std::size_t y) const;
  /// Where the counts of a row begin in State::room: those of n = 1 and 2, then of 3 and 4.
  std::size_t counts_of_row(std::size_t colour, std::size_t y) const;
  /// Clears what lies behind a row's sites and sets the bytes beyond its ends.
  void mend_row(std::uint8_t* bytes, std::size_t colour, std::size_t y) const;
  void run(State& state, std::uint64_t first, std::uint64_t count, float* sums) const;

  EqualLattice lattice_;
  Checkerboard board_;
};

}  // namespace drover
