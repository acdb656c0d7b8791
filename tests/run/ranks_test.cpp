// A run that several ranks share: the bits of one process, whichever way it is shared, and after a checkpoint
// that another number of ranks wrote.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "drover/run/chain_run.hpp"
#include "drover/sample/dual/primal_dual_chain.hpp"
#include "drover/sample/gibbs/gibbs_spin_equal_lattice.hpp"
#include "drover/sample/gibbs/gibbs_spin_lattice.hpp"
#include "drover/sample/spread/gibbs_lattice_spread.hpp"
#include "drover/sample/spread/gibbs_spin_spread.hpp"
#include "drover/sample/spread/gibbs_table_spread.hpp"
#include "drover/sample/spread/primal_dual_mixture_spread.hpp"
#include "drover/sample/spread/primal_dual_spread.hpp"
#include "tests/run/small_runs.hpp"
#include "tests/support/random_models.hpp"
#include "tests/support/reference_kernel.hpp"
#include "tests/support/thread_ranks.hpp"

namespace drover {
namespace {

using testing::bytes_of;
using testing::ReferenceKernel;
using testing::small_graph;

ChainOptions options_of(std::uint32_t chains, std::uint64_t sweeps) {
  ChainOptions options;
  options.chains = chains;
  options.burn_in = 20;
  options.sweeps = sweeps;
  options.thin = 2;
  return options;
}

struct Heard {
  std::vector<std::uint32_t> chains;
  std::vector<Value> values;
  std::vector<double> scores;
  bool operator==(const Heard&) const = default;
  DrawCallback callback() {
    return [this](std::uint32_t chain, std::span<const Value> x, double score) {
      chains.push_back(chain);
      values.insert(values.end(), x.begin(), x.end());
      scores.push_back(score);
    };
  }
};

struct Outcome {
  std::string bytes;
  Heard heard;
  bool operator==(const Outcome&) const = default;
};

// The whole run of `K` on these ranks, on rank 0; `from` is a checkpoint to go on from, `until` sweeps are
// done.
template <class K>
Outcome outcome(const K& kernel, const ChainOptions& options, const Ranks& ranks, std::string from = "",
                bool finish = true) {
  RunControl control;
  control.share_with(ranks);
  ChainRun run(kernel, options, control);
  if (!from.empty()) {
    LoadArchive archive(std::move(from));
    ChainRun whole(kernel, options);
    whole.visit(archive);
    EXPECT_TRUE(archive.at_end());
    run.take_part_of(std::move(whole));
  }
  Outcome result;
  run.run(no_control(), result.heard.callback());
  if (finish) run.finish();
  run.gather(true);
  if (ranks.is_first()) result.bytes = bytes_of(run);
  return result;
}

TEST(Ranks, NumbersOfOneProcessAreItsOwn) {
  const std::vector<double> numbers = {1, 2.5, -3};
  EXPECT_EQ(joined(one_process(), numbers), numbers);
}

TEST(SharedRun, ChainsOverRanksGiveTheBitsOfOneProcess) {
  for (std::uint32_t chains : {1U, 20U, 77U}) {
    const Graph graph = small_graph(chains);
    const ReferenceKernel kernel(graph, 8);
    ChainOptions options = options_of(chains, 150);
    for (std::size_t memory :
         {std::size_t{1} << 30, std::size_t{4000}}) {  // the latter lets chains share groups
      options.estimator_memory = memory;
      const Outcome alone = outcome(kernel, options, one_process());
      ASSERT_EQ(alone.heard.chains.size(), 75 * chains);
      for (std::uint32_t count : {1U, 2U, 3U, 4U, 8U})
        testing::run_ranks(count, [&](const Ranks& ranks) {
          const Outcome shared = outcome(kernel, options, ranks);
          if (ranks.is_first()) {
            const std::string at = fmt::format("{} chains on {} ranks, memory {}", chains, count, memory);
            EXPECT_TRUE(shared.heard == alone.heard) << at;
            const auto [mine, theirs] = std::ranges::mismatch(shared.bytes, alone.bytes);
            EXPECT_TRUE(shared.bytes == alone.bytes)
                << at << ": byte " << mine - shared.bytes.begin() << " of " << alone.bytes.size();
          }
        });
    }
  }
}

TEST(SharedRun, GoesOnFromACheckpointOfAnotherNumberOfRanks) {
  const Graph graph = small_graph(5);
  const ReferenceKernel kernel(graph, 8);
  const Outcome whole = outcome(kernel, options_of(50, 150), one_process());
  for (std::uint32_t writers : {1U, 4U})
    for (std::uint32_t readers : {1U, 3U}) {
      std::string saved;
      testing::run_ranks(writers, [&](const Ranks& ranks) {
        const Outcome part = outcome(kernel, options_of(50, 61), ranks, "", false);
        if (ranks.is_first()) saved = part.bytes;
      });
      testing::run_ranks(readers, [&](const Ranks& ranks) {
        const Outcome rest = outcome(kernel, options_of(50, 150), ranks, saved);
        if (ranks.is_first()) {
          EXPECT_EQ(rest.bytes, whole.bytes) << writers << " to " << readers;
        }
      });
    }
}

TEST(SharedRun, TargetsEndAllRanksAtOnce) {
  const Graph graph = small_graph(8);
  const ReferenceKernel kernel(graph, 8);
  ChainOptions options = options_of(40, ChainOptions::unlimited);
  options.thin = 1;
  options.target_rhat = 1.02;
  const Outcome alone = outcome(kernel, options, one_process());
  testing::run_ranks(3, [&](const Ranks& ranks) {
    const Outcome shared = outcome(kernel, options, ranks);
    if (ranks.is_first()) {
      EXPECT_EQ(shared, alone);
    }
  });
}

TEST(SharedRun, AStopOnOneRankIsAStopOnAll) {
  const Graph graph = small_graph(9);
  const ReferenceKernel kernel(graph, 8);
  std::vector<std::uint64_t> sweeps(3);
  testing::run_ranks(3, [&](const Ranks& ranks) {
    RunControl control;
    control.share_with(ranks);
    ChainRun run(kernel, options_of(40, ChainOptions::unlimited), control);
    int asked = 0;
    if (ranks.rank() == 2) control.stop_when([&] { return ++asked > 20; });
    run.run(control);
    sweeps[ranks.rank()] = run.sweeps_done();
  });
  EXPECT_GT(sweeps[0], 0U);
  EXPECT_EQ(sweeps[1], sweeps[0]);
  EXPECT_EQ(sweeps[2], sweeps[0]);
}

SpinGraph sparse_graph(std::uint32_t size, std::uint32_t pairs, std::uint64_t seed) {
  RandomSequence random(seed, Stream::generate);
  Model model;
  model.cardinalities.assign(size, 2);
  for (VariableId v = 0; v < size; ++v) {
    const double field = random.normal();
    model.unaries.add(v, std::vector<double>{0, field});
  }
  for (std::uint32_t p = 0; p < pairs; ++p) {
    const VariableId a = random.below(size), b = random.below(size);
    if (a != b) model.spin_pairs.add(a, b, 0.4 * random.normal());
  }
  return spin_graph(compile(model));
}

// One chain on all ranks, checked against `Whole`, which one process runs. Duals are no part of what is
// compared: a sweep begins with drawing them.
template <class Spread, class Whole, class AnyGraph, class... More>
void expect_same_bits_on_ranks(const AnyGraph& graph,
                               const More&... more) {  // `more` is what constructors take after the graph
  const ChainOptions options = options_of(2, 60);
  const Whole kernel(graph, more...);
  ChainRun alone(kernel, options);
  Heard heard;
  alone.run(no_control(), heard.callback());
  alone.finish();
  for (std::uint32_t count : {1U, 2U, 3U, 4U, 8U})
    testing::run_ranks(count, [&](const Ranks& ranks) {
      const Spread spread(graph, more..., ranks);
      RunControl control;
      control.share_with(ranks);
      ChainRun run(spread, options, control);
      Heard heard_here;
      run.run(no_control(), heard_here.callback());
      run.finish();
      run.gather(true);
      if (!ranks.is_first()) return;
      EXPECT_EQ(heard_here, heard) << count << " ranks";
      EXPECT_EQ(run.trace().scores, alone.trace().scores);
      EXPECT_EQ(run.best_state(), alone.best_state());
      EXPECT_EQ(run.best_log_score(), alone.best_log_score());
      std::vector<double> mine, theirs;
      for (std::size_t e = 0; e < kernel.entry_count(); ++e) {
        run.store().means_of_entry(e, mine);
        alone.store().means_of_entry(e, theirs);
        ASSERT_EQ(mine, theirs) << "entry " << e;
      }
      ASSERT_EQ(run.convergence().size(), alone.convergence().size());
      for (std::size_t k = 0; k < run.convergence().size(); ++k)
        EXPECT_EQ(run.convergence()[k].rhat_max, alone.convergence()[k].rhat_max);
    });
}

TEST(SharedRun, OneChainOnAllRanksByColours) {
  expect_same_bits_on_ranks<GibbsSpinSpread, GibbsSpinChain>(sparse_graph(1000, 2500, 1000));
  expect_same_bits_on_ranks<GibbsSpinSpread, GibbsSpinChain>(sparse_graph(70, 300, 70));
  expect_same_bits_on_ranks<GibbsSpinSpread, GibbsSpinChain>(
      sparse_graph(3, 2, 3));  // fewer units than ranks
}

TEST(SharedRun, OneChainOnAllRanksByDuals) {
  expect_same_bits_on_ranks<PrimalDualSpread, PrimalDualChain>(sparse_graph(1000, 2500, 1000));
  expect_same_bits_on_ranks<PrimalDualSpread, PrimalDualChain>(sparse_graph(70, 300, 70));
  expect_same_bits_on_ranks<PrimalDualSpread, PrimalDualChain>(sparse_graph(3, 2, 3));
}

TEST(SharedRun, ASpreadChainGoesOnFromACheckpointOfAnotherNumberOfRanks) {
  const SpinGraph graph = sparse_graph(500, 1500, 4);
  Outcome whole;
  testing::run_ranks(2, [&](const Ranks& ranks) {
    const GibbsSpinSpread kernel(graph, ranks);
    Outcome here = outcome(kernel, options_of(2, 150), ranks);
    if (ranks.is_first()) whole = std::move(here);
  });
  std::string saved;
  testing::run_ranks(4, [&](const Ranks& ranks) {
    const GibbsSpinSpread kernel(graph, ranks);
    const Outcome part = outcome(kernel, options_of(2, 61), ranks, "", false);
    if (ranks.is_first()) saved = part.bytes;
  });
  testing::run_ranks(3, [&](const Ranks& ranks) {
    const GibbsSpinSpread kernel(graph, ranks);
    const Outcome rest = outcome(kernel, options_of(2, 150), ranks, saved);
    if (ranks.is_first()) {
      EXPECT_EQ(rest.bytes, whole.bytes);
    }
  });
  const GibbsSpinChain alone(graph);
  EXPECT_EQ(outcome(alone, options_of(2, 150), one_process(), saved).bytes, whole.bytes);
}

TEST(SharedRun, OneChainOfAnyFactorsOnAllRanks) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    testing::RandomModelOptions options;
    options.variables = 400;
    options.factors = 900;
    options.max_states = seed == 0 ? 3 : 5;
    options.max_arity = seed == 2 ? 3 : 2;
    options.scale = 0.6;
    const Graph graph = compile(testing::random_model(seed, options));
    expect_same_bits_on_ranks<GibbsTableSpread, GibbsTableChain>(graph, GibbsTableChain::Options());
  }
  Model wide;  // values that need two bytes
  wide.cardinalities.assign(40, 300);
  for (VariableId v = 0; v + 1 < 40; ++v) wide.potts_pairs.add(v, v + 1, 2.0);
  const Graph graph = compile(wide);
  expect_same_bits_on_ranks<GibbsTableSpread, GibbsTableChain>(graph, GibbsTableChain::Options());
}

