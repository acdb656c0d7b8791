// Any text is either a table of data or bad_data. The first byte chooses what happens to numbers, to the
// first row and to missing values.
#include "data_options.hpp"
#include "drover/io/text_source.hpp"
#include "readers.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  try {
    drover::TextSource source(drover::fuzz::as_text(data + 1, size - 1), "input", drover::fuzz::chunk);
    drover::parse_text_table(source, drover::fuzz::data_options(data[0]));
  } catch (const drover::Error& error) {
    if (error.kind() != drover::ErrorKind::bad_data) throw;
  }
  return 0;
}
