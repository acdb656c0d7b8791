#include "drover/infer/tree_schedule.hpp"

#include <atomic>
#include <memory>

#include "drover/core/parallel.hpp"

namespace drover {

TreeSchedule::TreeSchedule(std::span<const std::uint32_t> parent, std::span<const double> cost,
                           double unit_cost) {
  const std::size_t n = parent.size();
  std::vector<double> open(n, 0.0);  // cost of the node with its descendants that belong to no unit yet
  std::vector<std::uint32_t> unit_of(n, no_node);
  std::uint32_t units = 0;
  double open_roots = 0;
  for (std::size_t c = 0; c < n; ++c) {
    open[c] += cost[c];
    if (parent[c] == no_node) {
      // Small trees share units: the roots since the last closed one carry the same unit number.
      unit_of[c] = units;
      open_roots += open[c];
      if (open_roots >= unit_cost) {
        ++units;
        open_roots = 0;
      }
    } else if (open[c] >= unit_cost) {
      // A number taken here must not be that of the shared unit still open.
      if (open_roots > 0) {
        ++units;
        open_roots = 0;
      }
      unit_of[c] = units++;
    } else {
      open[parent[c]] += open[c];
    }
  }
  if (open_roots > 0) ++units;

  for (std::size_t c = n; c-- > 0;)
    if (unit_of[c] == no_node) unit_of[c] = unit_of[parent[c]];
  unit_parent_.assign(units, no_node);
  unit_offsets_.assign(units + 1, 0);
  child_offsets_.assign(units + 1, 0);
  for (std::size_t c = 0; c < n; ++c) {
    ++unit_offsets_[unit_of[c] + 1];
    if (parent[c] != no_node && unit_of[parent[c]] != unit_of[c])
      unit_parent_[unit_of[c]] = unit_of[parent[c]];
  }
  for (std::uint32_t up : unit_parent_)
    if (up != no_node) ++child_offsets_[up + 1];
  for (std::size_t u = 0; u < units; ++u) {
    unit_offsets_[u + 1] += unit_offsets_[u];
    child_offsets_[u + 1] += child_offsets_[u];
  }
  nodes_.resize(n);
  std::vector<std::size_t> cursor(unit_offsets_.begin(), unit_offsets_.end() - 1);
  for (std::size_t c = 0; c < n; ++c) nodes_[cursor[unit_of[c]]++] = static_cast<std::uint32_t>(c);
  unit_children_.resize(child_offsets_[units]);
  cursor.assign(child_offsets_.begin(), child_offsets_.end() - 1);
  for (std::uint32_t u = 0; u < units; ++u)
    if (unit_parent_[u] != no_node) unit_children_[cursor[unit_parent_[u]]++] = u;
}

void TreeSchedule::upward(const std::function<void(std::uint32_t)>& visit) const {
  const std::size_t units = unit_parent_.size();
  const auto waiting = std::make_unique<std::atomic<std::size_t>[]>(units);
  for (std::size_t u = 0; u < units; ++u) waiting[u] = child_offsets_[u + 1] - child_offsets_[u];
  // Follows the path towards the root as long as this task was the last one a unit waited for.
  const auto climb = [&](ParallelTasks&, std::size_t u) {
    while (true) {
      for (std::size_t k = unit_offsets_[u]; k < unit_offsets_[u + 1]; ++k) visit(nodes_[k]);
      u = unit_parent_[u];
      if (u == no_node || --waiting[u] != 0) return;
    }
  };
  ParallelTasks tasks(climb);
  for (std::size_t u = 0; u < units; ++u)
    if (child_offsets_[u + 1] == child_offsets_[u]) tasks.begin(u);
  tasks.wait();
}

void TreeSchedule::downward(const std::function<void(std::uint32_t)>& visit) const {
  const auto descend = [&](ParallelTasks& tasks, std::size_t u) {
    while (true) {
      for (std::size_t k = unit_offsets_[u + 1]; k-- > unit_offsets_[u];) visit(nodes_[k]);
      const std::size_t begin = child_offsets_[u], end = child_offsets_[u + 1];
      if (begin == end) return;
      // One thread takes the last task first, so that it goes by descending numbers (junction_tree.cpp predicts
      // the memory of that).
      for (std::size_t k = begin; k + 1 < end; ++k) tasks.begin(unit_children_[k]);
      u = unit_children_[end - 1];
    }
  };
  ParallelTasks tasks(descend);
  for (std::size_t u = 0; u < unit_parent_.size(); ++u)
    if (unit_parent_[u] == no_node) tasks.begin(u);
  tasks.wait();
}

}  // namespace drover
