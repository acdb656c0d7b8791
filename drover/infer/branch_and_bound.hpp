// The cheapest state of a cost network: hybrid best-first branch and bound.
//
// Source: Allouche, de Givry, Katsirelos, Schiex and Zytnicki, Anytime hybrid best-first search with tree
// decomposition for weighted CSP, CP 2015. Variables: least live values per weight of failing factors
// (Boussemart et al. 2004), after a failure the same variable again (Lecoutre et al. 2009). Values: that of
// the best state, else one with full support.
//
// Open nodes wait in a queue, cheapest bound first; a node is its decisions, replayed when its turn comes.
// From there the search goes depth first until it has met a number of dead ends, and what it left open joins
// the queue. That number adapts so that replaying takes between a twentieth and a tenth of the nodes. So good
// states are found as early as depth first finds them, and the least bound of all open nodes rises: the gap
// is known at any time.
//
// A run can be continued; it depends on the states offered and the work allowed, never on a clock.
// When it fails: memory for open nodes is bounded (they are then searched depth first), time is not.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "drover/core/run_control.hpp"
#include "drover/infer/soft_consistency.hpp"

namespace drover {

class BranchAndBound {
 public:
  /// `consistency` has been propagated at level 0 or is to be; it must outlive this. The search is for the
  /// `wanted` cheapest distinct states.
  explicit BranchAndBound(SoftConsistency& consistency, std::size_t wanted = 1);

  struct Found {
    std::vector<Value> state;
    double cost;
  };
  /// Tells of a state found elsewhere; true when it is among the best.
  bool offer(std::span<const Value> state);
  /// The best so far, cheapest first.
  const std::vector<Found>& found() const { return found_; }

  /// Searches until proven, or so much more work (table entries) is done, or the control says stop.
  void run(std::uint64_t work, const RunControl& control);
  bool proven() const { return open_nodes_.empty(); }
  /// No state outside found() costs less; infinite when proven.
  double lower() const;
  std::uint64_t nodes() const { return nodes_; }

  /// Searches around a state: the variables with fixed[v] != 0 keep its value. Ends after `dead_ends`, or so
  /// much work. True when that was complete: no better state shares those values.
  bool search_around(std::span<const Value> state, std::span<const char> fixed, std::uint64_t dead_ends,
                     std::uint64_t work, const RunControl& control);

  /// Looks for a state cheaper than `cap`, which makes propagation as strong as if one were known. Ends after
  /// `dead_ends`, or so much work. True when that was complete: no state outside found() is cheaper than
  /// `cap`.
  bool dive(double cap, std::uint64_t dead_ends, std::uint64_t work, const RunControl& control);

 private:
  enum class Kind : std::uint8_t { is, is_not };
  struct Decision {
    VariableId variable;
    Value value;
    Kind kind;
  };
  struct Node {
    double lower;
    std::uint64_t number;
    std::vector<Decision> path;
  };
  struct Frame {
    std::size_t path_size;
    double lower;
    Decision decision;
  };

  double limit() const;
  bool apply(const Decision& decision);
  Decision choose();
  void keep_state();
  /// Depth first below the present node; what is left open goes to `leave` when a limit is met.
  bool descend(std::uint64_t dead_ends, std::uint64_t work_end, const RunControl& control, bool keep_open);
  void add_open(std::vector<Decision> path, double lower);
  Node take_open();

  SoftConsistency& consistency_;
  std::size_t wanted_;
  double margin_;
  double cap_ = infinite_cost;
  std::vector<Found> found_;
  std::vector<Node> open_nodes_;  // a heap
  std::size_t open_decisions_ = 0;
  std::vector<Decision> path_;
  VariableId last_conflict_ = no_variable;
  std::vector<double> variable_weight_;
  std::uint64_t nodes_ = 0, replayed_ = 0, number_ = 0, dead_ends_allowed_ = 1;
};

}  // namespace drover
