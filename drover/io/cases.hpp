// Many rows of evidence in one table: a column per variable (its name or number), a row per case.
//
// A cell is a state by name or number, or likelihoods as 0.2:0.8; what is empty or says NA, NaN, null or ?
// was not observed (unless a state has that name). Separators and quotes as in drover/io/row_reader.hpp;
// plain or gzip. Blank lines are passed over.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "drover/io/atomic_file.hpp"
#include "drover/io/text_source.hpp"
#include "drover/model/observations.hpp"

namespace drover {

struct Cases {
  std::vector<VariableId> columns;
  std::vector<Observations> rows;
};

/// Raises cannot_read, and bad_data with file, line and what was expected.
Cases read_cases(const Model& model, TextSource& source);
Cases read_cases(const Model& model, const std::string& path, const RunControl& control = no_control());

}  // namespace drover
