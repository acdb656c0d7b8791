// Any bytes are either an IDX table or bad_data. The first byte chooses what happens to numbers.
#include "data_options.hpp"
#include "readers.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  try {
    drover::parse_idx_table({data + 1, size - 1}, "input", drover::fuzz::data_options(data[0]));
  } catch (const drover::Error& error) {
    if (error.kind() != drover::ErrorKind::bad_data) throw;
  }
  return 0;
}
