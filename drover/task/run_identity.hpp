// What a run is, in one line, for its checkpoint: another run may not go on from it.
#pragma once

#include <cstdint>
#include <string>

#include "drover/task/provenance.hpp"

namespace drover {

/// The version, the question, the method, the options as they were resolved and a checksum of the data.
std::string run_identity(const Provenance& provenance, std::uint64_t data);
/// Where a run is saved is no part of it.
void remove_checkpoint_options(OptionList& list);

}  // namespace drover
