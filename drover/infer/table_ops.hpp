// The one operation of exact inference: add up log tables over a joint scope and reduce the variables that
// are not wanted.
//
//   out(target) = reduce over (scope minus target) of ( constant + sum over operands of operand(its scope) )
//
// Variables are small numbers (their place in the elimination order); every scope is sorted ascending and
// every table is laid out with the last variable of its scope fastest. The joint table is never stored: a
// block of target entries is computed in registers, for one setting of the reduced variables after the other,
// so memory is operands plus result.
//
// Logarithms: values are natural logs, a hard zero is minus infinity and stays one. log_sum_exp keeps a
// running maximum per entry, so no dynamic range of the operands can make an entry wrong: terms are lost only
// when they are below 2^-1022 of the same entry's largest term.
//
// The result does not depend on the number of threads: every entry is computed by one fixed sequence of
// operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace drover {

enum class Reduce {
  log_sum_exp,  ///< log of the sum of exponentials
  maximum,      ///< the largest log value
  sum_of_exp,   ///< the sum of exponentials, not logged (probabilities out of logs)
  sum,          ///< plain sums (probabilities out of probabilities)
};

struct Operand {
  std::span<const std::uint32_t> scope;
  const double* values;
};

/// The number of entries of a table over `scope`.
std::size_t table_size(std::span<const std::uint32_t> cardinalities, std::span<const std::uint32_t> scope);

/// `target` and every operand's scope are subsets of `scope`; `cardinalities` is indexed by variable.
void contract(Reduce reduce, std::span<const std::uint32_t> cardinalities,
              std::span<const std::uint32_t> scope, std::span<const Operand> operands, double constant,
              std::span<const std::uint32_t> target, double* out);

/// Subtracts the largest entry from all and returns it; leaves the table alone when all are minus infinity.
double subtract_maximum(double* values, std::size_t count);

/// values[i] = log(values[i]) - message[i] - constant; minus infinity where either is zero in probability.
void divide_by_message(double* values, const double* message, double constant, std::size_t count);

}  // namespace drover
