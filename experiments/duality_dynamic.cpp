// A graph whose factors come and go while it is sampled: the time of an edit of DynamicModel, beside
// colouring the graph anew and laying out a chromatic Gibbs sampler for it. Times are those of the thread,
// the best of a few repetitions. Random graphs with two factors per variable.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "drover/compile/spin_graph.hpp"
#include "drover/core/random.hpp"
#include "drover/sample/dynamic_model.hpp"
#include "drover/sample/gibbs_spin_chain.hpp"
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
  double edit, rebuild;
};

Times measure(std::uint32_t variables, std::uint64_t seed) {
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
  model.sweep();
  const Graph graph = compile(model.model());
  const double rebuild = best_seconds(3, [&] { const GibbsSpinChain kernel(spin_graph(graph)); });
  return {edit / edits, rebuild};
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
  for (std::uint32_t variables : sizes) {
    if (options.monitor.should_stop()) {
      outcome.interrupted = true;
      return outcome;
    }
    const Times times = measure(variables, options.seed);
    const double factors = 2.0 * variables;
    outcome.rows.push_back(
        {.name = fmt::format("{} factors: edit in place, microseconds", factors), .ours = 1e6 * times.edit});
    outcome.rows.push_back(
        {.name = fmt::format("{} factors: build anew, microseconds", factors), .ours = 1e6 * times.rebuild});
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
      {"an edit in place hardly grows with the graph (exponent below 0.4), building anew does (above 0.7)",
       edit_slope < 0.4 && rebuild_slope > 0.7});
  outcome.claims.push_back(
      {"on the largest graph an edit in place is a thousand times faster than building anew",
       figure.curves[0].y.back() * 1000 < figure.curves[1].y.back()});
  outcome.figures.push_back(std::move(figure));
  return outcome;
}

}  // namespace drover::experiments
