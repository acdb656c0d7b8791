// The registry: the only list of all methods. A method says which tasks it can do, why it does not fit a
// problem, and runs them; it is chosen once per run, never per variable.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drover/compile/connectivity.hpp"
#include "drover/compile/graph.hpp"
#include "drover/infer/junction_tree.hpp"
#include "drover/run/monitor.hpp"
#include "drover/run/result.hpp"
#include "drover/run/settings.hpp"

namespace drover {

enum class Task { marginals, map, logz, sample };
std::string_view task_name(Task task);

/// A compiled model with the facts about it that methods ask for, each worked out once, when first asked.
class Problem {
 public:
  /// Chains and iterations that can be started anywhere start at `start`, a state of the free variables,
  /// unless it is empty.
  /// With `state_values`, one for each state of every variable, methods that can give means of them instead
  /// of marginals, which may be too many to hold.
  Problem(const Graph& graph, const Settings& settings, std::vector<Value> start = {},
          std::vector<float> state_values = {});
  /// With a table in place of every gate, if all are small enough.
  const Graph& graph() const { return expanded_ ? *expanded_ : graph_; }
  /// With gates as they are, for methods that know them.
  const Graph& compact_graph() const { return graph_; }
  const Settings& settings() const { return settings_; }
  std::span<const Value> start() const { return start_; }
  std::span<const float> state_values() const { return state_values_; }
  const ExactPlan& exact_plan() const;
  const ConnectivityReport& connectivity() const;
  std::size_t memory_limit_bytes() const;
  /// In absolute value, of the finite ones.
  double largest_log_factor() const;

 private:
  const Graph& graph_;
  const Settings& settings_;
  std::vector<Value> start_;
  std::vector<float> state_values_;
  std::optional<Graph> expanded_;
  mutable std::optional<ExactPlan> exact_plan_;
  mutable std::optional<ConnectivityReport> connectivity_;
  mutable std::optional<double> largest_log_factor_;
};

struct Method {
  std::string_view name;
  std::string_view summary;
  std::string_view source;  ///< the paper or book it comes from
  /// Empty when the method can do the task on this problem; else a sentence. Ask the function why_not below.
  std::string (*why_not)(const Problem&, Task);
  /// Null where the method does not do the task.
  MarginalsResult (*marginals)(const Problem&, const Monitor&);
  BestStateResult (*map)(const Problem&, const Monitor&);
  LogZResult (*logz)(const Problem&, const Monitor&);
  SampleResult (*sample)(const Problem&, const Monitor&, DrawConsumer&);
  /// The options it heeds, of those that not every method does; empty: not stated.
  std::string options = "";
  /// The largest finite log factor, in absolute value, that its arithmetic bears; this is for single
  /// precision.
  double largest_log_factor = 1e30;
  bool knows_gates = false;  ///< works on compact_graph(); other methods need gates that have a table

  bool does(Task task) const;
};

std::span<const Method> all_methods();

/// Empty when the method can do the task on this problem; else a sentence: the method's own, or that the log
/// factors are beyond its arithmetic, or that it needs a table for a gate too large for one.
std::string why_not(const Method& method, const Problem& problem, Task task);

/// A sentence for every option that was set, that other methods heed and that this one does not.
std::vector<std::string> unused_options(const Method& method, Task task, const Settings& settings);

struct Choice {
  const Method* method;
  std::string because;  ///< empty when the user named the method
};

/// The method the settings name, or for "auto" the one that suits the problem best. Raises usage for an
/// unknown name (with the nearest), misfit for a method that does not fit (with one that does).
Choice choose_method(const Problem& problem, Task task);

}  // namespace drover
