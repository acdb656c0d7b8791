#include "drover/methods/chains.hpp"

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>

#include "drover/core/error.hpp"
#include "drover/core/version.hpp"
#include "drover/diagnose/autocorrelation.hpp"
#include "drover/infer/junction_tree.hpp"
#include "drover/io/atomic_file.hpp"

namespace drover {

std::uint32_t chains_for_samples(std::int64_t samples, std::uint32_t most) {
  for (auto chains = static_cast<std::int64_t>(most); chains > 1; --chains)
    if (samples % chains == 0 && samples / chains >= 50) return static_cast<std::uint32_t>(chains);
  return 1;
}

std::int64_t wanted_samples(const Settings& settings) {
  return settings.samples > 0 ? settings.samples : 1000;
}

ChainOptions chain_options(const Problem& problem, Task task, std::uint32_t default_chains) {
  const Settings& settings = problem.settings();
  ChainOptions options;
  options.seed = static_cast<std::uint64_t>(settings.seed);
  options.chains = settings.chains > 0 ? static_cast<std::uint32_t>(settings.chains) : default_chains;
  options.thin = static_cast<std::uint64_t>(settings.thin);
  options.target_rhat = settings.target_rhat;
  options.target_mcse = settings.target_mcse;
  const double per_sweep =
      static_cast<double>(std::max<std::size_t>(1, problem.graph().size())) * options.chains;
  const auto usual = static_cast<std::uint64_t>(std::clamp(1e9 / per_sweep, 100.0, 1000.0));
  options.burn_in = settings.burn_in >= 0 ? static_cast<std::uint64_t>(settings.burn_in) : usual;

  const bool until_stopped = settings.time > 0 || settings.target_rhat > 0 || settings.target_mcse > 0;
  if (task == Task::sample && settings.samples > 0) {
    const std::uint64_t draws =
        (static_cast<std::uint64_t>(settings.samples) + options.chains - 1) / options.chains;
    options.sweeps = draws * options.thin;
  } else if (settings.sweeps > 0) {
    options.sweeps = static_cast<std::uint64_t>(settings.sweeps);
  } else if (until_stopped) {
    options.sweeps = ChainOptions::unlimited;
    if (settings.burn_in < 0 && settings.time > 0) options.burn_in = ChainOptions::unlimited;
  } else {
    options.sweeps = 2 * usual * options.thin;
  }
  return options;
}

std::vector<std::vector<Value>> starting_states(const Problem& problem, std::uint32_t chains) {
  if (problem.graph().is_strictly_positive()) return {};
  return find_supported_states(problem.graph(), static_cast<std::uint64_t>(problem.settings().seed),
                               std::min<std::uint32_t>(chains, 64));
}

namespace {

// FNV-1a over every number of the compiled model, evidence included: a checkpoint belongs to one model only.
std::uint64_t fingerprint(const Graph& graph) {
  std::uint64_t hash = 14695981039346656037U;
  const auto add = [&](const auto& numbers) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(numbers.data());
    for (std::size_t k = 0; k < numbers.size() * sizeof(numbers[0]); ++k)
      hash = (hash ^ bytes[k]) * 1099511628211U;
  };
  add(graph.unary);
  for (const Pairs* pairs :
       {static_cast<const Pairs*>(&graph.spin_pairs), static_cast<const Pairs*>(&graph.potts_pairs)}) {
    add(pairs->first);
    add(pairs->second);
    add(pairs->couplings);
  }
  add(graph.tables.log_values);
  add(graph.tables.scopes);
  add(graph.clamped_value);
  add(graph.model_variable);
  return hash;
}

}  // namespace

Checkpoint::Checkpoint(const Problem& problem, std::string_view method, Task task,
                       const ChainOptions& options)
    : path_(problem.settings().checkpoint) {
  std::size_t entries = 0;
  for (std::uint32_t cardinality : problem.graph().cardinalities) entries += cardinality;
  header_ = fmt::format(
      "drover checkpoint {} {} {} seed {} chains {} thin {} scan {} variables {} states {} factors {}\n",
      version(), task_name(task), method, options.seed, options.chains, options.thin, problem.settings().scan,
      problem.graph().size(), entries, problem.graph().pair_count() + problem.graph().tables.size(),
      fingerprint(problem.graph()));
}

