// Trains a machine by a named method: which gradient goes with which method, and what fits what.
//
//   exact              enumeration, at most 20 variables
//   pseudo-likelihood  L-BFGS on the pseudo-likelihood; no hidden variables (machine/pseudo_likelihood.hpp)
//   gibbs, gwg         maximum likelihood, the model's statistics from these samplers
//   pmp                the same by perturb-and-max-product: the parameters then belong to that sampler
//   block-gibbs        the same for RBMs by blocks: CD-k from the data, PCD-k with persistent chains
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drover/machine/fit.hpp"

namespace drover {

struct TrainOptions {
  std::string method = "auto";
  FitOptions fit{};
  MachineSamplerOptions sampler{};
  double weight_deviation = 0.01;
};

std::span<const std::string_view> train_methods();

struct TrainChoice {
  std::string method;
  std::string because;  ///< empty when the user named it
};

/// Raises usage for an unknown method, misfit for one that does not fit the machine.
TrainChoice choose_train_method(const BinaryMachine& machine, const std::string& asked);

struct TrainResult {
  FitSummary summary;
  std::string objective;  ///< what the trace shows, in words
};

/// Starts the machine at small random weights and trains it.
TrainResult train(BinaryMachine& machine, const TrainingData& data, const TrainChoice& choice,
                  const TrainOptions& options, const FitStop& stop, std::span<const Value> held_out);

/// Samples of a trained machine, for pictures and comparisons, by the sampler it was trained with: fresh
/// chains of `sweeps` sweeps of gwg or pmp (iterations), and of Gibbs sampling for all other methods.
BitBatch sample_machine(const BinaryMachine& machine, const std::string& method, std::uint32_t rows,
                        std::uint32_t sweeps, std::uint64_t seed);

}  // namespace drover
