// The file beside a target that becomes it: created under a name of its own, locked while its program lives.
//
// A killed program leaves such a file behind. The next one that writes the same target finds it unlocked and
// removes it. Locks are those of the open file (fcntl, F_OFD_SETLK): they end with the program, whatever
// became of it, and do not meet the flock() by which HDF5 guards what it opens.
#pragma once

#include <string>

namespace drover {

/// Where a path leads: links are followed, also to a file that does not exist yet.
std::string without_links(const std::string& path);

/// Creates and locks a file beside `target` (which has no links), with the owner and mode of the target when
/// there is one; stale ones are removed. Returns its descriptor and name; below 0, with errno, when it
/// cannot.
int create_temporary(const std::string& target, std::string& name);

/// Removes the newest temporary files of this program; from a signal handler that is about to end it.
void remove_temporaries() noexcept;

/// Locks an open file for this descriptor alone, or says that somebody else holds it.
bool lock_file(int descriptor);

}  // namespace drover
