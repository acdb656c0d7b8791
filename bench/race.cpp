// The race behind `auto` where it may not use exact inference, on models that exact inference answers: does
// it converge in time, are its errors honest, is it ever wrong and says that it converged, and what did the
// choice cost against the best single sampler of hindsight and against plain Gibbs sampling?
//
// Usage: bench_race [SECONDS] [--hindsight] [--mixtures] [--only PART] [--others N] [--singles FILE]
//                   [FOLDER|MODEL ...]
//
// SECONDS of the processor per model (10), one thread, so that a busy machine does not matter much. Without
// files: generated models only, with --others other instances of each; --only: those whose names have PART in them. A run is wrong when an entry is further from the truth than 6 of its errors
// and 0.01, or when fewer than 90 % of the entries are within 3 errors.
//
// --hindsight runs every sampler by itself, with the race's starts, targets and looks, but without a choice
// to make. Compared are effective samples of the slowest variables (below which 2 % of them lie), pilots of
// the losers included in the race's effort: per counted work (sweep_cost.hpp) and per second of the
// processor, where laying out kernels counts too; and the effort until the targets are met.
// --singles keeps what every sampler did by itself in FILE and takes it from there where it is: then a change
// of the race is measured without running them again.
// --mixtures does the same with Gibbs sampling and another sampler in turns, of equal work, on the same
// chains.
#include <fmt/format.h>
#include <sys/resource.h>
#include <tbb/global_control.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>

#include "bench/race_models.hpp"
#include "drover/compile/graph.hpp"
#include "drover/core/error.hpp"
#include "drover/infer/junction_tree.hpp"
#include "drover/methods/live_chains.hpp"
#include "drover/methods/method.hpp"
#include "drover/methods/race_starts.hpp"
#include "drover/methods/standing.hpp"
#include "drover/run/chain_run.hpp"
#include "drover/task/inference.hpp"

namespace {

using namespace drover;

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Of the variables that have one, the value below which 2 % lie.
double slowest(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return std::nan("");
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 50);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

struct Effort {
  double ess = 0, work = 0, cpu = 0;
  bool converged = false;
  double per_work() const { return converged ? ess / work : 0; }
  double per_second() const { return converged ? ess / cpu : 0; }
};

struct RaceRun {
  Marginals answer;
  Effort effort;
};

RaceRun run_race(const bench::NamedModel& named, double seconds) {
  InferenceOptions options;
  options.method = "race";
  options.evidence = named.evidence;
  RunControl control;
  const double begin = cpu_seconds();
  control.stop_when([=] { return cpu_seconds() - begin > seconds; });
  RaceRun run;
  run.answer = marginals(named.model, options, control);
  run.effort.cpu = cpu_seconds() - begin;
  run.effort.converged = run.answer.converged;
  run.effort.ess = slowest(run.answer.ess);
  for (const RaceEntry& entry : run.answer.race) run.effort.work += entry.work;
  return run;
}

bool has_met_targets(const LiveChains& chains, const Standing& standing) {
  return chains.draws() >= 256 && has_enough_draws(standing.diagnostics) &&
         standing.diagnostics.rhat_max <= 1.01 && standing.starts_forgotten &&
         !(standing.nested_rhat_max > 1.01);
}

ChainOptions single_options(std::uint32_t chains) {
  ChainOptions options;
  options.chains = chains;
  options.burn_in = 4;
  options.score_every = 8;
  options.tuning = 128;
  options.estimator_memory = std::size_t{1} << 28;
  return options;
}

void place(const Problem& problem, LiveChains& chains) {
  const std::uint32_t sharing = chains_per_start(chains.chains());
  const auto starts = race_starts(problem, (chains.chains() + sharing - 1) / sharing);
  for (std::uint32_t c = 0; c < chains.chains(); ++c) chains.start_at(c, starts[c / sharing]);
}

// Grows by half from look to look; the first quarter is burn-in.
Effort run_single(const bench::NamedModel& named, const Method& method, double seconds) {
  RunControl control;
  Effort effort;
  const double begin = cpu_seconds();
  control.stop_when([=] { return cpu_seconds() - begin > seconds; });
  InferenceOptions options;
  const Problem problem(named.model, named.evidence, options, control);
  method.enter(problem, single_options(0), control, [&](LiveChains& chains) {
    place(problem, chains);
    for (double sweeps = 360; !effort.converged && !control.should_stop(); sweeps *= 1.5) {
      chains.run_to(static_cast<std::uint64_t>(sweeps), control);
      chains.discard_before(chains.sweeps_done() / 4);
      effort.converged = has_met_targets(chains, look_at(chains.store(), chains_per_start(chains.chains())));
    }
    effort.work = static_cast<double>(chains.sweeps_done()) * chains.work_per_sweep();
    effort.cpu = cpu_seconds() - begin;
    effort.ess = slowest(chains.result().ess);
  });
  return effort;
}

// What single samplers did, kept from run to run: one line each of model, method, seconds it was given, whether it
// converged, effective samples, work and processor seconds.
class Singles {
 public:
  explicit Singles(std::string file) : file_(std::move(file)) {
    std::ifstream in(file_);
    for (std::string line; std::getline(in, line);) {
      const std::size_t first = line.find('\t'), second = line.find('\t', first + 1);
      Kept kept;
      int converged = 0;
      if (second != std::string::npos &&
          std::sscanf(line.c_str() + second, "%lf %d %lf %lf %lf", &kept.limit, &converged, &kept.effort.ess,
                      &kept.effort.work, &kept.effort.cpu) == 5) {
        kept.effort.converged = converged != 0;
        kept_[line.substr(0, second)] = kept;
      }
    }
  }

