// Updates per nanosecond of herded Gibbs on open square spin grids, from 10^3 to 10^7 variables, beside
// random Gibbs; one chain, one thread, thread time, the best of a few repetitions, a line in turns.
//
//   bench_herded_gibbs [largest side, default 3162]
#include <fmt/format.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "drover/core/random.hpp"
#include "drover/sample/gibbs/gibbs_spin_chain.hpp"
#include "drover/sample/gibbs/gibbs_spin_equal_lattice.hpp"
#include "drover/sample/gibbs/gibbs_spin_lattice.hpp"
#include "drover/sample/herded/herded_gibbs_lattice.hpp"
#include "drover/sample/herded/herded_gibbs_tables.hpp"
#include "drover/sample/herded/herded_gibbs_visited.hpp"

namespace drover {
namespace {

enum class Kind { random, equal, equal_and_one_field };

Graph grid(std::uint32_t width, Kind kind) {
  RandomSequence random(1, Stream::generate);
  Model model;
  model.cardinalities.assign(std::size_t{width} * width, 2);
  const auto coupling = [&] { return kind == Kind::random ? 0.5 * random.normal() : 0.3; };
  for (VariableId i = 0; i < width * width; ++i) {
    const double unary[2] = {0, kind == Kind::equal_and_one_field ? 0.1 : random.normal()};
    model.unaries.add(i, unary);
    if (i % width + 1 < width) model.spin_pairs.add(i, i + 1, coupling());
    if (i + width < width * width) model.spin_pairs.add(i, i + width, coupling());
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
  const auto lattice = [](const Graph& graph) { return recognise_lattice(spin_graph(graph)).value(); };
  const auto shared = [](const Graph& graph) {
    return rate(HerdedGibbsLattice(graph, herded_lattice(graph).value()));
  };
  fmt::print("updates per nanosecond; dense tables with random couplings, all else with equal ones\n");
  fmt::print("{:>10} {:>8} | {:^53} | {:^20}\n", "", "", "random fields", "one field");
  fmt::print("{:>10} {:>8} | {:>7} {:>7} {:>7} {:>7} {:>13} {:>7} | {:>7} {:>12}\n", "variables", "dense",
             "tables", "lattice", "Gibbs", "(ratio)", "Gibbs lattice", "(ratio)", "lattice", "Gibbs bits");
  for (std::uint32_t width : {32U, 100U, 316U, 1000U, 3162U}) {
    if (width > largest) break;
    {
      const Graph random = grid(width, Kind::random);
      fmt::print("{:>10} {:>8.3f}", width * width,
                 rate(HerdedGibbsTables(random, HerdedSharing::none, colours)));
    }
    const Graph fields = grid(width, Kind::equal);
    const double tables = rate(HerdedGibbsTables(fields, HerdedSharing::exact, colours));
    const double on_lattice = shared(fields), gibbs = rate(GibbsSpinChain(spin_graph(fields))),
                 gibbs_lattice = rate(GibbsSpinLattice(lattice(fields)));
    const Graph same = grid(width, Kind::equal_and_one_field);
    fmt::print(" | {:>7.3f} {:>7.3f} {:>7.3f} {:>7.2f} {:>13.3f} {:>7.2f} | {:>7.3f} {:>12.3f}\n", tables,
               on_lattice, gibbs, on_lattice / gibbs, gibbs_lattice, on_lattice / gibbs_lattice, shared(same),
               rate(GibbsSpinEqualLattice(equal_lattice(lattice(same)).value())));
  }
  fmt::print("\nrandom couplings: in turn, and tables of what was visited\n");
  fmt::print("{:>10} {:>14} {:>9} {:>9}\n", "variables", "dense, serial", "hashed", "bins:64");
  for (std::uint32_t width : {32U, 100U, 316U}) {
    const Graph graph = grid(width, Kind::random);
    fmt::print("{:>10} {:>14.4f} {:>9.4f} {:>9.4f}\n", width * width,
               rate(HerdedGibbsTables(graph, HerdedSharing::none)),
               rate(HerdedGibbsVisited(graph, HerdedKey::configuration, 1, colours)),
               rate(HerdedGibbsVisited(graph, HerdedKey::bins, 64, colours)));
  }
}

}  // namespace
}  // namespace drover

int main(int count, char** arguments) {
  const int largest = count > 1 ? std::atoi(arguments[1]) : 3162;
  tbb::task_arena(1).execute([&] { drover::measure(static_cast<std::uint32_t>(largest)); });
}
