// How a running algorithm speaks to the outside: it reports progress and asks whether to stop. The command
// puts a progress bar, Ctrl-C and time limits behind it; the library's default does nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace drover {

struct Progress {
  std::string phase;         ///< "burn-in", "sampling", ...
  double fraction = 0;       ///< of the planned work, 0 .. 1; negative when unknown
  std::uint64_t sweeps = 0;  ///< done so far
  double updates = 0;        ///< variable updates done so far, all chains
  double rhat_max = 0;       ///< 0 when not known yet
};

struct Monitor {
  std::function<bool()> should_stop = [] { return false; };
  /// The share of a time limit that has passed, 0 .. 1; 0 when there is no limit.
  std::function<double()> time_fraction = [] { return 0.0; };
  /// Whether it is time to save a checkpoint; asking resets it.
  std::function<bool()> checkpoint_due = [] { return false; };
  std::function<void(const Progress&)> report = [](const Progress&) {};
};

}  // namespace drover
