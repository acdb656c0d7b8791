#include "drover/task/learn.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "drover/core/checksum.hpp"
#include "drover/core/error.hpp"
#include "drover/diagnose/mmd.hpp"
#include "drover/io/machine_file.hpp"
#include "drover/numeric/hold_out.hpp"
#include "drover/run/part_log.hpp"
#include "drover/task/run_identity.hpp"

namespace drover {

namespace {

constexpr double most_edges = 2e8;
constexpr std::uint32_t fewest_hidden = 8, most_hidden = 500;
constexpr std::size_t shown_samples = 64;
constexpr std::size_t most_compared = 1000;
constexpr std::uint64_t splits_of_data = 19;
constexpr std::uint32_t compare_sweeps = 100;
/// Of the log-likelihood, between rows learnt from and held out: beyond it, it is said.
constexpr double overfitting_gap = 0.1;
/// The share of a time limit that learning itself takes; the rest is for samples of what was learnt.
constexpr double learning_share = 0.9;

/// One for two visible ones, as long as fifty rows speak for each.
std::uint32_t usual_hidden(std::size_t visible, std::size_t rows) {
  constexpr std::size_t visible_per_hidden = 2, rows_per_hidden = 50;
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(
      std::min(visible / visible_per_hidden, rows / rows_per_hidden), fewest_hidden, most_hidden));
}

BinaryMachine make_machine(const LearnOptions& options, std::size_t variables, std::size_t rows) {
  if (options.kind == MachineKind::ising && options.hidden)
    throw OptionError("hidden", std::to_string(*options.hidden),
                      "nothing: an ising model has no hidden variables");
  const auto visible = static_cast<std::uint32_t>(variables);
  const std::uint32_t hidden =
      options.kind == MachineKind::ising ? 0 : options.hidden.value_or(usual_hidden(variables, rows));
  const double units = static_cast<double>(visible) + hidden;
  const double edges =
      options.kind == MachineKind::rbm ? static_cast<double>(visible) * hidden : units * (units - 1) / 2;
  if (edges > most_edges)
    throw Error(ErrorKind::misfit,
                fmt::format("{:.0f} units have {:.3g} weights, more than {:.0g}; use fewer columns or fewer "
                            "hidden units",
                            units, edges, most_edges));
  return options.kind == MachineKind::rbm ? restricted_machine(visible, hidden)
                                          : complete_machine(options.kind, visible, hidden);
}

void check_rows(const DataTable& table) {
  if (table.rows == 0) throw Error(ErrorKind::bad_data, table.source + ": expected at least one row");
  for (std::size_t v = 0; v < table.variables(); ++v)
    if (table.cardinalities[v] > 2)
      throw Error(
          ErrorKind::bad_data,
          fmt::format("{}: column {} has {} states; learning is for binary variables (choose binarise, "
                      "or other columns)",
                      table.source, table.names[v], table.cardinalities[v]));
}

/// Passes over the data without being told: so many that weights times rows seen come to this many, the
/// steps to a thousand at least. A minute or two for the digits of MNIST and 100 hidden units.
constexpr double rbm_work = 2e11;
constexpr double fewest_epochs = 10, most_epochs = 500;

std::uint64_t usual_steps(const LearnOptions& options, TrainMethod method, std::size_t rows,
                          std::uint32_t batch, std::size_t weights) {
  const double steps_per_epoch = static_cast<double>(rows) / std::max(batch, 1U);
  if (options.epochs) return static_cast<std::uint64_t>(std::ceil(*options.epochs * steps_per_epoch));
  if (method != TrainMethod::block_gibbs) return 1000;
  const double epochs = std::clamp(
      rbm_work / (static_cast<double>(rows) * static_cast<double>(std::max<std::size_t>(weights, 1))),
      fewest_epochs, most_epochs);
  return std::max<std::uint64_t>(1000, static_cast<std::uint64_t>(std::ceil(epochs * steps_per_epoch)));
}

StepRule usual_rule(TrainMethod method) {
  return method == TrainMethod::block_gibbs ? StepRule::sgd : StepRule::adam;
}

/// The more visible units move together, the faster the weights grow at the same rate: with few of them a small
/// rate leaves the weights where they began.
double usual_rate(TrainMethod method, StepRule rule, bool centred, std::uint32_t visible) {
  if (rule == StepRule::adam) return method == TrainMethod::exact ? 0.02 : 0.001;
  if (method != TrainMethod::block_gibbs) return 0.01;
  constexpr double visible_at_rate_one = 80, least = 0.1;
  const double rate = std::clamp(visible_at_rate_one / std::max(visible, 1U), least, 1.0);
  return rate * (centred ? 1 : 0.5) * (rule == StepRule::momentum ? 0.1 : 1);
}

TrainOptions train_options(const LearnOptions& options, TrainMethod method, std::size_t rows,
                           const BinaryMachine& machine) {
  TrainOptions result;
  result.method = method;
  result.weight_deviation = options.weight_sd;
  // The whole data cost an enumeration no more than a part of them.
  const auto all = static_cast<std::uint32_t>(rows);
  result.fit.batch = method == TrainMethod::exact ? all : std::min(all, options.batch.value_or(100));
  result.fit.iterations =
      options.iterations.value_or(usual_steps(options, method, rows, result.fit.batch, machine.edges()));
  result.fit.seed = options.seed;
  const bool block = method == TrainMethod::block_gibbs;
  result.fit.update.rule = options.rule.value_or(usual_rule(method));
  result.sampler.centred = block && !options.no_centring;
  result.fit.update.rate = options.rate.value_or(
      usual_rate(method, result.fit.update.rule, result.sampler.centred, machine.visible));
  result.fit.falling = block && !options.decay;
  result.fit.update.decay = options.decay.value_or(0);
  result.fit.update.l1 = options.l1;
  result.fit.update.l2 = options.l2;
  result.fit.check_every =
      options.check_every.value_or(std::max<std::uint64_t>(1, result.fit.iterations / 10));
  result.fit.patience = options.patience.value_or(0);
  result.sampler.chains = options.chains.value_or(100);
  result.sampler.sweeps = options.sweeps.value_or(1);
  // Independent samples are what pmp is for; the persistent form is asked for by the correlation of its
  // noise.
  result.sampler.persistent = method == TrainMethod::pmp ? options.correlation > 0 : !options.reset;
  result.sampler.correlation = options.correlation;
  if (options.damping) result.sampler.damping = *options.damping;
  result.sampler.seed = options.seed;
  return result;
}

/// As they ran; options that the method does not read are left out.
Details resolved_options(const LearnOptions& options, const TrainOptions& train, const BinaryMachine& machine,
                         double held_out) {
  LearnOptions copy = options;
  copy.held_out = held_out;
  const TrainMethod method = train.method;
  const bool steps = method != TrainMethod::pseudo_likelihood;
  const bool samples = steps && method != TrainMethod::exact;
  copy.method = method;
  if (machine.hidden > 0) copy.hidden = machine.hidden;
  copy.iterations = train.fit.iterations;
  if (steps) {
    copy.batch = train.fit.batch;
    copy.rate = train.fit.update.rate;
    copy.rule = train.fit.update.rule;
    if (!train.fit.falling) copy.decay = train.fit.update.decay;
  }
  if (samples) {
    copy.chains = train.sampler.chains;
    copy.sweeps = train.sampler.sweeps;
    if (method == TrainMethod::pmp) copy.damping = train.sampler.damping;
  }
  if (steps && held_out > 0) copy.check_every = train.fit.check_every;
  OptionList list;
  describe(list, copy);
  if (!steps)
    for (const char* name : {"batch", "rule", "rate", "decay", "weight-sd"}) list.remove(name);
  if (!samples)
    for (const char* name : {"chains", "sweeps", "reset"}) list.remove(name);
  if (method != TrainMethod::pmp)
    for (const char* name : {"correlation", "damping"}) list.remove(name);
  remove_checkpoint_options(list);
  return option_values(list);
}

std::uint64_t checksum_of(std::span<const Value> values) {
  Checksum sum;
  sum.add(values.data(), values.size_bytes());
  return sum.value();
}

/// Two sets of rows: how far they are apart by either measure (diagnose/mmd.hpp).
struct Apart {
  double squared_mmd = 0;
  double pair_rms = 0;
};

Apart apart(std::span<const Value> a, std::span<const Value> b, std::size_t variables,
            const RunControl& control) {
  const std::vector<std::uint32_t> binary(variables, 2);
  const PackedSamples first = pack_samples(a, binary), second = pack_samples(b, binary);
  return {squared_mmd(first, second, control), statistic_distance(first, second, control).pair_rms};
}

/// Disjoint halves of the rows, split by chance again and again, as far apart as they would be with
/// `compared` rows on either side: both measures fall with the number of rows. Empty when there are too few.
std::vector<Apart> halves_apart(std::span<const Value> rows, std::size_t variables, std::size_t compared,
                                std::uint64_t seed, const RunControl& control) {
  const std::size_t count = rows.size() / variables, half = std::min(compared, count / 2);
  std::vector<Apart> found;
  if (half < 2) return found;
  const double scale = static_cast<double>(half) / static_cast<double>(compared);
  for (std::uint64_t split = 0; split < splits_of_data; ++split) {
    const std::vector<std::uint32_t> drawn = hold_out(count, 2 * half, seed + split).apart;
    const std::vector<Value> both = rows_of(rows, variables, drawn);
    const std::span<const Value> values(both);
    const Apart one =
        apart(values.first(half * variables), values.last(half * variables), variables, control);
    found.push_back({one.squared_mmd * scale, one.pair_rms * std::sqrt(scale)});
  }
  return found;
}

/// Raises stopped (interrupted) when the control ends it.
void compare_with_data(std::span<const Value> reference, std::size_t variables, const LearnOptions& options,
                       const RunControl& control, LearnResult& result) {
  // The same number of samples as rows to compare with: both measures depend on it. Rows may come in some
  // order, so they are drawn.
  const std::size_t all = reference.size() / variables, compared = std::min(most_compared, all);
  const HoldOut drawn = hold_out(all, std::min(all, 2 * compared), options.seed);
  const std::vector<Value> rows = rows_of(reference, variables, drawn.apart);
  const auto count = static_cast<std::uint32_t>(std::max(compared, shown_samples));
  result.samples =
      sample_machine(result.machine, result.method, count, compare_sweeps, options.seed, control);
  const std::vector<Value> samples = visible_rows(result.machine, result.samples);
  const Apart found = apart(std::span(samples).first(compared * variables),
                            std::span(rows).first(compared * variables), variables, control);
  result.log_mmd = std::log(found.squared_mmd);
  result.pair_distance = found.pair_rms;
  const std::vector<Apart> halves = halves_apart(rows, variables, compared, options.seed, control);
  if (halves.empty()) return;
  Apart mean, most;
  for (const Apart& one : halves) {
    mean.squared_mmd += one.squared_mmd / static_cast<double>(halves.size());
    mean.pair_rms += one.pair_rms / static_cast<double>(halves.size());
    most.squared_mmd = std::max(most.squared_mmd, one.squared_mmd);
    most.pair_rms = std::max(most.pair_rms, one.pair_rms);
  }
  result.log_mmd_of_data = std::log(mean.squared_mmd);
  result.pair_distance_of_data = mean.pair_rms;
  // A perfect machine is beyond all the halves of the data once in twenty times. Many rows tell even a very
  // good machine from the data, so a factor of 2 is forgiven.
  result.close_to_data = found.squared_mmd <= std::max(most.squared_mmd, 2 * mean.squared_mmd) &&
                         found.pair_rms <= std::max(most.pair_rms, 2 * mean.pair_rms);
}

/// Whether several ranks share the work.
bool is_shared(TrainMethod method) {
  return method == TrainMethod::gibbs || method == TrainMethod::gwg || method == TrainMethod::block_gibbs;
}

// What the data call 0 and 1; of a column that has one word alone, what it is not is the other.
std::vector<std::vector<std::string>> words_of_states(const DataTable& table) {
  std::vector<std::vector<std::string>> words(table.variables());
  for (std::size_t v = 0; v < words.size() && v < table.state_names.size(); ++v) {
    const std::vector<std::string>& names = table.state_names[v];
    if (names.empty() || names[0] == "0" || names[0] == "1") continue;
    if (table.cardinalities[v] == 2 && names.size() == 2) words[v] = names;
    if (names.size() == 1) words[v] = {names[0], names[0] == "other" ? "another" : "other"};
  }
  return words;
}

void learn_rows(const DataTable& table, const LearnOptions& options, const RunControl& control,
                LearnResult& result) {
  const double start = control.seconds();
  check_rows(table);
  result.machine = make_machine(options, table.variables(), table.rows);
  result.names = table.names;
  result.state_names = words_of_states(table);
  result.dropped_rows = table.dropped;
  const TrainChoice choice = choose_train_method(result.machine, options.method);
  result.method = choice.method;
  const Ranks& ranks = control.ranks();
  RunControl sharing(control);  // with one rank where the method is not for several
  if (!is_shared(choice.method)) {
    if (!ranks.is_first()) return;
    sharing.share_with(one_process());
    if (ranks.size() > 1)
      result.provenance.warnings.push_back(
          fmt::format("method {} runs on one rank: the other {} had nothing to do",
                      choice_name(choice.method), ranks.size() - 1));
  }
  // Likelihoods of machines with hidden units are worth watching: they overfit.
  constexpr std::size_t enough_rows = 1000, most_apart = 5000;
  const double usual_share =
      choice.method == TrainMethod::block_gibbs && table.rows >= enough_rows
          ? std::min(0.1, static_cast<double>(most_apart) / static_cast<double>(table.rows))
          : 0;
  const double held_out_share = options.held_out.value_or(usual_share);
  const auto apart = static_cast<std::size_t>(held_out_share * static_cast<double>(table.rows));
  if (options.patience && apart == 0)
    throw OptionError("patience", std::to_string(*options.patience),
                      "rows to compare with as well: a share held-out");
  const HoldOut parts = hold_out(table.rows, apart, options.seed);
  const std::vector<Value> training = rows_of(table.values, table.variables(), parts.kept);
  const std::vector<Value> held_out = rows_of(table.values, table.variables(), parts.apart);
  result.rows = parts.kept.size();
  result.held_out_rows = parts.apart.size();
  result.shown_rows.assign(
      training.begin(), training.begin() + static_cast<std::ptrdiff_t>(std::min(shown_samples, result.rows) *
                                                                       table.variables()));

  TrainOptions train_with = train_options(options, choice.method, result.rows, result.machine);
  Provenance& provenance = result.provenance;
  provenance.question = "learn";
  provenance.input = options.input.empty() ? table.source : options.input;
  provenance.method = choice_name(choice.method);
  provenance.because = choice.because;
  provenance.seed = options.seed;
  provenance.options = resolved_options(options, train_with, result.machine, held_out_share);
  std::optional<double> seconds;
  if (control.has_time_limit()) seconds = learning_share * control.seconds_left();
  const RunControl part(sharing, seconds);
  const std::string run = run_identity(provenance, checksum_of(table.values));
  const bool by_parts = choice.method == TrainMethod::pseudo_likelihood;
  const auto part_log = by_parts ? make_part_log(options.checkpoint, run, sharing) : nullptr;
  const auto keeper = by_parts ? nullptr : make_state_keeper(options.checkpoint, run, sharing);
  train_with.parts = part_log.get();
  train_with.fit.keeper = keeper.get();
  TrainResult trained = train(result.machine, {training, table.variables()}, train_with, part, held_out);
  if (keeper) keeper->wait();
  result.fit = std::move(trained.summary);
  result.objective = std::move(trained.objective);
  if (!ranks.is_first()) return;
  if (!result.fit.held_out_log_likelihood.empty()) {
    result.log_likelihood = result.fit.held_out_log_likelihood.back();
    result.training_log_likelihood = result.fit.training_log_likelihood.back();
  }

  std::vector<std::string>& warnings = provenance.warnings;
  if (result.fit.diverged)
    warnings.push_back(result.fit.ended);
  else if (control.stop_requested())
    warnings.emplace_back("interrupted: this is the model so far");
  else if (result.fit.stopped)
    warnings.push_back(fmt::format("the time limit came after {} of {} steps: this is the model so far",
                                   result.fit.iterations, train_with.fit.iterations));
  if (!result.fit.diverged && !control.should_stop()) try {
      compare_with_data(held_out.empty() ? training : held_out, table.variables(), options, control, result);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::stopped && error.kind() != ErrorKind::interrupted) throw;
      warnings.emplace_back("the run was ended before samples of the model were compared with the data");
    }
  provenance.seconds = control.seconds() - start;
}

}  // namespace

