// Perturb-and-max-product (PMP): independent approximate samples of any model, each by one maximisation.
//
// Source: M. Lazaro-Gredilla, A. Dedieu, D. George, Perturb-and-max-product: sampling and learning in
// discrete energy-based models, NeurIPS 2021; G. Papandreou, A. Yuille 2011 (perturb-and-MAP); T. Hazan, T.
// Jaakkola 2012.
//
//   add to every unary entry an independent Gumbel number of mean zero:  u_i(k) + g_i(k)
//   x = the state that max-product (damped, parallel, from zero messages) decodes after T iterations
//
// Exact when the model has unaries only (the Gumbel-max trick). Otherwise the samples are of another
// distribution, near p but not p: perturbing single variables is not perturbing joint states, and
// max-product need not find the maximum. How near is not known without exact answers. The mean of the
// perturbed maximum max_x (score(x) + sum_i g_i(x_i)) bounds log Z from above if the maximum is found.
//
// Many samples are problems that differ only in their unaries; binary models of pairs, OR and AND gates are
// solved in batches (infer/dense_max_product.hpp where most pairs exist, else infer/lane_max_product.hpp),
// others one by one by infer/belief_propagation.hpp. A sample is a function of (seed, its number), whatever
// the batch or the threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "drover/compile/graph.hpp"
#include "drover/compile/spin_graph.hpp"
#include "drover/core/random.hpp"
#include "drover/infer/dense_max_product.hpp"

namespace drover {

/// A batch solver for binary pairs: picks the form that suits the graph.
class BatchMaxProduct {
 public:
  virtual ~BatchMaxProduct() = default;
  /// As DenseMaxProduct::solve().
  virtual void solve(std::span<const float> extra, std::size_t problems, const BatchOptions& options,
                     std::span<std::uint8_t> states, BatchMessages* messages) const = 0;
};
std::unique_ptr<BatchMaxProduct> batch_max_product(const SpinGraph& graph);

/// A Gumbel number of mean zero from a uniform one in [0, 1).
double centred_gumbel(double uniform);
/// The difference of two such numbers: the noise of a binary variable.
float logistic_noise(const Random::Block& words);

class PerturbAndMaxProduct {
 public:
  /// The graph must outlive this.
  PerturbAndMaxProduct(const Graph& graph, const BatchOptions& options);
  PerturbAndMaxProduct(Graph&&, const BatchOptions&) = delete;

  /// What draw() of so many samples takes on so many threads where lanes or whole rows do it, in bytes; else 0.
  static double bytes_in_batches(const Graph& graph, std::size_t samples, std::size_t threads);

  /// Samples first .. first + count - 1: `states` is (sample, variable); `maxima` the perturbed score of
  /// each. When the control of the options ends it, what they hold is of no use.
  void draw(std::uint64_t seed, std::uint64_t first, std::size_t count, std::span<Value> states,
            std::span<double> maxima) const;

 private:
  void draw_pairs(std::uint64_t seed, std::uint64_t first, std::size_t count, std::span<Value> states) const;
  void draw_general(std::uint64_t seed, std::uint64_t first, std::size_t count,
                    std::span<Value> states) const;

  const Graph* graph_;
  BatchOptions options_;
  std::unique_ptr<BatchMaxProduct> batch_;  ///< of binary pairs, OR and AND gates; null for other graphs
};

}  // namespace drover
