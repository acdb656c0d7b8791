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

void shuffle_sites(std::uint64_t seed, std::uint64_t sweep, std::span<std::uint32_t> order) {
  const LaneRandom random(seed, Stream::order);
  std::iota(order.begin(), order.end(), 0U);
  LaneRandom::Words words{};
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t lane = i % LaneRandom::width;
    if (lane == 0) words = random.words(0, sweep, static_cast<std::uint32_t>(i / LaneRandom::width));
    const std::size_t offset = std::uint64_t{words[lane]} * (order.size() - i) >> 32;
    std::swap(order[i], order[i + offset]);
  }
}

}  // namespace drover
