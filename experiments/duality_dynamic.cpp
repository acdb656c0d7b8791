// A graph whose factors come and go while it is sampled: the time of an edit of DynamicModel, beside
// colouring the graph anew and laying out a chromatic Gibbs sampler for it. Times are those of the thread,
// the best of a few repetitions. Random graphs with two factors per variable.
//
// An effective sample is one of the mean of up to 2000 spins. When an edit comes before every sweep, one of
// them takes (edit + sweep) / (effective samples per sweep): DynamicModel sweeps 64 chains at once, the
// chromatic sampler has one chain. With s sweeps between edits it is (edit + s sweep) / (s effective
// samples); building anew catches up, if ever, where both are equal.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>

#include "drover/compile/spin_graph.hpp"
#include "drover/core/random.hpp"
#include "drover/diagnose/ess.hpp"
#include "drover/sample/dual/dynamic_model.hpp"
#include "drover/sample/gibbs/gibbs_spin_chain.hpp"
#include "experiments/all.hpp"

namespace drover::experiments {

namespace {

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class Work>
double best_seconds(int repetitions, const Work& work) {
  double best = 1e300;
  for (int r = 0; r < repetitions; ++r) {
    const double begin = thread_seconds();
    work();
    best = std::min(best, thread_seconds() - begin);
  }
  return best;
}

struct Times {
  double edit, sweep, effective;  ///< in place; effective samples of a sweep of all 64 chains
  double rebuild, gibbs_sweep, gibbs_effective;

