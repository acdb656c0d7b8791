// A pairwise model that changes while 64 chains sample it.
//
// Source: Mescheder, Nowozin, Geiger: Probabilistic duality for parallel Gibbs sampling without graph
// colouring, 2016. The primal-dual sampler (primal_dual_lanes.hpp) needs no colouring and no order, so a
// factor is a line of a list: it is added at the end and removed by moving the last line into its place.
// Every edit takes time independent of the size of the graph, but for remove_variable (in proportion to the
// factors of the variable). A sweep draws all duals given all variables, then all variables given all duals:
//
//   t_e = s_i up to noise:  P(t_e != s_i) = noise_e where s_i = sign_e s_j, one half elsewhere,
//   log p(x_i = 1) / p(x_i = 0) = field_i + sum over factors e of i of (field_ei + (+-) strength_e t_e).
//
// Pairs of binary variables are drawn so, 64 chains at a time; variables with more states and their factors
// as dynamic_tables.hpp says.
//
// Nothing is accumulated over edits, so nothing drifts: the sampler of an edited model is that of the model
// built afresh. After an edit the chains are draws of the old model and need a few sweeps to become draws of
// the new one.
//
// Marginals follow the model: they average the conditionals the variables were drawn from, over chains and
// over sweeps, with weights that halve every `half_life` sweeps. Their standard error is bounded by what a
// single sweep of the 64 independent chains would have.
//
// When it fails: strong couplings mix slowly, the more so the more factors a variable has; hard zeros are not
// possible (clamp a variable instead).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "drover/compile/graph.hpp"
#include "drover/core/run_control.hpp"
#include "drover/sample/dual/dynamic_tables.hpp"
#include "drover/sample/dual/slot_table.hpp"

namespace drover {

class DynamicModel {
 public:
  using Id = SlotTable::Id;
  static constexpr std::uint32_t lanes = 64;

  explicit DynamicModel(std::uint64_t seed, double half_life = 100);
  /// Of a graph that fits; variable v has id v, factors have ids from 0: spin pairs, Potts pairs, tables.
  /// The control ends it by Error stopped.
  DynamicModel(const Graph& graph, std::uint64_t seed, double half_life = 100,
               const RunControl& control = no_control());

  /// Why a graph cannot be one; empty: it can.
  static std::string why_not(const Graph& graph);
  static constexpr std::uint32_t most_states = 64;
  /// How far apart the logarithms of a table may lie, when it is not of two binary variables.
  static constexpr double most_spread = 60;

  /// log_odds = log p(1) / p(0) of the variable's own unary. Its chains start with fair coins.
  Id add_variable(double log_odds = 0);
  /// With 2 .. most_states states; the logarithms of its unary. Chains start with all states alike.
  Id add_variable(std::span<const double> log_unary);
  /// Removes its factors too.
  void remove_variable(Id variable);
  /// Of a binary variable.
  void set_unary(Id variable, double log_odds);
  /// One logarithm per state.
  void set_unary(Id variable, std::span<const double> log_unary);
  /// Holds the variable at the value until release().
  void clamp(Id variable, Value value);
  void release(Id variable);

  /// log factor = coupling s_i s_j with s = 2x - 1, of two binary variables, which must differ.
  Id add_factor(Id first, Id second, double coupling);
  /// Any strictly positive table (within most_spread), log_values at states(second) x_first + x_second.
  Id add_factor(Id first, Id second, std::span<const double> log_values);
  /// log factor = strength [x_first = x_second]; as many states for both.
  Id add_potts(Id first, Id second, double strength);
  void remove_factor(Id factor);
  /// The factor, of two binary variables, gets another coupling; what it adds to their unaries stays.
  void set_coupling(Id factor, double coupling);

  bool has_variable(Id variable) const { return variables_.holds(variable); }
  bool has_factor(Id factor) const { return factors_.holds(factor); }
  bool is_clamped(Id variable) const;
  std::uint32_t states(Id variable) const;
  std::size_t variable_count() const { return variable_count_; }
  std::size_t factor_count() const { return edges_.size() + tables_.factor_count(); }
  std::vector<Id> variables() const;
  std::vector<Id> factors() const;
  std::vector<Id> factors_of(Id variable) const;
  std::size_t degree(Id variable) const;

  /// One sweep of all chains, by all threads; the same bits for any number of them.
  void sweep();
  std::uint64_t sweeps() const { return sweeps_; }

  struct Estimate {
    double probability;
    double standard_error;  ///< an upper bound; 0 for clamped variables
  };
  /// Before the first sweep that saw the variable: the share of chains with the value, standard error 1/2.
  Estimate marginal(Id variable, Value value = 1) const;
  /// All estimates start afresh.
  void forget();

  /// A binary variable's value in every chain, one bit each.
  std::uint64_t word(Id variable) const { return words_[SlotTable::slot_of(variable)]; }
  void set_word(Id variable, std::uint64_t word);
  /// Any variable's value in one chain.
  Value value(Id variable, std::uint32_t lane) const;
  void set_value(Id variable, std::uint32_t lane, Value value);

  /// The model as it is now, its variables those of variables() in this order; clamped ones as evidence.
  Model model() const;
  Evidence evidence() const;

  // What follows is laid out for the sweep.
  struct Edge {
    std::uint32_t first, second;
    std::uint32_t noise;  ///< threshold of a 32-bit random word
    std::uint32_t flip;   ///< 1 for a repulsive pair
  };
  struct Incidence {
    std::uint32_t edge;
    float if_one, if_zero;  ///< what the variable's log-odds gain when the dual is 1 or 0
  };
  enum class Mode : std::uint8_t { absent, clamped, free, tabled };  ///< tabled: free, drawn by tables_
  using Average = DynamicAverage;
  struct VariableView {
    const Mode* modes;
    const float* log_odds;
    const std::vector<Incidence>* incidences;
    double keep;
  };

 private:
  struct EdgeRecord {
    std::array<std::uint32_t, 2> place;  ///< in the incidences of first and second
    std::uint32_t slot;
    double coupling;
    std::array<double, 2> field;
  };

  Id add_edge(Id first, Id second, double coupling, std::array<double, 2> fields);
  Id add_table(Id first, Id second, std::span<const double> log_values, double potts_strength);
  std::uint32_t take_slot(Id id);
  void remove_table(std::uint32_t index);
  void enter_tables(std::uint32_t slot);
  void leave_tables(std::uint32_t slot);
  bool is_wide(std::uint32_t slot) const;
  void sweep_tables();
  void attach(std::uint32_t edge, unsigned side, double strength);
  void detach(std::uint32_t edge, unsigned side);

  std::uint64_t seed_;
  double keep_;  ///< share of the weight of the sweeps so far that the next sweep leaves
  std::uint64_t sweeps_ = 0;

  SlotTable variables_;  ///< what follows is by slot
  std::size_t variable_count_ = 0;
  std::vector<Mode> modes_;
  std::vector<float> log_odds_;
  std::vector<std::uint64_t> words_;
  std::vector<std::vector<Incidence>> incidences_;
  std::vector<Average> averages_;

  SlotTable factors_;
  static constexpr std::uint32_t table_bit = 0x80000000U;
  std::vector<std::uint32_t> edge_of_slot_;  ///< or, with table_bit, the index of a factor of tables_
  std::vector<Edge> edges_;                  ///< without gaps
  std::vector<EdgeRecord> records_;
  std::vector<std::uint64_t> duals_;  ///< within a sweep

  // More than pairs of binary variables. A binary variable is there too as long as it has such a factor; its
  // word is kept up to date.
  DynamicTables tables_;
};

}  // namespace drover
