// Any text is either draws or bad_data.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "drover/core/error.hpp"
#include "drover/io/draws.hpp"
#include "drover/io/draws_diagnosis.hpp"
#include "drover/io/text_source.hpp"
#include "target.hpp"

FUZZ_TARGET(draws_csv, data, size) {
  try {
    drover::TextSource source(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.csv");
    drover::diagnose_draws(drover::parse_draws_csv(source));
  } catch (const drover::Error& error) {
    if (error.kind() != drover::ErrorKind::bad_data) throw;
  }
  return 0;
}
