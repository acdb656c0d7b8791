// Updates per nanosecond of herded Gibbs on square spin grids, from 10^3 to 10^6 variables, beside random
// Gibbs by colour classes; one chain, one thread, thread time, the best of a few repetitions.
//
//   bench_herded_gibbs [largest side, default 1000]
#include <fmt/format.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "drover/core/random.hpp"
#include "drover/sample/gibbs_spin_chain.hpp"
#include "drover/sample/herded_gibbs_tables.hpp"
#include "drover/sample/herded_gibbs_visited.hpp"

namespace drover {
namespace {

Graph grid(std::uint32_t width, bool equal) {
  RandomSequence random(1, Stream::generate);
  Model model;
  model.cardinalities.assign(std::size_t{width} * width, 2);
  for (VariableId i = 0; i < width * width; ++i) {
    const double unary[2] = {0, random.normal()};
    model.unaries.add(i, unary);
    if (i % width + 1 < width) model.spin_pairs.add(i, i + 1, equal ? 0.3 : 0.5 * random.normal());
    if (i + width < width * width) model.spin_pairs.add(i, i + width, equal ? 0.3 : 0.5 * random.normal());
  }
  return compile(model);
}

double nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

template <Kernel K>
double rate(const K& kernel) {
  auto state = kernel.start(1, 0);
  const auto sweeps = std::max<std::uint64_t>(2, 4'000'000 / kernel.size());
  double best = 0;
  for (int repetition = 0; repetition < 6; ++repetition) {
    const double begin = nanoseconds();
    for (std::uint64_t s = 0; s < sweeps; ++s) kernel.sweep(state, s);
    const double updates = static_cast<double>(sweeps * kernel.size());
    if (repetition > 0) best = std::max(best, updates / (nanoseconds() - begin));
  }
  return best;
}

void measure(std::uint32_t largest) {
  const HerdedOptions colours{HerdedSchedule::colours, {}, {}};
  fmt::print("updates per nanosecond, grids, random couplings (shared: equal couplings)\n");
  fmt::print("{:>10} {:>9} {:>12} {:>9} {:>9} {:>9} {:>9} {:>14}\n", "variables", "dense", "dense, serial",
             "shared", "hashed", "bins:64", "Gibbs", "Gibbs, equal");
  for (std::uint32_t width : {32U, 100U, 316U, 1000U}) {
    if (width > largest) break;
    const Graph random = grid(width, false), equal = grid(width, true);
    fmt::print("{:>10} {:>9.4f} {:>12.4f} {:>9.4f} {:>9.4f} {:>9.4f} {:>9.4f} {:>14.4f}\n", width * width,
               rate(HerdedGibbsTables(random, HerdedSharing::none, colours)),
               rate(HerdedGibbsTables(random, HerdedSharing::none)),
               rate(HerdedGibbsTables(equal, HerdedSharing::exact, colours)),
               rate(HerdedGibbsVisited(random, HerdedKey::configuration, 1, colours)),
               rate(HerdedGibbsVisited(random, HerdedKey::bins, 64, colours)),
               rate(GibbsSpinChain(spin_graph(random))), rate(GibbsSpinChain(spin_graph(equal))));
  }
}

}  // namespace
}  // namespace drover

int main(int count, char** arguments) {
  const int largest = count > 1 ? std::atoi(arguments[1]) : 1000;
  tbb::task_arena(1).execute([&] { drover::measure(static_cast<std::uint32_t>(largest)); });
}
