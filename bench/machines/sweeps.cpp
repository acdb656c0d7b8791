// Seconds per sweep of one chain that lies on the ranks of mpirun, and what a sweep exchanges.
//
//   mpirun -n 2 bench_machines MODEL VARIABLES DEGREE METHOD DELAY THREADS SECONDS
//   bench_machines plan:N MODEL VARIABLES DEGREE METHOD
//
// MODEL: grid (any couplings), equal (one coupling and field), random (any graph of that degree), local (every
// variable is joined to those that stand DEGREE / 2 distances after it, drawn at random below 64: as many colours as the
// degree wants, few pairs between two ranks), potts (a grid of DEGREE states), exchange (no model: messages of VARIABLES bytes).
// METHOD: gibbs or primal-dual. DELAY in microseconds is added to every exchange (delayed_ranks.hpp). Rank 0 prints one
// line of names and figures: seconds per sweep (or per exchange) are the best of five stretches; exchanges, messages
// and bytes per sweep are those of the rank that has most; `inner` is the share of its work that is done while messages
// travel; `apart` is how many sweeps lie between independent draws of the log score. plan:N runs nothing: it divides the
// model among N ranks, in one process, and prints what they would exchange.
#include <fmt/format.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string>

#include "bench/machines/delayed_ranks.hpp"
#include "drover/cluster/metis.hpp"
#include "drover/cluster/mpi_ranks.hpp"
#include "drover/compile/lattice.hpp"
#include "drover/core/random.hpp"
#include "drover/diagnose/ess.hpp"
#include "drover/sample/dual/primal_dual_chain.hpp"
#include "drover/sample/gibbs/gibbs_spin_equal_lattice.hpp"
#include "drover/sample/gibbs/gibbs_spin_lattice.hpp"
#include "drover/sample/spread/gibbs_lattice_spread.hpp"
#include "drover/sample/spread/gibbs_spin_spread.hpp"
#include "drover/sample/spread/gibbs_table_spread.hpp"
#include "drover/sample/spread/primal_dual_spread.hpp"

namespace {

using namespace drover;

struct Settings {
  std::string model, method = "gibbs";
  std::size_t variables = 0, degree = 4;
  double delay = 0, seconds = 1;
  int threads = 1;
};

/// Of a sweep on one rank.
struct Facts {
  double colours = 0, exchanges = 0, messages = 0, bytes = 0, inner = 1;
};

/// A rank that has nobody to talk to: for plans.
class PlannedRanks : public Ranks {
 public:
  PlannedRanks(std::uint32_t rank, std::uint32_t size, std::vector<std::uint32_t>& division)
      : rank_(rank), size_(size), division_(division) {}
  std::uint32_t rank() const override { return rank_; }
  std::uint32_t size() const override { return size_; }
  std::vector<std::uint32_t> divide(const WorkGraph& graph) const override {
    if (division_.empty()) division_ = metis_parts(graph, size_);
    return division_;
  }

