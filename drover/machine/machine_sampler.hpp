// Samplers for learning: given a machine whose weights have just changed, a batch of states of it.
//
// Persistent chains go on from where they were (Tieleman 2008: persistent contrastive divergence); chains
// that are reset start afresh from random states each time. Nothing else is kept between calls, so a run is a
// function of (machine, seed, iteration). Several ranks share the chains of Gibbs and Gibbs with gradients,
// 64 at a time, and every one of them gets the whole batch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "drover/core/archive.hpp"
#include "drover/core/ranks.hpp"
#include "drover/core/run_control.hpp"
#include "drover/machine/bit_batch.hpp"
#include "drover/model/binary_machine.hpp"

namespace drover {

class MachineSampler {
 public:
  virtual ~MachineSampler() = default;
  /// Fills `batch` with states of all variables.
  virtual void draw(const BinaryMachine& machine, std::uint64_t iteration, BitBatch& batch) = 0;
  /// The chains, for checkpoints; a sampler that none is made of keeps nothing.
  virtual void save(SaveArchive&) {}
  virtual void load(LoadArchive&) {}
};

struct MachineSamplerOptions {
  std::uint32_t chains = 100;
  std::uint32_t sweeps = 1;  ///< between two batches
  bool persistent = true;
  std::uint64_t seed = 1;
  bool centred = false;  ///< block Gibbs: the gradient of centred units (gradient.hpp)
  // Perturb-and-max-product: sweeps are iterations of max-product.
  double damping = 0.5;
  double correlation = 0.99;  ///< of the noise of one step and the next, when persistent
  const Ranks* ranks = &one_process();
  const RunControl* control = &no_control();  ///< its end leaves a batch of no use
};

/// Single-site Gibbs, 64 chains as lanes (sample/gibbs/gibbs_spin_lanes.hpp).
std::unique_ptr<MachineSampler> gibbs_machine_sampler(const MachineSamplerOptions& options);
/// Gibbs with gradients (sample/gibbs/gibbs_with_gradients.hpp).
std::unique_ptr<MachineSampler> gwg_machine_sampler(const MachineSamplerOptions& options);

/// Perturb-and-max-product (sample/pmp/perturb_and_max_product.hpp): independent samples at every step, or
/// the persistent form of its paper's appendix A: noise g = G(Phi(z)) with z_t = sqrt(rho) z_(t-1) + sqrt(1 -
/// rho) e_t, Phi the normal distribution function and G the Gumbel quantile, so that problems change little
/// from step to step and messages go on from where they were.
std::unique_ptr<MachineSampler> pmp_machine_sampler(const MachineSamplerOptions& options);

/// Gibbs sweeps over the hidden variables alone, the visible ones held at rows of data: one chain per row,
/// hidden variables first drawn at random. The batch holds all variables. The ranks share its rows.
void draw_clamped(const BinaryMachine& machine, const BitBatch& data, std::uint32_t sweeps,
                  std::uint64_t seed, std::uint64_t iteration, const Ranks& ranks, BitBatch& batch);

}  // namespace drover
