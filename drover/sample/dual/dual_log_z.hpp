// A lower bound of log Z from a sampler of variables x and duals theta.
//
// Source: Mescheder, Nowozin, Geiger 2016, section 5.2. For draws of the joint distribution
//
//   V(x, theta) = p~(x) p~(theta) / p~(x, theta) = p~(x) / p(x | theta),
//   E[log V] = log Z - I(x; theta) <= log Z,    I the mutual information of variables and duals.
//
// E[V] = Z where p~(x, theta) > 0 everywhere, as for the primal-dual sampler, but V varies far too much for
// its mean to be of use; the mean of log V is a bound with a standard error. For Swendsen-Wang the pairs (x,
// theta) that contradict each other are missing from E[V], which is then less than Z; the bound holds all the
// same. Without fields it is log V = C log 2 + log p~(x), C the number of clusters.
//
// When it fails: the bound is loose where duals say much about the variables (strong couplings), and the
// draws are those of the sampler, which must have mixed. Mean field is often the tighter bound (lemma 5 of
// the paper).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "drover/compile/dual.hpp"
#include "drover/compile/graph.hpp"
#include "drover/core/run_control.hpp"

namespace drover {

/// log V of the primal-dual (RBM) form; duals as 0 and 1 for t = -1 and +1, one per edge.
double log_dual_weight(const SpinEdges& graph, std::span<const Value> x, std::span<const Value> duals);

struct DualLogZOptions {
  std::uint64_t seed = 1;
  std::uint32_t chains = 32;
  std::uint64_t burn_in = 200;
  std::uint64_t sweeps = 1000;
  const RunControl* control = &no_control();
};

/// log V of every chain and sweep after burn-in: that of chain c and draw t at c * draws + t.
struct DualLogZDraws {
  std::vector<double> log_v;
  std::uint32_t chains = 0;
  std::uint64_t draws = 0;  ///< per chain; fewer than asked for when stopped
};

/// By the primal-dual sampler.
DualLogZDraws dual_log_z(const SpinEdges& graph, const DualLogZOptions& options);
/// By Swendsen-Wang; the graph as SwendsenWang wants it.
DualLogZDraws cluster_log_z(const Graph& graph, const DualLogZOptions& options);

}  // namespace drover
