// Exact answers about a network whose evidence changes all the time: the tree is planned once, without
// evidence, and evidence enters as factors of single variables, so that an answer costs one propagation (two
// passes of drover/infer/junction_tree.hpp) and the plan's search for a good elimination order is paid once.
//
//   finding      a likelihood L(k) for each state of a variable; an observed state is L = 1, all others 0
//   log P(e)     log Z with the findings - log Z without
//   joint        p(a, b, .. | e): one propagation per state of all the variables but the last
//   information  I(X; T | e) = sum over t of p(t) KL(p(X | t) || p(X)): one propagation per state of the
//   target T
//
// Calls from several threads wait for one another.
#pragma once

#include <cstddef>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "drover/core/distributions.hpp"
#include "drover/core/run_control.hpp"
#include "drover/infer/junction_tree.hpp"
#include "drover/model/model.hpp"

namespace drover {

struct Finding {
  VariableId variable = 0;
  std::vector<double> likelihood;  ///< of every state, none negative, not all zero
};

/// Raises usage when one is no finding of this model.
void check_findings(const Model& model, std::span<const Finding> findings);

struct NetworkAnswer {
  Distributions probabilities;  ///< of every variable of the model
  double log_evidence = 0;      ///< log P(findings)
};

struct NetworkBest {
  std::vector<Value> assignment;
  double log_probability = 0;  ///< of the whole assignment, given the findings
};

class ExactNetwork {
 public:
  /// The model must outlive it. Takes the time of a search for an elimination order.
  ExactNetwork(const Model& model, std::size_t memory_limit_bytes);

  /// Why it cannot answer; empty: it can.
  const std::string& why_not() const { return why_not_; }
  double predicted_operations() const { return plan_.predicted_operations; }
  std::uint32_t width() const { return plan_.order.width; }

  // Each raises bad_data when the findings are impossible together, usage when one is no finding of this
  // model, stopped when the control ends.
  NetworkAnswer marginals(std::span<const Finding> findings, const RunControl& control = no_control());
  NetworkBest best(std::span<const Finding> findings, const RunControl& control = no_control());
  /// Last variable fastest. Raises what check_joint() does.
  std::vector<double> joint(std::span<const Finding> findings, std::span<const VariableId> variables,
                            const RunControl& control = no_control());
  /// In nats, of every variable with the target; 0 for the target itself.
  std::vector<double> information(std::span<const Finding> findings, VariableId target,
                                  const RunControl& control = no_control());

 private:
  class Weighted;
  Distributions spread(std::vector<std::vector<double>> of_free) const;
  void check(std::span<const Finding> findings) const;
  std::vector<Finding> with(std::span<const Finding> findings, VariableId variable, Value value) const;
  NetworkAnswer solve(std::span<const Finding> findings, const RunControl& control);

  const Model& model_;
  std::mutex mutex_;
  Graph graph_;
  ExactOptions options_;
  ExactPlan plan_;
  double log_z_ = 0;
  std::string why_not_;
};

/// Whether a page may ask for the joint distribution of these: one variable or more of the model, each once,
/// at most 4096 states in all. Raises usage.
void check_joint(const Model& model, std::span<const VariableId> variables);

}  // namespace drover
