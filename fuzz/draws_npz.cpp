// Any bytes are either draws or bad_data.
#include <cstddef>
#include <cstdint>

#include "drover/core/error.hpp"
#include "drover/io/draws.hpp"
#include "drover/io/draws_diagnosis.hpp"
#include "target.hpp"

FUZZ_TARGET(draws_npz, data, size) {
  try {
    drover::diagnose_draws(drover::parse_draws_npz({data, size}, "fuzz.npz"));
  } catch (const drover::Error& error) {
    if (error.kind() != drover::ErrorKind::bad_data) throw;
  }
  return 0;
}
