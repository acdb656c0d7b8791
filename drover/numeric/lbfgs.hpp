// Minimises a smooth function by L-BFGS, or F(x) + l1 |x|_1 by OWL-QN: a thin layer over libLBFGS.
//
// Source: Liu, Nocedal: On the limited memory BFGS method for large scale optimization, 1989; Andrew, Gao:
// Scalable training of L1-regularized log-linear models, ICML 2007 (OWL-QN). Assumes that F is bounded below
// and that the gradient belongs to the value; a wrong gradient shows as a failed line search at once.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "drover/core/keeper.hpp"

namespace drover {

struct LbfgsOptions {
  std::size_t max_iterations = 1000;
  double gradient_tolerance = 1e-6;  ///< stops when |gradient| < tolerance * max(1, |x|)
  double value_tolerance = 0;        ///< stops when 10 iterations lower F by less than this share; 0: never
  std::size_t memory = 10;           ///< past steps that are remembered
  double l1 = 0;                     ///< weight of the absolute values
  std::size_t l1_begin = 0;          ///< the first variable they are counted for
};

struct LbfgsSummary {
  double value = 0;  ///< at the end, with the absolute values
  double gradient_norm = 0;
  std::size_t iterations = 0;
  std::size_t evaluations = 0;
  bool converged = false;
  std::string ended;          ///< why it ended, in words
  std::vector<double> trace;  ///< the value after each iteration
};

/// Returns F(x) and writes its gradient.
using ValueAndGradient = std::function<double(std::span<const double> x, std::span<double> gradient)>;

/// The same function; values and gradients that `parts` has are taken from there, others are kept in it,
/// under the numbers of the calls from `first_part` on. So a minimisation can be done again up to where it
/// was.
ValueAndGradient with_kept_values(ValueAndGradient function, PartKeeper* parts, std::uint64_t first_part = 0);

/// Asked after each iteration; true ends the minimisation with the best x so far.
using LbfgsStop = std::function<bool(std::size_t iteration, double value)>;

/// Improves x in place. Never throws on its own account: a minimisation that did not converge says so.
LbfgsSummary minimise(
    std::vector<double>& x, const ValueAndGradient& function, const LbfgsOptions& options = {},
    const LbfgsStop& stop = [](std::size_t, double) { return false; });

}  // namespace drover
