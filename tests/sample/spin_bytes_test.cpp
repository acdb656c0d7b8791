#include "drover/sample/gibbs/gibbs_spin_bytes.hpp"

#include "drover/core/archive.hpp"
#include "tests/sample/spin_checks.hpp"

namespace drover {
namespace {

using testing::random_spin_graph;
static_assert(Kernel<GibbsSpinBytes>);

// Variable 0 has `degree` neighbours, of which some are neighbours of one another; fields on all.
Graph star(std::uint32_t degree, std::uint64_t seed, double scale) {
  RandomSequence random(seed, Stream::generate);
  Model model;
  model.cardinalities.assign(degree + 1, 2);
  for (VariableId i = 0; i <= degree; ++i) {
    const double values[2] = {0, scale * random.normal()};
    model.unaries.add(i, values);
  }
  for (VariableId i = 1; i <= degree; ++i) model.spin_pairs.add(0, i, scale * random.normal());
  for (VariableId i = 2; i <= degree; i += 2) model.spin_pairs.add(i - 1, i, scale * random.normal());
  return compile(model);
}

// All pairs of nine variables: eight neighbours each.
Graph nine_spins(std::uint64_t seed, double scale) {
  RandomSequence random(seed, Stream::generate);
  Model model;
  model.cardinalities.assign(9, 2);
  for (VariableId i = 0; i < 9; ++i)
    for (VariableId j = 0; j < i; ++j) model.spin_pairs.add(i, j, scale * random.normal());
  return compile(model);
}

TEST(GibbsSpinBytes, LeavesTheDistributionWithAnyNumberOfNeighbours) {
  for (std::uint32_t degree = 0; degree <= 9; ++degree)
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      SCOPED_TRACE(degree);
      const Graph graph = star(degree, seed, seed % 2 ? 1.0 : 0.3);
      const GibbsSpinBytes kernel(spin_graph(graph));
      testing::expect_leaves_distribution(kernel, graph, seed, 8192);
      testing::expect_conditionals(kernel, graph, seed, 2048);
      testing::expect_scores(kernel, graph, seed);
    }
}

TEST(GibbsSpinBytes, LeavesDenseGraphs) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Graph graph = nine_spins(seed, 0.2);
    const GibbsSpinBytes kernel(spin_graph(graph));
    testing::expect_leaves_distribution(kernel, graph, seed, 16384);
    testing::expect_conditionals(kernel, graph, seed);
    testing::expect_scores(kernel, graph, seed);
  }
}

TEST(GibbsSpinBytes, LeavesTheDistributionAtOtherTemperatures) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Graph graph = seed % 2 ? random_spin_graph(seed) : nine_spins(seed, 0.3);
    const float beta = 0.25f * static_cast<float>(seed % 8);
    const testing::Tempered kernel(GibbsSpinBytes(spin_graph(graph)), beta);
    const Graph scaled = testing::tempered(graph, beta);
    testing::expect_leaves_distribution(kernel, scaled, seed);
    testing::expect_conditionals(kernel, scaled, seed);
  }
}

// p(x_0 = 1 | neighbours) by the definition, in double.
double conditional(const SpinGraph& graph, std::span<const Value> x, std::size_t i, double beta) {
  double field = graph.bias[i];
  for (std::size_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
    field += double{graph.weight[e]} * x[graph.neighbour[e]];
  return 1 / (1 + std::exp(-beta * field));
}

// What a sweep adds is the conditional of each variable given those before it after the sweep and those
// behind it before the sweep. It is rounded down to 24 bits, or made of floats with a relative error of a few
// units of 2^-24 per neighbour; 1e-6 covers both for up to ten neighbours and temperatures from a quarter to
// two (fields below 60, so that rounding of a field costs at most 60 2^-24 p (1 - p) < 1e-6).
template <class Betas>
void expect_sums(const Graph& compiled, std::uint64_t seed, Betas betas) {
  const SpinGraph graph = spin_graph(compiled);
  const GibbsSpinBytes kernel(graph);
  auto state = kernel.start(seed, 64);
  std::vector<float> inverse(64);
  for (std::uint32_t lane = 0; lane < 64; ++lane) inverse[lane] = betas(lane);
  kernel.set_inverse_temperatures(state, inverse);
  std::vector<Value> before(kernel.size()), after(kernel.size());
  for (std::uint64_t sweep = 0; sweep < 4; ++sweep) {
    const auto old = state;
    std::vector<float> sums(64 * kernel.size(), 0.0f);
    kernel.sweep(state, sweep, ConditionalSums{sums});
    for (std::uint32_t lane = 0; lane < 64; ++lane) {
      kernel.read(old, lane, before);
      kernel.read(state, lane, after);
      for (std::size_t i = 0; i < kernel.size(); ++i) {
        ASSERT_NEAR(sums[64 * i + lane], conditional(graph, before, i, inverse[lane]), 1e-6)
            << "seed " << seed << " lane " << lane << " variable " << i;
        before[i] = after[i];
      }
    }
  }
}

TEST(GibbsSpinBytes, SumsAreTheConditionals) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Graph graph = star(static_cast<std::uint32_t>(seed % 11), seed, seed % 3 ? 0.5 : 2.0);
    expect_sums(graph, seed, [](std::uint32_t) { return 1.0f; });
    expect_sums(graph, seed, [](std::uint32_t) { return 0.25f; });
    expect_sums(graph, seed, [](std::uint32_t lane) { return 0.25f + 0.02f * static_cast<float>(lane); });
  }
}

