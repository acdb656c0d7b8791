#include "app/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

namespace drover::app {

namespace {

void on_signal(int) {
  if (run_control().stop_requested()) std::_Exit(130);  // a second Ctrl-C does not wait
  run_control().request_stop();
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

ProgressBar::ProgressBar(bool quiet)
    : visible_(!quiet && isatty(STDERR_FILENO) != 0),
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