 private:
  std::uint32_t rank_, size_;
  std::vector<std::uint32_t>& division_;  ///< the same for all
};

std::size_t even_width(std::size_t variables) {
  return static_cast<std::size_t>(std::sqrt(static_cast<double>(variables)) / 2) * 2;
}

Lattice grid(std::size_t variables) {
  Lattice lattice;
  lattice.width = even_width(variables);
  lattice.height = variables / lattice.width;
  const Random random(1, Stream::generate);
  for (std::size_t i = 0; i < lattice.width * lattice.height; ++i) {
    const auto draw = [&](std::uint32_t which) {
      return static_cast<float>(4 * (random.uniform(which, i, 0) - 0.5));
    };
    lattice.bias.push_back(draw(0));
    lattice.right.push_back((i + 1) % lattice.width == 0 ? 0.0F : draw(1));
    lattice.down.push_back(i / lattice.width + 1 == lattice.height ? 0.0F : draw(2));
  }
  return lattice;
}

EqualLattice equal(std::size_t variables) {
  const std::size_t width = even_width(variables);
  return {.width = width,
          .height = variables / width,
          .periodic_x = false,
          .periodic_y = false,
          .log_constant = 0,
          .weight = 1.2,
          .field = 0.2};
}

/// Every variable and DEGREE / 2 others: at the same distances after it, or anywhere.
SpinGraph any_graph(std::size_t variables, std::size_t degree, bool local) {
  RandomSequence random(1, Stream::generate);
  Model model;
  const auto size = static_cast<std::uint32_t>(variables);
  model.cardinalities.assign(size, 2);
  const double scale = 0.8 / std::sqrt(static_cast<double>(degree));
  std::vector<std::uint32_t> distances;
  while (distances.size() < degree / 2)
    if (const std::uint32_t distance = 1 + random.below(63);
        std::ranges::find(distances, distance) == distances.end())
      distances.push_back(distance);
  for (std::uint32_t v = 0; v < size; ++v) {
    const double field = random.normal();
    model.unaries.add(v, std::vector<double>{0, field});
    for (std::size_t k = 0; k < degree / 2; ++k) {
      const std::uint32_t other = local ? v + distances[k] : random.below(size);
      const double coupling = scale * random.normal();
      if (other < size && other != v) model.spin_pairs.add(v, other, coupling);
    }
  }
  return spin_graph(compile(model));
}

Graph potts(std::size_t variables, std::size_t states) {
  const auto width = static_cast<std::uint32_t>(even_width(variables));
  const auto height = static_cast<std::uint32_t>(variables / width);
  Model model;
  model.cardinalities.assign(std::size_t{width} * height, static_cast<std::uint32_t>(states));
  for (std::uint32_t v = 0; v < width * height; ++v) {
    if ((v + 1) % width != 0) model.potts_pairs.add(v, v + 1, 0.5);
    if (v / width + 1 < height) model.potts_pairs.add(v, v + width, 0.5);
  }
  return compile(model);
}

using Clock = std::chrono::steady_clock;

/// Rank 0's, on every rank.
double common(const Ranks& ranks, double number) {
  std::string bytes(reinterpret_cast<const char*>(&number), sizeof(number));
  ranks.broadcast(bytes);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(&number));
  return number;
}

/// Seconds for each of what work(count) does `count` of, by rank 0's clock: the best of five stretches.
template <class Work>
double best_seconds(const Ranks& ranks, double seconds, const Work& work) {
  const auto run = [&](std::uint64_t count) {
    ranks.vote(0);
    const auto begin = Clock::now();
    work(count);
    ranks.vote(0);
    return std::chrono::duration<double>(Clock::now() - begin).count() / static_cast<double>(count);
  };
  run(4);
  const double once = common(ranks, run(4));
  const auto stretch = static_cast<std::uint64_t>(std::max(4.0, seconds / 5 / once));
  double best = once;
  for (int k = 0; k < 5; ++k) best = std::min(best, run(stretch));
  return best;
}

void print(const Settings& settings, std::size_t size, const Ranks& ranks, const Facts& facts, double seconds,
           double apart) {
  const std::vector<double> own{facts.exchanges, facts.messages, facts.bytes, -facts.inner};
  const std::vector<double> all = joined(ranks, own);
  if (!ranks.is_first()) return;
  std::vector<double> most = own;
  for (std::size_t k = 0; k < all.size(); ++k)
    most[k % most.size()] = std::max(most[k % most.size()], all[k]);
  fmt::print(
      "model {} method {} variables {} ranks {} threads {} delay {} colours {} seconds {:.4g} exchanges "
      "{:.4g} "
      "messages {:.4g} bytes {:.6g} inner {:.4f} apart {:.2f}\n",
      settings.model, settings.method, size, ranks.size(), settings.threads, settings.delay, facts.colours,
      seconds, most[0], most[1], most[2], -most[3], apart);
}

