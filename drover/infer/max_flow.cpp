#include "drover/infer/max_flow.hpp"

#include <algorithm>
#include <cassert>

namespace drover {

MaxFlow::MaxFlow(std::span<const std::int64_t> surplus, std::span<const Edge> edges)
    : first_(surplus.size() + 1, 0),
      head_(2 * edges.size()),
      sister_(2 * edges.size()),
      residual_(2 * edges.size()),
      surplus_(surplus.begin(), surplus.end()),
      parent_(surplus.size(), no_arc),
      from_source_(surplus.size(), 0),
      is_active_(surplus.size(), 0),
      found_at_(surplus.size(), 0),
      distance_(surplus.size(), 0) {
  assert(edges.size() < orphan / 2);
  for (const Edge& edge : edges) {
    assert(edge.first != edge.second && edge.capacity >= 0);
    ++first_[edge.first + 1];
    ++first_[edge.second + 1];
  }
  for (std::size_t v = 0; v < surplus.size(); ++v) first_[v + 1] += first_[v];
  std::vector<Arc> at(first_.begin(), first_.end() - 1);
  for (const Edge& edge : edges) {
    const Arc there = at[edge.first]++, back = at[edge.second]++;
    head_[there] = edge.second;
    head_[back] = edge.first;
    sister_[there] = back;
    sister_[back] = there;
    residual_[there] = residual_[back] = edge.capacity;
  }
  for (std::uint32_t v = 0; v < surplus_.size(); ++v) {
    if (surplus_[v] == 0) continue;
    from_source_[v] = surplus_[v] > 0;
    parent_[v] = to_terminal;
    distance_[v] = 1;
    activate(v);
  }
}

void MaxFlow::activate(std::uint32_t v) {
  if (is_active_[v]) return;
  is_active_[v] = 1;
  active_.push_back(v);
}

bool MaxFlow::run(const RunControl& control, std::uint64_t most_work) {
  constexpr std::uint32_t steps_between_looks = 4096;
  for (std::uint32_t steps = 0; next_active_ < active_.size(); ++steps) {
    if (steps % steps_between_looks == 0 && (control.should_stop() || work_ > most_work)) return false;
    if (next_active_ > surplus_.size()) {  // what is behind is not needed again
      active_.erase(active_.begin(), active_.begin() + static_cast<std::ptrdiff_t>(next_active_));
      next_active_ = 0;
    }
    const std::uint32_t v = active_[next_active_];
    if (parent_[v] == no_arc) {  // it lost its tree since
      is_active_[v] = 0;
      ++next_active_;
      continue;
    }
    const Arc bridge = grow(v);
    if (bridge == no_arc) {
      is_active_[v] = 0;
      ++next_active_;
      continue;
    }
    ++time_;
    augment(bridge);
    adopt();
  }
  return true;
}

// Takes free neighbours of v into its tree; an arc from the source's tree to the sink's when there is one.
MaxFlow::Arc MaxFlow::grow(std::uint32_t v) {
  const bool source_tree = from_source_[v] != 0;
  work_ += first_[v + 1] - first_[v];
  for (Arc a = first_[v]; a < first_[v + 1]; ++a) {
    if (growth(a, source_tree) == 0) continue;
    const std::uint32_t other = head_[a];
    if (parent_[other] == no_arc) {
      from_source_[other] = source_tree;
      parent_[other] = sister_[a];
      found_at_[other] = found_at_[v];
      distance_[other] = distance_[v] + 1;
      activate(other);
    } else if ((from_source_[other] != 0) != source_tree) {
      return source_tree ? a : sister_[a];
    } else if (found_at_[other] <= found_at_[v] && distance_[other] > distance_[v]) {
      // v is nearer to the terminal than the parent that it has.
      parent_[other] = sister_[a];
      found_at_[other] = found_at_[v];
      distance_[other] = distance_[v] + 1;
    }
  }
  return no_arc;
}

std::int64_t MaxFlow::bottleneck(Arc bridge) const {
  std::int64_t amount = residual_[bridge];
  for (const bool source_tree : {true, false}) {
    std::uint32_t v = source_tree ? head_[sister_[bridge]] : head_[bridge];
    while (parent_[v] != to_terminal) {
      amount = std::min(amount, residual_[source_tree ? sister_[parent_[v]] : parent_[v]]);
      v = head_[parent_[v]];
    }
    amount = std::min(amount, source_tree ? surplus_[v] : -surplus_[v]);
  }
  return amount;
}

void MaxFlow::set_orphan(std::uint32_t v) {
  parent_[v] = orphan;
  orphans_.push_back(v);
}

// Sends `amount` between v and the terminal of its tree.
void MaxFlow::fill_side(std::uint32_t v, bool source_tree, std::int64_t amount) {
  while (parent_[v] != to_terminal) {
    const Arc up = parent_[v], used = source_tree ? sister_[up] : up;
    residual_[used] -= amount;
    residual_[sister_[used]] += amount;
    const std::uint32_t above = head_[up];
    if (residual_[used] == 0) set_orphan(v);
    v = above;
  }
  surplus_[v] -= source_tree ? amount : -amount;
  if (surplus_[v] == 0) set_orphan(v);
}

void MaxFlow::augment(Arc bridge) {
  const std::int64_t amount = bottleneck(bridge);
  const std::uint32_t source_end = head_[sister_[bridge]], sink_end = head_[bridge];
  residual_[bridge] -= amount;
  residual_[sister_[bridge]] += amount;
  fill_side(source_end, true, amount);
  fill_side(sink_end, false, amount);
  flow_ += amount;
}

void MaxFlow::adopt() {
  // Those cut off last are nearest to a terminal: first in the queue.
  std::reverse(orphans_.begin(), orphans_.end());
  for (std::size_t next = 0; next < orphans_.size(); ++next) find_parent(orphans_[next]);
  orphans_.clear();
}

// `far` when the way up ends at an orphan. Nodes on the way remember what was found.
std::uint32_t MaxFlow::distance_to_terminal(std::uint32_t v) {
  std::uint32_t steps = 0, at = v;
  for (;;) {
    if (found_at_[at] == time_) {
      steps += distance_[at];
      break;
    }
    if (parent_[at] == orphan) return far;
    ++steps;
    if (parent_[at] == to_terminal) {
      found_at_[at] = time_;
      distance_[at] = 1;
      break;
    }
    at = head_[parent_[at]];
  }
  std::uint32_t left = steps;
  for (at = v; found_at_[at] != time_; at = head_[parent_[at]]) {
    found_at_[at] = time_;
    distance_[at] = left--;
  }
  return steps;
}

void MaxFlow::find_parent(std::uint32_t v) {
  const bool source_tree = from_source_[v] != 0;
  work_ += first_[v + 1] - first_[v];
  Arc best = no_arc;
  std::uint32_t nearest = far;
  for (Arc a = first_[v]; a < first_[v + 1]; ++a) {
    const std::uint32_t other = head_[a];
    if (growth(sister_[a], source_tree) == 0 || parent_[other] == no_arc ||
        (from_source_[other] != 0) != source_tree)
      continue;
    if (parent_[other] == orphan) continue;
    const std::uint32_t distance = distance_to_terminal(other);
    if (distance >= nearest) continue;
    nearest = distance;
    best = a;
  }
  if (best != no_arc) {
    parent_[v] = best;
    found_at_[v] = time_;
    distance_[v] = nearest + 1;
    return;
  }
  parent_[v] = no_arc;
  found_at_[v] = 0;
  for (Arc a = first_[v]; a < first_[v + 1]; ++a) {
    const std::uint32_t other = head_[a];
    if (parent_[other] == no_arc || (from_source_[other] != 0) != source_tree) continue;
    if (growth(sister_[a], source_tree) > 0) activate(other);
    if (parent_[other] < orphan && head_[parent_[other]] == v) set_orphan(other);
  }
}

}  // namespace drover
