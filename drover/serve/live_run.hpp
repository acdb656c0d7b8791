// A sampler that is watched while it runs: one run at a time, held by a thread of its own, for any method
// that draws samples. It speaks through draws (DrawSink): whoever takes a draw may wait (pause) or have the
// run ended.
//
// What is kept has a fixed size: a trace of log scores of the first chains that halves when it is full, means
// of at most `most_tracked` variables (an even spread) per chain and segment (SegmentStore), the last state
// of one chain, an even spread of draws (KeptDraws). From these a snapshot is made some times a second, less
// often when making it is dear, so that watching takes less than a twentieth of the run. Watchers read the
// newest snapshot; there are no queues.
//
// The method "race" is the race of samplers that `auto` holds: it answers with marginals instead of draws,
// and what is watched are the contestants.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "drover/run/inference_options.hpp"
#include "drover/serve/http_server.hpp"
#include "drover/task/inference.hpp"

namespace drover {

class LiveRun {
 public:
  /// The model must outlive it.
  explicit LiveRun(const Model& model);
  ~LiveRun();
  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;

  /// Ends the run there is, if any, and starts one. What is wrong with the options is said by the snapshot.
  void start(const InferenceOptions& options);
  void pause();
  void go_on();
  /// Returns when the run has ended; its last snapshot stays.
  void stop();

  /// The newest snapshot, as JSON, when it is newer than `version`; waits at most so many seconds for one.
  HttpEvent wait(std::uint64_t version, double seconds);
  /// The last state taken of the first chain; empty before there is one.
  std::vector<Value> state();
  std::uint64_t draws();
  /// What the run has to say so far: of draws, or of the race when it has ended; nothing before.
  std::variant<std::monostate, Samples, Marginals> answer();
  /// The draws that are kept, as a file of this extension (drover/io/draws.hpp). Raises usage when there are
  /// none.
  std::string draws_file(const std::string& extension);

  static constexpr std::size_t most_tracked = 2000, traced_chains = 8, trace_points = 512;

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace drover
