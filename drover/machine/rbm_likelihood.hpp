// How likely rows of data are under a restricted Boltzmann machine.
//
//   log p~(v) = sum_i b_i v_i + sum_j log(1 + exp(c_j + sum_i w_ij v_i))    (the hidden units summed out)
//   log p(v)  = log p~(v) - log Z
//
// Z is exact by visiting all states of the smaller side when that has at most 16 units. Else by annealed
// importance sampling (R. Salakhutdinov, I. Murray, On the quantitative analysis of deep belief networks,
// ICML 2008): from the machine without weights whose visible biases are the log odds a of some data (any
// data: it is where the path begins) to the machine itself,
//
//   p~_beta(v) = exp(sum_i ((1 - beta) a_i + beta b_i) v_i) prod_j (1 + exp(beta (c_j + sum_i w_ij v_i))),
//
// with a step of block Gibbs at every beta. As always with importance sampling the estimate of log Z tends to
// be too low when few anneals carry the weight, and likelihoods then are too high: effective_samples tells.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/core/run_control.hpp"
#include "drover/model/binary_machine.hpp"
#include "drover/sample/anneal/annealed_importance.hpp"

namespace drover {

/// log p~ of every row of visible values (row, variable). Raises stopped when the control ends it.
std::vector<double> rbm_log_scores(const BinaryMachine& machine, std::span<const Value> rows,
                                   const RunControl& control = no_control());

inline constexpr std::uint32_t most_exact_units = 16;
/// Requires that one side has at most most_exact_units.
double rbm_exact_log_z(const BinaryMachine& machine);

/// `rates`: of ones of the visible variables in some data. Raises stopped when the control ends it before two
/// anneals are done.
ImportanceResult rbm_log_z(const BinaryMachine& machine, std::span<const double> rates, std::uint32_t chains,
                           std::uint64_t steps, std::uint64_t seed, const RunControl& control = no_control());

}  // namespace drover
