// The part of a DynamicModel (dynamic_model.hpp) that is more than pairs of binary variables: variables of
// any number of states, and pair factors that are tables.
//
// Source: as there, section 4.2. A strictly positive table becomes a product of mixtures
// (compile/mixture.hpp), an attractive Potts pair a single mixture with a component for every state
// (bond_law.hpp). A sweep draws a component of every mixture given both ends, all factors at once; then the
// states of every variable given the components:
//
//   log p(x_i = k | duals) = unary_i(k) + sum over mixtures m of i's factors of log A_mi(k, component_m) + c.
//
// Variables here are those that have such a factor or more than two states; they and the factors lie without
// gaps, and what is removed is replaced by the last. So every edit takes time independent of the size of the
// graph (in proportion to the table, for a factor). Draws are those of 64 chains at a time
// (dynamic_tables_draw.hpp), in single precision; models of binary variables never come here.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "drover/core/types.hpp"

namespace drover {

class LaneRandom;

/// A marginal probability as a weighted mean over sweeps, and its variance over the chains of one sweep.
struct DynamicAverage {
  double weight = 0, sum = 0, variance = 0;
};

class DynamicTables {
 public:
  static constexpr std::uint32_t lanes = 64;
  static constexpr std::uint32_t none = 0xffffffffU;

  struct Incidence {
    std::uint32_t factor, side;
  };
  struct Variable {
    std::uint32_t slot = 0;    ///< its place in the DynamicModel
    std::vector<float> unary;  ///< logarithms, one per state; changed by set_unary()
    std::vector<float>
        total;  ///< the same with what its factors add whatever the duals; empty: not added up yet
    std::vector<Incidence> incidences;
    std::array<std::uint8_t, lanes> values{};
    std::vector<DynamicAverage> averages;  ///< per state

    std::uint32_t states() const { return static_cast<std::uint32_t>(unary.size()); }
  };
  struct MixturePlace {
    std::uint32_t count;                 ///< components of this mixture
    std::array<std::size_t, 2> offsets;  ///< of its numbers for either end
  };
  struct Factor {
    std::array<std::uint32_t, 2> variable;  ///< slots
    std::array<std::uint32_t, 2> place;     ///< in their incidences
    std::uint32_t slot = 0;
    std::vector<double> log_values;  ///< the table itself, second variable fastest
    std::vector<MixturePlace> mixtures;
    std::vector<float> weights;               ///< A(x, r) of all mixtures at offset + states r + x
    std::vector<float> logs;                  ///< their logarithms at offset + count x + r
    std::array<std::vector<float>, 2> unary;  ///< what either end gains whatever the duals
    std::vector<std::uint8_t> drawn;          ///< component of every mixture in every lane
  };

  /// Index of the variable in a slot, or none.
  std::uint32_t find(std::uint32_t slot) const { return slot < places_.size() ? places_[slot] : none; }
  std::size_t size() const { return variables_.size(); }
  Variable& variable(std::uint32_t index) { return variables_[index]; }
  const Variable& variable(std::uint32_t index) const { return variables_[index]; }
  void add_variable(std::uint32_t slot, std::span<const double> log_values);
  void set_unary(std::uint32_t index, std::span<const double> log_values);
  /// Which must have no factors here.
  void remove_variable(std::uint32_t slot);

  std::size_t factor_count() const { return factors_.size(); }
  const Factor& factor(std::uint32_t index) const { return factors_[index]; }
  /// Both variables must be here; returns the factor's index. Strength is that of a Potts pair, else zero.
  std::uint32_t add_factor(std::uint32_t slot, std::uint32_t first, std::uint32_t second,
                           std::span<const double> log_values, double potts_strength);
  /// Returns the slot of the factor that now has this index (none: there is none).
  std::uint32_t remove_factor(std::uint32_t index);

  /// Both take random numbers from batches 1 and up.
  void draw_duals(std::uint32_t factor, const LaneRandom& random, std::uint64_t sweep);
  /// `gains`, if any, are added to the logarithm of state 1, one per lane.
  void draw_variable(std::uint32_t index, const float* gains, const LaneRandom& random, std::uint64_t sweep,
                     double keep);

 private:
  void add_up(Variable& variable) const;
  void fetch_after(std::uint32_t index) const;

  std::vector<std::uint32_t> places_;  ///< slot -> index
  std::vector<Variable> variables_;
  std::vector<Factor> factors_;
};

}  // namespace drover
