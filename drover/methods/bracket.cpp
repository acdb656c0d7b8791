// log Z from both sides: an estimate with its error, and bounds that are certain. What `auto` does where
// exact inference is out of reach.
//
//   below     mean field (mean_field.hpp) from many starts, over trees where the model has spins only; sums
//             over blocks with the rest fixed (cutset_bound.hpp) at states that chains of blocked Gibbs meet
//   above     tree-reweighted belief propagation, then mini-buckets (mini_bucket.hpp) in tables that double
//   estimate  annealed importance sampling; with hard zeros, belief propagation's, which has no error
//
// Bounds are tightened until they are 0.1 apart, or the time or the work is used up. An estimate beyond a
// bound is moved to the bound, and that is said. Bounds are widened by 1e-9 of their size for rounding.
//
// When it fails: on large models of strong couplings the two stay far apart. They hold all the same.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "drover/core/error.hpp"
#include "drover/core/figures.hpp"
#include "drover/infer/cutset_bound.hpp"
#include "drover/infer/mini_bucket.hpp"
#include "drover/methods/all.hpp"
#include "drover/methods/chains.hpp"
#include "drover/methods/race_starts.hpp"

namespace drover {

namespace {

constexpr double close_enough = 0.1;
// Table entries of all mini-bucket bounds together where there is no time limit: some ten seconds.
constexpr double most_bracket_entries = 1e9;
constexpr double first_log2_entries = 8, most_log2_entries = 26;
constexpr double cutset_log2_entries = 9;

std::string why_not_bracket(const Problem& problem, Task) {
  if (problem.graph().gates.size() > 0)
    return fmt::format("it needs a table for every factor, and a gate has more than {} variables",
                       largest_expanded_gate);
  return "";
}

/// A part that did not come to its end; what the others found remains.
bool is_end(const Error& error) {
  return error.kind() == ErrorKind::stopped || error.kind() == ErrorKind::interrupted;
}

class Bracket {
 public:
  Bracket(const Problem& problem, const RunControl& control) : problem_(problem), control_(control) {
    result_.lower = -std::numeric_limits<double>::infinity();
    result_.upper = std::numeric_limits<double>::infinity();
  }

  LogZResult run() {
    // Where much of the time has gone before the start, little else will come to an end.
    ask("mean-field", control_.time_fraction() > 0.1 ? 0.5 : 0.1);
    ask("primal-dual-mean-field", 0.2, true);
    ask("trw", 0.25);
    narrow_by_mini_buckets(0.35, 1 << 22);
    raise_by_cutset(0.5);
    if (!is_narrow()) estimate();
    narrow_by_mini_buckets(1, most_bracket_entries);
    const bool any =
        std::isfinite(result_.lower) || std::isfinite(result_.upper) || std::isfinite(result_.log_z);
    if (!any) fail_if_stopped(control_, "log Z");
    settle();
    return std::move(result_);
  }

 private:
  /// The time is over and there is something to tell, or somebody asked for the end.
  bool is_over() const {
    return control_.should_stop() &&
           (control_.stop_requested() || std::isfinite(result_.lower) || std::isfinite(result_.upper));
  }
  bool is_narrow() const { return result_.exact || result_.upper - result_.lower <= close_enough; }

  // A part that ends when this share of the time has passed.
  RunControl part(double until) const {
    if (!control_.has_time_limit()) return RunControl(control_);
    const double passed = control_.time_fraction(), left = control_.seconds_left();
    const double share = passed < until ? (until - passed) / (1 - passed) : 0;
    return RunControl(control_, std::max(0.01, share * left));
  }

  void raise_lower(double value, std::string_view by) {
    if (!(value > result_.lower)) return;
    result_.lower = value;
    result_.details["lower_by"] = std::string(by);
  }
  void lower_upper(double value, std::string_view by) {
    if (!(value < result_.upper)) return;
    result_.upper = value;
    result_.details["upper_by"] = std::string(by);
  }

  // Runs a method for its bound or estimate, with its own defaults.
  std::optional<LogZResult> try_method(std::string_view name, double until, bool forest = false) {
    const Method& method = method_named(name);
    if (!drover::why_not(method, problem_, Task::logz).empty()) return std::nullopt;
    if (is_over()) return std::nullopt;
    InferenceOptions options = problem_.options();
    options.method = name;
    options.dual.forest = forest;
    const RunControl limited = part(until);
    try {
      if (!forest) return method.logz(problem_, limited);
      const Problem other(problem_.graph(), options, limited);
      return method.logz(other, limited);
    } catch (const Error& error) {
      if (!is_end(error) && error.kind() != ErrorKind::misfit) throw;
      return std::nullopt;
    }
  }

  void ask(std::string_view name, double until, bool forest = false) {
    if (is_narrow()) return;
    control_.report({name, -1, 0, 0, 0});
    const auto one = try_method(name, until, forest);
    if (!one) return;
    if (std::isfinite(one->lower)) raise_lower(one->lower, name);
    if (std::isfinite(one->upper)) lower_upper(one->upper, name);
    if (one->exact) {
      result_.exact = true;
      result_.log_z = result_.lower = result_.upper = one->log_z;
    }
  }

