#include "drover/methods/chain_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "drover/core/error.hpp"
#include "drover/core/figures.hpp"
#include "drover/core/parallel.hpp"
#include "drover/core/plural.hpp"
#include "drover/diagnose/autocorrelation.hpp"

namespace drover {

namespace {

// Where the entries of each variable begin: where all are binary, every variable has one.
class EntryOffsets {
 public:
  explicit EntryOffsets(const Graph& graph) {
    const auto& cardinalities = graph.cardinalities;
    if (std::all_of(cardinalities.begin(), cardinalities.end(), [](std::uint32_t k) { return k == 2; }))
      return;
    offsets_.reserve(cardinalities.size() + 1);
    offsets_.push_back(0);
    for (std::uint32_t cardinality : cardinalities)
      offsets_.push_back(offsets_.back() + (cardinality == 2 ? 1 : cardinality));
  }
  std::size_t operator[](std::size_t variable) const {
    return offsets_.empty() ? variable : offsets_[variable];
  }

 private:
  std::vector<std::size_t> offsets_;
};

// std::fmax and std::fmin without a call: what is no number loses.
double larger(double a, double b) {
  return b > a || std::isnan(a) ? b : a;
}
double smaller(double a, double b) {
  return b < a || std::isnan(a) ? b : a;
}

}  // namespace

void note_resolved(const ChainOptions& options, RunFacts& facts) {
  facts.resolved["chains"] = options.chains;
  if (options.sweeps != ChainOptions::unlimited) facts.resolved["sweeps"] = options.sweeps;
  if (options.burn_in != ChainOptions::unlimited) facts.resolved["burn-in"] = options.burn_in;
}

void fill_facts(const ChainRun& run, RunFacts& facts) {
  facts.chains = run.options().chains;
  facts.burn_in = run.burn_in();
  facts.sweeps = run.sweeps_done() - run.burn_in();
  facts.updates = run.updates();
  if (run.shortened_burn_in())
    facts.warnings.push_back("the time limit came near before burn-in had ended: it was cut to " +
                             counted(facts.burn_in, "sweep"));
}

void warn_if_not_converged(const Diagnostics& diagnostics, RunFacts& facts) {
  if (is_converged(diagnostics)) return;
  if (facts.sweeps == 0)
    facts.warnings.emplace_back("the run was stopped before its burn-in ended: there is no result");
  else if (std::isnan(diagnostics.rhat_max))
    facts.warnings.emplace_back("the run is too short to say whether it has converged; take more sweeps");
  else
    facts.warnings.push_back(fmt::format(
        "the run has NOT converged: largest R-hat {} (wanted: at most 1.01), smallest effective sample "
        "size {} (wanted: at least 400); {}",
        rhat_text(diagnostics.rhat_max), ess_text(diagnostics.ess_min), advice_to_change));
}

void fill_means(const SegmentStore& store, MarginalsResult& result) {
  const std::size_t n = store.entries();
  result.means.resize(n);
  result.means_mcse.resize(n);
  // These two speak of the variance of an indicator, which a mean of other numbers does not tell.
  result.rhat.assign(n, not_known);
  result.ess.assign(n, not_known);
  parallel_for(IndexRange(0, n, 256), [&](const IndexRange& range) {
    DiagnosisRoom scratch;
    for (std::size_t v = range.begin(); v != range.end(); ++v) {
      result.means[v] = store.mean(v);
      const double error = diagnose_entry(store, v, scratch).mcse;
      result.means_mcse[v] = error > precision_floor ? error : not_known;  // the mean never moved
    }
  });
  for (double error : result.means_mcse)
    result.diagnostics.mcse_max = std::fmax(result.diagnostics.mcse_max, error);
  if (store.draws() == 0)
    warn_if_not_converged(result.diagnostics, result);
  else
    result.warnings.push_back(
        fmt::format("whether the run has converged is not known: only means were worked out, with standard "
                    "errors of at most {}",
                    error_text(result.diagnostics.mcse_max)));
}

void warn_of_rounded_samples(const InferenceOptions& options, SampleResult& result) {
  if (!options.samples || *options.samples % result.chains == 0) return;
  result.warnings.push_back(
      fmt::format("{} samples are not a multiple of the {} chains: every chain gives the same number of "
                  "draws, rounded up",
                  *options.samples, result.chains));
}

void fill_marginals(const Graph& graph, const SegmentStore& store, bool every_diagnosis,
                    MarginalsResult& result) {
  const EntryOffsets offsets(graph);
  const std::size_t n = graph.size();
  result.marginals.assign(graph.cardinalities, 0);
  result.mcse.assign(graph.cardinalities, 0);
  result.rhat.assign(every_diagnosis ? n : 0, not_known);
  result.ess.assign(every_diagnosis ? n : 0, not_known);
  std::mutex adding;
  std::size_t still = 0;
  parallel_for(IndexRange(0, n, 1024), [&](const IndexRange& range) {
    const std::size_t first = offsets[range.begin()], entries = offsets[range.end()] - first;
    DiagnosisRoom room;
    std::vector<EntryDiagnostics> figures(entries);
    std::vector<double> means(entries);
    diagnose_entries(store, first, room, figures, means);
    Diagnostics worst;
    std::size_t still_here = 0;
    for (std::size_t v = range.begin(); v != range.end(); ++v) {
      const std::span<double> p = result.marginals[v];
      const std::span<double> error = result.mcse[v];
      const bool binary = graph.cardinalities[v] == 2;
      double total = 0, rhat = not_known, ess = not_known;
      bool moved = false;
      for (std::size_t e = offsets[v] - first; e < offsets[v + 1] - first; ++e) {
        const EntryDiagnostics& one = figures[e];
        const std::size_t k = binary ? 1 : e + first - offsets[v];
        p[k] = means[e];
        total += p[k];
        error[k] = one.mcse;
        moved |= !std::isnan(one.mcse);
        rhat = larger(rhat, one.rhat);
        ess = smaller(ess, one.ess);
        worst.mcse_max = larger(worst.mcse_max, one.mcse);
      }
      if (binary) {
        p[0] = 1 - p[1];
        error[0] = error[1];
      } else if (total > 0) {
        for (double& probability : p) probability /= total;  // sums of single-precision numbers
      }
      if (every_diagnosis) result.rhat[v] = rhat, result.ess[v] = ess;
      worst.rhat_max = larger(worst.rhat_max, rhat);
      worst.ess_min = smaller(worst.ess_min, ess);
      still_here += moved ? 0 : 1;
    }
    const std::scoped_lock lock(adding);
    result.diagnostics.rhat_max = larger(result.diagnostics.rhat_max, worst.rhat_max);
    result.diagnostics.ess_min = smaller(result.diagnostics.ess_min, worst.ess_min);
    result.diagnostics.mcse_max = larger(result.diagnostics.mcse_max, worst.mcse_max);
    still += still_here;
  });
  settle_exact_averages(store, result.diagnostics);
  result.converged = is_converged(result.diagnostics);
  warn_if_not_converged(result.diagnostics, result);
  if (still > 0 && !std::isnan(result.diagnostics.rhat_max))
    result.warnings.push_back(
        fmt::format("{} of {} never moved: no standard error is known", still, counted(n, "variable")));
}

Trace score_trace(const ScoreTrace& trace, std::uint32_t chains) {
  Trace result;
  result.sweep.assign(trace.sweeps.begin(), trace.sweeps.end());
  result.series.resize(std::min<std::uint32_t>(chains, 16));
  for (std::size_t c = 0; c < result.series.size(); ++c)
    for (std::size_t r = 0; r < trace.sweeps.size(); ++r)
      result.series[c].push_back(trace.scores[r * chains + c]);
  return result;
}

void fill_trace(const ScoreTrace& trace, std::uint32_t chains, std::uint64_t burn_in,
                MarginalsResult& result) {
  result.scores = score_trace(trace, chains);
  result.score_lag = static_cast<double>(trace.every);
  std::size_t first = 0;
  while (first < trace.sweeps.size() && trace.sweeps[first] <= burn_in) ++first;
  const std::size_t records = trace.sweeps.size() - first;
  if (records < 8) return;
  std::vector<double> values;
  for (std::uint32_t c = 0; c < chains; ++c)
    for (std::size_t r = first; r < trace.sweeps.size(); ++r) values.push_back(trace.scores[r * chains + c]);
  result.score_autocorrelation =
      autocorrelation(Draws{values.data(), chains, records}, std::min<std::size_t>(50, records / 4));
}

void check_against_exact(const Problem& problem, MarginalsResult& result, const RunControl& control) {
  const Method* exact = nullptr;
  for (const Method& method : all_methods())
    if (method.name == "exact") exact = &method;
  std::string reason = why_not(*exact, problem, Task::marginals);
  MarginalsResult truth;
  // The time limit was for the run; only a request ends the comparison.
  RunControl patient;
  patient.stop_when([&] { return control.stop_requested(); });
  try {
    if (reason.empty()) truth = exact->marginals(problem, patient);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::stopped && error.kind() != ErrorKind::interrupted) throw;
    reason = error.what();
  }
  if (!reason.empty()) {
    result.warnings.push_back("no exact marginals to compare with: " + reason);
    return;
  }
  double worst = 0;
  std::size_t within = 0, entries = 0;
  for (std::size_t v = 0; v < truth.marginals.size(); ++v)
    for (std::size_t k = 0; k < truth.marginals[v].size(); ++k) {
      const double error = std::abs(truth.marginals[v][k] - result.marginals[v][k]);
      worst = std::max(worst, error);
      within += error <= 3 * result.mcse[v][k] ? 1 : 0;
      ++entries;
    }
  result.details["check"] =
      Details{{"max_abs_error", worst},
              {"share_within_three_mcse",
               entries == 0 ? 1.0 : static_cast<double>(within) / static_cast<double>(entries)}};
}

}  // namespace drover
