// What the options of a question state about a model: observations and interventions, by name or by number.
#pragma once

#include <optional>

#include "drover/compile/graph.hpp"
#include "drover/compile/stoppable.hpp"
#include "drover/core/json_writer.hpp"
#include "drover/run/inference_options.hpp"
#include "drover/task/provenance.hpp"

namespace drover {

/// Hard evidence of observations: what was observed, and variables whose likelihoods leave one state.
Evidence fixed_by(const Observations& observations);

class Stated {
 public:
  /// Raises what evidence_of(), intervene() and with_likelihoods() raise. The model must outlive it.
  Stated(const Model& model, const InferenceOptions& options);

  /// With the arcs into set variables cut and the likelihoods as its last unaries.
  const Model& model() const { return changed_ ? *changed_ : without_likelihoods(); }
  /// The same without the likelihoods.
  const Model& without_likelihoods() const { return cut_ ? *cut_ : model_; }
  const Observations& observed() const { return observed_; }
  const Observations& set() const { return set_; }
  /// Hard evidence: what was observed, set, or left one state by its likelihoods.
  const Evidence& fixed() const { return fixed_; }
  Graph compile(const RunControl& control = no_control()) const {
    return drover::compile(model(), fixed_, PairTables::recognised, control);
  }

 private:
  const Model& model_;
  Observations observed_, set_;
  Evidence fixed_;
  std::optional<Model> cut_, changed_;
};

/// A table over some of the model's variables, the last fastest, from one over the free ones among them; zero
/// where it differs from what is fixed.
std::vector<double> whole_table(const Graph& graph, const Model& model, std::span<const VariableId> variables,
                                std::span<const double> free);

/// [{"name", "state"} or {"name", "likelihood"}, ...]
std::string json_evidence(const Observations& evidence, const Names& names);
/// Adds the options observe, do and joint as they were given.
void add_stated(const InferenceOptions& options, Details& values);

}  // namespace drover