Lattice lattice_of(std::size_t width, std::size_t height, bool periodic) {
  RandomSequence random(width * height, Stream::generate);
  Lattice lattice;
  lattice.width = width;
  lattice.height = height;
  lattice.periodic_x = lattice.periodic_y = periodic;
  for (std::size_t i = 0; i < width * height; ++i) {
    const auto draw = [&](bool missing) {
      const double weight = random.normal();
      return missing ? 0.0F : static_cast<float>(weight);
    };
    lattice.bias.push_back(draw(false));
    lattice.right.push_back(draw(!periodic && (i + 1) % width == 0));
    lattice.down.push_back(draw(!periodic && i / width + 1 == height));
  }
  return lattice;
}

EqualLattice equal_lattice_of(std::size_t width, std::size_t height, bool periodic) {
  return {.width = width,
          .height = height,
          .periodic_x = periodic,
          .periodic_y = periodic,
          .log_constant = 3,
          .weight = 0.7,
          .field = 0.1};
}

TEST(SharedRun, OneChainOnAllRanksByBandsOfRows) {
  for (bool periodic : {false, true})
    for (auto [width, height] : {std::pair<std::size_t, std::size_t>{130, 62}, {14, 20}, {6, 6}, {300, 34}}) {
      expect_same_bits_on_ranks<GibbsLatticeSpread<GibbsSpinLattice>, GibbsSpinLattice>(
          lattice_of(width, height, periodic));
      expect_same_bits_on_ranks<GibbsLatticeSpread<GibbsSpinEqualLattice>, GibbsSpinEqualLattice>(
          equal_lattice_of(width, height, periodic));
    }
}

