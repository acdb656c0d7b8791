#include "drover/compile/dual.hpp"

#include <cmath>
#include <utility>

namespace drover {

namespace {

// log c, and log(c / s), of the factorisation of [[1, a], [a, 1]] with a = exp(-w/2).
struct LogRotation {
  double log_cosine;
  double strength;
};

LogRotation rotation_of(double w) {
  const double root = std::sqrt(-std::expm1(-w));
  return {0.5 * std::log((1 + root) / 2), w / 2 + std::log1p(root)};
}

}  // namespace

TableDual dual_of_table(std::span<const double, 4> log_values) {
  double l00 = log_values[0], l01 = log_values[1], l10 = log_values[2], l11 = log_values[3];
  double w = (l00 - l01) + (l11 - l10);
  const bool swapped = w < 0;
  if (swapped) {
    std::swap(l00, l10);
    std::swap(l01, l11);
    w = -w;
  }
  const LogRotation rotation = rotation_of(w);
  TableDual dual;
  dual.needed = w > 0;
  dual.alpha1 = l10 - l00 + w / 2 - rotation.strength;
  dual.alpha2 = l01 - l00 + w / 2 - rotation.strength;
  dual.q = -2 * rotation.strength;
  dual.beta1 = dual.beta2 = 2 * rotation.strength;
  dual.log_constant = l00 + 2 * rotation.log_cosine;
  if (swapped) {  // x1 stands for 1 - x1
    dual.log_constant += dual.alpha1;
    dual.q += dual.beta1;
    dual.alpha1 = -dual.alpha1;
    dual.beta1 = -dual.beta1;
  }
  return dual;
}

SpinDual dual_of_coupling(double coupling) {
  const double strength = std::abs(coupling);
  const double root = std::sqrt(-std::expm1(-4 * strength));
  SpinDual dual;
  dual.flip = coupling < 0;
  dual.noise = std::exp(-4 * strength) / (2 * (1 + root));
  dual.strength = 2 * strength + std::log1p(root);
  dual.log_constant = -strength - std::log(2.0);
  return dual;
}

SpinEdges spin_edges(const SpinGraph& graph) {
  SpinEdges result;
  result.log_constant = graph.log_constant;
  result.field.resize(graph.size());
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    double field = graph.bias[i];
    for (std::size_t k = 0; k < graph.degree(i); ++k) {
      const double weight = graph.weights(i)[k];
      field += weight / 2;
      if (graph.neighbours(i)[k] < i || weight == 0) continue;
      result.edges.push_back({i, graph.neighbours(i)[k], static_cast<float>(weight / 4)});
      result.log_constant -= weight / 4;
    }
    result.field[i] = static_cast<float>(field);
  }
  return result;
}

SpinGraph dual_spin_graph(const SpinEdges& graph) {
  const std::size_t size = graph.size(), edges = graph.edges.size();
  SpinGraph result;
  result.log_constant = graph.log_constant;
  std::vector<double> bias(graph.field.begin(), graph.field.end());
  bias.resize(size + edges, 0);
  result.offsets.assign(size + edges + 1, 0);
  for (const auto& edge : graph.edges) {
    ++result.offsets[edge.first + 1];
    ++result.offsets[edge.second + 1];
  }
  for (std::size_t e = 0; e < edges; ++e) result.offsets[size + e + 1] = 2;
  for (std::size_t i = 0; i < size + edges; ++i) result.offsets[i + 1] += result.offsets[i];
  result.neighbour.resize(4 * edges);
  result.weight.resize(4 * edges);

  // strength / 2 * t s with t = 2 theta - 1 and s = 2 x - 1.
  std::vector<std::size_t> at(result.offsets.begin(), result.offsets.end() - 1);
  const auto join = [&](std::uint32_t i, std::uint32_t dual, double strength) {
    for (const auto& [row, other] : {std::pair{i, dual}, std::pair{dual, i}}) {
      result.neighbour[at[row]] = other;
      result.weight[at[row]++] = static_cast<float>(2 * strength);
      bias[row] -= strength;
    }
    result.log_constant += strength / 2;
  };
  for (std::size_t e = 0; e < edges; ++e) {
    const auto& edge = graph.edges[e];
    const SpinDual dual = dual_of_coupling(edge.coupling);
    const auto place = static_cast<std::uint32_t>(size + e);
    join(edge.first, place, dual.strength);
    join(edge.second, place, dual.flip ? -dual.strength : dual.strength);
    result.log_constant += dual.log_constant;
  }
  result.bias.assign(bias.begin(), bias.end());
  return result;
}

}  // namespace drover
