#include "drover/task/parts.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "drover/core/error.hpp"
#include "drover/core/process_memory.hpp"
#include "drover/core/version.hpp"
#include "drover/io/atomic_file.hpp"
#include "drover/io/spin_parts.hpp"
#include "drover/methods/chains.hpp"
#include "drover/run/chain_run.hpp"
#include "drover/task/parts_checkpoint.hpp"

namespace drover {

namespace {

/// Options that only a whole model can heed.
void check_options(const InferenceOptions& options, const std::string& method) {
  const auto refuse = [](const char* name, const std::string& value) {
    throw OptionError(name, value,
                      "nothing: a model in parts is asked for marginals alone, without evidence");
  };
  if (options.method != "auto" && options.method != method)
    throw OptionError("method", options.method, fmt::format("{}: the parts are laid out for it", method));
  if (!options.observe.empty()) refuse("observe", options.observe.front().first);
  if (!options.intervene.empty()) refuse("do", options.intervene.front().first);
  if (options.pairs) refuse("pairs", "true");
  if (!options.joint.empty()) refuse("joint", options.joint.front().front());
  if (options.check) refuse("check", "true");
  if (options.chains.scan != Scan::fixed) refuse("scan", "random");
}

ChainOptions chain_options_of(const InferenceOptions& options, std::size_t variables, bool by_time) {
  ChainOptions chains;
  chains.seed = options.seed;
  chains.chains = options.chains.count.value_or(1);
  chains.thin = options.chains.thin;
  const double usual = std::clamp(1e9 / (static_cast<double>(variables) * chains.chains), 30.0, 1000.0);
  chains.burn_in =
      options.chains.burn_in.value_or(by_time ? ChainOptions::unlimited : static_cast<std::uint64_t>(usual));
  chains.sweeps = options.chains.sweeps.value_or(by_time ? ChainOptions::unlimited : 2 * chains.burn_in);
  chains.target_rhat = options.chains.target_rhat.value_or(0);
  chains.target_mcse = options.chains.target_mcse.value_or(0);
  return chains;
}

void write_tables(const std::string& out, const LoadedParts& loaded, std::span<const std::uint32_t> entries,
                  const SegmentStore& store) {
  DiagnosisRoom room;
  for (std::size_t k = 0; k < loaded.parts.size(); ++k) {
    AtomicFile file(part_name(out, loaded.parts[k]) + ".csv");
    file.write("variable,probability,mcse,rhat,ess\n");
    for (std::uint32_t variable : loaded.variables[k]) {
      const auto entry =
          static_cast<std::size_t>(std::ranges::lower_bound(entries, variable) - entries.begin());
      const EntryDiagnostics figures = diagnose_entry(store, entry, room);
      file.write(fmt::format("{},{:.7g},{:.3g},{:.4g},{:.4g}\n", variable, store.mean(entry), figures.mcse,
                             figures.rhat, figures.ess));
    }
    file.commit();
  }
}

/// The largest of a number of every rank, on rank 0.
double most_of_all(const Ranks& ranks, double number) {
  const std::vector<double> all = joined(ranks, {number});
  return all.empty() ? number : *std::ranges::max_element(all);
}

/// The worst over all entries of all ranks, on rank 0.
Diagnostics worst_of_ranks(const Ranks& ranks, const SegmentStore& store) {
  Diagnostics worst = worst_entry(store, store.entries());
  const std::vector<double> all = joined(ranks, {worst.rhat_max, worst.ess_min, worst.mcse_max});
  for (std::size_t k = 0; k + 2 < all.size(); k += 3) {
    worst.rhat_max = std::max(worst.rhat_max, all[k]);
    worst.ess_min = std::min(worst.ess_min, all[k + 1]);
    worst.mcse_max = std::max(worst.mcse_max, all[k + 2]);
  }
  return worst;
}

}  // namespace

void describe(OptionList& list, PartsOptions& options) {
  list.add("parts", "N", "into a folder: how many parts, for as many ranks or fewer", options.parts,
           {1, 99999});
  list.add("duals", "into a folder: laid out for primal-dual sampling instead of Gibbs sampling",
           options.duals);
}

bool is_parts_folder(const std::string& path) {
  struct stat status {};
  return path.ends_with('/') || (stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode));
}

