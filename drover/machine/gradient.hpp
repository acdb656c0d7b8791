// Gradients of the log likelihood of a machine, by whatever estimates them.
//
//   d log p(v) / d theta = E[phi | data] - E[phi | model],   phi = x_i or x_i x_j
//
// The first term clamps the visible variables (exact for no hidden variables and for RBMs, Gibbs sweeps over
// the hidden ones otherwise), the second is what the sampler says. A sampler that only approximates the model
// teaches the parameters to make *its* samples right: they belong to it (paper: Lazaro-Gredilla et al. 2021).
//
// Several ranks share the work by parameters, not by rows: each works out its own ones over all rows, in the
// order of one process, and all get the whole gradient. So no sum depends on how many ranks there are.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "drover/machine/machine_sampler.hpp"
#include "drover/machine/machine_statistics.hpp"

namespace drover {

/// Training data: rows of the visible variables, zeros and ones.
struct TrainingData {
  std::span<const Value> values;
  std::size_t variables = 0;
  std::size_t rows() const { return variables == 0 ? 0 : values.size() / variables; }
};

class GradientSource {
 public:
  virtual ~GradientSource() = default;
  /// The gradient on these rows of the data; returns what is to be shown as progress (see objective()).
  virtual double gradient(const BinaryMachine& machine, std::span<const std::uint32_t> rows,
                          std::uint64_t iteration, Statistics& gradient) = 0;
  /// What is kept between two calls, for checkpoints.
  virtual void save(SaveArchive&) {}
  virtual void load(LoadArchive&) {}
  /// What gradient() returns, in words.
  virtual std::string_view objective() const = 0;
};

inline constexpr std::string_view moment_gap = "root mean square of the gradient";

/// Data minus samples; `clamped_sweeps` counts for machines with hidden variables that are not restricted.
std::unique_ptr<GradientSource> sampled_gradient(const TrainingData& data,
                                                 std::unique_ptr<MachineSampler> sampler,
                                                 std::uint32_t clamped_sweeps, std::uint64_t seed,
                                                 const Ranks& ranks = one_process());
/// Block Gibbs for RBMs: contrastive divergence with `sweeps` steps from the data (CD-k), or persistent
/// chains (PCD-k). With `centred`, the direction is the gradient of the machine whose energy is written in
/// x - mean instead of x (J. Melchior, A. Fischer, L. Wiskott: How to center deep Boltzmann machines; JMLR
/// 17, 2016), turned back into steps of these parameters: with m the means of the visible units in the data
/// and n those of the hidden ones (a moving average),
///   dW' = dW - m dc^T - db n^T,   db' = db - dW' n,   dc' = dc - dW'^T m.
/// Weights then no longer share the work of the biases, and learn several times faster.
std::unique_ptr<GradientSource> block_gibbs_gradient(const TrainingData& data,
                                                     const MachineSamplerOptions& options);
/// Enumeration of all joint states of all variables; returns the mean log likelihood of the rows.
std::unique_ptr<GradientSource> exact_gradient(const TrainingData& data);
/// Joint states that exact_gradient() visits at most: 2^20.
inline constexpr std::size_t most_exact_variables = 20;

}  // namespace drover
