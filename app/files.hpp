// No file that is read is written, and none is written twice.
#pragma once

#include "app/command.hpp"

namespace drover::app {

/// Raises usage when two of the files that the call names are one, by whatever spelling or link, and one of
/// them would be written. Nothing has been written then.
void check_files(const Command& command, const Call& call);

}  // namespace drover::app
