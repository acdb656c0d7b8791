// Several marginals of one large table at once, with few passes over it.
//
// A marginal that is nearly as large as the table takes its own pass, unless a marginal already computed
// contains it. The small ones are collected into unions of at most an eighth of the table; a union takes one
// pass, its members are then read off the union. So a clique with a hundred small neighbours costs a few
// passes, not a hundred.
#pragma once

#include <cstdint>
#include <span>

#include "drover/infer/table_ops.hpp"

namespace drover {

struct Projection {
  std::span<const std::uint32_t> scope;
  double* out;
};

/// exp(constant + sum of operands) over `scope`, summed onto every projection.
void project(std::span<const std::uint32_t> cardinalities, std::span<const std::uint32_t> scope,
             std::span<const Operand> operands, double constant, std::span<const Projection> wanted);

/// The same for a table of probabilities.
void project_table(std::span<const std::uint32_t> cardinalities, std::span<const std::uint32_t> scope,
                   const double* table, std::span<const Projection> wanted);

}  // namespace drover
