// What a sweep costs, counted and not timed, so that choices made by cost are the same on every machine.
//
// The unit is about a nanosecond of one core (AVX-512). A sweep of one chain costs
//
//   per_variable n + per_link l + per_read r + per_entry t,
//
// n variables, l the states of the variables of every factor of two or more variables, r the squares of their
// numbers of variables (each of them reads the values of all), t the entries of the tables that the method works
// through, or what its kernel says it does instead. bench/sweep_cost.cpp measures the table and prints it anew.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "drover/compile/graph.hpp"

namespace drover {

struct SweepSize {
  double variables = 0;
  double links = 0;
  double reads = 0;
  double entries = 0;
};

/// What a kernel makes of the graph, where that is something else.
struct KernelWork {
  std::size_t largest_block = 0;  ///< entries; 0: it draws no blocks
  double entries = 0;        ///< that it works through in a sweep instead of those of the tables; 0: these
  std::uint64_t blocks = 0;  ///< a checksum of which variables they have
  double replicas = 1;       ///< of every chain
};

/// Of the graph itself; methods with tables of their own put theirs into `entries`.
SweepSize sweep_size(const Graph& graph);

struct SweepCost {
  std::string_view method;
  bool spins;  ///< the kernels for spin graphs are others than those for any graph
  double per_variable, per_link, per_read, per_entry;
};

/// One row per method and kind of graph.
std::span<const SweepCost> sweep_costs();

/// Of one chain; methods without a row cost as much as Gibbs sampling.
double sweep_cost(std::string_view method, bool spins, const SweepSize& size);

}  // namespace drover
