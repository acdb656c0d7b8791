// Exact marginals, log Z, a most probable state and independent draws by message passing on a junction tree.
//
// Sources: Lauritzen and Spiegelhalter 1988; Shafer and Shenoy 1990 (messages on separators, cluster tables
// never stored); Dawid 1992 (maximisation on the same tree); Dechter 1999.
//
//   up    m_c(s) = reduce over eliminated e of  sum of log factors of c + sum of children's messages   (s:
//   separator) Z     the message of a root; one per connected component down  p(x_c) = exp( factors +
//   children's messages + log p(s) - m_c(s) ),   p(s) from the parent draw  root to leaves, e given s with
//   weights exp(factors + children's messages); MAP the same with maxima
//
// Numbers: everything upward is in logs with a running maximum per entry (table_ops.hpp), every message is
// then shifted to a maximum of 0 and the shift kept apart. So a hard zero stays one, a tiny probability never
// becomes one, and neither potentials of e^1000 against e^-1000 nor log10 Z of 1300 lose digits. Linear
// tables would be somewhat faster, but a message may favour a state by more than a double's range (e^709)
// which a factor further up overrules; that turns a possible model into Z = 0. Downward, tables hold
// probabilities of the whole model; there an underflow means probability below 1e-307 and changes no
// marginal. The MAP score is recomputed with log_score() of the state found.
//
// Parallel over branches of the tree and inside large tables; results are the same bits for any number of
// threads.
//
// Assumes that messages fit: memory is predicted first and refused above the limit. It fails (misfit) on
// models of large treewidth, and (bad_data) when Z = 0.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "drover/compile/elimination.hpp"
#include "drover/compile/graph.hpp"
#include "drover/core/run_control.hpp"

namespace drover {

struct ExactOptions {
  std::size_t memory_limit_bytes = std::size_t{8} << 30;
  std::uint32_t order_tries = 200;
  std::uint64_t seed = 1;                     ///< of the elimination order's tie-breaks; never of draws
  const RunControl* control = &no_control();  ///< its end raises stopped; must outlive the tree
};

/// What exact inference would take; costs an elimination order and no tables.
struct ExactPlan {
  EliminationOrder order;
  double predicted_bytes = 0;       ///< peak of log_z(), marginals(), map() or sample() of a new tree
  double predicted_operations = 0;  ///< table entries visited by log Z; marginals take some three times that
  bool fits(std::size_t memory_limit_bytes) const {
    return order.exact && predicted_bytes <= static_cast<double>(memory_limit_bytes);
  }
};

ExactPlan plan_exact(const Graph& graph, const ExactOptions& options = {});

struct ScoredState {
  std::vector<Value> assignment;  ///< of the free variables
  double log_score = 0;
};

class JunctionTree {
 public:
  /// Raises misfit when the predicted memory is above the limit. The graph must outlive the tree.
  JunctionTree(const Graph& graph, const ExactOptions& options = {});
  JunctionTree(const Graph& graph, const ExactPlan& plan, const ExactOptions& options = {});
  ~JunctionTree();
  JunctionTree(JunctionTree&&) noexcept;
  JunctionTree& operator=(JunctionTree&&) noexcept;

  std::size_t predicted_bytes() const;
  std::uint32_t width() const;

  // Each raises bad_data when Z = 0, stopped when options.control ends. The upward pass runs once, at the
  // first call that needs it.
  double log_z();
  std::vector<std::vector<double>> marginals();  ///< of every free variable
  /// p(x_i, x_j), row-major with x_i the row, for pairs that share a factor (or at least a cluster; else
  /// misfit).
  std::vector<std::vector<double>> pair_marginals(std::span<const std::pair<VariableId, VariableId>> pairs);
  /// p of any sets of distinct variables, the last of a set fastest. Sets inside a cluster share one way
  /// down; the variables of another are carried to the root in the messages (elimination with the query last,
  /// Dechter 1999), which costs as many times more as the others of them have joint states. Raises misfit
  /// when that is beyond the memory limit.
  std::vector<std::vector<double>> joints(std::span<const std::vector<VariableId>> sets);
  ScoredState map();
  /// The `count` most probable distinct states, best first; fewer when there are no more of positive
  /// probability. Source: Nilsson, An efficient algorithm for finding the M most probable configurations,
  /// 1998. From root to leaves, the messages of maxima say what each choice in a cluster loses against the
  /// best; a state's score is the best one's less its losses, and each state found leaves as candidates the
  /// best states that first deviate from it at one cluster.
  std::vector<ScoredState> best(std::size_t count);
  /// Draws first_draw .. first_draw + count - 1; out has count rows of size() values. Draw d depends on the
  /// seed and d only.
  void sample(std::uint64_t seed, std::uint64_t first_draw, std::size_t count, std::span<Value> out);

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace drover
