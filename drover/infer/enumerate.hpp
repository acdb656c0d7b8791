// Exact answers by visiting every joint state: the oracle that everything else is tested against.
//
//   Z = sum_x exp(sum_a theta_a(x_a))
//
// Assumptions: the number of joint states is at most `max_states`; time and memory are proportional to it.
#pragma once

#include <vector>

#include "drover/compile/graph.hpp"

namespace drover {

struct Enumeration {
  double log_z = 0;
  std::vector<double> probabilities;           ///< of every joint state; the last variable runs fastest
  std::vector<std::vector<double>> marginals;  ///< of every free variable
  std::vector<Value> best;                     ///< a state of the highest probability
  double best_log_score = 0;
};

/// The number of joint states as a power of two (may be fractional).
double log2_states(const Graph& graph);

/// Raises misfit when there are too many states, bad_data when every state has probability zero.
Enumeration enumerate(const Graph& graph, std::size_t max_states = std::size_t{1} << 24);

}  // namespace drover