/// As a run does its sweeps: many at once where the kernel can, conditionals added up.
template <class K>
void measure(const K& kernel, const Settings& settings, const Ranks& ranks, const Facts& facts) {
  typename K::State state = kernel.start(1, 0);
  AlignedFloats sums(kernel.entry_count(), 0.0F);
  std::uint64_t sweep = 0;
  const double seconds = best_seconds(ranks, settings.seconds, [&](std::uint64_t count) {
    constexpr std::uint64_t at_once = 16;
    for (std::uint64_t some = 0, left = count; left > 0; left -= some, sweep += some) {
      some = std::min(at_once, left);
      if constexpr (requires { kernel.sweeps(state, sweep, some, ConditionalSums{sums}); })
        kernel.sweeps(state, sweep, some, ConditionalSums{sums});
      else
        for (std::uint64_t k = 0; k < some; ++k) kernel.sweep(state, sweep + k, ConditionalSums{sums});
    }
  });
  double apart = 0;
  if (settings.variables <= 300'000 && ranks.size() == 1) {
    std::vector<double> scores(settings.variables <= 30'000 ? 8000 : 2000);
    for (double& score : scores) {
      kernel.sweep(state, sweep++);
      kernel.log_scores(state, std::span(&score, 1));
    }
    apart = autocorrelation_time({scores.data(), 1, scores.size()});
  }
  print(settings, kernel.size(), ranks, facts, seconds, apart);
}

Facts facts_of(const SpinSpread& spread) {
  return {.colours = static_cast<double>(spread.kernel().colour_count()),
          .exchanges = static_cast<double>(spread.exchanges_per_sweep()),
          .messages = static_cast<double>(spread.messages_per_sweep()),
          .bytes = static_cast<double>(spread.bytes_per_sweep()),
          .inner = spread.inner_share()};
}

template <class K>
Facts facts_of(const GibbsLatticeSpread<K>& spread) {
  const auto together = static_cast<double>(spread.sweeps_together());
  return {.colours = 2,
          .exchanges = 1 / together,
          .messages = static_cast<double>(spread.messages_per_exchange()) / together,
          .bytes = static_cast<double>(spread.bytes_per_exchange()) / together,
          .inner = spread.inner_share()};
}

Facts facts_of(const GibbsTableSpread& spread) {
  return {.colours = static_cast<double>(spread.colours()),
          .exchanges = static_cast<double>(spread.exchanges_per_sweep()),
          .messages = static_cast<double>(spread.messages_per_sweep()),
          .bytes = static_cast<double>(spread.bytes_per_sweep()),
          .inner = 1};
}

/// use(make) where make(ranks) hands the kernel for one rank of those to a function.
template <class Alone, class Spread>
void with_kernel(const Settings& settings, const Alone& alone, const Spread& spread) {
  if (settings.model == "grid") {
    const Lattice lattice = grid(settings.variables);
    alone([&] { return GibbsSpinLattice(lattice); });
    spread([&](const Ranks& ranks, auto use) { use(GibbsLatticeSpread<GibbsSpinLattice>(lattice, ranks)); });
  } else if (settings.model == "equal") {
    const EqualLattice lattice = equal(settings.variables);
    alone([&] { return GibbsSpinEqualLattice(lattice); });
    spread([&](const Ranks& ranks, auto use) {
      use(GibbsLatticeSpread<GibbsSpinEqualLattice>(lattice, ranks));
    });
  } else if (settings.model == "potts") {
    const Graph graph = potts(settings.variables, settings.degree);
    alone([&] { return GibbsTableChain(graph); });
    spread([&](const Ranks& ranks, auto use) {
      use(GibbsTableSpread(graph, GibbsTableChain::Options(), ranks));
    });
  } else {
    const SpinGraph graph = any_graph(settings.variables, settings.degree, settings.model == "local");
    if (settings.method == "gibbs") {
      alone([&] { return GibbsSpinChain(graph); });
      spread([&](const Ranks& ranks, auto use) { use(GibbsSpinSpread(graph, ranks)); });
    } else {
      alone([&] { return PrimalDualChain(graph); });
      spread([&](const Ranks& ranks, auto use) { use(PrimalDualSpread(graph, ranks)); });
    }
  }
}

template <class K>
Facts facts_of_kernel(const K& kernel) {
  if constexpr (requires { kernel.spread(); })
    return facts_of(kernel.spread());
  else
    return facts_of(kernel);
}

void measure_exchanges(const Settings& settings, const Ranks& ranks) {
  std::vector<std::uint64_t> out(settings.variables / 8, 1), in(settings.variables / 8, 0);
  const std::uint32_t other = ranks.rank() ^ 1U;
  std::vector<Route> routes;
  if (other < ranks.size()) routes.push_back({other, out, in});
  const auto exchange = ranks.exchange(routes);
  const double seconds = best_seconds(ranks, settings.seconds, [&](std::uint64_t count) {
    for (std::uint64_t k = 0; k < count; ++k) {
      exchange->begin();
      exchange->finish();
    }
  });
  print(settings, 0, ranks, {0, 1, 1, static_cast<double>(settings.variables), 0}, seconds, 0);
}

void run(const Settings& settings, const Ranks& ranks) {
  if (settings.model == "exchange") return measure_exchanges(settings, ranks);
  with_kernel(
      settings,
      [&](const auto& make) {
        if (ranks.size() > 1) return;
        const auto kernel = make();
        Facts facts;
        if constexpr (requires { kernel.colour_count(); })
          facts.colours = static_cast<double>(kernel.colour_count());
        measure(kernel, settings, ranks, facts);
      },
      [&](const auto& make) {
        if (ranks.size() == 1) return;
        make(ranks, [&](const auto& kernel) { measure(kernel, settings, ranks, facts_of_kernel(kernel)); });
      });
}

/// What so many ranks would exchange, by the ranks at the ends and some between.
void plan(const Settings& settings, std::uint32_t size) {
  Facts most;
  std::vector<std::uint32_t> division;
  std::size_t most_own = 0, all = 0;
  with_kernel(
      settings, [](const auto&) {},
      [&](const auto& make) {
        const std::uint32_t looked_at = std::min(size, 5U);
        for (std::uint32_t k = 0; k < looked_at; ++k)
          make(PlannedRanks(looked_at == 1 ? 0 : k * (size - 1) / (looked_at - 1), size, division),
               [&](const auto& kernel) {
                 const Facts facts = facts_of_kernel(kernel);
                 most.colours = facts.colours;
                 most.exchanges = std::max(most.exchanges, facts.exchanges);
                 most.messages = std::max(most.messages, facts.messages);
                 most.bytes = std::max(most.bytes, facts.bytes);
                 most.inner = std::min(most.inner, facts.inner);
                 most_own = std::max(most_own, kernel.entry_count());
                 all = kernel.all_entries();
               });
      });
  fmt::print(
      "model {} method {} variables {} ranks {} colours {} exchanges {:.4g} messages {:.4g} bytes {:.6g} "
      "inner "
      "{:.4f} own {}\n",
      settings.model, settings.method, all, size, most.colours, most.exchanges, most.messages, most.bytes,
      most.inner, most_own);
}

}  // namespace

