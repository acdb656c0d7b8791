// Small graphs to run chains on, and what a run is as a checkpoint has it.
#pragma once

#include <cstdint>
#include <string>

#include "drover/compile/graph.hpp"
#include "drover/core/archive.hpp"
#include "tests/support/random_models.hpp"

namespace drover::testing {

inline Graph small_graph(std::uint64_t seed) {
  RandomModelOptions options;
  options.max_states = 3;
  options.scale = 0.7;
  return compile(random_model(seed, options));
}

template <class Run>
std::string bytes_of(Run& run) {
  SaveArchive archive;
  run.visit(archive);
  return archive.bytes();
}

}  // namespace drover::testing
