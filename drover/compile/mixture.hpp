// Any factor as a product of positive mixtures: hidden variables (duals) given which its variables are
// independent.
//
//   factor(x) = exp(log_constant + sum_j log_unary_j(x_j)) *
//               product over mixtures m of [ sum_r product_j A_mj(x_j, r) + residual_m(x) ]
//
// exactly, for every table. Source: Mescheder, Nowozin, Geiger 2016, section 4.2, completed as follows.
//
// - Pair tables: rows and columns are scaled so that as many entries as can be found are 1; every other entry
//   p is the table [[1, 1], [1, p]] over the indicators [x_1 = k], [x_2 = l], with a binary dual (dual.hpp).
// - "All equal" factors of any order (Potts cliques): exp(J [all equal]) = 1 + sum_k (e^J - 1) prod_j [x_j =
// k].
// - Noisy-OR with a leak: y = 0 with probability f = prod_i lambda_i^(x_i), first factor 1 - leak; the
//   telescoping sum 1 - f = sum_i (1 - lambda_i^(x_i)) prod_(j<i) lambda_j^(x_j) has no negative term, and
//   the leak's share of it joins the mixture component of y = 0, so that y can change.
// - Other tables of order three and more: a positive decomposition of few components is fitted by EM (the
//   multiplicative updates of Lee and Seung 2001 for the KL divergence), scaled to lie below the table; what
//   is left is the residual. A draw of the residual leaves the factor's variables where they are: so the
//   mixture stays exact, and a bad fit costs mixing, not correctness. `divergence` is the KL divergence of
//   the fit.
// - A zero entry e: the factor 1 - [x = e] is a mixture of "x_j != e_j, others free" in all cyclic orders of
//   j, which links any two states that differ in one variable. So a sampler of these mixtures reaches what
//   single-site Gibbs reaches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace drover {

struct Mixture {
  std::uint32_t components = 0;
  /// Of a pair's entry other than 1, its states: component 0 is 1, component 1 knows each variable's other states from this
  /// one only.
  std::optional<std::array<std::uint32_t, 2>> entry;
  /// A_j(x_j, r) at offsets[j] + x_j * components + r, for every variable j of the factor's scope.
  std::vector<std::uint32_t> offsets;
  std::vector<double> values;
  std::vector<double> residual;  ///< by entry of the table, or empty
};

struct FactorDual {
  double log_constant = 0;
  std::vector<std::vector<double>> log_unary;  ///< per variable of the scope
  std::vector<Mixture> mixtures;
  bool fitted = false;
  double divergence = 0;      ///< KL of the fitted decomposition from the table, in nats
  double residual_share = 0;  ///< of the table's sum
};

struct MixtureOptions {
  std::uint32_t most_components = 32;  ///< of a fitted decomposition
  double good_fit = 1e-6;              ///< divergence at which a fit is not improved further
  double small_residual = 0.05;        ///< share of the residual at which no more components are tried
};

/// Of a table with the last variable fastest; entries may be minus infinity, but not all of them.
FactorDual dual_of_factor(std::span<const std::uint32_t> cardinalities, std::span<const double> log_values,
                          const MixtureOptions& options = {});

/// log factor(x) as the mixtures say it.
double log_value(const FactorDual& dual, std::span<const std::uint32_t> cardinalities,
                 std::span<const std::uint32_t> x);

}  // namespace drover
