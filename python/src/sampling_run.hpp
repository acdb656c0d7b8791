// A run of sampling that goes on in a thread of its own while Python does something else: it can be looked
// at, paused, resumed and stopped.
#pragma once

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "draws.hpp"
#include "drover/core/run_control.hpp"
#include "drover/run/inference_options.hpp"
#include "drover/run/limits.hpp"
#include "stated_model.hpp"

namespace drover::python {

/// What is known of a run at a moment.
struct RunState {
  std::string phase = "starting";
  std::optional<double> fraction, rhat_max;
  std::uint64_t sweeps = 0, draws = 0;  ///< draws of all chains
  double updates = 0, seconds = 0;
  bool paused = false, running = true;
};

class SamplingRun {
 public:
  SamplingRun(std::shared_ptr<const NamedModel> model, InferenceOptions options, const Limits& limits);
  ~SamplingRun();
  SamplingRun(const SamplingRun&) = delete;
  SamplingRun& operator=(const SamplingRun&) = delete;

  RunState inspect();
  void pause();
  void resume();
  /// Ends the run.
  void request_stop();
  /// Waits for the end at most so long; whether it came.
  bool wait(double seconds);
  /// Waits at most so long for the first draw, or until no draw can come: it has ended or is paused.
  void wait_for_draw(double seconds);
  /// After the end: what came out; raises what the run raised.
  Samples take_answer();

  ArraySink kept;  ///< to be read after the end
  const std::shared_ptr<const NamedModel> model;

 private:
  class Sink;
  void work();
  /// Waits while the run is paused.
  void hold();

  const InferenceOptions options_;
  RunControl control_;
  std::mutex mutex_;
  std::condition_variable changed_;
  RunState state_;
  std::optional<Samples> answer_;
  std::exception_ptr raised_;
  std::thread thread_;
};

}  // namespace drover::python
