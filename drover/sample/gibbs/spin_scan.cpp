#include "drover/sample/gibbs/spin_scan.hpp"

#include <numeric>
#include <utility>

#include "drover/sample/lane_random.hpp"

namespace drover {

bool is_scattered(const SpinGraph& graph) {
  constexpr std::size_t cached = std::size_t{1} << 17, near = std::size_t{1} << 13;
  if (graph.size() < cached) return false;
  std::size_t far = 0;
  for (std::size_t i = 0; i < graph.size(); ++i)
    for (std::size_t j : graph.neighbours(i)) far += (j > i ? j - i : i - j) > near;
  return far > graph.neighbour.size() / 8;
}

}  // namespace drover
