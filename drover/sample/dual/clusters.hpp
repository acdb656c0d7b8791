// Clusters of variables by union-find, by any number of threads at once and with the same result for each.
//
// Roots are joined by compare-and-swap, always the higher number under the lower (Jayanti and Tarjan 2016
// with the numbers as their order; path halving on the way). A parent is never above its child, so whatever
// the interleaving, the root of a finished cluster is its lowest member: labels do not depend on threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

namespace drover {

inline std::uint32_t cluster_root(std::span<std::uint32_t> parents, std::uint32_t i) {
  for (;;) {
    std::uint32_t parent = std::atomic_ref(parents[i]).load(std::memory_order_relaxed);
    if (parent == i) return i;
    const std::uint32_t above = std::atomic_ref(parents[parent]).load(std::memory_order_relaxed);
    if (above == parent) return parent;
    std::atomic_ref(parents[i]).compare_exchange_weak(parent, above, std::memory_order_relaxed);
    i = above;
  }
}

inline void join_clusters(std::span<std::uint32_t> parents, std::uint32_t i, std::uint32_t j) {
  for (;;) {
    i = cluster_root(parents, i);
    j = cluster_root(parents, j);
    if (i == j) return;
    if (i < j) std::swap(i, j);
    std::uint32_t expected = i;
    if (std::atomic_ref(parents[i]).compare_exchange_strong(expected, j, std::memory_order_relaxed)) return;
  }
}

}  // namespace drover
