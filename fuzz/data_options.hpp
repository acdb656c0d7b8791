// Options for reading a table, all combinations, by a byte.
#pragma once

#include "drover/io/data_table.hpp"

namespace drover::fuzz {

inline DataOptions data_options(std::uint8_t byte) {
  constexpr Header headers[] = {Header::automatic, Header::yes, Header::no};
  constexpr Missing missing[] = {Missing::error, Missing::drop, Missing::state};
  DataOptions options;
  options.threshold = 0.5;
  if (byte % 5 > 0) options.binarise = static_cast<Binarise>(byte % 5 - 1);
  options.header = headers[byte / 5 % 3];
  options.missing = missing[byte / 15 % 3];
  options.constant_columns = byte / 45 % 2 == 1;
  return options;
}

}  // namespace drover::fuzz
