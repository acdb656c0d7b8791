// Runs one function per node of a forest, children before parents (or after), with as much parallelism as the
// forest has.
//
// Nodes are numbered children first. Small neighbouring nodes are grouped into units of at least `unit_cost`,
// so that a chain of a million tiny cliques does not become a million tasks. Inside a unit nodes run in
// order, and a node runs strictly after those it depends on, so what it computes does not depend on threads.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace drover {

inline constexpr std::uint32_t no_node = 0xffffffffU;

class TreeSchedule {
 public:
  TreeSchedule() = default;
  TreeSchedule(std::span<const std::uint32_t> parent, std::span<const double> cost, double unit_cost = 20000);

  void upward(const std::function<void(std::uint32_t)>& visit) const;    ///< children before parents
  void downward(const std::function<void(std::uint32_t)>& visit) const;  ///< parents before children

 private:
  std::vector<std::uint32_t> unit_parent_;
  std::vector<std::size_t> unit_offsets_;
  std::vector<std::uint32_t>
      nodes_;  ///< of unit u: nodes_[unit_offsets_[u] .. unit_offsets_[u + 1]), ascending
  std::vector<std::size_t> child_offsets_;
  std::vector<std::uint32_t> unit_children_;
};

}  // namespace drover
