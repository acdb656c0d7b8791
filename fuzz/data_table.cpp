// Any bytes are either a table of data, as text or IDX, or bad_data. The first byte chooses what happens to numbers, to
// the first row and to missing values.
#include "drover/io/data_table.hpp"

#include "drover/io/text_source.hpp"
#include "readers.hpp"
#include "target.hpp"

namespace {

drover::DataOptions data_options(std::uint8_t byte) {
  using namespace drover;
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

}  // namespace

FUZZ_TARGET(data_table, data, size) {
  if (size == 0) return 0;
  try {
    drover::TextSource source(drover::fuzz::as_text(data + 1, size - 1), "input", drover::fuzz::chunk);
    drover::parse_text_table(source, data_options(data[0]));
  } catch (const drover::Error& error) {
    if (error.kind() != drover::ErrorKind::bad_data) throw;
  }
  return 0;
}

FUZZ_TARGET(idx, data, size) {
  if (size == 0) return 0;
  try {
    drover::parse_idx_table({data + 1, size - 1}, "input", data_options(data[0]));
  } catch (const drover::Error& error) {
    if (error.kind() != drover::ErrorKind::bad_data) throw;
  }
  return 0;
}
