// Herded Gibbs, theorems 1 and 2: how fast the joint distribution is reached.
//
// Complete graphs (theorem 2): the total variation distance falls as 1/T, with random weights and n = 4 .. 8
// binary variables. Independent variables (theorem 1): it goes to zero when 1 and the probabilities are
// rationally independent; for probabilities that are not, such as 1/2 and 1/2, it need not: both variables
// then alternate in step for ever.
#include <fmt/format.h>

#include <cmath>

#include "drover/compile/graph.hpp"
#include "drover/compile/spin_graph.hpp"
#include "drover/infer/enumerate.hpp"
#include "drover/model/builders.hpp"
#include "drover/sample/gibbs/gibbs_spin_lanes.hpp"
#include "drover/sample/herded/herded_gibbs_tables.hpp"
#include "experiments/all.hpp"

namespace drover::experiments {

namespace {

/// Total variation distance of the states of one chain to `exact`, at T = 2^first .. 2^last.
template <class K>
std::vector<double> distances(const K& kernel, const Enumeration& exact, int first, int last,
                              std::uint64_t seed, std::uint32_t chain) {
  std::vector<double> counts(exact.probabilities.size(), 0.0), result;
  std::vector<Value> x(kernel.size());
  const std::uint32_t lane = chain % kernel.lanes();
  auto state = kernel.start(seed, chain - lane);
  std::uint64_t next = std::uint64_t{1} << first;
  for (std::uint64_t t = 1; t <= std::uint64_t{1} << last; ++t) {
    kernel.sweep(state, t - 1);
    kernel.read(state, lane, x);
    std::size_t index = 0;
    for (Value value : x) index = 2 * index + value;
    ++counts[index];
    if (t != next) continue;
    double distance = 0;
    for (std::size_t s = 0; s < counts.size(); ++s)
      distance += std::abs(counts[s] / static_cast<double>(t) - exact.probabilities[s]) / 2;
    result.push_back(distance);
    next *= 2;
  }
  return result;
}

Graph independent(std::span<const double> probabilities) {
  Model model;
  model.cardinalities.assign(probabilities.size(), 2);
  for (VariableId v = 0; v < probabilities.size(); ++v) {
    const double unary[2] = {std::log1p(-probabilities[v]), std::log(probabilities[v])};
    model.unaries.add(v, unary);
  }
  return compile(model);
}

std::vector<double> powers_of_two(int first, int last) {
  std::vector<double> times;
  for (int k = first; k <= last; ++k) times.push_back(std::ldexp(1.0, k));
  return times;
}

void add_to(std::vector<double>& sum, const std::vector<double>& term, double weight) {
  sum.resize(term.size(), 0.0);
  for (std::size_t i = 0; i < term.size(); ++i) sum[i] += weight * term[i];
}

}  // namespace

Outcome herded_rates(const Options& options) {
  Outcome outcome;
  const std::uint32_t most_variables = options.quick ? 6 : 8;
  const int first = 8, last = options.quick ? 16 : 22;
  const std::uint32_t repetitions = options.quick ? 3 : 10;
  if (options.quick)
    outcome.notes.push_back(fmt::format("quick: n = 4 .. 6, T to 2^{}, {} models each", last, repetitions));
  Figure complete{.title = "Complete graphs",
                  .caption =
                      "Mean over models of the total variation distance between the states seen and the "
                      "exact joint distribution.",
                  .x_label = "sweeps T",
                  .y_label = "distance",
                  .log_x = true,
                  .log_y = true};
  const std::vector<double> times = powers_of_two(first, last);
  for (std::uint32_t n = 4; n <= most_variables; ++n) {
    // 1/T sets in when every configuration of every variable's neighbours has been met often.
    const auto skip = static_cast<std::size_t>(n);
    std::vector<double> herded_mean, gibbs_mean, herded_slopes, gibbs_slopes;
    for (std::uint32_t r = 0; r < repetitions; ++r) {
      if (options.control.should_stop()) {
        outcome.interrupted = true;
        return outcome;
      }
      options.control.report({fmt::format("complete graph, n = {}", n),
                              (n - 4 + static_cast<double>(r) / repetitions) / (most_variables - 3), 0, 0,
                              0});
      const Graph graph =
          compile(ising(complete_edges(n), Draw::normal(0, 0.3), Draw::normal(0, 0.5), options.seed + r));
      const Enumeration exact = enumerate(graph);
      const SpinGraph spins = spin_graph(graph);
      const std::vector<double> herded =
          distances(HerdedGibbsTables(graph, HerdedSharing::none), exact, first, last, options.seed, r);
      const std::vector<double> gibbs = distances(GibbsSpinLanes(spins), exact, first, last, options.seed, r);
      add_to(herded_mean, herded, 1.0 / repetitions);
      add_to(gibbs_mean, gibbs, 1.0 / repetitions);
      herded_slopes.push_back(log_log_slope(std::span(times).subspan(skip), std::span(herded).subspan(skip)));
      gibbs_slopes.push_back(log_log_slope(std::span(times).subspan(skip), std::span(gibbs).subspan(skip)));
    }
    outcome.rows.push_back({.name = fmt::format("complete graph, n = {}: slope of herded Gibbs", n),
                            .paper = -1,
                            .ours = mean_of(herded_slopes),
                            .spread = deviation_of(herded_slopes),
                            .note = "theorem 2"});
    outcome.rows.push_back({.name = fmt::format("complete graph, n = {}: slope of Gibbs", n),
                            .ours = mean_of(gibbs_slopes),
                            .spread = deviation_of(gibbs_slopes)});
    outcome.claims.push_back({fmt::format("complete graph, n = {}: slope of herded Gibbs at most -0.9", n),
                              mean_of(herded_slopes) <= -0.9});
    complete.curves.push_back({fmt::format("herded, n = {}", n), times, herded_mean});
    if (n == most_variables) complete.curves.push_back({fmt::format("Gibbs, n = {}", n), times, gibbs_mean});
  }
  outcome.figures.push_back(std::move(complete));

  // 1, sqrt(2), sqrt(3), sqrt(5), sqrt(7) are rationally independent.
  const double irrational[4] = {std::sqrt(2.0) - 1, std::sqrt(3.0) - 1, std::sqrt(5.0) - 2,
                                std::sqrt(7.0) - 2};
  const double rational[2] = {0.5, 0.5};
  const auto curve = [&](std::span<const double> probabilities) {
    const Graph graph = independent(probabilities);
    return distances(HerdedGibbsTables(graph, HerdedSharing::none), enumerate(graph), first, last,
                     options.seed, 0);
  };
  const std::vector<double> good = curve(irrational), bad = curve(rational);
  outcome.rows.push_back({.name = "independent, irrational: slope of herded Gibbs",
                          .ours = log_log_slope(times, good),
                          .note = "theorem 1 promises convergence, no rate"});
  outcome.rows.push_back({.name = fmt::format("independent, irrational: distance at T = 2^{}", last),
                          .paper = 0,
                          .ours = good.back(),
                          .note = "the limit, by theorem 1"});
  outcome.rows.push_back({.name = fmt::format("independent, P = 1/2 and 1/2: distance at T = 2^{}", last),
                          .ours = bad.back(),
                          .note = "does not converge"});
  outcome.claims.push_back(
      {"independent, rationally independent probabilities: the distance falls at least as T^-0.5",
       log_log_slope(times, good) < -0.5});
  outcome.claims.push_back({"independent, P = 1/2 and 1/2: the distance stays where it was (1/2)",
                            std::abs(bad.back() - 0.5) < 0.01});
  outcome.figures.push_back(
      {.title = "Independent variables",
       .caption = "Herded Gibbs with rationally independent probabilities, and with 1/2 and 1/2.",
       .x_label = "sweeps T",
       .y_label = "distance",
       .log_x = true,
       .log_y = true,
       .curves = {{"irrational", times, good}, {"1/2 and 1/2", times, bad}}});
  return outcome;
}

}  // namespace drover::experiments
