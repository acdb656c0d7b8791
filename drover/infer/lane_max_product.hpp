// Max-product for many problems that differ only in their unaries, on a sparse graph of binary variables with
// spin pairs, OR and AND factors: sixteen problems at a time, each in its own SIMD lane.
//
// Source: Lazaro-Gredilla, Dedieu and George, Perturb-and-max-product, NeurIPS 2021, appendix C.
//
// A message is one number n = log m(1) - log m(0); messages of an edge lie together for all lanes. Flooding
// from n = 0 with damping; B_i = b_i + sum of the messages to i, x_i = [B_i >= 0].
//
//   pair (x in {0, 1}, weight w):  n_ij = max(0, P + w) - max(0, P),  P = B_i - n_ji
//   OR of inputs t with child c, incoming n_t, n_c, S = sum_t max(0, n_t), T_i = largest n_t with t != i:
//     to the child   min(0, T) + S                          (T the largest of all)
//     to input i     min( n_c + S - max(0, n_i), max(0, -T_i) )
//   child known to be 1 (at least one input is): n_c = infinity; AND: the OR of the complements (n -> -n).
//
// Every lane computes what it would alone, so a problem's result depends neither on the batch it is in nor on
// threads. Infinite unaries are not allowed: compile() turns evidence into smaller factors instead.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "drover/compile/spin_graph.hpp"
#include "drover/infer/dense_max_product.hpp"

namespace drover {

/// A binary graph of pairs and logic factors, in the form the lanes run.
struct LaneGraph {
  struct Pair {
    std::uint32_t first, second;
    float weight;
  };
  struct Gate {
    std::uint32_t edge_begin, edge_end;  ///< inputs, then the child if it has one
    bool has_child;                      ///< without one, the child is known to be 1 (AND: 0)
    float sign;                          ///< 1 for OR, -1 for AND
  };
  std::vector<float> bias;
  std::vector<Pair> pairs;  ///< by first, then second
  std::vector<Gate> gates;
  std::vector<std::uint32_t> edge_variable;  ///< of the gates' edges

  std::size_t size() const { return bias.size(); }
  /// Messages per problem and iteration.
  std::size_t message_count() const { return 2 * pairs.size() + edge_variable.size(); }
};

LaneGraph lane_graph(const SpinGraph& graph);

/// Why a graph has no such form: it may have finite unaries of binary variables, spin pairs, OR and AND
/// gates, and counts that are "at least one" or "not all". Empty when it has.
std::string why_not_lanes(const Graph& graph);
/// Requires why_not_lanes() to be empty. Several pairs of the same two variables become one.
LaneGraph lane_graph(const Graph& graph);

class LaneMaxProduct {
 public:
  static constexpr std::size_t lanes = 16;

  explicit LaneMaxProduct(LaneGraph graph) : graph_(std::move(graph)) {}

  std::size_t size() const { return graph_.size(); }
  const LaneGraph& graph() const { return graph_; }
  /// New biases or weights for the same structure; learning changes them at every step.
  std::span<float> bias() { return graph_.bias; }
  std::span<LaneGraph::Pair> pairs() { return graph_.pairs; }

  /// As DenseMaxProduct::solve().
  void solve(std::span<const float> extra, std::size_t problems, const BatchOptions& options,
             std::span<std::uint8_t> states, BatchMessages* messages = nullptr) const;

 private:
  LaneGraph graph_;
};

}  // namespace drover
