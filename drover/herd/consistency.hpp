// Can these moments be those of a distribution? Simple necessary conditions, each naming its features.
//
//   0 <= p_a <= 1;  Frechet: max(0, p_a + p_b - 1) <= p_ab <= min(p_a, p_b);
//   three at a time (the facets of the correlation polytope of three variables):
//     p_ab + p_ac - p_bc <= p_a,   p_a + p_b + p_c - p_ab - p_ac - p_bc <= 1,
//   with triples: p_abc <= p_ab,  p_abc >= p_ab + p_ac - p_a,
//     p_abc <= 1 - p_a - p_b - p_c + p_ab + p_ac + p_bc;
//   for K states: the indicators of a variable sum to 1.
// Not sufficient: four and more variables have further conditions. The growth of the weights (herding.hpp)
// sees what these miss.
#pragma once

#include <string>
#include <vector>

#include "drover/herd/features.hpp"

namespace drover {

struct Inconsistency {
  std::vector<std::size_t> features;  ///< that contradict each other
  std::string condition;              ///< "p_ab <= p_a", with the features in the order a, b, c, ab, ...
  double excess = 0;                  ///< how far it is violated
};

/// The most violated conditions, at most `most`; `total` (optional) gets their number before that cut.
std::vector<Inconsistency> find_inconsistencies(const Moments& moments, double tolerance = 1e-9,
                                                std::size_t most = 20, std::size_t* total = nullptr);

}  // namespace drover
