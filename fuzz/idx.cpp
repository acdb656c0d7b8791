// Any bytes are either an IDX table or bad_data. The first byte chooses what happens to numbers.
#include "drover/io/data_table.hpp"
#include "readers.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const char* const rules[] = {"", "mean", "median", "none", "128"};
  try {
    drover::parse_idx_table({data + 1, size - 1}, "input", {rules[data[0] % 5], "auto", ""});
  } catch (const drover::Error& error) {
    if (error.kind() != drover::ErrorKind::bad_data) throw;
  }
  return 0;
}
