// How a pair that gains `strength` when its variables agree draws a bond, or a dual with one state per value.
//
// With a = exp(-strength): share (1 - a) [agree] + remainder, where the remainder, 1 - share (1 - a) on the
// diagonal and a elsewhere, is M M^T up to a constant; M is c where value and dual agree, s elsewhere (see
// swendsen_wang.hpp for sources).
#pragma once

#include <cstdint>

#include "drover/core/types.hpp"

namespace drover {

struct BondLaw {
  double bond = 0;    ///< probability of a bond where the values agree
  double follow = 0;  ///< probability that the dual of an agreeing, unbonded pair is the common value
  double either = 0;  ///< probability that the dual of a disagreeing pair is a given one of its two values
  double gain = 0;    ///< log(c/s): what each variable gains at the dual's value; zero: no dual
};

/// Requires strength > 0 and 0 <= share <= 1.
BondLaw bond_law(double strength, double share, std::uint32_t states);

/// The dual of an unbonded pair with values x and y; u in (0, 1).
Value draw_bond_dual(const BondLaw& law, Value x, Value y, std::uint32_t states, double u);

}  // namespace drover
