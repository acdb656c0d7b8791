// What a method will take of memory beyond the compiled model, counted before it is taken: `info` shows it, and what would
// go beyond the limit is refused with what would fit.
//
//   per_variable n + per_link l + per_entry t + chains per_state_of_chain s + estimates,
//
// n variables with s states in all, l the states of the variables of every factor of two or more variables, t the
// entries of tables. The prices are fitted to measured peaks; tests/memory_predicted holds them to it. What the estimates of
// chains, the tables of exact inference and the weights of herded Gibbs take is counted where they are planned.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "drover/methods/method.hpp"

namespace drover {

struct MemoryPrice {
  std::string_view method;  ///< or method and task
  bool spins;               ///< the kernels for spin graphs are others than those for any graph
  std::uint32_t lanes;      ///< chains that are held together, whole or not
  double per_variable, per_link, per_entry, per_state_of_chain;
};

/// One row per method and kind of graph; a task that goes another way has its own, under its name.
std::span<const MemoryPrice> memory_prices();

/// In bytes; 0 where it is not known.
double needed_bytes(const Method& method, const Problem& problem, Task task);

/// Why that does not fit the memory limit, and what would; empty when it does, or is not known.
std::string why_not_memory(const Method& method, const Problem& problem, Task task);

}  // namespace drover
