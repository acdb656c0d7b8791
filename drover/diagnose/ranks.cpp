#include "drover/diagnose/ranks.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "drover/diagnose/normal_quantile.hpp"
#include "drover/diagnose/patience.hpp"

namespace drover {

std::vector<double> rank_normalise(std::span<const double> values, const RunControl& control) {
  StopCheck check = diagnosis_check(control);
  std::vector<std::pair<double, std::size_t>> order;
  order.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    order.emplace_back(values[i], i);
    check.step();
  }
  patient_sort(order, check);
  std::vector<double> scores;
  grow_patiently(scores, values.size(), 0.0, check);
  const double count = static_cast<double>(values.size());
  for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
    while (last < order.size() && order[last].first == order[first].first) ++last;
    check.step(8 + last - first);
    const double rank = (static_cast<double>(first + 1) + static_cast<double>(last)) / 2;
    const double score = normal_quantile((rank - 0.375) / (count + 0.25));
    for (std::size_t i = first; i < last; ++i) scores[order[i].second] = score;
  }
  return scores;
}

std::vector<double> fold(std::span<const double> values, const RunControl& control) {
  StopCheck check = diagnosis_check(control);
  std::vector<double> folded;
  folded.reserve(values.size());
  append_patiently(folded, values, check);
  const auto middle = folded.begin() + static_cast<std::ptrdiff_t>(folded.size() / 2);
  std::nth_element(folded.begin(), middle, folded.end());
  double median = *middle;
  check.ask();
  if (folded.size() % 2 == 0) median = (median + *std::max_element(folded.begin(), middle)) / 2;
  std::transform(values.begin(), values.end(), folded.begin(),
                 [median](double value) { return std::abs(value - median); });
  return folded;
}

double sorted_quantile(std::span<const double> sorted, double p) {
  assert(!sorted.empty() && p >= 0 && p <= 1);
  const double place = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  if (below + 1 >= sorted.size()) return sorted.back();
  const double share = place - static_cast<double>(below);
  return sorted[below] + share * (sorted[below + 1] - sorted[below]);
}

}  // namespace drover
