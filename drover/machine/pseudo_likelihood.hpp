// A Boltzmann machine over binary variables, fitted by pseudo-likelihood (Besag 1977).
//
//   log p~(x) = sum_i b_i x_i + sum_(i<j) w_ij x_i x_j,   x in {0, 1}
//
// Minimised, by L-BFGS, is the average over the rows (with their weights) of
//
//   - sum_i log p(x_i | all others)  =  sum_i softplus(f_i) - x_i f_i,   f_i = b_i + sum_j w_ij x_j,
//
// plus l2 / 2 * sum of w_ij^2 / total weight. It is convex, needs no partition function, and with enough rows
// of a Boltzmann machine gives its parameters; with few rows it is less efficient than maximum likelihood,
// and its model need not have the moments of the data. Time is proportional to the ones in the data times
// the number of variables. Without l2, a column that others determine has no finite minimum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "drover/core/run_control.hpp"
#include "drover/core/types.hpp"
#include "drover/model/model.hpp"
#include "drover/numeric/lbfgs.hpp"

namespace drover {

struct BoltzmannMachine {
  std::vector<double> biases;
  std::vector<double> weights;  ///< of pairs i < j in the order (0,1), (0,2), ..., (1,2), ...

  std::size_t size() const { return biases.size(); }
  std::size_t pair(std::size_t i, std::size_t j) const {
    if (i > j) std::swap(i, j);
    return i * (2 * size() - i - 1) / 2 + (j - i - 1);
  }
  /// log p(x_i = 1 | others) - log p(x_i = 0 | others).
  double field(std::size_t i, std::span<const Value> x) const;
  /// The same distribution as spin pairs and unaries, for the samplers.
  Model model() const;
};

class PseudoLikelihood {
 public:
  /// Rows of zeros and ones, (row, variable); `row_weights` is empty when each row counts once.
  PseudoLikelihood(std::span<const Value> rows, std::size_t variables,
                   std::span<const double> row_weights = {}, double l2 = 0);

  std::size_t parameters() const { return variables_ + variables_ * (variables_ - 1) / 2; }
  /// Parameters: the biases, then the weights of pairs. The same bits for any number of threads.
  /// What it gives after the control has ended the run means nothing.
  double value_and_gradient(std::span<const double> parameters, std::span<double> gradient,
                            const RunControl& control = no_control()) const;

 private:
  std::size_t variables_, stride_;
  double l2_, total_weight_ = 0;
  std::vector<double> row_weights_;
  std::vector<std::size_t> row_offsets_{0};
  std::vector<std::uint32_t> ones_;  ///< the variables that are 1, row after row
};

struct PseudoLikelihoodOptions {
  double l2 = 1;
  LbfgsOptions minimiser{};
  PartKeeper* parts = nullptr;  ///< for values and gradients
};

struct PseudoLikelihoodFit {
  BoltzmannMachine machine;
  LbfgsSummary summary;
  bool stopped = false;  ///< by the control
};

/// A run that the control ends early gives the last parameters that were looked at; with no iterations when
/// there are none.
PseudoLikelihoodFit fit_pseudo_likelihood(std::span<const Value> rows, std::size_t variables,
                                          const PseudoLikelihoodOptions& options = {},
                                          const RunControl& control = no_control());

}  // namespace drover