  double in_place(double sweeps) const { return (edit + sweeps * sweep) / (sweeps * effective); }
  double anew(double sweeps) const { return (rebuild + sweeps * gibbs_sweep) / (sweeps * gibbs_effective); }
  /// Sweeps between edits at which both take the same time; infinite when building anew never catches up.
  double crossover() const {
    const double gain = sweep / effective - gibbs_sweep / gibbs_effective;
    return gain > 0 ? (rebuild / gibbs_effective - edit / effective) / gain
                    : std::numeric_limits<double>::infinity();
  }
};

constexpr std::uint32_t watched = 2000;  // spins in the mean whose effective samples are counted
constexpr std::uint64_t burn_in = 20;

// Seconds and effective samples of one sweep.
std::pair<double, double> efficiency(DynamicModel& model, std::uint64_t sweeps) {
  const auto spins = static_cast<std::uint32_t>(std::min<std::size_t>(watched, model.variable_count()));
  std::vector<double> series(DynamicModel::lanes * sweeps, 0.0);  // chain by chain
  for (std::uint64_t s = 0; s < burn_in; ++s) model.sweep();
  double seconds = 0;
  for (std::uint64_t s = 0; s < sweeps; ++s) {
    const double begin = thread_seconds();
    model.sweep();
    seconds += thread_seconds() - begin;
    for (DynamicModel::Id v = 0; v < spins; ++v) {
      const std::uint64_t word = model.word(v);
      for (std::uint32_t lane = 0; lane < DynamicModel::lanes; ++lane)
        series[lane * sweeps + s] += static_cast<double>(word >> lane & 1);
    }
  }
  const double effective = ess_mean(Draws{series.data(), DynamicModel::lanes, sweeps});
  return {seconds / static_cast<double>(sweeps), effective / static_cast<double>(sweeps)};
}

std::pair<double, double> efficiency(const GibbsSpinChain& kernel, std::uint64_t sweeps) {
  auto state = kernel.start(1, 0);
  std::vector<Value> x(kernel.size());
  std::vector<double> series(sweeps, 0.0);
  for (std::uint64_t s = 0; s < burn_in; ++s) kernel.sweep(state, s);
  double seconds = 0;
  for (std::uint64_t s = 0; s < sweeps; ++s) {
    const double begin = thread_seconds();
    kernel.sweep(state, burn_in + s);
    seconds += thread_seconds() - begin;
    kernel.read(state, 0, x);
    for (std::size_t v = 0; v < std::min<std::size_t>(watched, x.size()); ++v) series[s] += x[v];
  }
  const double effective = ess_mean(Draws{series.data(), 1, sweeps});
  return {seconds / static_cast<double>(sweeps), effective / static_cast<double>(sweeps)};
}

Times measure(std::uint32_t variables, std::uint64_t seed, bool quick) {
  const std::uint32_t edges = 2 * variables;
  DynamicModel model(seed);
  RandomSequence random(seed, Stream::generate);
  const auto add = [&] {
    const std::uint32_t first = random.below(variables);
    return model.add_factor(first, (first + 1 + random.below(variables - 1)) % variables,
                            random.normal() / 4);
  };
  for (std::uint32_t v = 0; v < variables; ++v) model.add_variable(random.normal());
  std::vector<DynamicModel::Id> factors;
  for (std::uint32_t e = 0; e < edges; ++e) factors.push_back(add());

  constexpr int edits = 2000;  // half of them remove, half of them add; sampling goes on between repetitions
  const double edit = best_seconds(7, [&] {
    for (int k = 0; k < edits / 2; ++k) {
      DynamicModel::Id& factor = factors[random.below(edges)];
      model.remove_factor(factor);
      factor = add();
    }
  });
  const auto [sweep, effective] = efficiency(model, quick ? 50 : 100);
  const Graph graph = compile(model.model());
  const double rebuild = best_seconds(3, [&] { const GibbsSpinChain kernel(spin_graph(graph)); });
  const auto [gibbs_sweep, gibbs_effective] =
      efficiency(GibbsSpinChain(spin_graph(graph)), quick                 ? 500
                                                    : variables > 100'000 ? 600
                                                                          : 4000);
  return {edit / edits, sweep, effective, rebuild, gibbs_sweep, gibbs_effective};
}

}  // namespace

Outcome duality_dynamic(const Options& options) {
  Outcome outcome;
  const std::vector<std::uint32_t> sizes = options.quick
                                               ? std::vector<std::uint32_t>{500, 2000, 8000, 32000}
                                               : std::vector<std::uint32_t>{500, 5000, 50'000, 500'000};
  Figure figure{
      .title = "Time per edit",
      .caption = "Random graphs with two factors per variable; thread time.",
      .x_label = "factors",
      .y_label = "seconds per edit",
      .log_x = true,
      .log_y = true,
      .curves = {{"primal-dual, edited in place", {}, {}}, {"Gibbs, coloured and built anew", {}, {}}}};
  Figure samples{
      .title = "Time per effective sample",
      .caption = "One edit before every sweep; random graphs with two factors per variable; thread time.",
      .x_label = "factors",
      .y_label = "seconds per effective sample",
      .log_x = true,
      .log_y = true,
      .curves = {{"primal-dual, edited in place", {}, {}}, {"Gibbs, coloured and built anew", {}, {}}}};
  bool in_place_wins = true;
  for (std::uint32_t variables : sizes) {
    if (options.control.should_stop()) {
      outcome.interrupted = true;
      return outcome;
    }
    const Times times = measure(variables, options.seed, options.quick);
    const double factors = 2.0 * variables;
    outcome.rows.push_back(
        {.name = fmt::format("{} factors: edit in place, microseconds", factors), .ours = 1e6 * times.edit});
    outcome.rows.push_back(
        {.name = fmt::format("{} factors: build anew, microseconds", factors), .ours = 1e6 * times.rebuild});
    outcome.rows.push_back(
        {.name = fmt::format("{} factors: effective samples per sweep, 64 chains in place", factors),
         .ours = times.effective});
    outcome.rows.push_back(
        {.name = fmt::format("{} factors: effective samples per sweep, chromatic Gibbs", factors),
         .ours = times.gibbs_effective});
    outcome.rows.push_back(
        {.name = fmt::format(
             "{} factors: microseconds per effective sample, an edit before every sweep, in place", factors),
         .ours = 1e6 * times.in_place(1)});
    outcome.rows.push_back(
        {.name = fmt::format("{} factors: the same, built anew", factors), .ours = 1e6 * times.anew(1)});
    if (std::isfinite(times.crossover()))
      outcome.rows.push_back(
          {.name = fmt::format("{} factors: sweeps between edits where building anew catches up", factors),
           .ours = times.crossover()});
    else
      outcome.notes.push_back(
          fmt::format("{} factors: building anew never catches up, however rare the edits", factors));
    in_place_wins = in_place_wins && times.in_place(1) < times.anew(1);
    samples.curves[0].x.push_back(factors);
    samples.curves[0].y.push_back(times.in_place(1));
    samples.curves[1].x.push_back(factors);
    samples.curves[1].y.push_back(times.anew(1));
    figure.curves[0].x.push_back(factors);
    figure.curves[0].y.push_back(times.edit);
    figure.curves[1].x.push_back(factors);
    figure.curves[1].y.push_back(times.rebuild);
  }
  const double edit_slope = log_log_slope(figure.curves[0].x, figure.curves[0].y);
  const double rebuild_slope = log_log_slope(figure.curves[1].x, figure.curves[1].y);
  outcome.rows.push_back(
      {.name = "edit in place: exponent of the growth with the graph", .ours = edit_slope});
  outcome.rows.push_back(
      {.name = "build anew: exponent of the growth with the graph", .ours = rebuild_slope});
  outcome.notes.emplace_back(
      "an edit takes the same steps on any graph; on large ones it waits for memory outside the caches");
  outcome.claims.push_back(
      {"an edit in place hardly grows with the graph (exponent below 0.5), building anew does (above 0.7)",
       edit_slope < 0.5 && rebuild_slope > 0.7, true});
  outcome.claims.push_back(
      {"on the largest graph an edit in place is a thousand times faster than building anew",
       figure.curves[0].y.back() * 1000 < figure.curves[1].y.back(), true});
  outcome.claims.push_back(
      {"with an edit before every sweep, an effective sample takes less time in place, at every size",
       in_place_wins, true});
  outcome.figures.push_back(std::move(figure));
  outcome.figures.push_back(std::move(samples));
  return outcome;
}

}  // namespace drover::experiments
