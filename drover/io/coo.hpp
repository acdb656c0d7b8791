// Ising models as coordinate text (.coo, .ising).
//
//   log p(x) = sum of J_ij s_i s_j + sum of h_i s_i + constant,   s = 2x - 1, each pair counted once
//
// Lines "i j J" and "i h" (or "i i h"); variables count from 0; # starts a comment. Two comments carry what
// the lines cannot: "# constant c" and "# variables n" (for spins after the last one that is named; spins
// that no line names are free). A pair given twice is an error, because files that list a symmetric matrix
// would count every coupling double; fields of one spin add up.
//
// Writing turns strictly positive tables over two-state variables into couplings, fields and a constant, and
// refuses every other model.
#pragma once

#include "drover/io/atomic_file.hpp"
#include "drover/io/text_source.hpp"
#include "drover/model/model.hpp"

namespace drover {

Model read_coo(TextSource& source);
void write_coo(const Model& model, AtomicFile& file);

}  // namespace drover
