#include "drover/herd/features.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>

namespace drover {

namespace {

/// A binary variable needs no indicator of its state 0, unless every cell is a feature.
Value first_value(std::uint32_t cardinality, FeatureCoding coding) {
  return cardinality == 2 && coding != FeatureCoding::cells ? 1 : 0;
}

void index_indicators(FeatureSet& set) {
  set.indicator_offsets.assign(set.variables() + 1, 0);
  for (const Indicator& indicator : set.indicators) ++set.indicator_offsets[indicator.variable + 1];
  for (std::size_t v = 0; v < set.variables(); ++v) set.indicator_offsets[v + 1] += set.indicator_offsets[v];
}

bool before(const Feature& a, const Feature& b) {
  return a.order != b.order ? a.order < b.order : a.indicators < b.indicators;
}

std::uint32_t complete_order(const FeatureSet& set) {
  const std::size_t n = set.variables();
  if (set.indicators.size() != n) return 0;
  for (std::size_t v = 0; v < n; ++v)
    if (set.cardinalities[v] != 2 || set.indicators[v] != Indicator{static_cast<VariableId>(v), 1}) return 0;
  const std::size_t pairs = n * (n - 1) / 2, triples = n < 3 ? 0 : pairs * (n - 2) / 3;
  // The features are distinct, so counting them by order is enough.
  std::array<std::size_t, max_feature_order + 1> count{};
  for (const Feature& feature : set.features) ++count[feature.order];
  if (count[1] != n || count[2] != pairs || n < 2) return 0;
  if (count[3] == triples && triples > 0) return 3;
  return count[3] == 0 ? 2 : 0;
}

void add_combinations(std::span<const std::uint32_t> cardinalities, FeatureCoding coding,
                      std::span<const VariableId> group, std::vector<Indicator>& product,
                      std::vector<std::vector<Indicator>>& products) {
  if (product.size() == group.size()) {
    products.push_back(product);
    return;
  }
  const VariableId v = group[product.size()];
  for (std::uint32_t value = first_value(cardinalities[v], coding); value < cardinalities[v]; ++value) {
    product.push_back({v, static_cast<Value>(value)});
    add_combinations(cardinalities, coding, group, product, products);
    product.pop_back();
  }
}

}  // namespace

std::uint32_t FeatureSet::find(Indicator indicator) const {
  const auto begin = indicators.begin() + indicator_offsets[indicator.variable];
  const auto end = indicators.begin() + indicator_offsets[indicator.variable + 1];
  const auto at = std::lower_bound(begin, end, indicator);
  return at != end && *at == indicator ? static_cast<std::uint32_t>(at - indicators.begin()) : no_indicator;
}

bool FeatureSet::holds(const Feature& feature, std::span<const Value> x) const {
  return std::all_of(feature.members().begin(), feature.members().end(), [&](std::uint32_t member) {
    return x[indicators[member].variable] == indicators[member].value;
  });
}

double FeatureSet::value(const Feature& feature, std::span<const Value> x) const {
  if (coding != FeatureCoding::spins) return holds(feature, x) ? 1 : 0;
  double product = 1;
  for (std::uint32_t member : feature.members()) product *= x[indicators[member].variable] != 0 ? 1 : -1;
  return product;
}

FeatureSet make_features(std::vector<std::uint32_t> cardinalities,
                         std::span<const std::vector<Indicator>> products, FeatureCoding coding) {
  FeatureSet set;
  set.coding = coding;
  set.cardinalities = std::move(cardinalities);
  for (const auto& product : products)
    set.indicators.insert(set.indicators.end(), product.begin(), product.end());
  std::sort(set.indicators.begin(), set.indicators.end());
  set.indicators.erase(std::unique(set.indicators.begin(), set.indicators.end()), set.indicators.end());
  index_indicators(set);
  std::vector<Indicator> sorted;
  for (const auto& product : products) {
    assert(!product.empty() && product.size() <= max_feature_order);
    sorted = product;
    std::sort(sorted.begin(), sorted.end());
    Feature feature;
    for (const Indicator& indicator : sorted) {
      assert(indicator.value < set.cardinalities[indicator.variable]);
      feature.indicators[feature.order++] = set.find(indicator);
    }
    set.features.push_back(feature);
  }
  std::sort(set.features.begin(), set.features.end(), before);
  const auto same = [](const Feature& a, const Feature& b) { return !before(a, b) && !before(b, a); };
  set.features.erase(std::unique(set.features.begin(), set.features.end(), same), set.features.end());
  if (coding == FeatureCoding::ones) set.complete_order = complete_order(set);
  return set;
}

FeatureSet chosen_features(std::vector<std::uint32_t> cardinalities,
                           std::span<const std::vector<VariableId>> groups, FeatureCoding coding) {
  std::vector<std::vector<Indicator>> products;
  std::vector<Indicator> product;
  for (const auto& group : groups) add_combinations(cardinalities, coding, group, product, products);
  return make_features(std::move(cardinalities), products, coding);
}

FeatureSet complete_features(std::vector<std::uint32_t> cardinalities, std::uint32_t order,
                             FeatureCoding coding) {
  assert(order >= 1 && order <= max_feature_order);
  const auto n = static_cast<VariableId>(cardinalities.size());
  std::vector<std::vector<VariableId>> groups;
  for (VariableId i = 0; i < n; ++i) {
    groups.push_back({i});
    for (VariableId j = i + 1; order >= 2 && j < n; ++j) {
      groups.push_back({i, j});
      for (VariableId k = j + 1; order >= 3 && k < n; ++k) groups.push_back({i, j, k});
    }
  }
  return chosen_features(std::move(cardinalities), groups, coding);
}

double complete_feature_count(std::span<const std::uint32_t> cardinalities, std::uint32_t order,
                              FeatureCoding coding) {
  // Elementary symmetric sums of the numbers of indicators.
  std::array<double, max_feature_order + 1> sums{1, 0, 0, 0};
  for (std::uint32_t cardinality : cardinalities)
    for (std::size_t k = max_feature_order; k >= 1; --k)
      sums[k] += sums[k - 1] * static_cast<double>(cardinality - first_value(cardinality, coding));
  double count = 0;
  for (std::size_t k = 1; k <= order; ++k) count += sums[k];
  return count;
}

Moments moments_of(FeatureSet set, std::span<const Value> values, const RunControl& control) {
  const std::size_t n = set.variables(), rows = values.size() / n, words = (rows + 63) / 64;
  assert(rows > 0 && rows * n == values.size());
  // One bit per row and indicator: a moment is then a count of the bits that are set in all members.
  std::vector<std::uint64_t> bits(set.indicators.size() * words, 0);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t v = 0; v < n; ++v)
      for (std::uint32_t k = set.indicator_offsets[v]; k < set.indicator_offsets[v + 1]; ++k)
        if (values[row * n + v] == set.indicators[k].value)
          bits[k * words + row / 64] |= std::uint64_t{1} << (row % 64);
  Moments moments;
  moments.values.reserve(set.size());
  for (const Feature& feature : set.features) {
    if (moments.values.size() % 1024 == 0) fail_if_stopped(control, "counting moments");
    const std::uint64_t* first = &bits[feature.indicators[0] * words];
    const std::uint64_t* second = &bits[feature.indicators[feature.order > 1 ? 1 : 0] * words];
    const std::uint64_t* third = &bits[feature.indicators[feature.order > 2 ? 2 : 0] * words];
    std::uint64_t count = 0;
    if (set.coding == FeatureCoding::spins) {
      // Rows with an odd number of ones; a product of spins is 1 when the number of zeros is even.
      const bool two = feature.order > 1, three = feature.order > 2;
      for (std::size_t w = 0; w < words; ++w)
        count += static_cast<std::uint64_t>(
            std::popcount(first[w] ^ (two ? second[w] : 0) ^ (three ? third[w] : 0)));
      const double mean = 1 - 2 * static_cast<double>(count) / static_cast<double>(rows);
      moments.values.push_back(feature.order % 2 == 0 ? mean : -mean);
      continue;
    }
    for (std::size_t w = 0; w < words; ++w)
      count += static_cast<std::uint64_t>(std::popcount(first[w] & second[w] & third[w]));
    moments.values.push_back(static_cast<double>(count) / static_cast<double>(rows));
  }
  moments.set = std::move(set);
  return moments;
}

std::string feature_text(const FeatureSet& set, std::size_t feature, std::span<const std::string> names) {
  std::string text;
  for (std::uint32_t member : set.features[feature].members()) {
    const auto [variable, value] = set.indicators[member];
    if (!text.empty()) text += ' ';
    text += names.empty() ? std::to_string(variable) : names[variable];
    if (set.coding != FeatureCoding::spins) text += fmt::format("={}", value);
  }
  return text;
}

}  // namespace drover
