// Flooding between spins whose pairs lie on few diagonals j - i: lattices of any dimension, periodic or not,
// chains.
//
// Each diagonal is one contiguous pass without indices; places without a pair have weight 0, and their
// messages stay 0. Both messages of a pair read each other and the beliefs only, which stand still meanwhile,
// so a pass is in place; then every belief adds up its messages, diagonal by diagonal. Memory: three numbers
// a place (with appearances four).
#pragma once

#include "drover/infer/spin_engine.hpp"

namespace drover {

/// Nothing when the diagonals would be mostly empty, or a pair is there twice.
std::unique_ptr<SpinEngine> spin_diagonals(const SpinProblem& problem);

}  // namespace drover
