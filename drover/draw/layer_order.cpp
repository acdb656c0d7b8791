#include "drover/draw/layer_order.hpp"

#include <algorithm>
#include <numeric>

namespace drover {

namespace {

using Nodes = std::vector<std::uint32_t>;

/// Sums of counts up to a place.
class FenwickTree {
 public:
  explicit FenwickTree(std::size_t size) : sums_(size + 1) {}
  void add(std::size_t place) {
    for (++place; place < sums_.size(); place += place & (~place + 1)) ++sums_[place];
  }
  std::uint64_t up_to(std::size_t place) const {
    std::uint64_t sum = 0;
    for (++place; place > 0; place &= place - 1) sum += sums_[place];
    return sum;
  }

 private:
  std::vector<std::uint64_t> sums_;
};

/// The nodes as a depth-first walk from the top meets them: subtrees stay together.
void order_by_walk(LayeredGraph& graph) {
  std::vector<std::uint32_t> layer_of(graph.size());
  for (std::uint32_t layer = 0; layer < graph.layers.size(); ++layer)
    for (std::uint32_t v : graph.layers[layer]) layer_of[v] = layer;
  std::vector<Nodes> met(graph.layers.size());
  std::vector<char> seen(graph.size());
  Nodes stack;
  for (const Nodes& layer : graph.layers)
    for (std::uint32_t start : layer) {
      if (!graph.up[start].empty()) continue;
      stack.push_back(start);
      while (!stack.empty()) {
        const std::uint32_t v = stack.back();
        stack.pop_back();
        if (seen[v]) continue;
        seen[v] = 1;
        met[layer_of[v]].push_back(v);
        stack.insert(stack.end(), graph.down[v].rbegin(), graph.down[v].rend());
      }
    }
  graph.layers = std::move(met);
}

void update_places(const Nodes& layer, std::vector<std::uint32_t>& place) {
  for (std::uint32_t k = 0; k < layer.size(); ++k) place[layer[k]] = k;
}

/// Nodes with neighbours, sorted by their mean place; the others stay where they are. Ties keep their order,
/// or turn it round, so that a sweep can leave an order that is equally good.
void sort_by_barycentre(Nodes& layer, const std::vector<Nodes>& neighbours, std::vector<std::uint32_t>& place,
                        bool turn_ties) {
  std::vector<std::pair<double, std::uint32_t>> moved;
  for (std::uint32_t v : layer) {
    if (neighbours[v].empty()) continue;
    double sum = 0;
    for (std::uint32_t u : neighbours[v]) sum += place[u];
    moved.emplace_back(sum / static_cast<double>(neighbours[v].size()), v);
  }
  if (turn_ties) std::reverse(moved.begin(), moved.end());
  std::stable_sort(moved.begin(), moved.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::size_t next = 0;
  for (std::uint32_t& v : layer)
    if (!neighbours[v].empty()) v = moved[next++].second;
  update_places(layer, place);
}

/// Crossings of the arcs of u with those of v when u stands left; both lists of places are sorted.
std::uint64_t crossings_between(const Nodes& of_u, const Nodes& of_v) {
  std::uint64_t count = 0;
  std::size_t left = 0;
  for (std::uint32_t place : of_u) {
    while (left < of_v.size() && of_v[left] < place) ++left;
    count += left;
  }
  return count;
}

Nodes sorted_places(const Nodes& neighbours, const std::vector<std::uint32_t>& place) {
  Nodes places;
  places.reserve(neighbours.size());
  for (std::uint32_t u : neighbours) places.push_back(place[u]);
  std::sort(places.begin(), places.end());
  return places;
}

/// Exchanges neighbours in every layer while that removes crossings.
void exchange_neighbours(LayeredGraph& graph, std::vector<std::uint32_t>& place) {
  for (int round = 0; round < 8; ++round) {
    bool changed = false;
    for (Nodes& layer : graph.layers) {
      std::vector<Nodes> above, below;
      for (std::uint32_t v : layer) {
        above.push_back(sorted_places(graph.up[v], place));
        below.push_back(sorted_places(graph.down[v], place));
      }
      for (std::size_t k = 0; k + 1 < layer.size(); ++k) {
        const std::uint64_t now =
            crossings_between(above[k], above[k + 1]) + crossings_between(below[k], below[k + 1]);
        if (now == 0) continue;
        const std::uint64_t then =
            crossings_between(above[k + 1], above[k]) + crossings_between(below[k + 1], below[k]);
        if (then >= now) continue;
        std::swap(layer[k], layer[k + 1]);
        std::swap(above[k], above[k + 1]);
        std::swap(below[k], below[k + 1]);
        changed = true;
      }
      update_places(layer, place);
    }
    if (!changed) return;
  }
}

}  // namespace

std::uint64_t count_crossings(const LayeredGraph& graph) {
  const std::vector<std::uint32_t> place = graph.places();
  std::uint64_t crossings = 0;
  for (std::size_t layer = 0; layer + 1 < graph.layers.size(); ++layer) {
    FenwickTree ends(graph.layers[layer + 1].size());
    std::uint64_t arcs = 0;
    for (std::uint32_t u : graph.layers[layer]) {  // arcs of one node do not cross: count first, then add
      for (std::uint32_t v : graph.down[u]) crossings += arcs - ends.up_to(place[v]);
      for (std::uint32_t v : graph.down[u]) ends.add(place[v]);
      arcs += graph.down[u].size();
    }
  }
  return crossings;
}

void reduce_crossings(LayeredGraph& graph) {
  order_by_walk(graph);
  std::vector<std::uint32_t> place = graph.places();
  exchange_neighbours(graph, place);
  std::vector<Nodes> best = graph.layers;
  std::uint64_t fewest = count_crossings(graph);
  const std::size_t depth = graph.layers.size();
  for (int sweep = 0, in_vain = 0; sweep < 40 && in_vain < 8 && fewest > 0; ++sweep) {
    const bool turn_ties = sweep % 4 >= 2;
    if (sweep % 2 == 0)
      for (std::size_t layer = 1; layer < depth; ++layer)
        sort_by_barycentre(graph.layers[layer], graph.up, place, turn_ties);
    else
      for (std::size_t layer = depth; layer-- > 0;)
        sort_by_barycentre(graph.layers[layer], graph.down, place, turn_ties);
    exchange_neighbours(graph, place);
    const std::uint64_t crossings = count_crossings(graph);
    ++in_vain;
    if (crossings >= fewest) continue;
    fewest = crossings;
    best = graph.layers;
    in_vain = 0;
  }
  graph.layers = std::move(best);
}

}  // namespace drover
