#include "drover/compile/colouring.hpp"

#include <algorithm>
#include <limits>

#include "drover/compile/stoppable.hpp"
#include "drover/core/stop_check.hpp"

namespace drover {

namespace {

constexpr std::uint32_t no_colour = std::numeric_limits<std::uint32_t>::max();

struct Rows {
  std::span<const std::size_t> offsets;
  std::span<const VariableId> list;
  std::size_t size() const { return offsets.size() - 1; }
  std::span<const VariableId> of(std::size_t v) const {
    return list.subspan(offsets[v], offsets[v + 1] - offsets[v]);
  }
};

// Two colours by breadth-first search, or an empty vector when some cycle is odd.
std::vector<std::uint32_t> two_colours(const Rows& rows, StopCheck& check) {
  std::vector<std::uint32_t> colour(rows.size(), no_colour);
  std::vector<VariableId> queue;
  queue.reserve(rows.size());
  for (std::size_t root = 0; root < rows.size(); ++root) {
    if (colour[root] != no_colour) continue;
    colour[root] = 0;
    std::size_t next = queue.size();
    queue.push_back(static_cast<VariableId>(root));
    for (; next < queue.size(); ++next) {
      const VariableId v = queue[next];
      check.step();
      for (VariableId u : rows.of(v)) {
        if (colour[u] == colour[v]) return {};
        if (colour[u] != no_colour) continue;
        colour[u] = 1 - colour[v];
        queue.push_back(u);
      }
    }
  }
  return colour;
}

// The order in which variables of least remaining degree are taken away.
std::vector<VariableId> smallest_first(const Rows& rows, StopCheck& check) {
  std::size_t highest = 0;
  for (std::size_t v = 0; v < rows.size(); ++v) highest = std::max(highest, rows.of(v).size());
  // `order` is kept sorted by remaining degree; begin[d] is where degree d starts (Batagelj and Zaversnik).
  std::vector<std::size_t> degree(rows.size()), begin(highest + 2, 0), place(rows.size());
  for (std::size_t v = 0; v < rows.size(); ++v) ++begin[(degree[v] = rows.of(v).size()) + 1];
  for (std::size_t d = 0; d <= highest; ++d) begin[d + 1] += begin[d];
  std::vector<VariableId> order(rows.size());
  std::vector<std::size_t> next = begin;
  for (std::size_t v = 0; v < rows.size(); ++v)
    order[place[v] = next[degree[v]]++] = static_cast<VariableId>(v);
  for (std::size_t k = 0; k < order.size(); ++k) {
    const VariableId v = order[k];
    check.step();
    for (VariableId u : rows.of(v)) {
      if (degree[u] <= degree[v]) continue;
      // Moves u to the front of its bucket, and the bucket's start beyond it.
      const std::size_t front = begin[degree[u]];
      const VariableId other = order[front];
      std::swap(order[place[u]], order[front]);
      std::swap(place[u], place[other]);
      begin[degree[u]--] = front + 1;
    }
  }
  return order;
}

std::vector<std::uint32_t> greedy_colours(const Rows& rows, StopCheck& check) {
  const std::vector<VariableId> order = smallest_first(rows, check);
  std::vector<std::uint32_t> colour(rows.size(), no_colour);
  std::vector<VariableId> used_by(1, no_variable);  // the last variable that had a neighbour of this colour
  for (std::size_t k = order.size(); k-- > 0;) {
    const VariableId v = order[k];
    check.step();
    for (VariableId u : rows.of(v))
      if (colour[u] != no_colour) used_by[colour[u]] = v;
    std::uint32_t free = 0;
    while (free < used_by.size() && used_by[free] == v) ++free;
    if (free == used_by.size()) used_by.push_back(no_variable);
    colour[v] = free;
  }
  return colour;
}

}  // namespace

Colouring colour_variables(std::span<const std::size_t> offsets, std::span<const VariableId> neighbours) {
  return colour_variables(offsets, neighbours, no_control());
}

Colouring colour_variables(std::span<const std::size_t> offsets, std::span<const VariableId> neighbours,
                           const RunControl& control) {
  const Rows rows{offsets, neighbours};
  StopCheck check(control, "the variables", "were coloured");
  Colouring result;
  result.colour = two_colours(rows, check);
  if (result.colour.size() < rows.size()) result.colour = greedy_colours(rows, check);
  result.offsets.push_back(0);
  for (std::uint32_t c : result.colour) {
    if (c + 2 > result.offsets.size()) result.offsets.resize(c + 2, 0);
    ++result.offsets[c + 1];
  }
  for (std::size_t c = 0; c < result.count(); ++c) result.offsets[c + 1] += result.offsets[c];
  result.members.resize(rows.size());
  std::vector<std::size_t> next = result.offsets;
  for (std::size_t v = 0; v < rows.size(); ++v)
    result.members[next[result.colour[v]]++] = static_cast<VariableId>(v);
  return result;
}

}  // namespace drover
