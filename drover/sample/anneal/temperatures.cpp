#include "drover/sample/anneal/temperatures.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <map>

namespace drover {

namespace {

/// How far one variable can move the score: the sum over its factors, and the root of the sum of squares
/// (about what is felt when the factors disagree).
struct Feel {
  double sum = 0;
  double squares = 0;

  void add(double change) {
    sum += change;
    squares += change * change;
  }
};

/// The largest difference within count finite values, stride apart.
double change_along(const double* values, std::size_t count, std::size_t stride) {
  double least = std::numeric_limits<double>::infinity();
  double most = log_zero;
  for (std::size_t k = 0; k < count; ++k) {
    const double value = values[k * stride];
    if (value == log_zero) continue;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  return most > least ? most - least : 0;
}

std::vector<Feel> feels(const Graph& graph) {
  std::vector<Feel> result(graph.size());
  for (VariableId v = 0; v < graph.size(); ++v)
    result[v].add(change_along(graph.unary_of(v).data(), graph.cardinalities[v], 1));
  const auto add_pairs = [&](const Pairs& pairs, double factor) {
    for (std::size_t f = 0; f < pairs.size(); ++f) {
      const double change = factor * std::abs(pairs.couplings[f]);
      result[pairs.first[f]].add(change);
      result[pairs.second[f]].add(change);
    }
  };
  add_pairs(graph.spin_pairs, 2);
  add_pairs(graph.potts_pairs, 1);
  // A tied table is looked at once for each stride and number of states.
  std::map<std::array<std::size_t, 3>, double> known;
  for (std::size_t f = 0; f < graph.tables.size(); ++f) {
    const auto table = graph.tables.values(f);
    std::size_t stride = table.size();
    for (VariableId v : graph.tables.scope(f)) {
      const std::size_t states = graph.cardinalities[v];
      stride /= states;
      const auto [most, is_new] = known.try_emplace({graph.tables.table_of[f], states, stride}, 0.0);
      for (std::size_t block = 0; is_new && block < table.size(); block += states * stride)
        for (std::size_t base = block; base < block + stride; ++base)
          most->second = std::max(most->second, change_along(table.data() + base, states, stride));
      result[v].add(most->second);
    }
  }
  return result;
}

// Sum of beta * change / 2 over the factors of any variable; Dobrushin's condition asks for less than 1.
constexpr double hot_influence = 0.75;
// Best within a factor of two on spin glasses with couplings +-1 and normal: grids, degree 8, dense.
constexpr double cold_changes = 14;

}  // namespace

TemperatureRange temperature_range(const Graph& graph) {
  double most = 0;
  std::vector<double> typical;
  for (const Feel& feel : feels(graph)) {
    most = std::max(most, feel.sum);
    if (feel.sum > 0) typical.push_back(std::sqrt(feel.squares));
  }
  if (typical.empty()) return {1, 1};
  const auto tenth = typical.begin() + static_cast<std::ptrdiff_t>(typical.size() / 10);
  std::nth_element(typical.begin(), tenth, typical.end());
  return {2 * hot_influence / most, cold_changes / *tenth};
}

double cooled(Cooling cooling, TemperatureRange range, double progress) {
  assert(range.hot > 0 && range.cold >= range.hot && progress >= 0 && progress <= 1);
  return cooling == Cooling::linear ? 1 / ((1 - progress) / range.hot + progress / range.cold)
                                    : range.hot * std::pow(range.cold / range.hot, progress);
}

std::vector<double> rising_inverse_temperatures(const Graph& graph, double hottest, std::size_t count) {
  assert(count >= 2);
  std::vector<double> rising(count, hottest);
  const double low = std::max(hottest, std::min(0.5, temperature_range(graph).hot));
  const std::size_t first = hottest < low ? 1 : 0;
  for (std::size_t t = first; t < count; ++t) {
    const double share =
        static_cast<double>(t - first) / static_cast<double>(std::max<std::size_t>(1, count - 1 - first));
    rising[t] = low * std::pow(1 / low, share);
  }
  rising.back() = 1;
  return rising;
}

EqualCostPath::EqualCostPath(std::span<const double> inverse_temperatures, std::span<const double> costs)
    : inverse_temperatures_(inverse_temperatures.begin(), inverse_temperatures.end()), costs_before_{0} {
  assert(inverse_temperatures.size() == costs.size() + 1 && !costs.empty());
  double total = 0;
  for (double cost : costs) total += cost;
  // A step that seemed free still gets a little, so that the curve can be inverted.
  const double least = total > 0 ? 1e-6 * total / static_cast<double>(costs.size()) : 1;
  for (double cost : costs) costs_before_.push_back(costs_before_.back() + std::max(cost, least));
}

double EqualCostPath::at(std::uint64_t step, std::uint64_t steps) const {
  assert(step <= steps);
  if (step == 0) return inverse_temperatures_.front();
  if (step == steps) return inverse_temperatures_.back();
  const double wanted = costs_before_.back() * static_cast<double>(step) / static_cast<double>(steps);
  const auto after = std::lower_bound(costs_before_.begin() + 1, costs_before_.end() - 1, wanted);
  const auto t = static_cast<std::size_t>(after - costs_before_.begin()) - 1;
  const double share = std::min(1.0, (wanted - costs_before_[t]) / (costs_before_[t + 1] - costs_before_[t]));
  return (1 - share) * inverse_temperatures_[t] + share * inverse_temperatures_[t + 1];
}

std::vector<double> equal_cost_spacing(std::span<const double> inverse_temperatures,
                                       std::span<const double> costs, std::size_t count) {
  assert(count >= 2);
  const EqualCostPath path(inverse_temperatures, costs);
  std::vector<double> spaced(count);
  for (std::size_t t = 0; t < count; ++t) spaced[t] = path.at(t, count - 1);
  return spaced;
}

}  // namespace drover