// Several sweeps from one exchange to the next, by bands of any length: states, conditionals and scores are
// those of one process.
template <class K, class AnyLattice>
void expect_same_sweeps_on_ranks(const AnyLattice& lattice) {
  const K kernel(lattice);
  const auto run = [](const auto& any, auto& state, std::span<float> sums) {
    any.sweeps(state, 0, 7);
    any.sweeps(state, 7, 23, ConditionalSums{sums});
    any.sweeps(state, 30, 1, ConditionalSums{sums});
  };
  typename K::State alone = kernel.start(5, 3);
  std::vector<float> sums(kernel.size(), 0.0F);
  run(kernel, alone, sums);
  std::vector<Value> values(kernel.size());
  kernel.read(alone, 0, values);
  double score = 0;
  kernel.log_scores(alone, {&score, 1});
  for (std::uint32_t count : {1U, 2U, 3U, 4U, 8U})
    testing::run_ranks(count, [&](const Ranks& ranks) {
      const GibbsLatticeSpread<K> spread(lattice, ranks);
      typename K::State state = spread.start(5, 3);
      std::vector<float> mine(spread.entry_count(), 0.0F);
      run(spread, state, mine);
      double score_here = 0;
      spread.log_scores(state, {&score_here, 1});
      const std::string at = fmt::format("{} x {} on {} ranks, {} sweeps together", lattice.width,
                                         lattice.height, count, spread.sweeps_together());
      EXPECT_EQ(score_here, score) << at;
      for (std::size_t e = 0; e < mine.size(); ++e)
        ASSERT_EQ(mine[e], sums[spread.own_entries()[e]]) << at << ", entry " << e;
      std::vector<Value> values_here(kernel.size());
      spread.read(state, 0, values_here);
      if (ranks.is_first()) {
        EXPECT_EQ(values_here, values) << at;
      }
    });
}

