#include "drover/task/model_info.hpp"

#include <algorithm>

#include "drover/compile/colouring.hpp"
#include "drover/compile/stoppable.hpp"
#include "drover/core/process_memory.hpp"
#include "drover/core/stop_check.hpp"
#include "drover/methods/herded_gibbs_plan.hpp"
#include "drover/methods/memory_need.hpp"
#include "drover/methods/method.hpp"
#include "drover/task/stated.hpp"

namespace drover {

namespace {
constexpr Task all_tasks[] = {Task::marginals, Task::map, Task::logz, Task::sample};

/// What reading and compiling took, before all else that is asked here, and what they left.
struct MemoryBefore {
  double peak = peak_resident_bytes();
  double left = resident_bytes();
};

/// The method comes on top of what is left.
double predicted_peak(const Method& method, const Problem& problem, Task task, const MemoryBefore& before) {
  const double needed = needed_bytes(method, problem, task);
  return needed == 0 ? 0 : std::max(before.peak, before.left + needed);
}
}  // namespace

ModelInfo model_info(const Model& model, const InferenceOptions& options, const RunControl& control) {
  ModelInfo info;
  const double start = control.seconds();
  const Stated stated(model, options);
  const Problem problem(stated.compile(control), options, control);
  const MemoryBefore before;
  const Graph& graph = problem.compact_graph();
  info.provenance.question = "info";
  info.provenance.input = options.input.empty() ? model.name : options.input;
  info.provenance.seed = options.seed;
  info.provenance.warnings = model.warnings;
  add_stated(options, info.provenance.options);
  info.variables = model.variable_count();
  info.free_variables = graph.size();
  info.factors = model.factor_count();
  info.max_cardinality = graph.max_cardinality();
  info.pairwise = graph.is_pairwise();
  info.binary = graph.is_binary();
  info.strictly_positive = graph.is_strictly_positive();
  info.spin_pairs = graph.spin_pairs.size();
  info.potts_pairs = graph.potts_pairs.size();
  info.tables = graph.tables.size();
  info.gates = graph.gates.size();
  const Adjacency near = adjacency(graph, control);
  info.colours = colour_variables(near.offsets, near.list, control).count();
  const ExactPlan& plan = problem.exact_plan();
  info.width = plan.order.width;
  info.treewidth_bound = plan.order.treewidth_bound;
  info.width_known = plan.order.exact;
  info.log2_max_clique = plan.order.log2_max_clique;
  info.exact_bytes = plan.predicted_bytes;
  const HerdedPlan herded = herded_plan(problem, Task::marginals);
  info.herded_gibbs_bytes = herded.bytes;
  info.herded_gibbs_tables = herded_share_text(herded);
  info.herded_gibbs_chains = default_herded_chains(problem);
  StopCheck check(control, "the model", "was looked at");
  for (const Method& method : all_methods())
    for (Task task : all_tasks) {
      check.ask();
      if (method.does(task))
        info.methods.push_back({std::string(method.name), task, why_not(method, problem, task),
                                predicted_peak(method, problem, task, before)});
    }
  info.provenance.seconds = control.seconds() - start;
  return info;
}

JsonObject to_json(const ModelInfo& info) {
  JsonObject object = json_of(info.provenance);
  object.add("variables", info.variables);
  object.add("free_variables", info.free_variables);
  object.add("factors", info.factors);
  object.add("max_cardinality", info.max_cardinality);
  object.add("pairwise", info.pairwise);
  object.add("binary", info.binary);
  object.add("strictly_positive", info.strictly_positive);
  object.add("spin_pairs", info.spin_pairs);
  object.add("potts_pairs", info.potts_pairs);
  object.add("tables", info.tables);
  object.add("gates", info.gates);
  object.add("treewidth_bound", info.treewidth_bound);
  object.add("log2_max_clique", info.log2_max_clique);
  object.add("exact_bytes", info.exact_bytes);
  object.add("colours", info.colours);
  object.add("herded_gibbs_bytes", info.herded_gibbs_bytes);
  object.add("herded_gibbs_tables", info.herded_gibbs_tables);
  std::vector<std::string> methods;
  for (const MethodFit& method : info.methods) {
    JsonObject one;
    one.add("name", method.name);
    one.add("task", task_name(method.task));
    one.add("fits", method.fits());
    one.add("why_not", method.why_not);
    one.add("peak_memory", method.peak_memory);
    methods.push_back(one.line());
  }
  object.add_raw("methods", json_list(methods));
  object.add("seconds", info.provenance.seconds);
  return object;
}

std::vector<MethodDescription> list_methods() {
  std::vector<MethodDescription> list;
  for (const Method& method : all_methods()) {
    MethodDescription one{method.name, method.summary, method.source, {}};
    for (Task task : all_tasks)
      if (method.does(task)) one.tasks.push_back(task);
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace drover