void describe(OptionList& list, LearnOptions& options) {
  list.add_choice("method", "NAME", "where the statistics of the model come from", options.method);
  list.explain("method",
               "where the statistics of the model come from: exact (all states, at most 20 variables), "
               "pseudo-likelihood (ising), gibbs, gwg, block-gibbs (rbm), pmp; auto takes exact up to 12 "
               "variables, then block-gibbs for rbm, pseudo-likelihood for ising, gibbs for boltzmann");
  list.add("seed", "N", "seed of all randomness; same seed, same result", options.seed, {0, 1e15});
  list.add("hidden", "N", "rbm, boltzmann: hidden units", options.hidden, {1, 4e9},
           "one for two visible ones, or for fifty rows if those are fewer; 8 to 500");
  list.add("iterations", "N", "steps of learning", options.iterations, {1, 1e15},
           "1000; block-gibbs: see epochs");
  list.add("epochs", "X", "passes over the data, instead of iterations", options.epochs, {1e-6, 1e9},
           "block-gibbs: 10 to 500, fewer the more rows and weights, at least 1000 steps");
  list.add("batch", "N", "rows of data per step", options.batch, {1, 1e9}, "100; exact takes all");
  list.add_choice("rule", "NAME", "how parameters follow the gradient: adam, momentum or sgd", options.rule,
                  "sgd for block-gibbs, adam for others");
  list.add(
      "rate", "X", "step size", options.rate, {1e-12, 1e3},
      "0.001 for adam, 0.02 for adam with exact, 0.01 for momentum and sgd; block-gibbs: 80 "
      "divided by the visible units, from 0.1 to 1, a tenth of it for momentum, half of it without centring");
  list.add("decay", "X", "the rate of step t is divided by 1 + X t", options.decay, {0, 1e3},
           "block-gibbs: the rate falls to zero in a straight line, others: 0");
  list.add("no-centring", "rbm: the plain gradient, not that of units less their means", options.no_centring);
  list.add("l1", "X", "weight of the absolute values of the weights", options.l1, {0, 1e6});
  list.add("l2", "X", "half the weight of the squares of the weights", options.l2, {0, 1e6});
  list.add("weight-sd", "X", "standard deviation of the first weights", options.weight_sd, {0, 1e3});
  list.add("chains", "N", "chains that sample the model", options.chains, {1, 1 << 20}, "100");
  list.add("sweeps", "N", "sweeps of each chain per step; pmp: iterations of max-product", options.sweeps,
           {1, 1e6}, "1");
  list.add("reset", "chains start afresh at every step instead of going on (block-gibbs: from the data)",
           options.reset);
  list.add("correlation", "X",
           "pmp: of the noise of one step with the next, whose messages then go on; 0: independent samples",
           options.correlation, {0, 1});
  list.add("damping", "X", "pmp: share of the old message that is kept", options.damping, {0, 0.999}, "0.5");
  list.add("held-out", "X", "share of the rows kept aside for checks", options.held_out, {0, 0.9},
           "rbm with 1000 rows or more: a tenth, 5000 at most; else none");
  list.add("check-every", "N", "steps between comparisons of samples with held-out rows", options.check_every,
           {1, 1e15}, "a tenth of all steps");
  list.add("patience", "N", "stop after so many checks without a better one, and keep the best",
           options.patience, {1, 1e6}, "never");
  describe(list, options.checkpoint);
}