PartsAnswer marginals_of_parts(const std::string& folder, const std::string& out,
                               const InferenceOptions& options, const RunControl& control) {
  const double start = control.seconds(), memory_before = peak_resident_bytes();
  const Ranks& ranks = control.ranks();
  const PartsFolder facts = parts_folder(folder);
  PartsAnswer answer;
  Provenance& provenance = answer.provenance;
  provenance.question = "marginals";
  provenance.input = folder;
  provenance.method = facts.has_duals ? "primal-dual" : "gibbs";
  provenance.seed = options.seed;
  check_options(options, provenance.method);
  if (!out.empty() && ranks.is_first() && mkdir(out.c_str(), 0777) != 0 && errno != EEXIST)
    throw Error(ErrorKind::cannot_write, fmt::format("cannot write {}: {}", out, std::strerror(errno)));
  with_threads(control, [&] {
    LoadedParts loaded = load_parts(folder, control);
    const std::size_t own = loaded.held.own_variables.size(), units = loaded.held.graph.units.size();
    const PartSpread kernel(std::move(loaded.held), ranks);
    const bool by_time = control.has_time_limit() && !options.chains.sweeps;
    const ChainOptions chains = chain_options_of(options, facts.variables, by_time);
    ChainRun run(kernel, chains, control);
    // A number for each mean of a segment (16 of them, or 8 where that is much), each open sum, each bit of a state.
    const double means = static_cast<double>(facts.variables) * chains.chains * sizeof(float);
    const double segments = 16 * means > static_cast<double>(chains.estimator_memory) ? 8 : 16;
    const double share = static_cast<double>(own) / facts.variables;
    const double predicted = memory_before + static_cast<double>(loaded.kernel_bytes) +
                             segments * means * share +
                             static_cast<double>(chains.chains) *
                                 (static_cast<double>(own) * sizeof(float) + static_cast<double>(units) * 8);
    const double begin = control.seconds();
    const std::string line =
        fmt::format("{} marginals of parts by {} seed {} chains {} thin {} variables {} parts {}", version(),
                    provenance.method, chains.seed, chains.chains, chains.thin, facts.variables, facts.parts);
    PartsCheckpoint checkpoint(options.checkpoint, line, loaded, control);
    if (options.checkpoint.resume) {
      checkpoint.load(run);
      check_resumed_burn_in(options, run.planned_burn_in());
    }
    RunControl until_save(control);
    until_save.stop_when([&] { return checkpoint.is_due(); });
    do {
      run.run(until_save);
      if (!checkpoint.wanted()) break;
      checkpoint.save(run);
    } while (!run.finished() && ranks.vote(control.should_stop() ? 1 : 0) == 0);
    answer.sampling_seconds = control.seconds() - begin;
    if (run.draws() == 0) fail_stopped(control, "sampling");
    run.finish();
    if (!out.empty()) write_tables(out, loaded, kernel.own_entries(), run.store());
    answer.diagnostics = worst_of_ranks(ranks, run.store());
    answer.predicted_memory = most_of_all(ranks, predicted);
    answer.peak_memory = most_of_all(ranks, peak_resident_bytes());
    answer.most_bytes_per_sweep = most_of_all(ranks, static_cast<double>(kernel.bytes_per_sweep()));
    answer.exchanges_per_sweep = most_of_all(ranks, static_cast<double>(kernel.exchanges_per_sweep()));
    if (!ranks.is_first()) return;
    answer.variables = facts.variables;
    answer.parts = facts.parts;
    answer.ranks = ranks.size();
    answer.colours = facts.colours;
    answer.chains = chains.chains;
    answer.burn_in = run.burn_in();
    answer.sweeps = run.sweeps_done() - run.burn_in();
    answer.updates = run.updates();
    answer.converged = is_converged(answer.diagnostics);
    const ScoreTrace& trace = run.trace();
    std::size_t counted = 0;
    double sum = 0;
    for (std::size_t r = 0; r < trace.sweeps.size(); ++r)
      for (std::uint32_t c = 0; trace.sweeps[r] > run.burn_in() && c < chains.chains; ++c, ++counted)
        sum += trace.scores[r * chains.chains + c];
    answer.mean_log_score = counted > 0 ? sum / static_cast<double>(counted) : not_known;
    answer.last_log_score = trace.scores.empty() ? not_known : trace.scores.back();
    if (!answer.converged)
      provenance.warnings.emplace_back(
          "the chains have not converged: more sweeps, or another method, are needed");
    if (control.stop_requested()) provenance.warnings.emplace_back("interrupted: this is the result so far");
    provenance.options["chains"] = chains.chains;
    provenance.options["sweeps"] = answer.sweeps;
    provenance.options["burn-in"] = answer.burn_in;
    provenance.options["thin"] = chains.thin;
    provenance.seconds = control.seconds() - start;
  });
  return answer;
}

Judgement judge(const PartsAnswer& answer) {
  const std::string figures = fmt::format(
      "largest R-hat {:.3f}, smallest effective sample size {:.0f}, largest standard error {:.2g}",
      answer.diagnostics.rhat_max, answer.diagnostics.ess_min, answer.diagnostics.mcse_max);
  if (answer.converged)
    return with_warnings({Verdict::good, "Converged: " + figures + "."}, answer.provenance.warnings);
  return {Verdict::caution, "Not converged: " + figures + "."};
}

JsonObject to_json(const PartsAnswer& answer) {
  JsonObject object = json_of(answer.provenance);
  object.add("variables", answer.variables);
  object.add("parts", answer.parts);
  object.add("ranks", answer.ranks);
  object.add("colours", answer.colours);
  object.add("chains", answer.chains);
  object.add("sweeps", answer.sweeps);
  object.add("burn_in", answer.burn_in);
  object.add("updates", answer.updates);
  object.add("sampling_seconds", answer.sampling_seconds);
  object.add("seconds", answer.provenance.seconds);
  object.add("rhat_max", answer.diagnostics.rhat_max);
  object.add("ess_min", answer.diagnostics.ess_min);
  object.add("mcse_max", answer.diagnostics.mcse_max);
  object.add("converged", answer.converged);
  object.add("mean_log_score", answer.mean_log_score);
  object.add("last_log_score", answer.last_log_score);
  object.add("exchanges_per_sweep", answer.exchanges_per_sweep);
  object.add("bytes_per_sweep", answer.most_bytes_per_sweep);
  object.add("predicted_memory", answer.predicted_memory);
  object.add("peak_memory", answer.peak_memory);
  add_judgement(judge(answer), object);
  return object;
}

}  // namespace drover
