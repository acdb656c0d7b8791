// The four questions about a model, one call each:
//
//   Model model = read_model("alarm.bif");
//   Marginals m = marginals(model, {.observe = {{"HRBP", "HIGH"}}});
//   BestState b = best_state(model);
//   LogZ z = log_z(model);
//   Samples s = sample(model, {.samples = 1000});
//
// An answer is in terms of the model's variables, in flat arrays, and carries where it comes from. A number
// that was not worked out is NaN. The control (drover/core/run_control.hpp) sets a deadline, watches and
// stops; an answer that ended early is the result so far and says so, and Error (stopped, interrupted) is
// raised when there is none. Where the control's ranks (drover/core/ranks.hpp) share a question, all of them
// ask it, and rank 0 has the answer, the very bits that one process would have had; that of the others is
// empty.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drover/core/run_control.hpp"
#include "drover/run/inference_options.hpp"
#include "drover/run/result.hpp"
#include "drover/task/provenance.hpp"

namespace drover {

/// What the answers about a model have in common.
struct ModelAnswer {
  Provenance provenance;
  Names names;
  std::size_t variables = 0;
  std::size_t factors = 0;
  std::uint32_t max_cardinality = 0;
  Observations evidence;          ///< as it was observed
  Observations set;               ///< variables set from outside (interventions)
  std::vector<VariableId> fixed;  ///< variables that evidence, or a single state, leaves no choice; in order
  std::uint64_t sweeps = 0;       ///< after burn-in; iterations of methods without chains
  std::uint64_t burn_in = 0;
  std::uint32_t chains = 0;  ///< 0 when the method has none
  double updates = 0;        ///< of single variables, burn-in included
  double rounding = 0;       ///< nats to which sums of its log factors are rounded, where that is coarse
};

/// The joint distribution of some variables, the last of them fastest.
struct Joint {
  std::vector<VariableId> variables;
  std::vector<double> probabilities;
  std::vector<double> mcse;  ///< zeros when exact; NaN where not known
};

struct Marginals : ModelAnswer {
  Distributions probabilities;  ///< of every variable
  Distributions mcse;           ///< their standard errors; zeros when exact
  std::vector<double> rhat;     ///< of every variable; NaN where there is none, empty without every_diagnosis
  std::vector<double> ess;
  bool exact = false;
  bool converged = false;
  Diagnostics diagnostics;
  Trace scores;
  Trace rhat_over_time;
  std::vector<double> score_autocorrelation;
  double score_lag = 1;           ///< sweeps between two lags
  std::vector<Value> best_state;  ///< of all variables, the best that was met; empty when none was
  double best_log_score = not_known;
  std::vector<std::pair<VariableId, VariableId>> pairs;  ///< on request
  Distributions pair_probabilities;                      ///< row-major by the first variable
  std::vector<Joint> joints;                             ///< of the sets asked for
  std::vector<RaceEntry> race;  ///< the samplers that were tried, when `auto` let them race

  /// Of one variable, by name. Raises usage for a name there is not.
  std::span<const double> of(std::string_view name) const;
};

struct BestState : ModelAnswer {
  std::vector<Value> assignment;  ///< of every variable
  double log_score = not_known;
  double upper = not_known;  ///< no state has a higher score; NaN when no bound is known
  bool optimal = false;      ///< proven
  /// With options.best above 1: the best states, of every variable, best first; `optimal` is of all of them.
  std::vector<RankedState> states;
};

/// The most probable values of some variables, the others summed out (marginal MAP).
struct BestValues : ModelAnswer {
  std::vector<VariableId> of;
  std::vector<Value> assignment;  ///< of those
  double log_probability =
      not_known;  ///< of the assignment given the evidence; its lower bound when that is all there is
  double lower = not_known, upper = not_known;  ///< of the largest log probability
  bool optimal = false;
};

struct LogZ : ModelAnswer {
  double log_z = not_known;
  Bound bound = Bound::none;  ///< what log_z is
  double mcse = not_known;
  double lower = not_known;  ///< certified bounds
  double upper = not_known;
  double interval_lower = not_known;  ///< of 95 %, statistical
  double interval_upper = not_known;
  bool exact = false;
};

struct Samples : ModelAnswer {
  std::uint64_t draws = 0;  ///< in all
  bool independent = false;
  bool exact = false;  ///< each draw has the distribution of the model itself
  bool converged = false;
  Diagnostics diagnostics;
  Trace scores;
  /// Row-major (draw, chain, variable) and (draw, chain); empty when a sink took the draws.
  std::vector<Value> values;
  std::vector<double> log_scores;

  std::span<const Value> draw(std::uint64_t t, std::uint32_t chain) const {
    return {values.data() + (t * chains + chain) * variables, variables};
  }
};

/// Takes draws as they come: draw t of every chain before draw t + 1. A run that goes on from a checkpoint
/// hands over all of its draws, the earlier ones too.
class DrawSink {
 public:
  virtual ~DrawSink() = default;
  /// Called once, before the first draw; `answer` has names, evidence, chains, and the options as far as they
  /// are known.
  virtual void begin(const ModelAnswer& answer) = 0;
  virtual void take(std::uint32_t chain, std::span<const Value> assignment, double log_score) = 0;
};

Marginals marginals(const Model& model, const InferenceOptions& options = {},
                    const RunControl& control = no_control());  // for many rows of evidence: task/cases.hpp
BestState best_state(const Model& model, const InferenceOptions& options = {},
                     const RunControl& control = no_control());
/// `of`: names or numbers of variables, without those observed. Of the options, evidence and memory limit are
/// heeded.
BestValues best_values(const Model& model, const std::vector<std::string>& of,
                       const InferenceOptions& options = {}, const RunControl& control = no_control());
LogZ log_z(const Model& model, const InferenceOptions& options = {},
           const RunControl& control = no_control());
/// Keeps the draws in the answer.
Samples sample(const Model& model, const InferenceOptions& options = {},
               const RunControl& control = no_control());
Samples sample(const Model& model, const InferenceOptions& options, DrawSink& sink,
               const RunControl& control = no_control());

Judgement judge(const Marginals& answer);
Judgement judge(const BestState& answer);
Judgement judge(const BestValues& answer);
Judgement judge(const LogZ& answer);
Judgement judge(const Samples& answer);

/// `query` picks variables to show; empty: all.
JsonObject to_json(const Marginals& answer, std::span<const VariableId> query = {});
JsonObject to_json(const BestState& answer, std::span<const VariableId> query = {});
JsonObject to_json(const BestValues& answer);
JsonObject to_json(const LogZ& answer);
JsonObject to_json(const Samples& answer);

}  // namespace drover
