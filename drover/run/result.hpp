// What a method hands back, in terms of the compiled graph's free variables. The questions of drover/task
// turn it into answers about the model. A number that was not worked out is NaN.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "drover/core/details.hpp"
#include "drover/core/distributions.hpp"
#include "drover/core/types.hpp"

namespace drover {

inline constexpr double not_known = std::numeric_limits<double>::quiet_NaN();

struct RunFacts {
  std::vector<std::string> warnings;  ///< plain sentences
  std::uint64_t sweeps = 0;           ///< after burn-in
  std::uint64_t burn_in = 0;
  std::uint32_t chains = 0;
  double updates = 0;  ///< variable updates, burn-in included
  Details details;     ///< what only this method has to say
  Details resolved;    ///< options the user left open, as the method settled them
  std::string method;  ///< the one that ran, where a method chose it
  std::string because;
};

struct Diagnostics {
  double rhat_max = not_known;
  double ess_min = not_known;
  double mcse_max = not_known;
};

/// Below an effective sample size of 400 neither R-hat nor a standard error is to be trusted.
inline bool has_enough_draws(const Diagnostics& diagnostics) {
  return diagnostics.ess_min >= 400;
}

/// The verdict every run is held to: R-hat at most 1.01 and enough draws everywhere.
inline bool is_converged(const Diagnostics& diagnostics) {
  return diagnostics.rhat_max <= 1.01 && has_enough_draws(diagnostics);
}

/// Log scores over time, for plots: series[c][r] belongs to chain c at sweep[r].
struct Trace {
  std::vector<double> sweep;
  std::vector<std::vector<double>> series;
};

/// How one sampler did in a race of several.
struct RaceEntry {
  std::string method;
  std::uint32_t chains = 0;
  std::uint64_t sweeps = 0;         ///< burn-in included
  double work = 0;                  ///< counted, about nanoseconds of one core
  double ess_per_work = not_known;  ///< of the slowest entries, when it was last looked at
  double rhat_max = not_known;
  double nested_rhat_max = not_known;
  bool chosen = false;
  std::string note;  ///< why it did not run, or left
};

struct MarginalsResult : RunFacts {
  Distributions marginals;  ///< of every free variable
  Distributions mcse;       ///< the same shape; zeros for exact answers
  /// Instead of these two, where options.state_values ask for it and the method can: the mean of every free
  /// variable's value and its standard error.
  std::vector<double> means, means_mcse;
  std::vector<double> rhat;  ///< per free variable; NaN for exact answers
  std::vector<double> ess;
  bool exact = false;
  bool converged = false;
  Diagnostics diagnostics;
  Trace scores;
  Trace rhat_over_time;
  std::vector<double> score_autocorrelation;
  double score_lag = 1;  ///< sweeps between two lags of score_autocorrelation
  std::vector<Value> best_state;
  double best_log_score = not_known;
  /// Joint distributions of pairs of free variables, row-major by the first; filled on request.
  std::vector<std::pair<VariableId, VariableId>> pairs;
  std::vector<std::vector<double>> pair_marginals;
  /// Joint distributions of the sets asked for (Problem::joint), the last variable fastest, and their errors.
  std::vector<std::vector<double>> joints, joint_mcse;
  std::vector<RaceEntry> race;  ///< empty when there was none
};

/// One of several states, of the free variables.
struct RankedState {
  std::vector<Value> assignment;
  double log_score = not_known;
};

struct BestStateResult : RunFacts {
  std::vector<Value> assignment;  ///< of the free variables
  double log_score = not_known;
  double upper = not_known;  ///< no state has a higher score
  bool optimal = false;      ///< proven
  /// With options.best above 1, where the method can: that many, best first, the one above included;
  /// `optimal` then says that no other state is better than the last.
  std::vector<RankedState> states;
};

/// What a figure for log Z is.
enum class Bound {
  none,   ///< an estimate
  lower,  ///< at most log Z (up to its standard error, when it has one)
  upper,
};

struct LogZResult : RunFacts {
  double log_z = not_known;
  Bound bound = Bound::none;
  double lower = not_known;  ///< certified
  double upper = not_known;
  double interval_lower = not_known;  ///< of 95 %, statistical
  double interval_upper = not_known;
  double mcse = not_known;
  bool exact = false;
};

struct SampleResult : RunFacts {
  std::uint64_t draws = 0;  ///< in all
  bool independent = false;
  bool exact = false;  ///< each draw has the distribution of the model itself
  bool converged = false;
  Diagnostics diagnostics;
  Trace scores;
};

/// Takes draws as they come: draw t of every chain before draw t + 1.
class DrawConsumer {
 public:
  virtual ~DrawConsumer() = default;
  /// Called once, before the first draw.
  virtual void begin(std::uint32_t chains) = 0;
  virtual void take(std::uint32_t chain, std::span<const Value> free_assignment, double log_score) = 0;
};

}  // namespace drover
