// Pseudo-samples per second of herding, one thread, after warm-up. By the thread's own clock: what an
// undisturbed core would do.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "drover/core/random.hpp"
#include "drover/herd/herding.hpp"

namespace drover {
namespace {

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Rows that share a hidden cause, with about this share of ones.
std::vector<Value> rows_of(std::uint32_t n, std::uint32_t rows, double share) {
  const Random random(1, Stream::generate);
  std::vector<Value> values;
  for (std::uint32_t r = 0; r < rows; ++r) {
    const std::uint32_t cause = random.block(0, r, 0)[0] % 4;
    for (std::uint32_t v = 0; v < n; ++v) {
      const double p = share * 2 * random.uniform(1 + cause, 0, v);
      values.push_back(random.uniform(7, r, v) < p ? 1 : 0);
    }
  }
  return values;
}

void measure(std::uint32_t n, std::uint32_t order, double share, std::uint64_t samples) {
  const Moments moments =
      moments_of(complete_features(std::vector<std::uint32_t>(n, 2), order), rows_of(n, 2000, share));
  Herding herding(moments);
  for (std::uint64_t t = 0; t < samples / 5; ++t) herding.step();
  const SearchFacts before = herding.facts();
  double best = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const double begin = thread_seconds();
    for (std::uint64_t t = 0; t < samples / 5; ++t) herding.step();
    best = std::max(best, static_cast<double>(samples / 5) / (thread_seconds() - begin));
  }
  const double steps = static_cast<double>(samples / 5 * 5);
  double norm = 0;
  for (double w : herding.weights()) norm += w * w;
  fmt::print(
      "{:>4} variables, order {}, {:>4.0f}% ones, {:>7} features: {:>12.0f} samples/s  ({:.2f} changes, "
      "{:.4f} hard, {:.4f} short each; |w| {:.1f})\n",
      n, order, 100 * share, moments.set.size(), best,
      static_cast<double>(herding.facts().changes - before.changes) / steps,
      static_cast<double>(herding.facts().hard - before.hard) / steps,
      static_cast<double>(herding.facts().short_of - before.short_of) / steps, std::sqrt(norm));
}

}  // namespace
}  // namespace drover

int main() {
  drover::measure(10, 2, 0.5, 1000000);
  drover::measure(10, 3, 0.5, 1000000);
  drover::measure(16, 2, 0.5, 50000);
  drover::measure(100, 2, 0.04, 500000);
  drover::measure(100, 2, 0.3, 500000);
  drover::measure(100, 2, 0.5, 500000);
  drover::measure(64, 3, 0.3, 50000);
  drover::measure(100, 3, 0.04, 50000);
  drover::measure(100, 3, 0.3, 10000);
}
