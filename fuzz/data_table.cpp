// Any text is either a table of data or bad_data. The first byte chooses what happens to numbers.
#include "drover/io/data_table.hpp"

#include "drover/io/text_source.hpp"
#include "readers.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const char* const rules[] = {"", "mean", "median", "none", "0.5"};
  static const char* const headers[] = {"auto", "yes", "no"};
  const drover::DataOptions options{rules[data[0] % 5], headers[data[0] / 5 % 3], ""};
  try {
    drover::TextSource source(drover::fuzz::as_text(data + 1, size - 1), "input", drover::fuzz::chunk);
    drover::parse_text_table(source, options);
  } catch (const drover::Error& error) {
    if (error.kind() != drover::ErrorKind::bad_data) throw;
  }
  return 0;
}
