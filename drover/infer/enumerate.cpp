#include "drover/infer/enumerate.hpp"

#include <fmt/format.h>

#include <cmath>

#include "drover/core/error.hpp"
#include "drover/core/log_math.hpp"

namespace drover {

double log2_states(const Graph& graph) {
  double bits = 0;
  for (std::uint32_t cardinality : graph.cardinalities) bits += std::log2(cardinality);
  return bits;
}

Enumeration enumerate(const Graph& graph, std::size_t max_states) {
  if (log2_states(graph) > std::log2(static_cast<double>(max_states)) + 1e-9)
    throw Error(ErrorKind::misfit, fmt::format("enumeration would visit 2^{:.1f} states; the limit is {}",
                                               log2_states(graph), max_states));
  Enumeration result;
  std::vector<Value> x(graph.size(), 0);
  std::vector<double> logs;
  result.best_log_score = log_zero;
  while (true) {
    const double score = log_score(graph, x);
    logs.push_back(score);
    if (score > result.best_log_score) {
      result.best_log_score = score;
      result.best = x;
    }
    std::size_t k = x.size();
    while (k > 0 && ++x[k - 1] == graph.cardinalities[k - 1]) x[--k] = 0;
    if (k == 0) break;
  }
  if (result.best_log_score == log_zero)
    throw Error(ErrorKind::bad_data,
                "the model is impossible: Z = 0, every joint state has probability zero");
  result.log_z = normalise_logs(logs);
  result.probabilities = std::move(logs);

  for (std::uint32_t cardinality : graph.cardinalities) result.marginals.emplace_back(cardinality, 0.0);
  std::size_t inner = result.probabilities.size();
  for (std::size_t v = 0; v < graph.size(); ++v) {
    inner /= graph.cardinalities[v];
    for (std::size_t s = 0; s < result.probabilities.size(); ++s)
      result.marginals[v][(s / inner) % graph.cardinalities[v]] += result.probabilities[s];
  }
  return result;
}

}  // namespace drover
