// Any text is either moments or bad_data; what is read can be asked for contradictions.
#include "drover/io/moments.hpp"

#include "drover/herd/consistency.hpp"
#include "drover/io/text_source.hpp"
#include "readers.hpp"
#include "target.hpp"

FUZZ_TARGET(moments, data, size) {
  try {
    drover::TextSource source(drover::fuzz::as_text(data, size), "input", drover::fuzz::chunk);
    std::size_t total = 0;
    drover::find_inconsistencies(drover::parse_moments(source), 1e-9, 20, &total);
  } catch (const drover::Error& error) {
    if (error.kind() != drover::ErrorKind::bad_data) throw;
  }
  return 0;
}
