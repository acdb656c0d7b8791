// A table of discrete data: one row per case, one column per variable.
//
// Read by content, not by name:
//   text     values separated by tabs, commas or semicolons (what the first line has, in this order); with or
//            without a header; quotes as usual; plain or gzip
//   .npz     the array `draws`, else the first with two dimensions (rows, columns)
//   IDX      unsigned bytes (MNIST), the first dimension counts rows, the others are columns; plain or gzip
// A column of 0 and 1 is a binary variable, a column of texts a categorical one, its states in alphabetical
// order. Other numbers need a decision (`binarise`). A missing value is an error. Columns without a name are
// called x0, x1, ...
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "drover/core/types.hpp"

namespace drover {

class TextSource;

struct DataOptions {
  /// For numeric columns that are not 0 and 1. "mean": 1 where x >= mean; "median": 1 where x > median; a
  /// number: 1 where x >= it; "none": every number is a state, in ascending order; "": an error.
  std::string binarise{};
  std::string header = "auto";    ///< auto, yes or no
  std::string columns{};          ///< NAME,... or numbers: only these, in this order; empty: all
  bool constant_columns = false;  ///< whether a column of one state is allowed; else an error
};

struct DataTable {
  std::vector<std::string> names;
  std::vector<std::uint32_t> cardinalities;
  std::vector<std::vector<std::string>> state_names;
  std::size_t rows = 0;
  std::vector<Value> values;  ///< (row, variable)

  std::size_t variables() const { return names.size(); }
};

/// Errors: cannot_read for a missing file, bad_data with file and line for a malformed one, usage for
/// options that do not fit.
DataTable read_data_table(const std::string& path, const DataOptions& options = {});

/// The readers behind it, for what is already in memory.
DataTable parse_text_table(TextSource& source, const DataOptions& options = {});
DataTable parse_idx_table(std::span<const std::uint8_t> bytes, const std::string& file,
                          const DataOptions& options = {});

/// The first bytes of a file, decompressed when it is gzip; raises cannot_read.
std::string first_bytes(const std::string& path, std::size_t count);

}  // namespace drover
