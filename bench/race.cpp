// The race behind `auto` where it may not use exact inference, on models that exact inference answers: does
// it converge in time, are its errors honest, is it ever wrong and says that it converged, and what did the
// choice cost against the best single sampler of hindsight and against plain Gibbs sampling?
// Usage: bench_race [seconds per model, default 10] [--hindsight] [FOLDER|MODEL ...]
// Without files: generated models only. Effective samples count those of the slowest entry; seconds are of
// the processor, so that a busy machine does not matter much. A run is wrong when an entry is further from
// the truth than 6 of its errors and 0.01, or when fewer than 90 % of the entries are within 3 errors.
#include <fmt/format.h>
#include <sys/resource.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "bench/race_models.hpp"
#include "drover/compile/graph.hpp"
#include "drover/core/error.hpp"
#include "drover/infer/junction_tree.hpp"
#include "drover/methods/method.hpp"
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

struct Run {
  Marginals answer;
  double cpu = 0;
  double ess_per_second() const { return answer.diagnostics.ess_min / cpu; }
};

Run run_method(const bench::NamedModel& named, std::string_view method, double seconds, bool target) {
  InferenceOptions options;
  options.method = method;
  options.evidence = named.evidence;
  if (target) options.chains.target_rhat = 1.01;
  RunControl control;
  control.limit_time(seconds);
  const double begin = cpu_seconds();
  Run run;
  run.answer = marginals(named.model, options, control);
  run.cpu = cpu_seconds() - begin;
  return run;
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
  std::vector<double> efficiency, against_gibbs;
};

double median(std::vector<double> values) {
  if (values.empty()) return std::nan("");
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void measure(const bench::NamedModel& named, double seconds, bool hindsight, Totals& totals) {
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
  const Run race = run_method(named, "race", seconds, false);
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
             race.answer.provenance.seconds, race.cpu, race.answer.diagnostics.rhat_max,
             race.answer.diagnostics.ess_min, coverage.within_two, coverage.within_three, coverage.largest_z,
             coverage.largest_error, coverage.without_error, bad ? " WRONG" : "");
  if (hindsight && race.answer.converged) {
    double best = 0, gibbs = 0;
    std::string best_name;
    for (const Method& method : all_methods()) {
      if (method.enter == nullptr || method.name == "herded-gibbs") continue;
      InferenceOptions options;
      options.method = method.name;
      options.evidence = named.evidence;
      if (!why_not(method, Problem(graph, options), Task::marginals).empty()) continue;
      const Run single = run_method(named, method.name, seconds, true);
      if (single.answer.diagnostics.rhat_max > 1.01) continue;
      if (method.name == "gibbs") gibbs = single.ess_per_second();
      if (single.ess_per_second() > best) best = single.ess_per_second(), best_name = method.name;
    }
    if (best > 0) {
      totals.efficiency.push_back(race.ess_per_second() / best);
      if (gibbs > 0) totals.against_gibbs.push_back(race.ess_per_second() / gibbs);
      fmt::print("    {:.2f} of the best of hindsight ({}), {} plain gibbs\n", race.ess_per_second() / best,
                 best_name,
                 gibbs > 0 ? fmt::format("{:.2f} of", race.ess_per_second() / gibbs)
                           : std::string("converged, unlike"));
    }
  }
  for (const RaceEntry& entry : race.answer.race)
    if (std::getenv("RACE_ENTRIES") != nullptr)
      fmt::print("      {:36} work {:9.3g} ess/work {:9.3g} R-hat {:.4f} nested {:.4f} {}{}\n", entry.method,
                 entry.work, entry.ess_per_work, entry.rhat_max, entry.nested_rhat_max,
                 entry.chosen ? "chosen " : "", entry.note);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 10;
  bool hindsight = false;
  std::vector<bench::NamedModel> models;
  bool files = false;
  for (int a = 1; a < argc; ++a) {
    if (std::strcmp(argv[a], "--hindsight") == 0) {
      hindsight = true;
    } else if (char* end = nullptr; std::strtod(argv[a], &end) > 0 && *end == 0) {
      seconds = std::atof(argv[a]);
    } else {
      files = true;
      for (bench::NamedModel& named : bench::models_of(argv[a])) models.push_back(std::move(named));
    }
  }
  if (!files) models = bench::generated_models();
  fmt::print("{:28} {:26} {:>3} {:>6} {:>7} {:>7} {:>8} {:>5} {:>5} {:>5} {:>7} {}\n", "MODEL", "METHOD",
             "ok", "wall s", "cpu s", "R-hat", "ESS", "1.96", "3", "max z", "max err", "without error");
  Totals totals;
  for (const bench::NamedModel& named : models) measure(named, seconds, hindsight, totals);
  fmt::print(
      "\n{} models, {} converged within {} s, {} of these wrong; entries of converged runs within 1.96 "
      "errors {:.3f}, within 3 {:.4f}\n",
      totals.models, totals.converged, seconds, totals.wrong_but_converged,
      totals.within_two / totals.entries, totals.within_three / totals.entries);
  if (hindsight) {
    fmt::print(
        "effective samples per processor second against the best single method of hindsight: median "
        "{:.2f} of {} models; against plain Gibbs where that converges: median {:.2f} of {}\n",
        median(totals.efficiency), totals.efficiency.size(), median(totals.against_gibbs),
        totals.against_gibbs.size());
  }
  return totals.wrong_but_converged;
}