  Effort run(const bench::NamedModel& named, const Method& method, double seconds) {
    const std::string key = fmt::format("{}\t{}", named.name, method.name);
    if (const auto at = kept_.find(key);
        at != kept_.end() && (at->second.effort.converged || at->second.limit >= 0.7 * seconds))
      return at->second.effort;
    Effort effort;
    try {
      effort = run_single(named, method, seconds);
    } catch (const Error& error) {  // as when its fit is bad
      if (error.kind() != ErrorKind::misfit) throw;
    }
    if (!file_.empty())
      std::ofstream(file_, std::ios::app)
          << fmt::format("{}\t{} {} {} {} {}\n", key, seconds, effort.converged ? 1 : 0, effort.ess,
                         effort.work, effort.cpu);
    return effort;
  }

 private:
  struct Kept {
    double limit = 0;
    Effort effort;
  };
  std::string file_;
  std::map<std::string, Kept> kept_;
};

// Two samplers in turns on the same chains; the draws of whichever tells more count.
Effort run_mixture(const bench::NamedModel& named, const Method& first, const Method& second,
                   double seconds) {
  RunControl control;
  Effort effort;
  const double begin = cpu_seconds();
  control.stop_when([=] { return cpu_seconds() - begin > seconds; });
  InferenceOptions options;
  const Problem problem(named.model, named.evidence, options, control);
  std::vector<Value> x(problem.graph().size());
  const auto hand_over = [&](const LiveChains& from, LiveChains& to) {
    for (std::uint32_t c = 0; c < from.chains(); ++c) {
      from.read(c, x);
      to.start_at(c, x);
    }
  };
  first.enter(problem, single_options(64), control, [&](LiveChains& one) {
    second.enter(problem, single_options(64), control, [&](LiveChains& other) {
      place(problem, one);
      const double ratio = other.work_per_sweep() / one.work_per_sweep();
      const auto turn_one = static_cast<std::uint64_t>(std::max(1.0, ratio));
      const auto turn_other = static_cast<std::uint64_t>(std::max(1.0, 1 / ratio));
      for (double turns = 360; !effort.converged && !control.should_stop(); turns *= 1.5) {
        while (std::max(one.sweeps_done() / turn_one, other.sweeps_done() / turn_other) <
                   static_cast<std::uint64_t>(turns) &&
               !control.should_stop()) {
          one.run_to(one.sweeps_done() + turn_one, control);
          hand_over(one, other);
          other.run_to(other.sweeps_done() + turn_other, control);
          hand_over(other, one);
        }
        for (LiveChains* chains : {&one, &other}) {
          chains->discard_before(chains->sweeps_done() / 4);
          effort.converged |=
              has_met_targets(*chains, look_at(chains->store(), chains_per_start(chains->chains())));
        }
      }
      for (const LiveChains* chains : {&one, &other})
        effort.work += static_cast<double>(chains->sweeps_done()) * chains->work_per_sweep();
      effort.cpu = cpu_seconds() - begin;
      effort.ess = std::fmax(slowest(one.result().ess), slowest(other.result().ess));
    });
  });
  return effort;
}

struct Coverage {
  double within_two = 0, within_three = 0, largest_z = 0, largest_error = 0;
  std::size_t entries = 0, without_error = 0;
  bool wrong = false;
};

Coverage compare(const Marginals& answer, const Graph& graph, const std::vector<std::vector<double>>& truth) {
  Coverage result;
  for (std::size_t f = 0; f < truth.size(); ++f) {
    const VariableId v = graph.model_variable[f];
    for (std::size_t k = truth[f].size() == 2 ? 1 : 0; k < truth[f].size(); ++k) {
      const double off = std::abs(answer.probabilities[v][k] - truth[f][k]);
      const double error = answer.mcse[v][k];
      result.largest_error = std::max(result.largest_error, off);
      ++result.entries;
      if (!std::isfinite(error) || error == 0) {
        ++result.without_error;
        // Nothing is claimed but that it never moved.
        if (off > 0.01) result.wrong = true;
        continue;
      }
      const double z = off / error;
      result.largest_z = std::max(result.largest_z, z);
      result.within_two += z <= 1.96 ? 1 : 0;
      result.within_three += z <= 3 ? 1 : 0;
      if (z > 6 && off > 0.01) result.wrong = true;
    }
  }
  const auto counted = static_cast<double>(result.entries - result.without_error);
  if (counted > 0) {
    result.within_two /= counted;
    result.within_three /= counted;
    if (result.within_three < 0.9) result.wrong = true;
  }
  return result;
}

struct Totals {
  int models = 0, converged = 0, wrong_but_converged = 0;
  double within_two = 0, within_three = 0, entries = 0;
  std::vector<double> by_work, by_second, gibbs_by_work, gibbs_by_second, mixtures;
  std::vector<double> targets_by_work,
      targets_by_second;    ///< least effort of a single sampler over the race's
  int converged_alone = 0;  ///< some sampler by itself, but not the race
  int gibbs_failed = 0;     ///< where the race converged
};

double median(std::vector<double> values) {
  if (values.empty()) return std::nan("");
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void print_share(const char* what, const std::vector<double>& values) {
  if (values.empty()) return;
  double product = 0;
  for (double value : values) product += std::log(value);
  const auto least = static_cast<double>(std::ranges::count_if(values, [](double v) { return v >= 0.7; }));
  const auto count = static_cast<double>(values.size());
  fmt::print("{}: median {:.2f}, geometric mean {:.2f}, least {:.2f}, 0.7 or more on {:.0f} of {:.0f}\n",
             what, median(values), std::exp(product / count), *std::ranges::min_element(values), least,
             count);
}

struct Best {
  static constexpr double infinite = std::numeric_limits<double>::infinity();
  std::string work_name = "none", second_name = "none";
  double per_work = 0, per_second = 0;
  double least_work = infinite, least_cpu = infinite;  ///< until the targets are met
  void take(const Effort& one, std::string_view name) {
    if (!one.converged) return;
    least_work = std::min(least_work, one.work);
    least_cpu = std::min(least_cpu, one.cpu);
    if (one.per_work() > per_work) per_work = one.per_work(), work_name = name;
    if (one.per_second() > per_second) per_second = one.per_second(), second_name = name;
  }
};

bool fits(const Method& method, const bench::NamedModel& named) {
  if (method.enter == nullptr || method.name == "herded-gibbs") return false;
  InferenceOptions options;
  return why_not(method, Problem(named.model, named.evidence, options), Task::marginals).empty();
}

// What needs more than a few times the race's time is not the best.
double time_to_beat(const Effort& race, double seconds) {
  return race.converged ? std::min(seconds, 0.3 + 3 * race.cpu) : seconds;
}

void compare_with_singles(const bench::NamedModel& named, const RaceRun& race, double seconds,
                          bool with_mixtures, Singles& singles, Totals& totals) {
  Best best;
  Effort gibbs;
  const double limit = time_to_beat(race.effort, seconds);
  for (const Method& method : all_methods()) {
    if (!fits(method, named)) continue;
    const Effort single = singles.run(named, method, limit);
    if (method.name == "gibbs") gibbs = single;
    best.take(single, method.name);
  }
  if (best.per_work == 0) return;
  if (!race.effort.converged) {
    ++totals.converged_alone;
    fmt::print("    {} converges by itself\n", best.second_name);
    return;
  }
  totals.by_work.push_back(race.effort.per_work() / best.per_work);
  totals.by_second.push_back(race.effort.per_second() / best.per_second);
  totals.targets_by_work.push_back(best.least_work / race.effort.work);
  totals.targets_by_second.push_back(best.least_cpu / race.effort.cpu);
  fmt::print("    by work {:.2f} of {}, by time {:.2f} of {}, to the targets {:.2f} and {:.2f}",
             totals.by_work.back(), best.work_name, totals.by_second.back(), best.second_name,
             totals.targets_by_work.back(), totals.targets_by_second.back());
  if (gibbs.converged) {
    totals.gibbs_by_work.push_back(race.effort.per_work() / gibbs.per_work());
    totals.gibbs_by_second.push_back(race.effort.per_second() / gibbs.per_second());
    fmt::print("; of plain gibbs {:.2f} and {:.2f}\n", totals.gibbs_by_work.back(),
               totals.gibbs_by_second.back());
  } else {
    ++totals.gibbs_failed;
    fmt::print("; plain gibbs does not converge\n");
  }
  if (!with_mixtures || !fits(method_named("gibbs"), named)) return;
  Best mixture;
  for (const char* other : {"blocked-gibbs", "swendsen-wang", "partial-swendsen-wang",
                            "generalized-swendsen-wang", "tree-primal-dual"})
    if (fits(method_named(other), named))
      mixture.take(run_mixture(named, method_named("gibbs"), method_named(other), limit), other);
  if (mixture.per_work == 0) return;
  totals.mixtures.push_back(mixture.per_work / best.per_work);
  fmt::print("    gibbs and {} in turns: {:.2f} of the best single sampler by work, {:.2f} by time\n",
             mixture.work_name, mixture.per_work / best.per_work, mixture.per_second / best.per_second);
}

void measure(const bench::NamedModel& named, double seconds, bool hindsight, bool with_mixtures,
             Singles& singles, Totals& totals) {
  const Graph graph = compile(named.model, named.evidence);
  std::vector<std::vector<double>> truth;
  try {
    ExactOptions options;
    const ExactPlan plan = plan_exact(graph, options);
    if (plan.predicted_operations > 1e9 || !plan.fits(std::size_t{4} << 30)) return;
    truth = JunctionTree(graph, plan, options).marginals();
  } catch (const Error&) {
    return;
  }
  const RaceRun race = run_race(named, seconds);
  const Coverage coverage = compare(race.answer, graph, truth);
  ++totals.models;
  totals.converged += race.answer.converged ? 1 : 0;
  const bool bad = coverage.wrong && race.answer.converged;
  totals.wrong_but_converged += bad ? 1 : 0;
  const auto counted = static_cast<double>(coverage.entries - coverage.without_error);
  if (race.answer.converged) {
    totals.within_two += coverage.within_two * counted;
    totals.within_three += coverage.within_three * counted;
    totals.entries += counted;
  }
  fmt::print("{:28} {:26} {:>3} {:6.2f} {:7.2f} {:7.4f} {:8.0f} {:5.3f} {:5.3f} {:5.1f} {:7.4f} {}{}\n",
             named.name.substr(0, 28), race.answer.provenance.method, race.answer.converged ? "yes" : "no",
             race.answer.provenance.seconds, race.effort.cpu, race.answer.diagnostics.rhat_max,
             race.effort.ess, coverage.within_two, coverage.within_three, coverage.largest_z,
             coverage.largest_error, coverage.without_error, bad ? " WRONG" : "");
  if (std::getenv("RACE_ENTRIES") != nullptr)
    for (const RaceEntry& entry : race.answer.race)
      fmt::print("      {:36} work {:9.3g} ess/work {:9.3g} R-hat {:.4f} nested {:.4f} {}{}\n", entry.method,
                 entry.work, entry.ess_per_work, entry.rhat_max, entry.nested_rhat_max,
                 entry.chosen ? "chosen " : "", entry.note);
  if (hindsight) compare_with_singles(named, race, seconds, with_mixtures, singles, totals);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const tbb::global_control one_thread(tbb::global_control::max_allowed_parallelism, 1);
  double seconds = 10;
  bool hindsight = false, mixtures = false;
  std::string only, kept_singles;
  std::uint64_t others = 0;
  std::vector<bench::NamedModel> models;
  bool files = false;
  for (int a = 1; a < argc; ++a) {
    if (std::strcmp(argv[a], "--hindsight") == 0) {
      hindsight = true;
    } else if (std::strcmp(argv[a], "--mixtures") == 0) {
      hindsight = mixtures = true;
    } else if (std::strcmp(argv[a], "--only") == 0 && a + 1 < argc) {
      only = argv[++a];
    } else if (std::strcmp(argv[a], "--others") == 0 && a + 1 < argc) {
      others = std::strtoull(argv[++a], nullptr, 10);
    } else if (std::strcmp(argv[a], "--singles") == 0 && a + 1 < argc) {
      kept_singles = argv[++a];
    } else if (char* end = nullptr; std::strtod(argv[a], &end) > 0 && *end == 0) {
      seconds = std::atof(argv[a]);
    } else {
      files = true;
      for (bench::NamedModel& named : bench::models_of(argv[a])) models.push_back(std::move(named));
    }
  }
  if (!files) models = bench::generated_models(others);
  fmt::print("{:28} {:26} {:>3} {:>6} {:>7} {:>7} {:>8} {:>5} {:>5} {:>5} {:>7} {}\n", "MODEL", "METHOD",
             "ok", "wall s", "cpu s", "R-hat", "ESS", "1.96", "3", "max z", "max err", "without error");
  Totals totals;
  Singles singles(kept_singles);
  for (const bench::NamedModel& named : models)
    if (named.name.find(only) != std::string::npos)
      measure(named, seconds, hindsight, mixtures, singles, totals);
  fmt::print(
      "\n{} models, {} converged within {} s, {} of these wrong; entries of converged runs within 1.96 "
      "errors {:.3f}, within 3 {:.4f}\n",
      totals.models, totals.converged, seconds, totals.wrong_but_converged,
      totals.within_two / totals.entries, totals.within_three / totals.entries);
  print_share("effective samples per work against the best single sampler", totals.by_work);
  print_share("effective samples per processor second against it", totals.by_second);
  print_share("least work to the targets of a single sampler over that of the race", totals.targets_by_work);
  print_share("least processor time over that of the race", totals.targets_by_second);
  print_share("effective samples per work against plain Gibbs", totals.gibbs_by_work);
  print_share("effective samples per processor second against it", totals.gibbs_by_second);
  print_share("mixtures with Gibbs per work against the best single sampler", totals.mixtures);
  if (hindsight)
    fmt::print("some single sampler converged where the race did not: {}; Gibbs did not where it did: {}\n",
               totals.converged_alone, totals.gibbs_failed);
  return totals.wrong_but_converged;
}