  void narrow_by_mini_buckets(double until, double entries) {
    if (is_narrow() || is_over()) return;
    const RunControl limited = part(until);
    const std::span<const VariableId> order = problem_.exact_plan().order.order;
    const double memory = std::log2(static_cast<double>(problem_.memory_limit_bytes()) / 64);
    for (; log2_entries_ <= std::min(most_log2_entries, memory) && !is_narrow(); log2_entries_ += 2) {
      if (limited.should_stop() || entries_ * 4 > entries) return;
      // Four times the entries take some four times as long.
      if (limited.has_time_limit() && 4 * seconds_ > limited.seconds_left()) return;
      const double begin = control_.seconds();
      control_.report({"mini-buckets", control_.has_time_limit() ? control_.time_fraction() : -1, 0, 0, 0});
      try {
        const MiniBucketBound bound = mini_bucket_bound(problem_.graph(), order, log2_entries_, limited);
        entries_ = bound.entries;
        seconds_ = control_.seconds() - begin;
        lower_upper(bound.upper, "mini-buckets");
        result_.details["mini_bucket_log2_entries"] = log2_entries_;
        if (bound.exact) {
          result_.exact = true;
          result_.log_z = result_.lower = result_.upper = bound.upper;
          return;
        }
      } catch (const Error& error) {
        if (!is_end(error)) throw;
        return;
      }
    }
  }

  // Likely states first, then those that chains meet.
  void raise_by_cutset(double until) {
    if (is_narrow() || is_over()) return;
    const Graph& graph = problem_.graph();
    const RunControl limited = part(until);
    control_.report({"cutsets", -1, 0, 0, 0});
    try {
      CutsetBound bound(graph, cutset_log2_entries, limited);
      const SweepSize size = sweep_size(graph);
      const double cost = 20 * (size.variables + size.links + size.entries) + 1;
      const auto most = static_cast<std::size_t>(std::clamp(5e9 / (100 * cost), 16.0, 4000.0));
      for (const auto& state : race_starts(problem_, 16)) {
        if (limited.should_stop()) break;
        bound.add(state);
      }
      ChainOptions options;
      options.chains = 16;
      options.seed = problem_.options().seed;
      options.sweeps = ChainOptions::unlimited;
      options.score_every = 64;
      std::vector<Value> x(graph.size());
      const auto meet = [&](LiveChains& chains) {
        // Where chains hardly move there is nothing new to count.
        for (std::size_t sweep = 1; sweep <= 4 * most / options.chains && bound.assignments() < most;
             ++sweep) {
          chains.run_to(4 * sweep, limited);
          for (std::uint32_t c = 0; c < options.chains && !limited.should_stop(); ++c) {
            chains.read(c, x);
            bound.add(x);
          }
          if (limited.should_stop()) return;
        }
      };
      if (!limited.should_stop()) method_named("blocked-gibbs").enter(problem_, options, limited, meet);
      raise_lower(bound.lower(), "cutset");
      result_.details["cutset_assignments"] = bound.assignments();
    } catch (const Error& error) {
      if (!is_end(error) && error.kind() != ErrorKind::misfit) throw;
    }
  }

  void estimate() {
    control_.report({"estimate", -1, 0, 0, 0});
    std::optional<LogZResult> one = try_method("ais", 0.75);
    estimated_by_ = "ais";
    if (!one) {
      one = try_method("bp", 0.75);
      estimated_by_ = "bp";
    }
    if (!one) return;
    result_.log_z = one->log_z;
    result_.mcse = one->mcse;
    result_.interval_lower = one->interval_lower;
    result_.interval_upper = one->interval_upper;
    result_.chains = one->chains;
    result_.sweeps = one->sweeps;
    result_.updates = one->updates;
    result_.warnings = std::move(one->warnings);
    result_.details["estimated_by"] = std::string(estimated_by_);
    if (estimated_by_ == "bp")
      result_.warnings.emplace_back(
          "the estimate is belief propagation's, whose error is not known: only the bounds are certain");
  }

  void settle() {
    if (result_.exact) {
      result_.mcse = 0;
      result_.interval_lower = result_.interval_upper = not_known;
      return;
    }
    const auto slack = [](double value) { return 1e-9 * (1 + std::abs(value)); };
    if (std::isfinite(result_.lower)) result_.lower -= slack(result_.lower);
    if (std::isfinite(result_.upper)) result_.upper += slack(result_.upper);
    if (!std::isfinite(result_.lower)) result_.lower = not_known;
    if (!std::isfinite(result_.upper)) result_.upper = not_known;
    if (!std::isfinite(result_.log_z)) {
      if (std::isfinite(result_.lower) && std::isfinite(result_.upper))
        result_.log_z = 0.5 * (result_.lower + result_.upper);
      else
        result_.log_z = std::isfinite(result_.lower) ? result_.lower : result_.upper;
      if (!std::isfinite(result_.lower)) result_.bound = Bound::upper;
      if (!std::isfinite(result_.upper)) result_.bound = Bound::lower;
    }
    const double given = result_.log_z;
    if (result_.log_z < result_.lower) result_.log_z = result_.lower;
    if (result_.log_z > result_.upper) result_.log_z = result_.upper;
    if (given != result_.log_z)
      result_.warnings.push_back(
          fmt::format("the estimate {} lies beyond a certain bound and was moved to it", log_text(given, 8)));
  }

  const Problem& problem_;
  const RunControl& control_;
  double log2_entries_ = first_log2_entries;
  double entries_ = 0;  ///< of the last mini-bucket bound
  double seconds_ = 0;  ///< that it took
  std::string_view estimated_by_;
  LogZResult result_;
};

LogZResult logz_by_bracket(const Problem& problem, const RunControl& control) {
  return Bracket(problem, control).run();
}

}  // namespace

Method bracket_method() {
  return {"bracket",
          "log Z from both sides: an estimate, and bounds that are certain",
          "Wainwright and Jordan 2008; Liu and Ihler 2011; Neal 2001",
          why_not_bracket,
          nullptr,
          nullptr,
          logz_by_bracket,
          nullptr,
          "chains sweeps iterations damping schedule"};
}

}  // namespace drover
