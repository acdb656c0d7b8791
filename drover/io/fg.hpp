// The libDAI factor graph format (.fg), https://staff.fnwi.uva.nl/j.m.mooij/libDAI/doc/fileformats.html.
//
//   number of factors; per factor: number of variables, their labels, their cardinalities, number of entries
//   that are not zero, and a line "index value" for each; the FIRST variable of a factor runs fastest. Lines
//   starting with # are comments.
//
// A label is the variable's number. Numbers below the highest that no factor names are variables with one
// state. A factor keeps its variables in the order of the file. Writing gives a variable that is in no factor
// a factor of ones, because the format has no other place for its cardinality.
#pragma once

#include "drover/io/atomic_file.hpp"
#include "drover/io/text_source.hpp"
#include "drover/model/model.hpp"

namespace drover {

Model read_fg(TextSource& source);
void write_fg(const Model& model, AtomicFile& file);

}  // namespace drover
