// The largest flow from a source to a sink through a network, and with it the cheapest cut between them.
//
// Source: Boykov and Kolmogorov, An experimental comparison of min-cut/max-flow algorithms for energy
// minimization in vision, PAMI 2004. Two trees grow over arcs with capacity left, one from the source and one
// from the sink. Where they meet, the path is filled; arcs that this saturates cut off subtrees, whose nodes
// look for another parent of their tree or become free. The trees are kept from path to path, which is what
// makes it fast on grids. A node's distance to its terminal is remembered with the time it was found, so that
// parents near the terminal are preferred.
//
// Capacities are whole numbers: no flow is lost to rounding, and the run ends. When it is slow: on networks
// with long paths and many of equal length (its worst case is far above that of other algorithms).
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "drover/core/run_control.hpp"

namespace drover {

class MaxFlow {
 public:
  struct Edge {
    std::uint32_t first, second;
    std::int64_t capacity;  ///< both ways
  };

  /// `surplus[v]`: the capacity from the source to v, or when negative, from v to the sink. All capacities
  /// together must stay below 2^62.
  MaxFlow(std::span<const std::int64_t> surplus, std::span<const Edge> edges);

  /// True when the flow is the largest; false when the control, or a limit of arcs looked at, ended the work
  /// before.
  bool run(const RunControl& control = no_control(),
           std::uint64_t most_work = std::numeric_limits<std::uint64_t>::max());

  /// So far; no cut costs less.
  std::int64_t flow() const { return flow_; }
  /// After a complete run: whether v is on the source's side of the cheapest cut with the fewest nodes there.
  bool on_source_side(std::uint32_t v) const { return parent_[v] != no_arc && from_source_[v] != 0; }
  /// After a complete run: whether v is on the sink's side of the one with the fewest nodes there.
  bool on_sink_side(std::uint32_t v) const { return parent_[v] != no_arc && from_source_[v] == 0; }

 private:
  using Arc = std::uint32_t;
  static constexpr Arc no_arc = ~Arc{0}, to_terminal = no_arc - 1, orphan = no_arc - 2;
  static constexpr std::uint32_t far = 0x7fffffff;

  // The capacity left from v over arc a in the direction in which v's tree grows.
  std::int64_t growth(Arc a, bool source_tree) const { return residual_[source_tree ? a : sister_[a]]; }
  void activate(std::uint32_t v);
  Arc grow(std::uint32_t v);
  void augment(Arc bridge);
  std::int64_t bottleneck(Arc bridge) const;
  void fill_side(std::uint32_t v, bool source_tree, std::int64_t amount);
  void set_orphan(std::uint32_t v);
  void adopt();
  void find_parent(std::uint32_t v);
  std::uint32_t distance_to_terminal(std::uint32_t v);

  std::vector<Arc> first_;           // arcs of v: first_[v] .. first_[v + 1]
  std::vector<std::uint32_t> head_;  // of an arc
  std::vector<Arc> sister_;          // the arc back
  std::vector<std::int64_t> residual_;
  std::vector<std::int64_t> surplus_;  // what is left of it
  std::vector<Arc> parent_;
  std::vector<char> from_source_, is_active_;
  std::vector<std::uint32_t> found_at_, distance_;
  std::vector<std::uint32_t> active_, orphans_;  // queues, the first of active_ at next_active_
  std::size_t next_active_ = 0;
  std::uint32_t time_ = 0;
  std::uint64_t work_ = 0;
  std::int64_t flow_ = 0;
};

}  // namespace drover