// Variables with tables of every size and without, side by side; on every instruction set, as tables are read
// in different ways.
TEST(GibbsSpinBytes, SumsOfVariablesWithDifferentNumbersOfNeighbours) {
  testing::for_each_target([] {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      RandomSequence random(seed, Stream::generate);
      Model model;
      model.cardinalities.assign(60, 2);
      for (int pair = 0; pair < 210; ++pair) {
        const auto first = static_cast<VariableId>(random.below(60));
        const auto second = static_cast<VariableId>((first + 1 + random.below(59)) % 60);
        model.spin_pairs.add(first, second, 0.3 * random.normal());
      }
      expect_sums(compile(model), seed, [](std::uint32_t) { return 1.0f; });
    }
  });
}

TEST(GibbsSpinBytes, ScoresOfALargeGrid) {
  const Graph graph = compile(testing::random_grid(150, 130, false, 5));
  testing::expect_scores(GibbsSpinBytes(spin_graph(graph)), graph, 1, 1e-6);
}

// As many as go together at once, fewer, and some more.
TEST(GibbsSpinBytes, SeveralSweepsAtOnceAreTheSame) {
  const Graph graph = compile(testing::random_grid(30, 40, false, 6));
  for (const std::uint64_t count : {1U, 7U, 64U, 75U})
    testing::expect_sweeps_at_once(GibbsSpinBytes(spin_graph(graph)), 1, count);
}

// States, sums and scores of some sweeps, at one temperature, at another and at many.
struct Trajectory {
  std::vector<Value> values;  // of all lanes, one after the other
  std::vector<float> sums;
  std::vector<double> scores;
  bool operator==(const Trajectory&) const = default;
};

Trajectory trajectory(const GibbsSpinBytes& kernel) {
  auto state = kernel.start(11, 128);
  Trajectory result{{}, std::vector<float>(64 * kernel.size(), 0.0f), std::vector<double>(64)};
  std::vector<float> inverse(64, 1.0f);
  for (std::uint64_t sweep = 0; sweep < 60; ++sweep) {
    if (sweep == 20) inverse.assign(64, 0.7f);
    if (sweep == 40)
      for (std::size_t lane = 0; lane < 64; ++lane) inverse[lane] = 0.02f * static_cast<float>(lane);
    kernel.set_inverse_temperatures(state, inverse);
    if (sweep % 2)
      kernel.sweep(state, sweep, ConditionalSums{result.sums});
    else
      kernel.sweep(state, sweep);
  }
  kernel.log_scores(state, result.scores);
  for (std::uint32_t lane = 0; lane < 64; ++lane) {
    std::vector<Value> values(kernel.size());
    kernel.read(state, lane, values);
    result.values.insert(result.values.end(), values.begin(), values.end());
  }
  return result;
}

TEST(GibbsSpinBytes, EveryInstructionSetGivesTheSameBits) {
  // Enough variables that ties of the first 16 bits, one in a thousand draws, happen many times.
  const SpinGraph graphs[] = {spin_graph(compile(testing::random_grid(23, 17, true, 3))),
                              spin_graph(star(13, 4, 0.5)), spin_graph(nine_spins(5, 0.4)),
                              spin_graph(star(9, 6, 60.0))};
  for (const SpinGraph& graph : graphs) {
    const Trajectory expected = trajectory(GibbsSpinBytes(graph));
    // A kernel each: its tables are laid out for the instruction set it is made with.
    testing::for_each_target([&] { EXPECT_TRUE(trajectory(GibbsSpinBytes(graph)) == expected); });
  }
}

