#include "app/progress.hpp"

#include <fmt/format.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include "drover/core/error.hpp"
#include "drover/core/figures.hpp"
#include "drover/io/temporary_file.hpp"

namespace drover::app {

namespace {

std::atomic<bool> has_begun = false;
bool forwarded_to_terminal = false;

// In a signal handler: nothing here allocates or waits.
[[noreturn]] void end_at_once(std::string_view message, ErrorKind kind) {
  remove_temporaries();
  [[maybe_unused]] const auto sent = write(STDERR_FILENO, message.data(), message.size());
  std::_Exit(static_cast<int>(kind));
}

double clock_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void on_signal(int) {
  static std::atomic<double> first = 0;
  if (!has_begun)
    end_at_once("drover: error: interrupted before there was a result\n", ErrorKind::interrupted);
  const double now = clock_seconds();
  double asked = 0;
  if (first.compare_exchange_strong(asked, now)) return run_control().request_stop();
  // A second one does not wait, unless it is the first one's echo: `timeout` signals the process and its group.
  constexpr double echo = 0.2;
  if (now - asked > echo) end_at_once("", ErrorKind::interrupted);
}

void on_time_limit(int) {
  if (!has_begun)
    end_at_once("drover: error: the time limit came before there was a result\n", ErrorKind::stopped);
}

std::string duration_text(double seconds) {
  if (seconds < 1) return "<1 s";
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace

RunControl& run_control() {
  static RunControl control;
  return control;
}

void install_signal_handlers() {
  run_control();  // made before a handler can ask for it
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, on_signal);
}

void limit_time(double seconds) {
  run_control().limit_time(seconds);
  std::signal(SIGALRM, on_time_limit);
  constexpr double longest = 1e8;  // seconds; beyond it some systems refuse
  itimerval timer{};
  // What is done within this of the limit is still a result: small work is not cut for a slow start.
  constexpr double grace = 0.4;
  const double limit = std::clamp(seconds, 0.0, longest) + grace;
  timer.it_value.tv_sec = static_cast<time_t>(limit);
  timer.it_value.tv_usec = static_cast<suseconds_t>((limit - std::floor(limit)) * 1e6);
  setitimer(ITIMER_REAL, &timer, nullptr);
}

bool speaks() {
  return run_control().ranks().is_first();
}

bool goes_on_alone() {
  if (run_control().ranks().size() == 1) return true;
  if (!speaks()) {
    expect_result();  // rank 0 is about to have it
    return false;
  }
  run_control().share_with(one_process());
  return true;
}

void set_forwarded_to_terminal(bool forwarded) {
  forwarded_to_terminal = forwarded;
}

void expect_result() noexcept {
  has_begun = true;
}

ProgressBar::ProgressBar(bool quiet)
    : visible_(!quiet && speaks() && (forwarded_to_terminal || isatty(STDERR_FILENO) != 0)),
      start_(std::chrono::steady_clock::now()),
      last_shown_(start_) {
  run_control().watch([this](const Progress& progress) { show(progress); });
}

ProgressBar::~ProgressBar() {
  clear();
  run_control().watch({});
}

double ProgressBar::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void ProgressBar::show(const Progress& progress) {
  expect_result();
  const auto now = std::chrono::steady_clock::now();
  if (!visible_ || now - last_shown_ < std::chrono::milliseconds(100)) return;
  last_shown_ = now;
  std::string line = fmt::format("\r\033[K{} ", progress.phase);
  if (progress.fraction >= 0) {
    constexpr int width = 24;
    const int full = std::clamp(static_cast<int>(progress.fraction * width), 0, width);
    line += "[";
    for (int k = 0; k < width; ++k) line += k < full ? "█" : "·";
    line += fmt::format("] {:3.0f}%", 100 * progress.fraction);
  }
  const double elapsed = seconds();
  if (progress.updates > 0) line += fmt::format("  {:.3g} updates/ns", progress.updates / (elapsed * 1e9));
  if (progress.rhat_max > 0) line += "  R-hat " + rhat_text(progress.rhat_max);
  if (progress.fraction > 0.01)
    line += fmt::format("  {} left", duration_text(elapsed * (1 / progress.fraction - 1)));
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
  drawn_ = true;
}

void ProgressBar::clear() {
  if (drawn_) std::fputs("\r\033[K", stderr);
  drawn_ = false;
}

}  // namespace drover::app
