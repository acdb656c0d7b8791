#include "python_run.hpp"

#include <pthread.h>

#include <atomic>

namespace drover::python {

namespace {

using namespace std::chrono_literals;
constexpr auto look_every = 50ms, show_every = 100ms, show_after = 500ms;

std::atomic<bool> has_threads = false, is_forked = false;

}  // namespace

void watch_forks() {
  pthread_atfork(nullptr, nullptr, [] { is_forked = has_threads.load(); });
}

void fail_after_fork() {
  if (is_forked)
    throw Error(ErrorKind::usage,
                "this process was forked after drover had started its threads, which a fork does not copy; "
                "start workers "
                "with multiprocessing.get_context(\"spawn\"), or fork before the first question");
  has_threads = true;
}

PythonRun::PythonRun(const Limits& limits, py::object progress) : progress_(std::move(progress)) {
  fail_after_fork();
  const Clock::time_point now = Clock::now();
  next_look_ = now + look_every;
  next_show_ = now + (progress_.is_none() ? Clock::duration(show_after) : Clock::duration(0));
  if (limits.time) control_.limit_time(*limits.time);
  if (limits.threads) control_.limit_threads(*limits.threads);
  control_.stop_when([this] { return look_for_signals(); });
  shows_ = !py::isinstance<py::bool_>(progress_) || progress_.cast<bool>();
  if (py::isinstance<py::bool_>(progress_)) progress_ = py::none();
  if (shows_) control_.watch([this](const Progress& now_done) { show(now_done); });
}

bool PythonRun::look_for_signals() {
  if (std::this_thread::get_id() != caller_) return false;  // others hear of it through request_stop()
  const Clock::time_point now = Clock::now();
  if (now < next_look_) return false;
  next_look_ = now + look_every;
  const py::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) keep_exception();
  return control_.stop_requested();
}

void PythonRun::keep_exception() {
  control_.request_stop();
  py::error_already_set raised;
  if (raised.matches(PyExc_KeyboardInterrupt))
    ++interrupts_;
  else
    raised_.emplace(std::move(raised));
}

void PythonRun::show(const Progress& progress) {
  const Clock::time_point now = Clock::now();
  if (now < next_show_ || std::this_thread::get_id() != caller_) return;
  next_show_ = now + show_every;
  const py::gil_scoped_acquire acquire;
  try {
    if (progress_.is_none()) progress_ = py::module_::import("drover._progress").attr("reporter")();
    if (progress_.is_none()) {
      next_show_ = Clock::time_point::max();  // nobody looks on
      return;
    }
    py::dict now_known;
    now_known["phase"] = std::string(progress.phase);
    now_known["fraction"] = progress.fraction < 0 ? py::object(py::none()) : py::float_(progress.fraction);
    now_known["sweeps"] = progress.sweeps;
    now_known["updates"] = progress.updates;
    now_known["rhat_max"] = progress.rhat_max > 0 ? py::object(py::float_(progress.rhat_max)) : py::none();
    now_known["seconds"] = control_.seconds();
    progress_(now_known);
  } catch (py::error_already_set& error) {
    error.restore();
    keep_exception();
  }
}

void PythonRun::finish() {
  if (!progress_.is_none() && py::hasattr(progress_, "close")) progress_.attr("close")();
  if (raised_) {
    py::error_already_set raised = std::move(*raised_);
    raised_.reset();
    throw raised;
  }
  if (interrupts_ > 1) raise_interrupt();
}

void PythonRun::raise_interrupt() {
  PyErr_SetNone(PyExc_KeyboardInterrupt);
  throw py::error_already_set();
}

}  // namespace drover::python