// Bits in memory are another way to keep the same states: on every instruction set, with tables of every size, odds and
// fields, and with states that were written.
TEST(GibbsSpinBytes, BitsInMemoryGiveWhatBytesDo) {
  Model mixed;
  mixed.cardinalities.assign(60, 2);
  RandomSequence random(8, Stream::generate);
  for (int pair = 0; pair < 210; ++pair) {
    const auto first = static_cast<VariableId>(random.below(60));
    mixed.spin_pairs.add(first, static_cast<VariableId>((first + 1 + random.below(59)) % 60),
                         0.3 * random.normal());
  }
  for (const SpinGraph& graph :
       {spin_graph(compile(mixed)), spin_graph(star(13, 4, 0.5)), spin_graph(star(9, 6, 60.0))}) {
    const Trajectory expected = trajectory(GibbsSpinBytes(graph, Scan::fixed, SpinStorage::bytes));
    testing::for_each_target([&] {
      const GibbsSpinBytes kernel(graph, Scan::fixed, SpinStorage::bits);
      EXPECT_TRUE(trajectory(kernel) == expected);
      auto state = kernel.start(1, 0);
      std::vector<Value> values(kernel.size()), found(kernel.size());
      for (const std::uint32_t lane : {0U, 17U, 18U, 63U}) {
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = (i * (lane + 3)) % 5 < 2;
        kernel.write(state, lane, values);
      }
      for (const std::uint32_t lane : {0U, 17U, 18U, 63U}) {
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = (i * (lane + 3)) % 5 < 2;
        kernel.read(state, lane, found);
        EXPECT_EQ(found, values) << lane;
      }
    });
  }
  // Chosen where neighbours of many variables are far from one another.
  Model wide;
  wide.cardinalities.assign(20'000, 2);
  for (VariableId i = 0; i < 10'000; ++i) wide.spin_pairs.add(i, i + 10'000, 0.1);
  const auto bytes_of = [](const Model& model) {
    return GibbsSpinBytes(spin_graph(compile(model))).start(1, 0).states.size();
  };
  EXPECT_EQ(bytes_of(wide), std::size_t{20'000} * 8);
  EXPECT_EQ(bytes_of(testing::random_grid(150, 150, false, 5)), std::size_t{22'500} * 64);
}

TEST(GibbsSpinBytes, KnowsWhetherAStateIsLaidOutAsItsOwn) {
  const SpinGraph graph = spin_graph(nine_spins(1, 0.2));
  const GibbsSpinBytes bytes(graph, Scan::fixed, SpinStorage::bytes),
      bits(graph, Scan::fixed, SpinStorage::bits);
  EXPECT_TRUE(bytes.fits(bytes.start(1, 0)));
  EXPECT_TRUE(bits.fits(bits.start(1, 0)));
  EXPECT_FALSE(bits.fits(bytes.start(1, 0)));
  EXPECT_FALSE(bytes.fits(bits.start(1, 0)));
}

// Fields far beyond the range of exp neither overflow nor let the impossible happen.
TEST(GibbsSpinBytes, HugeFieldsSaturate) {
  testing::for_each_target([] {
    for (double sign : {-1.0, 1.0}) {
      Model model;
      model.cardinalities.assign(7, 2);
      const double values[2] = {0, sign * 1e5};
      model.unaries.add(0, values);
      for (VariableId i = 1; i < 7; ++i) model.spin_pairs.add(0, i, 1e3);
      const GibbsSpinBytes kernel(spin_graph(compile(model)));
      for (float beta : {1.0f, 3.0f}) {
        auto state = testing::Tempered(kernel, beta).start(1, 0);
        std::vector<float> sums(7 * 64, 0.0f);
        for (std::uint64_t sweep = 0; sweep < 10; ++sweep) kernel.sweep(state, sweep, ConditionalSums{sums});
        std::vector<Value> x(7);
        for (std::uint32_t lane = 0; lane < 64; ++lane) {
          kernel.read(state, lane, x);
          EXPECT_EQ(x, std::vector<Value>(7, sign > 0));
        }
        for (float sum : sums) ASSERT_NEAR(sum, sign > 0 ? 10 : 0, 1e-6);
      }
    }
  });
}

// Rates of rare values are right on both sides, whatever the number of neighbours: fields of +-14 make them
// 8e-7, far below the 2^-16 that the first random bits resolve.
TEST(GibbsSpinBytes, SmallProbabilitiesAreRight) {
  for (std::uint32_t neighbours : {0U, 4U, 6U})
    for (double field : {-14.0, 14.0})
      for (float beta : {1.0f, 0.5f}) {
        Model model;
        const std::size_t size = 4096;
        model.cardinalities.assign(size, 2);
        const double values[2] = {0, field / beta};
        for (VariableId i = 0; i < size; ++i) model.unaries.add(i, values);
        // Pairs that do nothing: they only choose the code.
        for (VariableId i = 0; i < size; ++i)
          for (VariableId k = 1; 2 * k <= neighbours; ++k)
            model.spin_pairs.add(i, (i + k) % static_cast<VariableId>(size), 1e-12);
        const GibbsSpinBytes kernel(spin_graph(compile(model)), Scan::fixed, SpinStorage::bytes);
        auto state = testing::Tempered(kernel, beta).start(7, 0);
        double rare = 0;
        const std::uint64_t sweeps = 400;
        for (std::uint64_t sweep = 0; sweep < sweeps; ++sweep) {
          kernel.sweep(state, sweep);
          rare += static_cast<double>(std::ranges::count(state.states, field > 0 ? 0 : 255));
        }
        const double expected = static_cast<double>(sweeps * size * 64) / (1 + std::exp(14.0));
        EXPECT_NEAR(rare, expected, 5 * std::sqrt(expected))
            << neighbours << " neighbours, field " << field << " beta " << beta;
      }
}

}  // namespace
}  // namespace drover
