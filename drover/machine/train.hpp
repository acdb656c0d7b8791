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

#include "drover/core/keeper.hpp"
#include "drover/core/option_list.hpp"
#include "drover/machine/fit.hpp"

namespace drover {

enum class TrainMethod { automatic, exact, pseudo_likelihood, gibbs, gwg, block_gibbs, pmp };

template <>
struct ChoiceNames<TrainMethod> {
  static constexpr std::array names = {
      std::pair{TrainMethod::automatic, std::string_view("auto")},
      std::pair{TrainMethod::exact, std::string_view("exact")},
      std::pair{TrainMethod::pseudo_likelihood, std::string_view("pseudo-likelihood")},
      std::pair{TrainMethod::gibbs, std::string_view("gibbs")},
      std::pair{TrainMethod::gwg, std::string_view("gwg")},
      std::pair{TrainMethod::block_gibbs, std::string_view("block-gibbs")},
      std::pair{TrainMethod::pmp, std::string_view("pmp")}};
};

struct TrainOptions {
  TrainMethod method = TrainMethod::automatic;
  FitOptions fit{};
  MachineSamplerOptions sampler{};
  double weight_deviation = 0.01;
  PartKeeper* parts = nullptr;  ///< pseudo-likelihood goes on from what it has; fit.keeper is for the others
};

struct TrainChoice {
  TrainMethod method = TrainMethod::automatic;  ///< never automatic once chosen
  std::string because;                          ///< empty when it was asked for
};

/// Raises misfit for a method that does not fit the machine.
TrainChoice choose_train_method(const BinaryMachine& machine, TrainMethod asked);

struct TrainResult {
  TrainChoice choice;
  FitSummary summary;
  std::string objective;  ///< what the trace shows, in words
};

/// Starts the machine at small random weights and trains it. A run that the control ends early gives the
/// machine so far; Error (stopped, interrupted) is raised when not a single step was made.
TrainResult train(BinaryMachine& machine, const TrainingData& data, const TrainOptions& options,
                  const RunControl& control = no_control(), std::span<const Value> held_out = {});

/// Samples of a trained machine, for pictures and comparisons, by the sampler it was trained with: fresh
/// chains of `sweeps` sweeps of gwg or pmp (iterations), and of Gibbs sampling for all other methods. Raises stopped
/// (interrupted) when the control ends it.
BitBatch sample_machine(const BinaryMachine& machine, TrainMethod method, std::uint32_t rows,
                        std::uint32_t sweeps, std::uint64_t seed, const RunControl& control = no_control());

}  // namespace drover