LearnResult learn(const DataTable& rows, const LearnOptions& options, const RunControl& control) {
  LearnResult result;
  with_threads(control, [&] { learn_rows(rows, options, control, result); });
  return result;
}

MachineFile machine_file(const LearnResult& result) {
  MachineFile file;
  file.machine = result.machine;
  file.visible_names = result.names;
  file.state_names = result.state_names;
  const Provenance& origin = result.provenance;
  JsonObject trained;
  trained.add("method", origin.method);
  trained.add("data", origin.input);
  trained.add("seed", origin.seed);
  trained.add("rows", result.rows);
  trained.add("iterations", result.fit.iterations);
  trained.add("ended", result.fit.ended);
  trained.add("options", origin.options);
  file.trained = trained.line();
  return file;
}

namespace {

std::string log_mmd_text(double log_mmd) {
  return std::isfinite(log_mmd) ? fmt::format("{:.2f}", log_mmd) : "none (MMD^2 is 0)";
}

}  // namespace

Judgement judge(const LearnResult& result) {
  if (result.fit.diverged) return {Verdict::bad, "Learning went astray: " + result.fit.ended + "."};
  if (std::isnan(result.log_mmd))
    return {Verdict::caution,
            fmt::format("Ended: {}. Samples were not compared with the data.", result.fit.ended)};
  const std::string figures =
      (std::isfinite(result.log_likelihood)
           ? fmt::format("Log-likelihood of held-out rows {:.2f} each. ", result.log_likelihood)
           : "") +
      fmt::format("Samples against {}: log MMD^2 {}", result.held_out_rows > 0 ? "held-out rows" : "the data",
                  log_mmd_text(result.log_mmd));
  if (std::isnan(result.log_mmd_of_data))
    return {Verdict::caution, fmt::format("Ended: {}. {}.", result.fit.ended, figures)};
  const std::string compared =
      fmt::format("{} and a distance of pairs of {:.2g}; halves of the data: {} and {:.2g}", figures,
                  result.pair_distance, log_mmd_text(result.log_mmd_of_data), result.pair_distance_of_data);
  const double gap = result.training_log_likelihood - result.log_likelihood;
  if (gap > overfitting_gap * std::abs(result.log_likelihood))
    return {
        Verdict::caution,
        fmt::format("{}. The log-likelihood of rows it learnt from is {:.2f}, of held-out rows {:.2f}: it "
                    "knows its rows by heart. Fewer hidden units, fewer epochs or l2 would help.",
                    compared, result.training_log_likelihood, result.log_likelihood)};
  if (result.close_to_data)
    return with_warnings(
        {Verdict::good, fmt::format("{}. The model's samples are about as close to the data as "
                                    "the data are to themselves.",
                                    compared)},
        result.provenance.warnings);
  return {Verdict::caution,
          fmt::format("{}. The model's samples can still be told from the data.", compared)};
}

