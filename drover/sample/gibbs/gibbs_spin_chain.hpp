// Gibbs sampling of one chain on any spin graph, vectorised over the variables of one colour.
//
// Variables of one colour have no pair among them, so drawing them all at once from
// p(x_i = 1 | rest) = 1 / (1 + exp(-f_i)) is a Gibbs scan in colour order (chromatic Gibbs: Gonzalez, Low,
// Gretton, Guestrin 2011). Variables are renumbered by (colour, degree, index) and cut into units of 64 that
// share one word of state bits; a unit stores its neighbours slot by slot, so that each slot is one
// branch-free pass over 64 variables. Where the 64 neighbours of a slot are consecutive (grids of
// any dimension), their bits are read as one word; elsewhere they are gathered.
//
// Use it for one long chain on a big sparse graph; threads share the units of a colour (oneTBB, as many as
// the arena allows) and the bits do not depend on them. For several chains GibbsSpinLanes is faster. Dense
// graphs need as many colours as variables and gain nothing here.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "drover/compile/colouring.hpp"
#include "drover/compile/spin_graph.hpp"
#include "drover/core/aligned.hpp"
#include "drover/core/whole_sum.hpp"
#include "drover/sample/kernel.hpp"

namespace drover {

class GibbsSpinChain {
 public:
  struct State {
    std::uint64_t seed = 0;
    std::uint32_t chain = 0;
    float inverse_temperature = 1;
    std::vector<std::uint64_t> words;  ///< bit p % 64 of words[p / 64]: the variable at position p

    template <class Archive>
    void visit(Archive& archive) {
      archive(seed);
      archive(chain);
      archive(inverse_temperature);
      archive(words);
    }
  };

  explicit GibbsSpinChain(const SpinGraph& graph);
  /// With colours that the caller knows.
  GibbsSpinChain(const SpinGraph& graph, Colouring colouring);

  /// Where variables stand.
  struct Places {
    std::vector<std::size_t> colour_begin;   ///< units of colour c: colour_begin[c] .. colour_begin[c+1]
    std::vector<std::uint32_t> variable_of;  ///< by position
    std::vector<std::uint32_t> position_of;  ///< by variable

    std::size_t units() const { return variable_of.size() / 64; }
    /// see(variable) for the variables of a unit.
    template <class See>
    void for_members(std::size_t unit, See see) const {
      for (std::size_t p = 64 * unit; p < 64 * (unit + 1) && variable_of[p] != no_variable; ++p)
        see(variable_of[p]);
    }
  };
  static Places places(const SpinGraph& graph, Colouring colouring);
  /// A part of the kernel, for one of several ranks: knows the weights of those units alone that are `held`,
  /// and adds the conditionals of variable v to sums[entry_of[v]].
  GibbsSpinChain(const SpinGraph& graph, Places places, const std::vector<bool>& held,
                 std::vector<std::uint32_t> entry_of);

  /// 64 variables of one colour; the last unit of a colour may have fewer.
  struct Unit {
    std::size_t slots;  ///< where its neighbours, weights and odds begin: slot by slot, `stride` numbers each
    std::size_t runs;   ///< where the runs of its slots begin
    std::uint32_t degree;   ///< slots: the highest degree in the unit
    std::uint32_t stride;   ///< its variables, rounded up to a multiple of 16
    std::uint32_t members;  ///< its variables
  };

  /// Some units of a larger graph: all that a rank holds which does not have the whole (PartSpread).
  struct Held {
    std::vector<std::uint32_t> numbers;      ///< in the whole, ascending
    std::vector<Unit> units;                 ///< beside them; those that are only read have no slots
    AlignedVector<std::int32_t> neighbours;  ///< positions: 64 times the place of a unit here, plus its bit
    AlignedVector<float> weights;            ///< beside them
    AlignedVector<float> bias;               ///< by position
    std::vector<std::uint32_t> entry_of;     ///< by position
    bool moderate = false;                   ///< largest_field() of the whole is at most most_moderate
    double log_constant = 0;                 ///< of the whole
  };
  explicit GibbsSpinChain(Held held);
  static constexpr double most_moderate = 80;

  std::size_t size() const { return places_.position_of.size(); }
  std::uint32_t lanes() const { return 1; }
  std::size_t entry_count() const { return size(); }

  State start(std::uint64_t seed, std::uint32_t first_chain) const;
  void sweep(State& state, std::uint64_t sweep) const;
  void sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const;
  void read(const State& state, std::uint32_t lane, std::span<Value> values) const;
  void write(State& state, std::uint32_t lane, std::span<const Value> values) const;
  void log_scores(const State& state, std::span<double> scores) const;
  void set_inverse_temperatures(State& state, std::span<const float> inverse_temperatures) const;

  std::size_t colour_count() const { return places_.colour_begin.size() - 1; }
  /// Draws the variables of one colour only; `sums` (by variable) may be null.
  void draw_colour(State& state, std::size_t colour, std::uint64_t sweep, float* sums) const;
  /// Draws some units, all of one colour.
  void draw_units(State& state, std::span<const std::uint32_t> units, std::uint64_t sweep, float* sums) const;
  /// sum_i x_i (bias_i + 1/2 sum_j weight_ij x_j) over some units.
  WholeSum score_of(const State& state, std::span<const std::uint32_t> units) const;
  /// The positions of the first two neighbours of a variable that has them.
  std::pair<std::size_t, std::size_t> two_neighbours(std::size_t unit, std::size_t lane) const {
    const std::size_t first = units_[unit].slots + lane;
    return {static_cast<std::size_t>(neighbours_[first]),
            static_cast<std::size_t>(neighbours_[first + units_[unit].stride])};
  }
  double log_constant() const { return log_constant_; }
  const Places& places() const { return places_; }

  /// The kernel as flat arrays, for the vector code.
  struct View {
    const Unit* units;
    const std::int32_t* neighbours;  ///< positions
    const float* weights;            ///< zero where a slot is not used
    const float* odds;               ///< exp(-weight)
    const float* bias;               ///< by position
    const float* bias_odds;          ///< exp(-bias)
    const std::uint32_t* runs;       ///< first position of a slot whose neighbours are consecutive, or no_run
    const std::uint32_t* entry_of;   ///< by position: where its conditionals are added
    const std::uint32_t* numbers;    ///< of the units: whose random numbers they take
  };
  static constexpr std::uint32_t no_run = 0xffffffffU;

 private:
  void complete();
  View view() const;
  void run(State& state, std::uint64_t sweep, float* sums) const;

  bool moderate_ = false;  ///< products of odds stay in the range of floats
  double log_constant_ = 0;
  Places places_;
  std::vector<Unit> units_;
  AlignedVector<std::int32_t> neighbours_;
  AlignedVector<float> weights_;
  AlignedVector<float> odds_;
  AlignedVector<float> bias_;
  AlignedVector<float> bias_odds_;
  std::vector<std::uint32_t> runs_;
  std::vector<std::uint32_t> entry_of_;  ///< by position
  std::vector<std::uint32_t> all_;       ///< units
  std::vector<std::uint32_t> numbers_;   ///< of the units in a larger graph; empty: all_
};

}  // namespace drover