TEST(SharedRun, BandsExchangeOnceInSeveralSweeps) {
  for (bool periodic : {false, true})
    for (std::size_t height : {6U, 20U, 22U, 46U, 88U, 90U, 200U, 362U}) {
      const std::size_t width = height == 46 ? 260 : 18;
      expect_same_sweeps_on_ranks<GibbsSpinLattice>(lattice_of(width, height, periodic));
      expect_same_sweeps_on_ranks<GibbsSpinEqualLattice>(equal_lattice_of(width, height, periodic));
    }
  testing::run_ranks(2, [&](const Ranks& ranks) {
    const GibbsLatticeSpread<GibbsSpinLattice> spread(lattice_of(18, 200, false), ranks);
    EXPECT_EQ(spread.sweeps_together(), 4U);
    EXPECT_EQ(spread.bytes_per_exchange(), 8 * 8 * GibbsSpinLattice(lattice_of(18, 200, false)).row_words());
  });
}

// TreePrimalDual without a forest, as the method runs it on one process.
struct PlainMixtures : TreePrimalDual {
  PlainMixtures(const Graph& graph, std::vector<std::vector<Value>> starts)
      : TreePrimalDual(graph, ForestChoice::none, std::move(starts)) {}
};

TEST(SharedRun, ChainsOfAnyFactorsOnAllRanksByDuals) {
  const std::vector<std::vector<Value>> anywhere;
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    testing::RandomModelOptions options;
    options.variables = 150;
    options.factors = 300;
    options.max_states = 4;
    options.max_arity = seed == 0 ? 2 : 3;
    options.scale = 0.6;
    const Graph graph = compile(testing::random_model(seed, options));
    expect_same_bits_on_ranks<PrimalDualMixtureSpread, PlainMixtures>(graph, anywhere);
  }
  Model potts;  // both kinds of pairs, and values that need two bytes
  potts.cardinalities.assign(300, 3);
  for (VariableId v = 0; v + 20 < 300; ++v) {
    potts.potts_pairs.add(v, v + 1, 0.8);
    potts.potts_pairs.add(v, v + 20, -0.5);
  }
  const Graph graph = compile(potts);
  expect_same_bits_on_ranks<PrimalDualMixtureSpread, PlainMixtures>(graph, anywhere);
  Model wide;
  wide.cardinalities.assign(40, 300);
  for (VariableId v = 0; v + 1 < 40; ++v) wide.potts_pairs.add(v, v + 1, 2.0);
  const Graph wide_graph = compile(wide);
  expect_same_bits_on_ranks<PrimalDualMixtureSpread, PlainMixtures>(wide_graph, anywhere);
  testing::run_ranks(3, [&](const Ranks& ranks) {
    const PrimalDualMixtureSpread spread(graph, {}, ranks);
    EXPECT_EQ(spread.exchanges_per_sweep(), 1U);
    EXPECT_GT(spread.bytes_per_sweep(), 0U);
  });
}

