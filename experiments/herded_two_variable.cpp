// Herded Gibbs, figure 3: the error of P(X1 = 1) against the number of sweeps T in a model of two variables,
//
//              X1 = 0      X1 = 1
//   X2 = 0   1/4 - eps       eps
//   X2 = 1      eps       3/4 - eps
//
// which is harder the smaller eps is. As in the paper the curve of herded Gibbs is the upper envelope of its
// error (the largest error from T on), since the error itself oscillates through zero. Slopes are fitted from
// T = 100 / eps on: before that a chain has hardly left its first state.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "drover/compile/graph.hpp"
#include "drover/compile/spin_graph.hpp"
#include "drover/sample/gibbs/gibbs_spin_lanes.hpp"
#include "drover/sample/herded/herded_gibbs_tables.hpp"
#include "experiments/all.hpp"

namespace drover::experiments {

namespace {

constexpr double truth = 0.75;

Graph two_variables(double epsilon) {
  Model model;
  model.cardinalities = {2, 2};
  const VariableId scope[2] = {0, 1};
  const double table[4] = {std::log(0.25 - epsilon), std::log(epsilon), std::log(epsilon),
                           std::log(0.75 - epsilon)};
  model.tables.add(scope, table);
  return compile(model);
}

/// Ten values of T per decade, from 10 to `last`.
std::vector<std::uint64_t> checkpoints(std::uint64_t last) {
  std::vector<std::uint64_t> times;
  for (int k = 10;; ++k) {
    const auto t = static_cast<std::uint64_t>(std::llround(std::pow(10.0, k / 10.0)));
    if (t > last) return times;
    times.push_back(t);
  }
}

/// The root mean square over chains of the upper envelope of |mean of X1 - truth|, at the times asked for.
/// The run goes on to four times the last one, so that the envelope there has a future to look at.
std::vector<double> herded_errors(const Graph& graph, std::span<const std::uint64_t> times,
                                  std::uint32_t chains, std::uint64_t seed) {
  const HerdedGibbsTables kernel(graph, HerdedSharing::none);
  std::vector<double> squares(times.size(), 0.0);
  Value x[2];
  for (std::uint32_t chain = 0; chain < chains; ++chain) {
    auto state = kernel.start(seed, chain);
    std::vector<double> largest(times.size() + 1, 0.0);  // error within [times[i], times[i + 1])
    double ones = 0;
    std::size_t interval = 0;  // times passed
    for (std::uint64_t t = 1; t <= 4 * times.back(); ++t) {
      kernel.sweep(state, t - 1);
      kernel.read(state, 0, x);
      ones += x[0];
      if (interval < times.size() && t == times[interval]) ++interval;
      largest[interval] = std::max(largest[interval], std::abs(ones / static_cast<double>(t) - truth));
    }
    double envelope = 0;
    for (std::size_t i = times.size(); i-- > 0;) {
      envelope = std::max(envelope, largest[i + 1]);
      squares[i] += envelope * envelope;
    }
  }
  for (double& s : squares) s = std::sqrt(s / chains);
  return squares;
}

/// The root mean square error of as many chains as there are lanes.
std::vector<double> gibbs_errors(const Graph& graph, std::span<const std::uint64_t> times,
                                 std::uint64_t seed) {
  const SpinGraph spins = spin_graph(graph);
  const GibbsSpinLanes kernel(spins);
  std::vector<double> ones(kernel.lanes(), 0.0), errors;
  auto state = kernel.start(seed, 0);
  Value x[2];
  std::size_t next = 0;
  for (std::uint64_t t = 1; t <= times.back(); ++t) {
    kernel.sweep(state, t - 1);
    for (std::uint32_t lane = 0; lane < kernel.lanes(); ++lane) {
      kernel.read(state, lane, x);
      ones[lane] += x[0];
    }
    if (t != times[next]) continue;
    ++next;
    double squares = 0;
    for (double count : ones) squares += std::pow(count / static_cast<double>(t) - truth, 2);
    errors.push_back(std::sqrt(squares / static_cast<double>(ones.size())));
  }
  return errors;
}

}  // namespace

Outcome herded_two_variable(const Options& options) {
  Outcome outcome;
  const std::vector<double> all_epsilons = {0.1, 0.01, 0.001, 0.0001};
  const std::size_t used = options.quick ? 2 : all_epsilons.size();
  if (options.quick) outcome.notes.emplace_back("quick: eps = 0.1 and 0.01 only, shorter runs");
  for (std::size_t e = 0; e < used; ++e) {
    if (options.control.should_stop()) {
      outcome.interrupted = true;
      break;
    }
    options.control.report({fmt::format("eps = {}", all_epsilons[e]),
                            static_cast<double>(e) / static_cast<double>(used), 0, 0, 0});
    const double epsilon = all_epsilons[e];
    const Graph graph = two_variables(epsilon);
    const double first = 100 / epsilon;
    const auto times = checkpoints(static_cast<std::uint64_t>(first * (options.quick ? 10 : 100)));
    const std::vector<double> herded = herded_errors(graph, times, options.quick ? 4 : 16, options.seed);
    const std::vector<double> gibbs = gibbs_errors(graph, times, options.seed);
    const std::vector<double> t(times.begin(), times.end());
    const auto start = static_cast<std::size_t>(std::lower_bound(t.begin(), t.end(), first) - t.begin());
    const auto slope = [&](const std::vector<double>& errors) {
      return log_log_slope(std::span(t).subspan(start), std::span(errors).subspan(start));
    };
    const double herded_slope = slope(herded), gibbs_slope = slope(gibbs);
    outcome.rows.push_back({.name = fmt::format("eps = {}: slope of herded Gibbs", epsilon),
                            .paper = -1,
                            .ours = herded_slope,
                            .note = "the paper shows a line of slope -1"});
    outcome.rows.push_back({.name = fmt::format("eps = {}: slope of Gibbs", epsilon),
                            .paper = -0.5,
                            .ours = gibbs_slope,
                            .note = "the paper shows a line of slope -1/2"});
    outcome.rows.push_back(
        {.name = fmt::format("eps = {}: error of Gibbs / herded Gibbs at T = {:.0f}", epsilon, t.back()),
         .ours = gibbs.back() / herded.back()});
    outcome.claims.push_back(
        {fmt::format("eps = {}: the error of herded Gibbs falls as 1/T (slope within 0.15 of -1)", epsilon),
         std::abs(herded_slope + 1) < 0.15});
    outcome.claims.push_back(
        {fmt::format("eps = {}: the error of Gibbs falls as 1/sqrt(T) (slope within 0.15 of -1/2)", epsilon),
         std::abs(gibbs_slope + 0.5) < 0.15});
    outcome.figures.push_back(
        {.title = fmt::format("Error of P(X1 = 1), eps = {}", epsilon),
         .caption = "Root mean square over chains; for herded Gibbs the largest error from T on.",
         .x_label = "sweeps T",
         .y_label = "error",
         .log_x = true,
         .log_y = true,
         .curves = {{"herded Gibbs", t, herded}, {"Gibbs", t, gibbs}}});
  }
  return outcome;
}

}  // namespace drover::experiments
