// The Bayesian network Interchange Format (BIF 0.15 as in JavaBayes, and the dialect of the bnlearn
// repository).
//
//   network NAME { }
//   variable NAME { type discrete [ 2 ] { yes, no }; }
//   probability ( CHILD | PARENT, ... ) { (yes, no) 0.1, 0.9; ...  or  table ...;  and  default 0.5, 0.5; }
//
// Comments are // and /* */, properties are skipped, names may be quoted, commas are optional. A `table`
// lists the child slowest and the last parent fastest; a row gives the child's distribution for one state of
// the parents. Numbers are kept as they stand: rows that miss 1 by 1e-7 stay so. In the model the scope of a
// table is the parents, then the child. Writing keeps the order of the factors and needs a model of kind
// bayes.
#pragma once

#include "drover/io/atomic_file.hpp"
#include "drover/io/text_source.hpp"
#include "drover/model/model.hpp"

namespace drover {

Model read_bif(TextSource& source);
void write_bif(const Model& model, AtomicFile& file);

}  // namespace drover
