// Names as cells of tables with commas (RFC 4180), so written that no spreadsheet takes one for a formula:
// programs that open such a table run a cell that begins with = + - @, and names may come from strangers. A
// name of that kind gets an apostrophe before it, which spreadsheets read as "this is text" and plain_name()
// takes away again. Numbers stay as they are.
#pragma once

#include <string>
#include <string_view>

namespace drover {

/// The name as a cell: with an apostrophe where it would be run, in quotes where it needs them.
std::string csv_cell(std::string_view name);

/// The same, always in quotes.
std::string quoted_cell(std::string_view name);

/// The name that was written as this cell (whose quotes are off already).
std::string_view plain_name(std::string_view cell);

}  // namespace drover
