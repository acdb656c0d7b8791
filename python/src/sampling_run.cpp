#include "sampling_run.hpp"

#include <pybind11/stl.h>

#include <set>

#include "asked.hpp"
#include "data.hpp"
#include "python_answers.hpp"
#include "python_run.hpp"

namespace drover::python {

/// Counts draws under the lock and stops at every one while the run is paused.
class SamplingRun::Sink : public DrawSink {
 public:
  explicit Sink(SamplingRun& run) : run_(run) {}
  void begin(const ModelAnswer& answer) override { run_.kept.begin(answer); }
  void take(std::uint32_t chain, std::span<const Value> assignment, double log_score) override {
    run_.hold();
    run_.kept.take(chain, assignment, log_score);
    const std::lock_guard lock(run_.mutex_);
    if (++run_.state_.draws == 1) run_.changed_.notify_all();
  }

 private:
  SamplingRun& run_;
};

SamplingRun::SamplingRun(std::shared_ptr<const NamedModel> about, InferenceOptions options,
                         const Limits& limits)
    : model(std::move(about)), options_(std::move(options)) {
  if (limits.time) control_.limit_time(*limits.time);
  if (limits.threads) control_.limit_threads(*limits.threads);
  control_.watch([this](const Progress& progress) {
    {
      const std::lock_guard lock(mutex_);
      state_.phase = progress.phase;
      state_.fraction = progress.fraction < 0 ? std::nullopt : std::optional(progress.fraction);
      state_.rhat_max = progress.rhat_max > 0 ? std::optional(progress.rhat_max) : std::nullopt;
      state_.sweeps = progress.sweeps;
      state_.updates = progress.updates;
    }
    hold();
  });
  thread_ = std::thread([this] { work(); });
}

SamplingRun::~SamplingRun() {
  request_stop();
  thread_.join();
}

void SamplingRun::work() {
  std::optional<Samples> answer;
  std::exception_ptr raised;
  try {
    Sink sink(*this);
    answer = sample(model->model, options_, sink, control_);
  } catch (...) {
    raised = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  answer_ = std::move(answer);
  raised_ = raised;
  state_.running = false;
  state_.seconds = control_.seconds();
  changed_.notify_all();
}

void SamplingRun::hold() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !state_.paused; });
}

RunState SamplingRun::inspect() {
  const std::lock_guard lock(mutex_);
  if (state_.running) state_.seconds = control_.seconds();
  return state_;
}

void SamplingRun::pause() {
  const std::lock_guard lock(mutex_);
  state_.paused = state_.running;
}

void SamplingRun::resume() {
  const std::lock_guard lock(mutex_);
  state_.paused = false;
  changed_.notify_all();
}

void SamplingRun::request_stop() {
  control_.request_stop();
  resume();
}

bool SamplingRun::wait(double seconds) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return !state_.running; });
}

void SamplingRun::wait_for_draw(double seconds) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                    [&] { return !state_.running || state_.paused || state_.draws > 0; });
}

Samples SamplingRun::take_answer() {
  const std::lock_guard lock(mutex_);
  try {
    if (raised_) std::rethrow_exception(raised_);
  } catch (const Error& error) {  // which Python knows as KeyboardInterrupt, but nobody pressed a key
    if (error.kind() == ErrorKind::interrupted) throw Error(ErrorKind::stopped, error.what());
    throw;
  }
  return *answer_;
}

namespace {

// Runs that have not ended when the interpreter does are ended first: their threads read what it frees.
std::set<SamplingRun*>& live_runs() {
  static std::set<SamplingRun*> runs;
  return runs;
}

std::shared_ptr<SamplingRun> start(const StatedModel& stated, const py::object& observed,
                                   const py::kwargs& keywords) {
  fail_after_fork();
  const bool endless = !keywords.contains("samples") && !keywords.contains("sweeps");
  Asked asked = ask(*stated, Task::sample, observed, keywords);
  constexpr std::uint64_t no_end = 1'000'000'000'000;
  if (endless) asked.options.samples = no_end;
  if (!asked.out.empty())
    throw Error(ErrorKind::usage, "out: a run that is held keeps its draws; save them at its end");
  std::shared_ptr<SamplingRun> run(new SamplingRun(stated.share(), std::move(asked.options), asked.limits),
                                   [](SamplingRun* ended) {
                                     live_runs().erase(ended);
                                     const py::gil_scoped_release release;
                                     delete ended;
                                   });
  live_runs().insert(run.get());
  return run;
}

// Waits without the GIL, and looks for Ctrl-C.
Draws end_of(SamplingRun& run, bool interrupted) {
  for (bool ended = false; !ended;) {
    {
      const py::gil_scoped_release release;
      ended = run.wait(0.05);
    }
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }
  Draws draws;
  static_cast<AboutModel<Samples>&>(draws) = AboutModel<Samples>(run.take_answer(), run.model, interrupted);
  draws.arrays = run.kept.arrays;
  return draws;
}

}  // namespace

void bind_runs(py::module_& module, py::class_<StatedModel>& model) {
  py::class_<RunState>(module, "RunState", "What is known of a run at a moment.")
      .def_readonly("phase", &RunState::phase)
      .def_readonly("fraction", &RunState::fraction)
      .def_readonly("rhat_max", &RunState::rhat_max)
      .def_readonly("sweeps", &RunState::sweeps)
      .def_readonly("draws", &RunState::draws, "Of all chains.")
      .def_readonly("updates", &RunState::updates)
      .def_readonly("seconds", &RunState::seconds)
      .def_readonly("paused", &RunState::paused)
      .def_readonly("running", &RunState::running)
      .def("__repr__", [](const RunState& s) {
        return "<run: " + s.phase + ", " + std::to_string(s.sweeps) + " sweeps, " + std::to_string(s.draws) +
               " draws" +
               (s.paused    ? ", paused>"
                : s.running ? ">"
                            : ", ended>");
      });
  py::class_<SamplingRun, std::shared_ptr<SamplingRun>>(module, "SamplingRun",
                                                        "A run of sampling that goes on meanwhile.")
      .def("inspect", &SamplingRun::inspect, "What is known now: phase, sweeps, draws, rhat_max, ...")
      .def("pause", &SamplingRun::pause, "Hold the run until resume().")
      .def("resume", &SamplingRun::resume, "Go on after pause().")
      .def(
          "stop",
          [](SamplingRun& run) {
            constexpr double patience = 1;
            {
              const py::gil_scoped_release release;
              run.wait_for_draw(patience);
            }
            const bool running = run.inspect().running;
            run.request_stop();
            return end_of(run, running);
          },
          "End the run; one that has just begun gets a second for its first draw.\n\n"
          "Returns\n-------\nDraws\n    Those so far.\n")
      .def(
          "wait", [](SamplingRun& run) { return end_of(run, false); },
          "Wait for the end of the run.\n\nReturns\n-------\nDraws\n");
  model.def(
      "start_sampling", &start, py::arg("observe") = py::none(),
      "Start to sample, and return at once with the run, which can be looked at, paused and stopped.\n\n"
      "Parameters\n----------\nobserve : dict, optional\n**options\n    As for sample; without `samples` it "
      "goes on until stop().\n\n"
      "Returns\n-------\nSamplingRun\n");
  py::module_::import("atexit").attr("register")(py::cpp_function([] {
    const py::gil_scoped_release release;
    for (SamplingRun* run : live_runs()) {
      run->request_stop();
      while (!run->wait(1)) {
      }
    }
  }));
}

}  // namespace drover::python
