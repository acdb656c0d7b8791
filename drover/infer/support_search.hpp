// Randomised backtracking search for a state in the support, with propagation.
//
// Every variable keeps its live values. A factor with zeros is revised when the live values of one of its
// variables shrink: a value without a positive entry among the live values of the others is removed. When
// nothing more follows, a variable with few live values in often failing factors (dom/wdeg, Boussemart et al.
// 2004) gets a random value. A dead end undoes the last choice and removes the value chosen. The search
// restarts after a growing number of dead ends and keeps what it learned about failing factors.
//
// It fails (gives up) on instances whose proof of impossibility or whose solutions need learned clauses;
// those go to support_sat.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "drover/compile/graph.hpp"
#include "drover/core/random.hpp"
#include "drover/core/stop_check.hpp"

namespace drover {

class SupportSearch {
 public:
  /// Keeps references to the graph and to the check, which may be null and is asked on the way.
  explicit SupportSearch(const Graph& graph, StopCheck* check = nullptr);

  /// A factor that leaves a variable no value.
  struct Culprit {
    VariableId variable;
    std::size_t factor;
  };
  /// Propagates without any choice; a culprit proves that the support is empty. Call once, first.
  std::optional<Culprit> propagate_constraints();

  enum class Outcome { found, impossible, gave_up };
  /// Fills `x` when found. Random choices come from (seed, number).
  Outcome search(std::uint64_t seed, std::uint32_t number, std::size_t max_dead_ends, std::span<Value> x);

  bool is_live(VariableId variable, std::size_t value) const {
    return live_[graph_.unary_offsets[variable] + value] != 0;
  }
  std::uint32_t live_count(VariableId variable) const { return live_count_[variable]; }
  /// The tables with at least one zero.
  const std::vector<std::size_t>& hard_factors() const { return hard_factors_; }

 private:
  struct Choice {
    VariableId variable;
    Value value;
    std::size_t trail_size;
    std::size_t open_size;
  };
  struct Removal {
    VariableId variable;
    Value value;
  };

  bool remove(VariableId variable, Value value);
  bool assign(VariableId variable, Value value);
  bool propagate();
  bool revise(std::size_t hard);
  void enqueue_factors_of(VariableId variable);
  void undo(std::size_t trail_size, std::size_t open_size);
  void close(VariableId variable);
  VariableId pick_variable(RandomSequence& random) const;
  Value pick_value(VariableId variable, RandomSequence& random) const;

  const Graph& graph_;
  StopCheck* check_;
  std::vector<std::size_t> hard_factors_;
  std::vector<std::size_t> hard_offsets_;  // hard factors of variable v: hard_list_[hard_offsets_[v] ..)
  std::vector<std::uint32_t> hard_list_;   // positions in hard_factors_
  std::vector<char> live_;                 // per (variable, value), laid out as graph.unary
  std::vector<std::uint32_t> live_count_;
  std::vector<Removal> trail_;
  std::vector<VariableId> open_;  // a sparse set: the first open_size_ still have a choice
  std::vector<std::size_t> open_position_;
  std::size_t open_size_ = 0;
  std::vector<double> failures_;  // of the factors around each variable
  std::vector<std::uint32_t> queue_;
  std::vector<char> queued_;
  Culprit culprit_{};

  std::vector<std::vector<Value>> values_;  // scratch of revise()
  std::vector<std::vector<char>> supported_;
  std::vector<std::uint32_t> digits_;
};

}  // namespace drover
