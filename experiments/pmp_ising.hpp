// What the experiments of the PMP paper on Ising models share: learning a complete model of spins with
// perturb-and-max-product, Gibbs sampling or Gibbs with gradients, and sampling it after growing numbers of
// sweeps.
//
//   spins  log p~(s) = s' W s + b' s,        s in {-1, 1}: every pair counts twice     (section 5.4)
//   bits   log p~(x) = x' W x / 2 + b' x,    x in {0, 1}: every pair counts once       (section 5.3)
//
// with W symmetric and a zero diagonal, as in the authors' scripts. Which numbers are learnt matters: Adam
// moves each of them by about its rate per step, so that a step of spins is eight times as long. The gradient
// is that of the log likelihood in W and b less an L1 term, 0.01 sign(W) where the paper has one.
//
// A sweep is one update of every message (PMP) or one update or proposal per variable (Gibbs, GWG).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "drover/core/run_control.hpp"
#include "drover/machine/machine_sampler.hpp"

namespace drover::experiments {

struct SpinModel {
  std::uint32_t size = 0;
  bool bits = false;          ///< of x in {0, 1} instead of spins
  std::vector<float> pairs;   ///< W_ij of i < j, row after row
  std::vector<float> biases;  ///< b
};
/// All zero.
SpinModel spin_model(std::uint32_t size, bool bits = false);
BinaryMachine spin_machine(const SpinModel& model);

/// Means of s_i s_j (i < j) and of s_i, or of x_i x_j and x_i.
struct SpinMeans {
  std::vector<float> pairs, biases;
};
SpinMeans spin_means(const BitBatch& batch, bool bits = false);
SpinMeans spin_means(std::span<const Value> rows, std::size_t size, bool bits = false);

/// "pmp", "gibbs" or "gwg".
std::unique_ptr<MachineSampler> named_sampler(const std::string& method,
                                              const MachineSamplerOptions& options);
/// Persistent chains that make `updates` single-site updates (gibbs: of variables drawn at random; gwg:
/// proposals) between two batches: less than a sweep.
std::unique_ptr<MachineSampler> few_updates_sampler(const std::string& method, std::uint32_t chains,
                                                    std::uint32_t updates, std::uint64_t seed);

struct SpinTraining {
  std::uint64_t iterations = 1000;
  double rate = 0.001;
  double l1 = 0;
};
/// Adam on all data at every step; returns the processor seconds spent, or a negative number when stopped.
double learn_spins(SpinModel& model, const SpinMeans& data, MachineSampler& sampler,
                   const SpinTraining& training, const RunControl& control, const std::string& phase);

/// Fresh samples (rows of zeros and ones) after each of the growing numbers of sweeps, all on the way of the
/// same chains, or of the same noise for PMP.
std::vector<std::vector<Value>> samples_on_the_way(const BinaryMachine& machine, const std::string& method,
                                                   std::size_t rows, std::span<const std::uint32_t> sweeps,
                                                   std::uint64_t seed);

/// log squared MMD between rows of zeros and ones.
double log_mmd(std::span<const Value> a, std::span<const Value> b, std::size_t size);
/// The root mean square difference of P(x_i = x_j = 1) over pairs.
double pair_distance(std::span<const Value> a, std::span<const Value> b, std::size_t size);
/// Independent variables with the means of these rows, as many rows.
std::vector<Value> independent_rows(std::span<const Value> rows, std::size_t size, std::uint64_t seed);

/// Of all threads of the process.
double processor_seconds();

}  // namespace drover::experiments
