// Tables as text, cell by cell: values separated by tabs, commas, semicolons or spaces (what the first line
// has, in this order; spaces only when all lines that are looked at have the same number of words), quotes as
// usual.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drover/io/text_source.hpp"

namespace drover {

/// What unquoted text stands for a missing value, besides an empty cell: NA, N/A, NaN, null, ?.
bool means_missing(std::string_view text);

struct Cell {
  std::string text;
  bool missing = false;
  Place place{};  ///< of a missing value
};

/// One row of cells after the other.
class RowReader {
 public:
  explicit RowReader(TextSource& source);

  /// False at the end of the file; blank lines are passed over.
  bool next(std::vector<Cell>& cells);

 private:
  Cell cell();

  TextSource& source_;
  int separator_;
  bool more_ = false;
};

}  // namespace drover
