// The chains of one sampler while they are alive, whatever its kernel: run on, looked at, compared with those
// of other samplers. This is what the race (race.cpp) holds of each of its contestants.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "drover/core/run_control.hpp"
#include "drover/methods/sweep_cost.hpp"
#include "drover/run/result.hpp"
#include "drover/run/segment_store.hpp"

namespace drover {

class LiveChains {
 public:
  virtual ~LiveChains() = default;

  virtual std::uint32_t chains() const = 0;
  virtual void start_at(std::uint32_t chain, std::span<const Value> x) = 0;
  /// Until so many sweeps are done in all, or the control ends it.
  virtual void run_to(std::uint64_t sweeps, const RunControl& control) = 0;
  /// Counts what was kept before this sweep as burn-in.
  virtual void discard_before(std::uint64_t sweep) = 0;
  virtual void read(std::uint32_t chain, std::span<Value> x) const = 0;
  virtual std::uint64_t sweeps_done() const = 0;
  /// Kept draws of each chain, since the burn-in.
  virtual std::uint64_t draws() const = 0;
  virtual const SegmentStore& store() const = 0;
  /// Of all chains together, counted by sweep_cost.hpp.
  virtual double work_per_sweep() const = 0;
  /// What it is counted from: of one replica of one chain.
  virtual SweepSize sweep_size() const = 0;
  virtual double replicas() const = 0;
  /// Tells the blocks that it draws from others; 0 where it draws none.
  virtual std::uint64_t blocks() const = 0;
  virtual std::span<const Value> best_state() const = 0;
  virtual double best_log_score() const = 0;
  /// Marginals with their errors and diagnostics; ends the run.
  virtual MarginalsResult result() = 0;
  /// Frees states and estimates. Nothing but chains() and work_per_sweep() may be asked afterwards.
  virtual void release() = 0;
};

using UseChains = std::function<void(LiveChains&)>;

}  // namespace drover