// Gibbs sampling needs an exchange per colour, primal-dual one, whatever the graph.
TEST(SharedRun, CountsItsExchanges) {
  const SpinGraph graph = sparse_graph(2000, 12000, 6);
  testing::run_ranks(3, [&](const Ranks& ranks) {
    const GibbsSpinSpread gibbs(graph, ranks);
    const PrimalDualSpread dual(graph, ranks);
    EXPECT_EQ(gibbs.spread().exchanges_per_sweep(), gibbs.spread().kernel().colour_count());
    EXPECT_GT(gibbs.spread().exchanges_per_sweep(), 4U);
    EXPECT_EQ(dual.spread().exchanges_per_sweep(), 1U);
    EXPECT_GT(dual.spread().bytes_per_sweep(), 0U);
  });
}

TEST(WholeSum, DoesNotDependOnOrderOrParts) {
  RandomSequence random(3, Stream::generate);
  std::vector<double> terms;
  for (int k = 0; k < 1000; ++k) terms.push_back(random.normal() * std::exp2(random.normal() * 12));
  WholeSum forward, backward, halves;
  for (double term : terms) forward.add(term);
  for (auto term = terms.rbegin(); term != terms.rend(); ++term) backward.add(*term);
  EXPECT_EQ(forward.value(), backward.value());
  WholeSum::Parts sum{};
  for (std::size_t half = 0; half < 2; ++half) {
    WholeSum part;
    for (std::size_t k = half * 500; k < (half + 1) * 500; ++k) part.add(terms[k]);
    const WholeSum::Parts parts = part.parts();
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += parts[k];
  }
  EXPECT_EQ(WholeSum::of(sum).value(), forward.value());
  double plain = 0;
  for (double term : terms) plain += term;
  EXPECT_NEAR(forward.value(), plain, 1e-9 * std::abs(plain) + 1e-6);
  forward.add(std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(forward.value()));
}

}  // namespace
}  // namespace drover
