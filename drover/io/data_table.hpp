// A table of discrete data: one row per case, one column per variable.
//
// Read by content, not by name:
//   text     values separated by tabs, commas, semicolons or spaces (what the first line has, in this order;
//            spaces only when all lines that are looked at have the same number of words); with or without a
//            header; quotes as usual; plain or gzip
//   .npz     the array `draws`, else the first with two dimensions (rows, columns)
//   IDX      unsigned bytes (MNIST), the first dimension counts rows, the others are columns; plain or gzip
// A column of 0 and 1 is a binary variable, a column of texts a categorical one, its states in alphabetical
// order. Other numbers need a decision (`binarise`), and so do missing values: an empty cell, NA, N/A, NaN,
// null and ? without quotes, NaN in an array. Columns without a name are called x0, x1, ...
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drover/core/option_list.hpp"
#include "drover/core/run_control.hpp"
#include "drover/core/types.hpp"

namespace drover {

class TextSource;

/// What becomes of numbers other than 0 and 1.
enum class Binarise {
  mean,       ///< 1 where x >= the mean of the column
  median,     ///< 1 where x > the median
  threshold,  ///< 1 where x >= a number
  none        ///< every number is a state, in ascending order
};

/// What becomes of missing values.
enum class Missing {
  error,
  drop,  ///< rows that lack a value in a chosen column are left out
  state  ///< a state of its own, the last one, called missing
};

enum class Header { automatic, yes, no };

template <>
struct ChoiceNames<Missing> {
  static constexpr std::array names = {std::pair{Missing::error, std::string_view("error")},
                                       std::pair{Missing::drop, std::string_view("drop")},
                                       std::pair{Missing::state, std::string_view("state")}};
};
template <>
struct ChoiceNames<Header> {
  static constexpr std::array names = {std::pair{Header::automatic, std::string_view("auto")},
                                       std::pair{Header::yes, std::string_view("yes")},
                                       std::pair{Header::no, std::string_view("no")}};
};

struct DataOptions {
  std::optional<Binarise> binarise{};  ///< unset: such numbers are an error
  double threshold = 0;                ///< of Binarise::threshold
  std::vector<std::string> columns{};  ///< names or numbers: only these, in this order; empty: all
  Header header = Header::automatic;
  Missing missing = Missing::error;
  bool constant_columns = false;  ///< whether a column of one state is allowed; else an error
};

/// Columns that may be constant are the caller's affair, not the user's.
void describe(OptionList& list, DataOptions& options);

struct DataTable {
  std::vector<std::string> names;
  std::vector<std::uint32_t> cardinalities;
  std::vector<std::vector<std::string>> state_names;
  std::size_t rows = 0;
  std::vector<Value> values;  ///< (row, variable)
  std::size_t dropped = 0;    ///< rows that were left out because a value was missing
  std::string source{};       ///< the file
  bool drawn = false;         ///< values count a model's states, whether their names are known or not

  std::size_t variables() const { return names.size(); }
};

/// Errors: cannot_read for a missing file, bad_data with file and line for a malformed one, usage for
/// options that do not fit, stopped when the control ends the run first.
DataTable read_data_table(const std::string& path, const DataOptions& options = {},
                          const RunControl& control = no_control());

/// Which columns the option `columns` names, by name or number, in its order; all when it names none.
std::vector<std::size_t> chosen_columns(const std::string& file, const std::vector<std::string>& names,
                                        const std::vector<std::string>& words);

/// The readers behind it, for what is already in memory.
DataTable parse_text_table(TextSource& source, const DataOptions& options = {},
                           const RunControl& control = no_control());
DataTable parse_idx_table(std::span<const std::uint8_t> bytes, const std::string& file,
                          const DataOptions& options = {}, const RunControl& control = no_control());

/// Numbers (row, column) that are in memory, one name a column; NaN is a missing value. `source` stands for
/// the file in messages.
DataTable table_of_numbers(std::span<const double> numbers, const std::vector<std::string>& names,
                           const std::string& source, const DataOptions& options = {},
                           const RunControl& control = no_control());

}  // namespace drover
