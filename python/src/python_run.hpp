// A run of the library as Python sees it: the GIL is released, Ctrl-C and other signals are looked for every
// 50 ms, and progress is shown.
//
// The first Ctrl-C ends the run with the result so far; when there is none, or at the second,
// KeyboardInterrupt is raised. Whatever else a Python signal handler or a progress function raises ends the
// run and is raised from the call. Worker threads never touch Python.
#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "drover/core/error.hpp"
#include "drover/core/run_control.hpp"
#include "drover/run/limits.hpp"

namespace drover::python {

namespace py = pybind11;

class PythonRun {
 public:
  /// `progress`: None shows it where a person looks on, False never does, a function is called with it.
  explicit PythonRun(const Limits& limits = {}, py::object progress = py::none());
  PythonRun(const PythonRun&) = delete;
  PythonRun& operator=(const PythonRun&) = delete;

  /// work(control), without the GIL.
  template <class Work>
  auto operator()(Work work) -> decltype(work(std::declval<const RunControl&>())) {
    try {
      std::optional<decltype(work(std::declval<const RunControl&>()))> result;
      {
        py::gil_scoped_release release;
        result.emplace(work(control_));
      }
      finish();
      return std::move(*result);
    } catch (const Error& error) {
      finish();
      if (error.kind() == ErrorKind::interrupted) raise_interrupt();
      throw;
    }
  }

  const RunControl& control() const { return control_; }
  bool interrupted() const { return interrupts_ > 0; }
  /// For what has no result so far: KeyboardInterrupt after a Ctrl-C.
  void raise_if_interrupted() const {
    if (interrupted()) raise_interrupt();
  }

 private:
  bool look_for_signals();
  void show(const Progress& progress);
  void keep_exception();
  void finish();
  [[noreturn]] static void raise_interrupt();

  using Clock = std::chrono::steady_clock;
  RunControl control_;
  std::thread::id caller_ = std::this_thread::get_id();
  Clock::time_point next_look_, next_show_;
  unsigned interrupts_ = 0;
  py::object progress_;  ///< None until it is known who looks on
  bool shows_ = true;
  std::optional<py::error_already_set> raised_;
};

/// Raises Error in a process that was forked after threads were started here: they do not exist in it.
void fail_after_fork();
void watch_forks();

}  // namespace drover::python
