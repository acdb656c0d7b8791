// What a model is, and which methods fit it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drover/core/json_writer.hpp"
#include "drover/core/run_control.hpp"
#include "drover/run/inference_options.hpp"
#include "drover/task/provenance.hpp"

namespace drover {

/// Whether a method can do a task on a model.
struct MethodFit {
  std::string name;
  Task task = Task::marginals;
  std::string why_not;     ///< empty when it fits
  double peak_memory = 0;  ///< that the program is predicted to take, in bytes; 0: not known
  bool fits() const { return why_not.empty(); }
};

struct ModelInfo {
  Provenance provenance;
  std::size_t variables = 0;
  std::size_t free_variables = 0;  ///< that evidence leaves open
  std::size_t factors = 0;         ///< as stated
  std::uint32_t max_cardinality = 0;
  bool pairwise = false;
  bool binary = false;
  bool strictly_positive = false;
  std::size_t spin_pairs = 0, potts_pairs = 0, tables = 0, gates = 0;  ///< as run
  std::size_t colours = 0;
  std::uint32_t width = 0;            ///< of the elimination order that exact inference would take
  std::uint32_t treewidth_bound = 0;  ///< the least width of any order tried
  bool width_known = false;           ///< the order search came to its end
  double log2_max_clique = 0;
  double exact_bytes = 0;
  double herded_gibbs_bytes = 0;
  std::string herded_gibbs_tables;
  std::uint32_t herded_gibbs_chains = 0;
  std::vector<MethodFit> methods;
};

ModelInfo model_info(const Model& model, const InferenceOptions& options = {},
                     const RunControl& control = no_control());
JsonObject to_json(const ModelInfo& info);

/// A method as the registry has it.
struct MethodDescription {
  std::string_view name, summary, source;
  std::vector<Task> tasks;
};
std::vector<MethodDescription> list_methods();

}  // namespace drover
