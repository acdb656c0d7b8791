#include "drover/sample/temperatures.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace drover {

namespace {

constexpr double no_gap = std::numeric_limits<double>::infinity();

/// What one variable feels: how far all its factors together can move the score, and the smallest change that
/// one of them can make.
struct Feel {
  double spread = 0;
  double gap = no_gap;

  void add(double factor_spread, double factor_gap) {
    spread += factor_spread;
    if (factor_gap > 0) gap = std::min(gap, factor_gap);
  }
};

/// The finite values of one row of a table (all else fixed): largest and smallest difference.
Feel row_feel(std::vector<double>& row) {
  std::sort(row.begin(), row.end());
  Feel feel;
  if (row.size() < 2) return feel;
  feel.spread = row.back() - row.front();
  for (std::size_t k = 1; k < row.size(); ++k)
    if (row[k] > row[k - 1]) feel.gap = std::min(feel.gap, row[k] - row[k - 1]);
  return feel;
}

std::vector<Feel> feels(const Graph& graph) {
  std::vector<Feel> result(graph.size());
  std::vector<double> row;
  for (VariableId v = 0; v < graph.size(); ++v) {
    row.clear();
    for (double value : graph.unary_of(v))
      if (value != log_zero) row.push_back(value);
    const Feel feel = row_feel(row);
    result[v].add(feel.spread, feel.gap);
  }
  const auto add_pairs = [&](const Pairs& pairs, double factor) {
    for (std::size_t f = 0; f < pairs.size(); ++f) {
      const double change = factor * std::abs(pairs.couplings[f]);
      result[pairs.first[f]].add(change, change);
      result[pairs.second[f]].add(change, change);
    }
  };
  add_pairs(graph.spin_pairs, 2);
  add_pairs(graph.potts_pairs, 1);
  for (std::size_t f = 0; f < graph.tables.size(); ++f) {
    const auto scope = graph.tables.scope(f);
    const auto table = graph.tables.values(f);
    std::size_t stride = table.size();
    for (VariableId v : scope) {
      const std::size_t states = graph.cardinalities[v];
      stride /= states;
      Feel most;
      for (std::size_t base = 0; base < table.size(); ++base) {
        if (base / stride % states != 0) continue;
        row.clear();
        for (std::size_t k = 0; k < states; ++k)
          if (table[base + k * stride] != log_zero) row.push_back(table[base + k * stride]);
        const Feel feel = row_feel(row);
        most.spread = std::max(most.spread, feel.spread);
        most.gap = std::min(most.gap, feel.gap);
      }
      result[v].add(most.spread, most.gap);
    }
  }
  return result;
}

}  // namespace

TemperatureRange temperature_range(const Graph& graph) {
  double most = 0;
  std::vector<double> gaps;
  for (const Feel& feel : feels(graph)) {
    most = std::max(most, feel.spread);
    if (feel.gap < no_gap) gaps.push_back(feel.gap);
  }
  if (gaps.empty()) return {1, 1};
  const auto tenth = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 10);
  std::nth_element(gaps.begin(), tenth, gaps.end());
  const double hot = std::log(2.0) / most;
  return {hot, std::max(hot, std::log(100.0) / *tenth)};
}

std::vector<float> cooling_schedule(Cooling cooling, TemperatureRange range, std::uint64_t sweeps) {
  assert(range.hot > 0 && range.cold >= range.hot);
  std::vector<float> schedule(sweeps);
  for (std::uint64_t s = 0; s < sweeps; ++s) {
    const double share = sweeps == 1 ? 1 : static_cast<double>(s) / static_cast<double>(sweeps - 1);
    const double inverse = cooling == Cooling::linear ? 1 / ((1 - share) / range.hot + share / range.cold)
                                                      : range.hot * std::pow(range.cold / range.hot, share);
    schedule[s] = static_cast<float>(inverse);
  }
  return schedule;
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

std::vector<double> equal_cost_spacing(std::span<const double> inverse_temperatures,
                                       std::span<const double> costs, std::size_t count) {
  assert(inverse_temperatures.size() == costs.size() + 1 && count >= 2);
  double total = 0;
  for (double cost : costs) total += cost;
  // A step that seemed free still gets a little, so that the curve can be inverted.
  const double least = total > 0 ? 1e-6 * total / static_cast<double>(costs.size()) : 1;
  total = 0;
  for (double cost : costs) total += std::max(cost, least);

  std::vector<double> spaced(count);
  std::size_t step = 0;
  double before = 0;  // cost of the steps left behind
  for (std::size_t t = 1; t + 1 < count; ++t) {
    const double wanted = total * static_cast<double>(t) / static_cast<double>(count - 1);
    while (step + 1 < costs.size() && before + std::max(costs[step], least) < wanted)
      before += std::max(costs[step++], least);
    const double share = std::min(1.0, (wanted - before) / std::max(costs[step], least));
    spaced[t] = (1 - share) * inverse_temperatures[step] + share * inverse_temperatures[step + 1];
  }
  spaced.front() = inverse_temperatures.front();
  spaced.back() = inverse_temperatures.back();
  return spaced;
}

}  // namespace drover
