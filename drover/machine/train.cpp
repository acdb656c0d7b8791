#include "drover/machine/train.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "drover/core/chooser.hpp"
#include "drover/core/error.hpp"
#include "drover/machine/pseudo_likelihood.hpp"
#include "drover/machine/rbm_likelihood.hpp"

namespace drover {

namespace {

constexpr std::size_t affordable_exact = 12;  ///< variables; 2^12 states per step
constexpr std::uint32_t check_rows = 1000;
constexpr std::uint32_t check_sweeps = 100;

std::string why_not(const BinaryMachine& machine, TrainMethod method) {
  if (method == TrainMethod::exact && machine.variables() > most_exact_variables)
    return fmt::format("exact is for at most {} variables, here are {}", most_exact_variables,
                       machine.variables());
  if (method == TrainMethod::pseudo_likelihood && machine.hidden > 0)
    return "pseudo-likelihood is for machines without hidden variables";
  if (method == TrainMethod::block_gibbs && machine.kind != MachineKind::rbm) return "block-gibbs is for rbm";
  return "";
}

TrainResult train_pseudo_likelihood(BinaryMachine& machine, const TrainingData& data,
                                    const TrainOptions& options, const RunControl& control) {
  PseudoLikelihoodOptions fit_options;
  // The settings' l2 is per row, as for the other methods; here it is divided by the number of rows.
  fit_options.l2 = options.fit.update.l2 * static_cast<double>(data.rows());
  fit_options.minimiser.max_iterations = options.fit.iterations;
  fit_options.minimiser.l1 = options.fit.update.l1;
  fit_options.minimiser.l1_begin = machine.variables();
  fit_options.parts = options.parts;
  const PseudoLikelihoodFit fitted = fit_pseudo_likelihood(data.values, data.variables, fit_options, control);
  std::copy(fitted.machine.biases.begin(), fitted.machine.biases.end(), machine.biases.begin());
  std::copy(fitted.machine.weights.begin(), fitted.machine.weights.end(), machine.weights.begin());
  TrainResult result;
  result.objective = "mean log pseudo-likelihood, less the penalties";
  result.summary.iterations = fitted.summary.iterations;
  result.summary.ended = fitted.summary.ended;
  result.summary.stopped = fitted.stopped;
  for (std::size_t i = 0; i < fitted.summary.trace.size(); ++i) {
    result.summary.iteration.push_back(static_cast<double>(i + 1));
    result.summary.objective.push_back(-fitted.summary.trace[i]);
  }
  return result;
}

std::unique_ptr<MachineSampler> sampler_of(TrainMethod method, const MachineSamplerOptions& options) {
  if (method == TrainMethod::pmp) return pmp_machine_sampler(options);
  if (method == TrainMethod::gwg) return gwg_machine_sampler(options);
  return gibbs_machine_sampler(options);
}

std::unique_ptr<GradientSource> gradient_of(const TrainingData& data, TrainMethod method,
                                            const TrainOptions& options) {
  if (method == TrainMethod::exact) return exact_gradient(data);
  if (method == TrainMethod::block_gibbs) return block_gibbs_gradient(data, options.sampler);
  std::unique_ptr<MachineSampler> sampler = sampler_of(method, options.sampler);
  return sampled_gradient(data, std::move(sampler), std::max(5U, options.sampler.sweeps),
                          options.sampler.seed, *options.sampler.ranks);
}

/// The mean log-likelihood of rows of the data and of those held out. What is asked of log Z is the shape of
/// a curve, so a short anneal will do where states cannot be enumerated.
FitLikelihood likelihoods_of(const BinaryMachine& machine, const TrainingData& data,
                             std::span<const Value> held_out, std::uint64_t seed, const RunControl& control) {
  constexpr std::uint32_t anneals = 32;
  constexpr std::uint64_t anneal_steps = 500;
  const std::size_t rows = std::min<std::size_t>(check_rows, held_out.size() / machine.visible);
  const std::size_t cells = std::min(rows, data.rows()) * machine.visible;
  const std::span<const Value> seen = data.values.first(cells),
                               unseen = held_out.first(rows * machine.visible);
  double log_z = 0;
  if (std::min(machine.visible, machine.hidden) <= most_exact_units) {
    log_z = rbm_exact_log_z(machine);
  } else {
    std::vector<double> rates(machine.visible, 0.0);
    for (std::size_t k = 0; k < cells; ++k) rates[k % machine.visible] += seen[k];
    for (double& rate : rates) rate *= static_cast<double>(machine.visible) / static_cast<double>(cells);
    log_z = rbm_log_z(machine, rates, anneals, anneal_steps, seed, control).log_z;
    fail_if_stopped(control, "annealed importance sampling");
  }
  const auto mean = [&](std::span<const Value> values) {
    double sum = 0;
    for (const double score : rbm_log_scores(machine, values)) sum += score - log_z;
    return sum * static_cast<double>(machine.visible) / static_cast<double>(values.size());
  };
  return {mean(seen), mean(unseen)};
}

}  // namespace

TrainChoice choose_train_method(const BinaryMachine& machine, TrainMethod asked) {
  if (asked != TrainMethod::automatic) {
    const std::string reason = why_not(machine, asked);
    if (!reason.empty()) throw Error(ErrorKind::misfit, reason);
    return {asked, ""};
  }
  const auto why_not_automatic = [&](TrainMethod method) -> std::string {
    if (method == TrainMethod::exact && machine.variables() > affordable_exact)
      return "there are too many joint states";
    return why_not(machine, method);
  };
  auto chosen = choose<TrainMethod>(
      {{TrainMethod::exact, "exact", "the joint states are few enough to enumerate at every step"},
       {TrainMethod::block_gibbs, "block-gibbs", "layers of a restricted machine are drawn at once"},
       {TrainMethod::pseudo_likelihood, "pseudo-likelihood",
        "nothing is hidden, so a convex objective without sampling will do"},
       {TrainMethod::gibbs, "gibbs", "hidden variables need samples"}},
      why_not_automatic);
  return {chosen.choice, std::move(chosen.because)};
}

BitBatch sample_machine(const BinaryMachine& machine, TrainMethod method, std::uint32_t rows,
                        std::uint32_t sweeps, std::uint64_t seed, const RunControl& control) {
  BitBatch batch;
  MachineSamplerOptions options{.chains = rows, .sweeps = sweeps, .persistent = false, .seed = seed};
  options.control = &control;
  sampler_of(method, options)->draw(machine, 0, batch);
  fail_if_stopped(control, "sampling");
  return batch;
}

TrainResult train(BinaryMachine& machine, const TrainingData& data, const TrainOptions& options,
                  const RunControl& control, std::span<const Value> held_out) {
  const TrainChoice choice = choose_train_method(machine, options.method);
  fail_if_stopped(control, "learning");
  initialise(machine, data, options.weight_deviation, options.fit.seed);
  TrainResult result;
  if (choice.method == TrainMethod::pseudo_likelihood) {
    result = train_pseudo_likelihood(machine, data, options, control);
    if (result.summary.stopped && result.summary.iterations == 0) fail_stopped(control, "learning");
  } else {
    TrainOptions shared = options;
    shared.sampler.ranks = &control.ranks();
    const std::unique_ptr<GradientSource> source = gradient_of(data, choice.method, shared);
    result.objective = source->objective();
    const auto rows = static_cast<std::uint32_t>(
        std::min<std::size_t>(check_rows, machine.visible == 0 ? 0 : held_out.size() / machine.visible));
    // Ranks that look at the same samples must not end differently.
    const RunControl& looks = control.ranks().size() == 1 ? control : no_control();
    result.summary =
        fit(machine, data, *source, options.fit, control, held_out,
            [&](const BinaryMachine& now, std::uint64_t iteration) {
              return sample_machine(now, choice.method, rows, check_sweeps, options.fit.seed + iteration, looks);
            },
            machine.kind != MachineKind::rbm
                ? FitLikelihoods()
                : [&](const BinaryMachine& now, std::uint64_t iteration) {
                    return likelihoods_of(now, data, held_out, options.fit.seed + iteration, looks);
                  });
  }
  result.choice = choice;
  return result;
}

}  // namespace drover
