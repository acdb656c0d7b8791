// The loop of learning: minibatches, gradients, steps, and now and then a look at samples of the machine.
//
// Rows are shuffled once per pass over the data; a minibatch is the next `batch` rows. Everything random is a
// function of the seed and the iteration, so a run is the same whatever the number of threads. With held-out
// rows, samples are compared with them every `check_every` iterations (squared MMD, diagnose/mmd.hpp), and
// their log-likelihood is noted where one is at hand; the
// parameters that scored best are kept, and after `patience` checks without a better score learning ends.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "drover/core/keeper.hpp"
#include "drover/core/run_control.hpp"
#include "drover/machine/gradient.hpp"
#include "drover/machine/update_rule.hpp"

namespace drover {

struct FitOptions {
  std::uint64_t iterations = 1000;
  std::uint32_t batch = 100;  ///< rows per step; 0 means all
  UpdateOptions update{};
  bool falling = false;  ///< the rate falls in a straight line, to zero at the last iteration (or second)
  std::uint64_t seed = 1;
  std::uint64_t check_every = 0;  ///< 0: never
  std::uint32_t patience = 0;     ///< 0: no early stopping
  StateKeeper* keeper = nullptr;  ///< goes on from what it has, saves on the way and at the end
};

struct FitSummary {
  std::uint64_t iterations = 0;
  std::vector<double> iteration;  ///< where the objective was noted: every one, thinned beyond 2000
  std::vector<double> objective;
  std::vector<double> check_iteration;
  std::vector<double> log_mmd;  ///< log squared MMD against the held-out rows
  std::vector<double> held_out_log_likelihood, training_log_likelihood;  ///< means per row, at the checks
  std::vector<std::vector<Value>> check_samples;  ///< a few of the samples compared, (row, visible variable)
  std::string ended;                              ///< why, in words
  bool diverged = false;                          ///< objective or parameters were no longer finite
  bool stopped = false;                           ///< the control ended it

  template <class Archive>
  void visit(Archive& archive) {
    archive(iterations);
    for (std::vector<double>* numbers : {&iteration, &objective, &check_iteration, &log_mmd,
                                         &held_out_log_likelihood, &training_log_likelihood})
      archive(*numbers);
    std::uint64_t checks = check_samples.size();
    archive(checks);
    check_samples.resize(static_cast<std::size_t>(checks));
    for (std::vector<Value>& rows : check_samples) archive(rows);
  }
};

/// Samples of the machine as it is: rows of all its variables.
using FitSamples = std::function<BitBatch(const BinaryMachine& machine, std::uint64_t iteration)>;

struct FitLikelihood {
  double training = 0, held_out = 0;  ///< mean log-likelihood per row
};
using FitLikelihoods = std::function<FitLikelihood(const BinaryMachine& machine, std::uint64_t iteration)>;

/// Normal weights with this standard deviation; biases are set to the log odds of the data where the machine
/// has no hidden variables, and for RBMs too (Hinton 2010: a practical guide to training RBMs, section 8).
void initialise(BinaryMachine& machine, const TrainingData& data, double weight_deviation,
                std::uint64_t seed);

FitSummary fit(BinaryMachine& machine, const TrainingData& data, GradientSource& source,
               const FitOptions& options, const RunControl& control = no_control(),
               std::span<const Value> held_out = {}, const FitSamples& samples = {},
               const FitLikelihoods& likelihoods = {});

/// The visible units of samples, (row, variable).
std::vector<Value> visible_rows(const BinaryMachine& machine, const BitBatch& samples);
/// log squared MMD between the visible part of samples and rows of visible variables.
double log_mmd_of(const BinaryMachine& machine, const BitBatch& samples, std::span<const Value> rows);

}  // namespace drover
