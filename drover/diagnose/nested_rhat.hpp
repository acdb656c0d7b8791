// Whether chains remember where they started: nested R-hat and a test of the starts.
//
// Source: Margossian, Hoffman, Sountsov, Riou-Durand, Vehtari and Gelman, Nested R-hat, Bayesian Analysis
// 2024. Chains come in K groups ("superchains") of M chains that share a start; the groups' starts are far
// apart. With c_km the mean of a 0/1 variable over chain m of group k, g_k the mean of a group and
//
//   B = variance of the g_k,   b = mean over groups of the variance of c_k1 .. c_kM,
//   w = mean of c_km (1 - c_km), the variance within a chain of 0/1 draws,
//   nested R-hat = sqrt(1 + B / (b + w)).
//
// Averaging M chains leaves M times less noise than R-hat has, so that a bias of the starts which R-hat takes
// for noise shows. How much noise is left is known: where no chain remembers its start, M B / b has the F
// distribution with K - 1 and K (M - 1) degrees of freedom (for means that are about normal). The ratio
// itself is `memory`; far above that distribution, the standard errors are too small by its square root.
//
// When it fails: a mode that no start leads to is seen by none of this.
#pragma once

#include <cstddef>
#include <span>

namespace drover {

struct NestedFigures {
  double rhat;    ///< NaN when no chain moved, or with fewer than two groups of two chains
  double memory;  ///< M B / b; NaN likewise
};

/// The first K M of the means count: groups of `group_size` neighbours.
NestedFigures nested_figures(std::span<const double> chain_means, std::size_t group_size);

/// The value that `memory` exceeds with this probability where no chain remembers its start.
double memory_limit(std::size_t groups, std::size_t group_size, double probability);

}  // namespace drover
