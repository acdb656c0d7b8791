// The registry: the only list of all methods. A method says which tasks it can do, why it does not fit a
// problem, and runs them; it is chosen once per run, never per variable.
#pragma once

#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drover/compile/connectivity.hpp"
#include "drover/compile/graph.hpp"
#include "drover/core/run_control.hpp"
#include "drover/infer/junction_tree.hpp"
#include "drover/methods/live_chains.hpp"
#include "drover/run/inference_options.hpp"
#include "drover/run/result.hpp"

namespace drover {

struct ChainOptions;  // drover/run/chain_run.hpp

/// As the options say, or half of the machine's memory.
std::size_t memory_limit_bytes(const InferenceOptions& options);

/// A compiled model, the options of a run, and the facts about the model that methods ask for, each worked
/// out once, when first asked; from any thread.
class Problem {
 public:
  /// options.observe, options.evidence and options.intervene are in the graph already; options.start is a
  /// state of the model's variables; `joint` are the sets of options.joint, in the model's variables.
  Problem(Graph graph, InferenceOptions options, const RunControl& control = no_control(),
          std::span<const std::vector<VariableId>> joint = {});
  /// The same of a model that outlives this, and is not copied: it may be large.
  Problem(const Model& model, const Evidence& evidence, InferenceOptions options,
          const RunControl& control = no_control(), std::span<const std::vector<VariableId>> joint = {});
  // Neither a model nor a control that is gone at the end of the line.
  Problem(Model&&, const Evidence&, InferenceOptions, const RunControl& = no_control(),
          std::span<const std::vector<VariableId>> = {}) = delete;
  Problem(const Model&, const Evidence&, InferenceOptions, RunControl&&,
          std::span<const std::vector<VariableId>> = {}) = delete;
  Problem(Graph, InferenceOptions, RunControl&&, std::span<const std::vector<VariableId>> = {}) = delete;
  /// With a table in place of every gate, if all are small enough.
  const Graph& graph() const { return expanded_ ? *expanded_ : graph_; }
  /// With gates as they are, for methods that know them.
  const Graph& compact_graph() const { return graph_; }
  /// Tables of pairs as the model states them (PairTables::kept), where the model is known.
  /// `decided`: further variables to hold at a value, where the model is known.
  Graph table_graph(const Evidence& decided = {}) const;
  bool knows_model() const { return model_ != nullptr; }
  const InferenceOptions& options() const { return options_; }
  const RunControl& control() const { return control_; }
  /// Where chains and iterations that can be started anywhere begin, unless it is empty.
  std::span<const Value> start() const { return start_; }
  /// Sets of free variables whose joint distributions are wanted: what evidence leaves of those asked for.
  std::span<const std::vector<VariableId>> joint() const { return joint_; }
  const ExactPlan& exact_plan() const;
  const ConnectivityReport& connectivity() const;
  std::size_t memory_limit_bytes() const;
  /// In absolute value, of the finite ones.
  double largest_log_factor() const;
  /// How far apart, in nats, the factors at one variable can put its states: the sum of their spans (finite
  /// entries only), of the variable where it is largest.
  double largest_span() const;

 private:
  Graph graph_;
  const Model* model_ = nullptr;
  Evidence evidence_;
  InferenceOptions options_;
  const RunControl& control_;
  std::vector<Value> start_;
  std::vector<std::vector<VariableId>> joint_;
  std::optional<Graph> expanded_;
  mutable std::mutex working_out_;
  mutable std::optional<ExactPlan> exact_plan_;
  mutable std::optional<ConnectivityReport> connectivity_;
  mutable std::optional<double> largest_log_factor_, largest_span_;
};

struct Method {
  std::string_view name;
  std::string_view summary;
  std::string_view source;  ///< the paper or book it comes from
  /// Empty when the method can do the task on this problem; else a sentence. Ask the function why_not below.
  std::string (*why_not)(const Problem&, Task);
  /// Null where the method does not do the task.
  MarginalsResult (*marginals)(const Problem&, const RunControl&);
  BestStateResult (*map)(const Problem&, const RunControl&);
  LogZResult (*logz)(const Problem&, const RunControl&);
  SampleResult (*sample)(const Problem&, const RunControl&, DrawConsumer&);
  /// The options it heeds, of those that not every method does.
  std::string options = "";
  /// The largest finite log factor, in absolute value, that its arithmetic bears; this is for single
  /// precision.
  double largest_log_factor = 1e30;
  bool knows_gates = false;  ///< works on compact_graph(); other methods need gates that have a table
  /// Samplers by chains only: makes the chains, lets `use` run them, and says what there is to say of them.
  /// options.chains = 0: the usual number.
  RunFacts (*enter)(const Problem&, const ChainOptions&, const RunControl&, const UseChains& use) = nullptr;

  std::uint32_t (*usual_chains)(const Problem&) = nullptr;  ///< the same
  /// The tasks that several ranks share (drover/core/ranks.hpp); rank 0 does others alone.
  std::vector<Task> shared{};

  bool does(Task task) const;
  bool shares(Task task) const;
};

std::span<const Method> all_methods();

/// Empty when the method can do the task on this problem; else a sentence: the method's own, or that the log
/// factors are beyond its arithmetic, or that it needs a table for a gate too large for one.
std::string why_not(const Method& method, const Problem& problem, Task task);

/// Whether other methods heed this option and this one does not.
bool is_unheeded(const Method& method, std::string_view option);

/// The names of such options that were set. `given` describes the options of the task (describe() of InferenceOptions).
std::vector<std::string> unused_options(const Method& method, Task task, const OptionList& given);

/// Whether the method names this option among those it heeds.
bool heeds(const Method& method, std::string_view option);

/// Raises usage for an unknown name (with the nearest).
const Method& method_named(std::string_view name);

struct Choice {
  const Method* method;
  std::string because;  ///< empty when the user named the method
};

/// The method the options name, or for "auto" the one that suits the problem best, other than exact inference
/// when that was `tried`. Raises usage for an unknown name (with the nearest), misfit for a method that does
/// not fit (with one that does).
Choice choose_method(const Problem& problem, Task task, bool tried_exact = false);

}  // namespace drover