void Checkpoint::save(const std::string& payload) const {
  AtomicFile file(path_);
  file.write(header_);
  file.write(payload);
  file.commit();
}

std::string Checkpoint::load() const {
  if (path_.empty()) throw Error(ErrorKind::usage, "--resume needs --checkpoint FILE");
  std::ifstream file(path_, std::ios::binary);
  if (!file) throw Error(ErrorKind::cannot_read, fmt::format("{}: cannot be read", path_));
  std::string header;
  std::getline(file, header);
  if (header + "\n" != header_)
    fail_at({path_, 1}, fmt::format("this checkpoint is of another run: expected '{}', found '{}'",
                                    header_.substr(0, header_.size() - 1), header.substr(0, 200)));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

namespace {

std::vector<std::size_t> entry_offsets(const Graph& graph) {
  std::vector<std::size_t> offsets{0};
  for (std::uint32_t cardinality : graph.cardinalities)
    offsets.push_back(offsets.back() + (cardinality == 2 ? 1 : cardinality));
  return offsets;
}

// Conditionals that never change, or no variables at all: the averages are exact, so there is nothing left to
// diagnose.
void settle_exact_averages(const SegmentStore& store, Diagnostics& diagnostics) {
  const bool constant =
      store.segments() >= 2 && std::isnan(diagnostics.rhat_max) && !std::isnan(diagnostics.mcse_max);
  if (!constant && store.entries() > 0) return;
  diagnostics.rhat_max = 1;
  diagnostics.ess_min = std::numeric_limits<double>::infinity();
}

}  // namespace

Diagnostics diagnostics_of(const SegmentStore& store) {
  Diagnostics diagnostics;
  std::vector<double> scratch;
  const std::size_t step = std::max<std::size_t>(1, store.entries() / 200'000);
  for (std::size_t entry = 0; entry < store.entries() && store.segments() > 0; entry += step) {
    const EntryDiagnostics one = diagnose_entry(store, entry, scratch);
    diagnostics.rhat_max = std::fmax(diagnostics.rhat_max, one.rhat);
    diagnostics.ess_min = std::fmin(diagnostics.ess_min, one.ess);
    diagnostics.mcse_max = std::fmax(diagnostics.mcse_max, one.mcse);
  }
  settle_exact_averages(store, diagnostics);
  return diagnostics;
}

void warn_if_not_converged(const Diagnostics& diagnostics, RunFacts& facts) {
  if (is_converged(diagnostics)) return;
  if (facts.sweeps == 0)
    facts.warnings.emplace_back("the run was stopped before its burn-in ended: there is no result");
  else if (std::isnan(diagnostics.rhat_max))
    facts.warnings.emplace_back("the run is too short to say whether it has converged; take more sweeps");
  else
    facts.warnings.push_back(fmt::format(
        "the run has NOT converged: largest R-hat {:.3f} (wanted: at most 1.01), smallest effective sample "
        "size {:.0f} (wanted: at least 400); take more sweeps or try another method such as tempering",
        diagnostics.rhat_max, diagnostics.ess_min));
}

void fill_marginals(const Graph& graph, const SegmentStore& store, MarginalsResult& result) {
  const std::vector<std::size_t> offsets = entry_offsets(graph);
  const std::size_t n = graph.size();
  result.marginals.resize(n);
  result.mcse.resize(n);
  result.rhat.assign(n, not_known);
  result.ess.assign(n, not_known);
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, n, 256), [&](const auto& range) {
    std::vector<double> scratch;
    for (std::size_t v = range.begin(); v != range.end(); ++v) {
      auto& p = result.marginals[v];
      auto& error = result.mcse[v];
      double total = 0;
      for (std::size_t e = offsets[v]; e < offsets[v + 1]; ++e) {
        const EntryDiagnostics one = diagnose_entry(store, e, scratch);
        p.push_back(store.mean(e));
        total += p.back();
        error.push_back(one.mcse);
        result.rhat[v] = std::fmax(result.rhat[v], one.rhat);
        result.ess[v] = std::fmin(result.ess[v], one.ess);
      }
      if (graph.cardinalities[v] == 2) {
        p.insert(p.begin(), 1 - p[0]);
        error.push_back(error[0]);
      } else if (total > 0) {
        for (double& probability : p) probability /= total;  // sums of single-precision numbers
      }
    }
  });
  std::size_t still = 0;
  for (std::size_t v = 0; v < n; ++v) {
    result.diagnostics.rhat_max = std::fmax(result.diagnostics.rhat_max, result.rhat[v]);
    result.diagnostics.ess_min = std::fmin(result.diagnostics.ess_min, result.ess[v]);
    for (double error : result.mcse[v])
      result.diagnostics.mcse_max = std::fmax(result.diagnostics.mcse_max, error);
    still += std::isnan(result.mcse[v][0]) ? 1 : 0;
  }
  settle_exact_averages(store, result.diagnostics);
  result.converged = is_converged(result.diagnostics);
  warn_if_not_converged(result.diagnostics, result);
  if (still > 0 && !std::isnan(result.diagnostics.rhat_max))
    result.warnings.push_back(
        fmt::format("{} of {} variables never moved; their standard errors are not known", still, n));
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

void check_against_exact(const Problem& problem, MarginalsResult& result) {
  const Method* exact = nullptr;
  for (const Method& method : all_methods())
    if (method.name == "exact") exact = &method;
  const std::string reason = exact->why_not(problem, Task::marginals);
  if (!reason.empty()) {
    result.warnings.push_back("--check: no exact marginals to compare with: " + reason);
    return;
  }
  const MarginalsResult truth = exact->marginals(problem, Monitor{});
  double worst = 0;
  std::size_t within = 0, entries = 0;
  for (std::size_t v = 0; v < truth.marginals.size(); ++v)
    for (std::size_t k = 0; k < truth.marginals[v].size(); ++k) {
      const double error = std::abs(truth.marginals[v][k] - result.marginals[v][k]);
      worst = std::max(worst, error);
      within += error <= 3 * result.mcse[v][k] ? 1 : 0;
      ++entries;
    }
  result.details["check"] = {
      {"max_abs_error", worst},
      {"share_within_three_mcse",
       entries == 0 ? 1.0 : static_cast<double>(within) / static_cast<double>(entries)}};
}

PairCounter::PairCounter(const Graph& graph) : graph_(graph) {
  const Adjacency near = adjacency(graph);
  offsets_.push_back(0);
  for (VariableId i = 0; i < near.size(); ++i)
    for (VariableId j : near.of(i))
      if (i < j) {
        pairs_.emplace_back(i, j);
        offsets_.push_back(offsets_.back() + std::size_t{graph.cardinalities[i]} * graph.cardinalities[j]);
      }
  counts_.assign(offsets_.back(), 0);
}

void PairCounter::count(std::span<const Value> x) {
  for (std::size_t p = 0; p < pairs_.size(); ++p)
    ++counts_[offsets_[p] + std::size_t{x[pairs_[p].first]} * graph_.cardinalities[pairs_[p].second] +
              x[pairs_[p].second]];
  ++draws_;
}

void PairCounter::fill(MarginalsResult& result) const {
  result.pairs = pairs_;
  for (std::size_t p = 0; p < pairs_.size(); ++p) {
    std::vector<double> joint;
    for (std::size_t e = offsets_[p]; e < offsets_[p + 1]; ++e)
      joint.push_back(draws_ == 0 ? not_known
                                  : static_cast<double>(counts_[e]) / static_cast<double>(draws_));
    result.pair_marginals.push_back(std::move(joint));
  }
}

}  // namespace drover
