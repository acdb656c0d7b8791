#include "app/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>

namespace drover::app {

namespace {

// The one global of the program: a signal handler can reach nothing else.
std::atomic<bool> interrupted = false;

void on_interrupt(int) {
  if (interrupted.exchange(true)) std::_Exit(130);  // a second Ctrl-C does not wait
}

std::string duration_text(double seconds) {
  if (seconds < 1) return "<1 s";
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

constexpr auto checkpoint_interval = std::chrono::seconds(30);

}  // namespace

ProgressBar::ProgressBar(const Settings& settings)
    : visible_(!settings.quiet && isatty(STDERR_FILENO) != 0),
      time_limit_(settings.time),
      start_(std::chrono::steady_clock::now()),
      last_shown_(start_),
      last_checkpoint_(start_) {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
}

ProgressBar::~ProgressBar() {
  clear();
}

double ProgressBar::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

bool ProgressBar::was_interrupted() const {
  return interrupted;
}

Monitor ProgressBar::monitor() {
  Monitor monitor;
  monitor.should_stop = [this] { return interrupted || (time_limit_ > 0 && seconds() >= time_limit_); };
  monitor.time_fraction = [this] { return time_limit_ > 0 ? std::min(1.0, seconds() / time_limit_) : 0.0; };
  monitor.checkpoint_due = [this] {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_checkpoint_ < checkpoint_interval) return false;
    last_checkpoint_ = now;
    return true;
  };
  monitor.report = [this](const Progress& progress) { show(progress); };
  return monitor;
}

void ProgressBar::show(const Progress& progress) {
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
  if (progress.rhat_max > 0) line += fmt::format("  R-hat {:.3f}", progress.rhat_max);
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