JsonObject to_json(const LearnResult& result) {
  JsonObject object = json_of(result.provenance);
  object.add("kind", choice_name(result.machine.kind));
  object.add("visible", result.machine.visible);
  object.add("hidden", result.machine.hidden);
  object.add("weights", result.machine.edges());
  object.add("rows", result.rows);
  object.add("held_out_rows", result.held_out_rows);
  if (result.dropped_rows > 0) object.add("dropped_rows", result.dropped_rows);
  object.add("iterations", result.fit.iterations);
  object.add("ended", result.fit.ended);
  add_judgement(judge(result), object);
  object.add("objective", result.objective);
  object.add("objective_trace", result.fit.objective);
  object.add("objective_iterations", result.fit.iteration);
  object.add("held_out_log_mmd_trace", result.fit.log_mmd);
  if (std::isfinite(result.log_likelihood)) {
    object.add("held_out_log_likelihood", result.log_likelihood);
    object.add("training_log_likelihood", result.training_log_likelihood);
    object.add("held_out_log_likelihood_trace", result.fit.held_out_log_likelihood);
    object.add("training_log_likelihood_trace", result.fit.training_log_likelihood);
  }
  object.add("check_iterations", result.fit.check_iteration);
  object.add("log_mmd_squared", result.log_mmd);
  object.add("log_mmd_squared_of_data", result.log_mmd_of_data);
  object.add("pair_distance", result.pair_distance);
  object.add("pair_distance_of_data", result.pair_distance_of_data);
  object.add("seconds", result.provenance.seconds);
  return object;
}

}  // namespace drover
