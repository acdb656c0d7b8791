// Soft arc consistency: a lower bound of all costs, kept while domains shrink and come back.
//
// Sources: Larrosa and Schiex, Solving weighted CSP by maintaining arc consistency, 2004 (moving costs); de
// Givry, Heras, Zytnicki and Larrosa, Existential arc consistency, IJCAI 2005 (EDAC); Boussemart et al. 2004
// (weights of failing factors).
//
//   cost(x) = lower + sum_i u_i(x_i) + sum_f ( c_f(x_f) - sum over edges e of f of delta_e(x_e) )
//
// for every live x. Costs move along edges without changing that sum: project adds to delta_e and u_i what every tuple of the
// factor pays at a value, extend takes from both, and what every value of a variable pays joins `lower`.
// Every term stays at least 0, so no live state costs less than `lower`, and a value with lower + u_i(k) >=
// limit can go. Propagation:
//   AC    a value's cheapest tuple in every factor costs 0; a value without a finite tuple goes;
//   DAC   for the first variable of each factor, cheapest together with the u of the others (full support);
//   EAC   each variable has a value with full support in all its factors, else enforcing that raises `lower`.
// Factors of any number of variables are treated alike; one with all but one variable fixed is part of that
// u.
//
// All changes since push() are undone by pop(). Costs are whole numbers in doubles, so this is exact.
// When it fails: the bound is that of a local fixed point; the linear relaxation's
// (sequential_reweighting.hpp) can be higher, and is the better place to start from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/infer/cost_network.hpp"

namespace drover {

/// A set of small numbers from which the least or the largest is taken.
class RankedSet {
 public:
  explicit RankedSet(std::size_t size) : words_((size + 63) / 64, 0) {}
  bool empty() const { return count_ == 0; }
  void add(std::uint32_t rank);
  std::uint32_t take_least();
  std::uint32_t take_largest();
  void clear();

 private:
  std::vector<std::uint64_t> words_;
  std::size_t count_ = 0;
  std::size_t low_ = 0, high_ = 0;  // words that may hold the ends
};

class SoftConsistency {
 public:
  /// `order` ranks the variables for DAC: costs flow to the first of a factor. Keeps a reference to the
  /// network.
  SoftConsistency(const CostNetwork& network, std::span<const VariableId> order);

  const CostNetwork& network() const { return network_; }
  double lower() const { return lower_; }
  std::uint32_t live_count(VariableId v) const { return count_[v]; }
  std::span<const Value> live(VariableId v) const {
    return {values_.data() + network_.value_offsets[v], count_[v]};
  }
  bool is_live(VariableId v, Value k) const { return where_[network_.value_offsets[v] + k] < count_[v]; }
  double unary(VariableId v, Value k) const { return arena_[network_.value_offsets[v] + k]; }
  /// Variables with more than one live value.
  std::span<const VariableId> open() const { return {open_.data(), open_size_}; }
  /// A live value of no unary cost, with full support when propagation ended.
  Value supported_value(VariableId v) const { return support_value_[v]; }
  /// How often factors around the variable ended in failure, by factor.
  double weight(std::size_t factor) const { return weight_[factor]; }
  bool is_done(std::size_t factor) const { return done_[factor] != 0; }

  /// What follows can be undone.
  void push();
  void pop();
  std::size_t level() const { return marks_.size(); }

  void assign(VariableId v, Value k);
  void remove(VariableId v, Value k);
  /// Checks everything again, whatever changed.
  void touch_all();
  /// False when no live state costs less than `limit`.
  bool propagate(double limit);

  /// The least cost of each live value's tuples; room for every value of the edge's variable.
  void min_marginals(std::size_t edge, std::span<double> least);
  /// Adds `amount` (at live values) to the edge's delta and its variable's unary costs.
  void move(std::size_t edge, std::span<const double> amount);
  /// lower plus all minima: a bound whatever was moved.
  double bound();
  /// Makes whole numbers of fractions that were moved, and every term at least 0. Only before the first
  /// push().
  void settle();

  /// Table entries looked at so far.
  std::uint64_t work() const { return work_; }

 private:
  struct Mark {
    double lower;
    std::size_t blocks, saved, removals, done, open;
    std::uint64_t stamp;
  };

  std::size_t delta_begin(std::size_t edge) const { return deltas_ + network_.delta_offsets[edge]; }
  void save(std::size_t block, std::size_t begin, std::size_t count);
  void save_unary(VariableId v) { save(v, network_.value_offsets[v], network_.cardinalities[v]); }
  void save_delta(std::size_t edge) {
    save(network_.size() + edge, delta_begin(edge), network_.cardinalities[network_.variable[edge]]);
  }
  bool fail(std::size_t factor);
  bool drop(VariableId v, Value k);
  void raised(VariableId v);
  template <class Visit>
  void for_each_tuple(std::size_t factor, Visit&& visit);
  bool project(std::size_t edge);
  bool full_support(std::size_t edge);
  bool apply_projection(std::size_t edge);
  void least_with_unaries(std::size_t edge, double* least);
  bool close_factor(std::size_t factor);
  bool node_consistency(VariableId v);
  bool revise(VariableId v);
  bool enforce_directional(VariableId v);
  bool enforce_existential(VariableId v);
  bool has_full_support(std::size_t edge, Value k);
  std::size_t first_open_edge(std::size_t factor) const;

  const CostNetwork& network_;
  std::vector<std::uint32_t> rank_;
  std::vector<VariableId> by_rank_;
  std::size_t deltas_;         // where deltas begin in the arena
  std::vector<double> arena_;  // unary costs, then deltas
  std::vector<std::uint64_t> stamp_;
  std::vector<Value> values_;  // per variable a sparse set, the live ones first
  std::vector<std::uint32_t> where_;
  std::vector<std::uint32_t> count_;
  std::vector<VariableId> open_;  // sparse set
  std::vector<std::uint32_t> open_where_;
  std::size_t open_size_ = 0;
  std::vector<std::uint32_t> free_;  // open variables of every factor
  std::vector<char> done_;
  std::vector<Value> support_value_;
  std::vector<Value> hint_;  // of two-variable factors, per delta: a value of the other that costs nothing
  std::vector<double> weight_;
  double lower_ = 0;
  double limit_ = infinite_cost;
  double checked_lower_ = -1;
  double checked_limit_ = -1;
  std::uint64_t next_stamp_ = 1;
  std::uint64_t work_ = 0;

  std::vector<Mark> marks_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> saved_blocks_;  // block, count
  std::vector<double> saved_;
  std::vector<VariableId> removals_;
  std::vector<std::uint32_t> done_list_;

  RankedSet changed_, directional_, existential_;
  std::vector<std::uint64_t> fruitless_;
  std::uint64_t propagation_ = 0;
  std::vector<VariableId> raised_;
  std::vector<char> is_raised_;
  std::size_t blamed_ = 0;

  std::vector<double> least_, other_, total_;  // scratch, by value
  std::vector<std::uint32_t> digits_;
};

}  // namespace drover
