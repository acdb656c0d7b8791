// What bears on one variable: which others to ask about next, and which numbers of the model it hangs on.
//
//   information  I(X; T | e) = sum over t, x of p(t, x | e) log( p(x | t, e) / p(x | e) )        (nats)
//   sensitivity  d P(T = t | e) / d theta, theta an entry of a table:
//     Bayesian network: an entry of p(x | parents) moves, the others of its row share the rest in proportion
//       (Chan and Darwiche 2002); D(x) - sum over x' != x of theta(x') / (1 - theta(x)) D(x')
//     otherwise: the derivative by the logarithm of the entry
//       with D(u) = ( p(t, u | e) - p(t | e) p(u | e) ) / theta(u), u the states of the table's variables
//
// Exact: a junction tree for each state of the target, on one elimination order. Entries that are 0 or 1 in a
// network, or 0 elsewhere, are structure and stay out.
#pragma once

#include <string>
#include <vector>

#include "drover/core/json_writer.hpp"
#include "drover/core/run_control.hpp"
#include "drover/run/inference_options.hpp"
#include "drover/task/provenance.hpp"

namespace drover {

struct Information {
  VariableId variable = 0;
  double mutual_information = 0;  ///< with the target, given the evidence; nats
};

/// Of one entry of a table.
struct Sensitivity {
  std::vector<VariableId> variables;  ///< of the table; in a network the last is the one it is the table of
  std::vector<Value> states;
  double entry = 0;
  std::vector<double> derivatives;  ///< of the probability of each state of the target
};

struct TargetAnswer {
  VariableId target = 0;
  Names names;
  std::vector<double> probabilities;     ///< of the target's states, given the evidence
  double entropy = 0;                    ///< of the target; nats
  std::vector<Information> information;  ///< of every other free variable, the most telling first
  std::vector<Sensitivity> sensitivity;  ///< the largest first
  bool by_logarithm = false;             ///< derivatives are by the logarithm of an entry
};

/// Raises usage for a target that is not there or that the evidence fixes, misfit where exact inference does
/// not fit.
TargetAnswer about_target(const Model& model, const std::string& target, const InferenceOptions& options = {},
                          const RunControl& control = no_control());
/// Adds the members target, target_marginal, entropy, information, sensitivity, sensitivity_by.
void add_json(const TargetAnswer& answer, JsonObject& object);

}  // namespace drover
