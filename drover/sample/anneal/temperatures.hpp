// Inverse temperatures: the range worth annealing over, schedules within it, and the equal-cost spacing that
// tempering and annealed importance sampling share.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/graph.hpp"

namespace drover {

/// Inverse temperatures from hot (small) to cold (large).
struct TemperatureRange {
  double hot = 0;
  double cold = 0;
};

/// Hot: the most strongly coupled variable still satisfies Dobrushin's condition, so that single-site
/// sampling mixes fast on any graph. Cold: 14 over what a weakly coupled variable (the 10 % quantile) feels
/// of its factors when they disagree, the root of the sum of squared changes. Not the smallest gap: with
/// continuous couplings that is near 0 and would leave most of a schedule frozen, and coordinate ascent ends
/// the matter anyway. Both ignore hard zeros.
TemperatureRange temperature_range(const Graph& graph);

enum class Cooling {
  linear,     ///< the temperature falls by equal steps (the herded Gibbs paper's schedule)
  geometric,  ///< the inverse temperature grows by equal factors
};

/// The inverse temperature when so much of a schedule is over: range.hot at 0, range.cold at 1.
double cooled(Cooling cooling, TemperatureRange range, double progress);

/// `count` >= 2 inverse temperatures from `hottest` to 1, for a start: the hot end (which may be 0), then
/// equal factors from the hottest useful inverse temperature of the graph.
std::vector<double> rising_inverse_temperatures(const Graph& graph, double hottest, std::size_t count);

/// A way from the first to the last of some inverse temperatures in steps that cost the same, where
/// `costs[t]` is what the step from t to t + 1 cost and cost is taken to be spread evenly within a step.
/// Steps of no cost at all are spread evenly too. Memory does not depend on the number of steps.
class EqualCostPath {
 public:
  EqualCostPath(std::span<const double> inverse_temperatures, std::span<const double> costs);
  /// After `step` of `steps` steps.
  double at(std::uint64_t step, std::uint64_t steps) const;

 private:
  std::vector<double> inverse_temperatures_;
  std::vector<double> costs_before_;  ///< of all steps before t; one more than steps
};

/// The `count` >= 2 inverse temperatures of an EqualCostPath.
std::vector<double> equal_cost_spacing(std::span<const double> inverse_temperatures,
                                       std::span<const double> costs, std::size_t count);

}  // namespace drover
