// drover info: sizes, structure, and which methods fit.
#include <fmt/format.h>

#include <cmath>

#include "app/commands.hpp"
#include "app/load.hpp"
#include "app/output.hpp"
#include "drover/compile/colouring.hpp"
#include "drover/core/plural.hpp"
#include "drover/methods/herded_gibbs_plan.hpp"
#include "drover/methods/method.hpp"

namespace drover::app {

int run_info(const Invocation& invocation) {
  const Loaded loaded = load(invocation);
  const Graph& graph = loaded.graph;
  const Problem problem(graph, invocation.settings);
  const ExactPlan& plan = problem.exact_plan();
  const Adjacency near = adjacency(graph);
  const std::size_t colours = colour_variables(near.offsets, near.list).count();

  const HerdedPlan herded = herded_plan(problem, Task::marginals);

  constexpr Task tasks[] = {Task::marginals, Task::map, Task::logz, Task::sample};
  nlohmann::ordered_json methods = nlohmann::ordered_json::array();
  for (const Method& method : all_methods())
    for (Task task : tasks) {
      if (!method.does(task)) continue;
      const std::string reason = why_not(method, problem, task);
      methods.push_back({{"name", std::string(method.name)},
                         {"task", std::string(task_name(task))},
                         {"fits", reason.empty()},
                         {"why_not", reason}});
    }
  print_warnings(invocation.settings, loaded.model.warnings);
  if (invocation.settings.json) {
    JsonObject object = json_envelope(invocation, loaded.model.warnings);
    object.add("variables", loaded.model.variable_count());
    object.add("free_variables", graph.size());
    object.add("factors", loaded.model.factor_count());
    object.add("max_cardinality", graph.max_cardinality());
    object.add("pairwise", graph.is_pairwise());
    object.add("binary", graph.is_binary());
    object.add("strictly_positive", graph.is_strictly_positive());
    object.add("spin_pairs", graph.spin_pairs.size());
    object.add("potts_pairs", graph.potts_pairs.size());
    object.add("tables", graph.tables.size());
    object.add("gates", graph.gates.size());
    object.add("treewidth_bound", plan.order.treewidth_bound);
    object.add("log2_max_clique", plan.order.log2_max_clique);
    object.add("exact_bytes", plan.predicted_bytes);
    object.add("colours", colours);
    object.add("herded_gibbs_bytes", herded.bytes);
    object.add("herded_gibbs_tables", herded_share_text(herded));
    object.add("methods", methods);
    print_json(object);
    return 0;
  }
  TextTable facts({"", ""});
  facts.row({"variables", fmt::format("{} ({} free)", loaded.model.variable_count(), graph.size())});
  facts.row(
      {"factors", fmt::format("{} stated; as run: {}, {}, {}, {}", loaded.model.factor_count(),
                              counted(graph.spin_pairs.size(), "spin pair"),
                              counted(graph.potts_pairs.size(), "Potts pair"),
                              counted(graph.tables.size(), "table"), counted(graph.gates.size(), "gate"))});
  facts.row({"states", fmt::format("at most {} per variable{}", graph.max_cardinality(),
                                   graph.is_binary() ? " (binary)" : "")});
  facts.row({"structure", fmt::format("{}, {}, {}", graph.is_pairwise() ? "pairwise" : "higher order",
                                      graph.is_strictly_positive() ? "strictly positive" : "with hard zeros",
                                      counted(colours, "colour"))});
  facts.row({"treewidth", plan.order.exact ? fmt::format("at most {}; exact inference needs about {:.3g} MB",
                                                         plan.order.width, plan.predicted_bytes / 1e6)
                                           : fmt::format("above {} (search stopped)", plan.order.width)});
  facts.row({"herded Gibbs",
             fmt::format("weights ({}) of {} chains need up to {:.3g} MB", herded_share_text(herded),
                         default_herded_chains(problem), herded.bytes / 1e6)});
  facts.print();
  print_text("\n");
  TextTable table({"METHOD", "TASK", "FITS", "WHY NOT"});
  for (const auto& row : methods)
    table.row({row["name"], row["task"], row["fits"].get<bool>() ? "yes" : "no", row["why_not"]});
  table.print();
  return 0;
}

}  // namespace drover::app
