// The UAI model format (https://uaicompetition.github.io/uci-2022/file-formats/model-format/).
//
//   MARKOV or BAYES, number of variables, their cardinalities, number of factors,
//   per factor: arity and scope; then per factor: number of entries and the entries (plain values, not logs),
//   the last variable of the scope running fastest. In BAYES the last variable of each scope is the child.
//
// Factors of one variable become unaries, factors of none go into log_constant, equal tables are tied. A zero
// over no variable is left out with a warning: published CNF conversions (sat-grid-pbl-0010 of UAI 2014) end
// with such factors, and their published answers do not count them.
// Writing puts log_constant into factors of no variable.
#pragma once

#include "drover/io/atomic_file.hpp"
#include "drover/io/text_source.hpp"
#include "drover/model/model.hpp"

namespace drover {

Model read_uai(TextSource& source);
void write_uai(const Model& model, AtomicFile& file);

}  // namespace drover
