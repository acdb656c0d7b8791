// What herding is asked to reproduce: features, and their moments (averages).
//
// An indicator is [x_i = a]; a feature is the product of indicators of one to three different variables. A
// binary variable has the one indicator [x_i = 1], so a product is the usual s_i s_j s_k; a variable of more
// states has one indicator per state. "Order 2" is all singles and pairs (H.XX in the paper), "order 3" adds
// all triples (H.XXX).
//
// The same moments can be coded in several ways, and herding between them differs (docs/herding.md):
//   ones   products of [x_i = 1], as above
//   cells  an indicator for either state of a binary variable too: every cell of a pair's table is a feature
//   spins  products of s_i = 2 x_i - 1 (binary variables only); a feature is worth 1 or -1
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "drover/core/option_list.hpp"
#include "drover/core/run_control.hpp"
#include "drover/core/types.hpp"

namespace drover {

inline constexpr std::size_t max_feature_order = 3;

enum class FeatureCoding { ones, cells, spins };

template <>
struct ChoiceNames<FeatureCoding> {
  static constexpr std::array names = {std::pair{FeatureCoding::spins, std::string_view("spins")},
                                       std::pair{FeatureCoding::cells, std::string_view("cells")},
                                       std::pair{FeatureCoding::ones, std::string_view("ones")}};
};

struct Indicator {
  VariableId variable = 0;
  Value value = 1;
  auto operator<=>(const Indicator&) const = default;
};

/// A product of indicators, in the order of their variables.
struct Feature {
  std::array<std::uint32_t, max_feature_order> indicators{};  ///< the first `order` count
  std::uint32_t order = 0;
  std::span<const std::uint32_t> members() const { return {indicators.data(), order}; }
};

struct FeatureSet {
  static constexpr std::uint32_t no_indicator = 0xFFFFFFFF;

  std::vector<std::uint32_t> cardinalities;
  std::vector<Indicator> indicators;             ///< sorted
  std::vector<std::uint32_t> indicator_offsets;  ///< variable v: indicators[offsets[v] .. offsets[v + 1])
  std::vector<Feature> features;                 ///< sorted: singles, pairs, triples, each lexicographically
  /// 2 or 3 when the variables are binary and exactly all products of that order are there; else 0.
  std::uint32_t complete_order = 0;
  FeatureCoding coding = FeatureCoding::ones;

  std::size_t size() const { return features.size(); }
  std::size_t variables() const { return cardinalities.size(); }
  /// The indicator's number, or no_indicator.
  std::uint32_t find(Indicator indicator) const;
  bool holds(const Feature& feature, std::span<const Value> x) const;
  /// 1 or 0; with spins 1 or -1.
  double value(const Feature& feature, std::span<const Value> x) const;
};

/// A set from products of indicators, in any order, repeats allowed. Every product has one to three different
/// variables and every value is in range (asserted: readers check it).
FeatureSet make_features(std::vector<std::uint32_t> cardinalities,
                         std::span<const std::vector<Indicator>> products,
                         FeatureCoding coding = FeatureCoding::ones);

/// For every group of variables, all products of their indicators.
FeatureSet chosen_features(std::vector<std::uint32_t> cardinalities,
                           std::span<const std::vector<VariableId>> groups,
                           FeatureCoding coding = FeatureCoding::ones);

/// All singles and pairs, and triples when order is 3.
FeatureSet complete_features(std::vector<std::uint32_t> cardinalities, std::uint32_t order,
                             FeatureCoding coding = FeatureCoding::ones);

/// How many features that would be; to refuse before memory runs out.
double complete_feature_count(std::span<const std::uint32_t> cardinalities, std::uint32_t order,
                              FeatureCoding coding = FeatureCoding::ones);

struct Moments {
  FeatureSet set;
  std::vector<double> values;  ///< of every feature
};

/// Averages over a data table; `values` has one row of all variables after the other, at least one row.
Moments moments_of(FeatureSet set, std::span<const Value> values, const RunControl& control = no_control());

/// "x3=1 x7=1": for people. `names` may be empty, then variables are their numbers.
std::string feature_text(const FeatureSet& set, std::size_t feature, std::span<const std::string> names);

}  // namespace drover
