// The race of samplers (drover/methods/race.cpp) as it is seen from outside: what its progress says of each
// contestant, in the order in which they entered.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "drover/core/run_control.hpp"
#include "drover/run/result.hpp"

namespace drover {

class RaceWatch {
 public:
  /// `seconds` since the race began.
  void hear(const Progress& progress, double seconds);
  /// What the race itself says when it is over: who won, and why the others left.
  void settle(const std::vector<RaceEntry>& entries);

  bool empty() const { return rows_.empty(); }
  /// A JSON list of objects: method, sweeps, updates, seconds, heats, rhat, running, chosen, note.
  std::string json() const;

 private:
  struct Row {
    std::string method, note;
    std::uint64_t sweeps = 0, heats = 0;
    double updates = 0, seconds = 0, rhat = not_known, ess_per_work = not_known;
    bool running = false, chosen = false;
  };
  Row& row(const std::string& method);

  std::vector<Row> rows_;
  std::string current_;
  double heard_ = 0;  ///< when it last heard
};

}  // namespace drover
