#include "drover/herd/consistency.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace drover {

namespace {

class Checker {
 public:
  Checker(const Moments& moments, double tolerance) : moments_(moments), tolerance_(tolerance) {
    for (std::size_t f = 0; f < moments.set.size(); ++f)
      number_.emplace(std::pair(moments.set.features[f].order, moments.set.features[f].indicators), f);
  }

  void check_all() {
    const FeatureSet& set = moments_.set;
    neighbours_.resize(set.indicators.size());
    for (std::size_t f = 0; f < set.size(); ++f) {
      const Feature& feature = set.features[f];
      report({f}, "0 <= p", -moments_.values[f]);
      report({f}, "p <= 1", moments_.values[f] - 1);
      if (feature.order == 2) {
        check_pair(f, feature.indicators[0], feature.indicators[1]);
        neighbours_[feature.indicators[0]].push_back(feature.indicators[1]);
      }
      if (feature.order == 3) check_triple(f, feature);
    }
    for (std::uint32_t a = 0; a < set.indicators.size(); ++a)
      for (std::size_t x = 0; x < neighbours_[a].size(); ++x)
        for (std::size_t y = x + 1; y < neighbours_[a].size(); ++y)
          check_three(a, neighbours_[a][x], neighbours_[a][y]);
    check_sums();
  }

  std::vector<Inconsistency> found;

 private:
  static constexpr std::size_t missing = static_cast<std::size_t>(-1);

  std::size_t find(std::uint32_t a) const { return look({1, {a, 0, 0}}); }
  std::size_t find(std::uint32_t a, std::uint32_t b) const { return look({2, {a, b, 0}}); }
  std::size_t look(const std::pair<std::uint32_t, std::array<std::uint32_t, 3>>& key) const {
    const auto at = number_.find(key);
    return at == number_.end() ? missing : at->second;
  }
  double p(std::size_t f) const { return moments_.values[f]; }

  void report(std::vector<std::size_t> features, const char* condition, double excess) {
    if (excess > tolerance_) found.push_back({std::move(features), condition, excess});
  }

  void check_pair(std::size_t ab, std::uint32_t a, std::uint32_t b) {
    const std::size_t one = find(a), two = find(b);
    if (one != missing) report({one, ab}, "p_ab <= p_a", p(ab) - p(one));
    if (two != missing) report({two, ab}, "p_ab <= p_b", p(ab) - p(two));
    if (one != missing && two != missing)
      report({one, two, ab}, "p_a + p_b - 1 <= p_ab", p(one) + p(two) - 1 - p(ab));
  }

  void check_three(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    const std::size_t ab = find(a, b), ac = find(a, c), bc = find(b, c);
    const std::size_t one = find(a), two = find(b), three = find(c);
    if (bc == missing) return;
    if (one != missing)
      report({one, ab, ac, bc}, "p_ab + p_ac - p_bc <= p_a", p(ab) + p(ac) - p(bc) - p(one));
    if (two != missing)
      report({two, ab, bc, ac}, "p_ab + p_bc - p_ac <= p_b", p(ab) + p(bc) - p(ac) - p(two));
    if (three != missing)
      report({three, ac, bc, ab}, "p_ac + p_bc - p_ab <= p_c", p(ac) + p(bc) - p(ab) - p(three));
    if (one != missing && two != missing && three != missing)
      report({one, two, three, ab, ac, bc}, "p_a + p_b + p_c - p_ab - p_ac - p_bc <= 1",
             p(one) + p(two) + p(three) - p(ab) - p(ac) - p(bc) - 1);
  }

  void check_triple(std::size_t abc, const Feature& feature) {
    const auto [a, b, c] = feature.indicators;
    const std::size_t ab = find(a, b), ac = find(a, c), bc = find(b, c);
    for (std::size_t pair : {ab, ac, bc})
      if (pair != missing) report({pair, abc}, "p_abc <= p_ab", p(abc) - p(pair));
    const std::size_t singles[] = {find(a), find(b), find(c)};
    const std::size_t pairs[][2] = {{ab, ac}, {ab, bc}, {ac, bc}};
    for (std::size_t k = 0; k < 3; ++k)
      if (singles[k] != missing && pairs[k][0] != missing && pairs[k][1] != missing)
        report({singles[k], pairs[k][0], pairs[k][1], abc}, "p_ab + p_ac - p_a <= p_abc",
               p(pairs[k][0]) + p(pairs[k][1]) - p(singles[k]) - p(abc));
    for (std::size_t f : {singles[0], singles[1], singles[2], ab, ac, bc})
      if (f == missing) return;
    report({singles[0], singles[1], singles[2], ab, ac, bc, abc},
           "p_abc <= 1 - p_a - p_b - p_c + p_ab + p_ac + p_bc",
           p(abc) - (1 - p(singles[0]) - p(singles[1]) - p(singles[2]) + p(ab) + p(ac) + p(bc)));
  }

  /// The indicators of one variable: at most 1 together, exactly 1 when every state has one.
  void check_sums() {
    const FeatureSet& set = moments_.set;
    for (std::size_t v = 0; v < set.variables(); ++v) {
      std::vector<std::size_t> features;
      double sum = 0;
      for (std::uint32_t b = set.indicator_offsets[v]; b < set.indicator_offsets[v + 1]; ++b) {
        if (const std::size_t f = find(b); f != missing) {
          features.push_back(f);
          sum += p(f);
        }
      }
      if (features.size() < 2) continue;
      if (features.size() == set.cardinalities[v])
        report(features, "states of a variable sum to 1", std::abs(sum - 1));
      else
        report(features, "states of a variable sum to at most 1", sum - 1);
    }
  }

  const Moments& moments_;
  double tolerance_;
  std::map<std::pair<std::uint32_t, std::array<std::uint32_t, 3>>, std::size_t> number_;
  std::vector<std::vector<std::uint32_t>> neighbours_;
};

}  // namespace

std::vector<Inconsistency> find_inconsistencies(const Moments& moments, double tolerance, std::size_t most,
                                                std::size_t* total) {
  Checker checker(moments, tolerance);
  checker.check_all();
  if (total != nullptr) *total = checker.found.size();
  std::stable_sort(checker.found.begin(), checker.found.end(),
                   [](const auto& a, const auto& b) { return a.excess > b.excess; });
  if (checker.found.size() > most) checker.found.resize(most);
  return std::move(checker.found);
}

}  // namespace drover