int main(int argc, char** argv) {
  drover::MpiSession session(argc, argv);
  const std::string first = argc > 1 ? argv[1] : "";
  const bool plans = first.starts_with("plan:");
  if (argc != (plans ? 6 : 8)) {
    if (session.ranks().is_first())
      fmt::print(stderr, "bench_machines MODEL VARIABLES DEGREE METHOD DELAY THREADS SECONDS\n");
    session.end(true);
    return 64;
  }
  Settings settings;
  char** const words = plans ? argv + 1 : argv;
  settings.model = words[1];
  settings.variables = std::strtoul(words[2], nullptr, 10);
  settings.degree = std::strtoul(words[3], nullptr, 10);
  settings.method = words[4];
  if (plans) {
    plan(settings, static_cast<std::uint32_t>(std::strtoul(first.c_str() + 5, nullptr, 10)));
    session.end(true);
    return 0;
  }
  settings.delay = std::atof(words[5]);
  settings.threads = std::atoi(words[6]);
  settings.seconds = std::atof(words[7]);
  const tbb::global_control threads(tbb::global_control::max_allowed_parallelism,
                                    static_cast<std::size_t>(settings.threads));
  if (settings.delay > 0)
    run(settings, drover::bench::DelayedRanks(session.ranks(), settings.delay * 1e-6));
  else
    run(settings, session.ranks());
  session.end(true);
  return 0;
}
