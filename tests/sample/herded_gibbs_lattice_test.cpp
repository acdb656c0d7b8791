// Herded Gibbs on lattices of equal couplings: against its own rule step by step, against the bound of the
// paper's rule, and beside the tables.
#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <cmath>

#include "drover/compile/table_graph.hpp"
#include "drover/core/archive.hpp"
#include "drover/core/random.hpp"
#include "drover/sample/herded/herded_gibbs_lattice.hpp"
#include "drover/sample/herded/herded_gibbs_tables.hpp"
#include "tests/sample/spin_checks.hpp"

namespace drover {
namespace {

static_assert(Kernel<HerdedGibbsLattice>);

struct Shape {
  std::uint32_t width, height;
  bool periodic_x, periodic_y;
};

/// One coupling, random fields (or one field); a part of the variables observed.
Graph equal_couplings(Shape shape, double coupling, double fields, double observed, std::uint64_t seed) {
  const auto [width, height, periodic_x, periodic_y] = shape;
  RandomSequence random(seed, Stream::generate);
  Model model;
  Evidence evidence;
  model.cardinalities.assign(std::size_t{width} * height, 2);
  for (std::uint32_t y = 0; y < height; ++y)
    for (std::uint32_t x = 0; x < width; ++x) {
      const std::uint32_t i = y * width + x;
      const double unary[2] = {0, 0.2 + fields * random.normal()};
      model.unaries.add(i, unary);
      if (x + 1 < width || periodic_x) model.spin_pairs.add(i, y * width + (x + 1) % width, coupling);
      if (y + 1 < height || periodic_y) model.spin_pairs.add(i, (y + 1) % height * width + x, coupling);
      if (random.uniform() < observed) evidence.add(i, random.uniform() < 0.5 ? 1 : 0);
    }
  return compile(model, evidence);
}

HerdedGibbsLattice kernel_of(const Graph& graph) {
  return {graph, herded_lattice(graph).value()};
}

/// The rule, one site after the other, from the general form of the graph.
class Reference {
 public:
  Reference(const Graph& graph, std::uint32_t width, std::uint64_t seed, std::uint32_t chain)
      : graph_(graph), spins_(spin_graph(graph)), width_(width) {
    const Random random(seed, Stream::weights);
    for (VariableId v = 0; v < graph.size(); ++v)
      for (std::uint64_t n = 0; n < 5; ++n)
        phases_.push_back(random.block(chain, (std::uint64_t{1} << n) - 1, v)[0] >> 16);
  }

  void sweep(std::vector<Value>& x, std::uint64_t t, float beta) {
    double weight = 0;
    for (float w : spins_.weight) weight = w;
    for (std::size_t colour = 0; colour < 2; ++colour)
      for (VariableId v = 0; v < graph_.size(); ++v) {
        const VariableId site = graph_.model_variable[v];
        if ((site % width_ + site / width_) % 2 != colour) continue;
        std::uint32_t n = 0;
        for (std::uint32_t u : spins_.neighbours(v)) n += x[u];
        const auto odds = static_cast<float>(std::exp(-(beta * (spins_.bias[v] + 2 * weight))));
        const auto favour = static_cast<float>(std::exp(beta * weight * (static_cast<double>(n) - 2)));
        const float q = std::min(odds, favour) / (odds + favour);
        const float scaled = q * 65536.0f + (HerdedGibbsLattice::rounding(t, colour) - 0.5f);
        const auto step = static_cast<std::int32_t>(std::nearbyint(scaled));
        std::int32_t& phase = phases_[5 * v + n];
        const std::int32_t p = odds < favour ? 65536 - step : step;  // of the value 1
        x[v] = phase < p ? 1 : 0;
        phase = (phase - p + 65536) % 65536;
      }
  }

 private:
  const Graph& graph_;
  SpinGraph spins_;
  std::uint32_t width_;
  std::vector<std::int32_t> phases_;
};

TEST(HerdedGibbsLattice, IsTheRuleBitForBitOnEveryInstructionSet) {
  const std::vector<Shape> shapes{{3, 3, false, false},   {4, 4, true, true},     {5, 7, false, false},
                                  {6, 5, true, false},    {7, 8, false, true},    {130, 6, true, true},
                                  {131, 9, false, false}, {258, 4, false, false}, {1030, 3, false, false}};
  testing::for_each_target([&] {
    for (std::uint64_t seed = 0; seed < 36; ++seed) {
      const Shape shape = shapes[seed % shapes.size()];
      const double coupling = (seed % 2 ? 1 : -1) * 0.15 * static_cast<double>(1 + seed % 7);  // to 1.05
      const Graph graph =
          equal_couplings(shape, seed == 35 ? 2.5 : coupling, seed % 4 * 0.5, seed / 9 % 2 ? 0.2 : 0.0, seed);
      const HerdedGibbsLattice kernel = kernel_of(graph);
      ASSERT_EQ(kernel.size(), graph.size());
      auto state = kernel.start(seed, 3);
      const float beta = seed % 5 == 4 ? 0.6f : 1.0f;
      kernel.set_inverse_temperatures(state, std::span(&beta, 1));
      Reference reference(graph, shape.width, seed, 3);
      std::vector<Value> expected(graph.size()), x(graph.size());
      kernel.read(state, 0, expected);
      std::vector<float> sums(graph.size(), 0.0f), counts(graph.size(), 0.0f);
      for (std::uint64_t t = 0; t < 40; ++t) {
        if (t % 2)
          kernel.sweep(state, t, ConditionalSums{sums});
        else
          kernel.sweep(state, t);
        reference.sweep(expected, t, beta);
        kernel.read(state, 0, x);
        ASSERT_EQ(x, expected) << "seed " << seed << " sweep " << t;
        for (std::size_t v = 0; t % 2 && v < x.size(); ++v) counts[v] += x[v];
      }
      EXPECT_EQ(sums, counts);
    }
  });
}

// Every (site, number of ones) is herded: its ones differ from its summed probability by less than 1, plus
// what fair rounding to 2^-16 may add (see the header), plus the error of floats.
void expect_bound(const Graph& graph, std::uint32_t sweeps) {
  const HerdedGibbsLattice kernel = kernel_of(graph);
  const HerdedLayout layout(graph, {});  // natural order: positions are variables
  auto state = kernel.start(1, 0);
  const std::size_t size = graph.size();
  std::vector<Value> before(size), x(size), y(5);
  std::vector<double> visits(5 * size, 0.0), ones(5 * size, 0.0), p(5 * size, 0.0);
  std::vector<std::size_t> colour(size);
  const std::size_t width = herded_lattice(graph)->lattice.width;
  for (VariableId v = 0; v < size; ++v) {
    const VariableId site = graph.model_variable[v];
    colour[v] = (site % width + site / width) % 2;
    for (std::size_t n = 0; n <= layout.neighbours(v).size(); ++n) {
      for (std::size_t j = 0; j < layout.neighbours(v).size(); ++j) y[j] = j < n;
      double logs[2];
      layout.log_weights(v, y.data(), 1, logs);
      p[5 * v + n] = 1 / (1 + std::exp(logs[0] - logs[1]));
    }
  }
  kernel.read(state, 0, before);
  double worst = 0;
  for (std::uint32_t t = 0; t < sweeps; ++t) {
    kernel.sweep(state, t);
    kernel.read(state, 0, x);
    for (std::size_t v = 0; v < size; ++v) {
      std::size_t n = 0;
      for (std::uint32_t u : layout.neighbours(v)) n += colour[v] == 0 ? before[u] : x[u];
      const std::size_t at = 5 * v + n;
      visits[at] += 1;
      ones[at] += x[v];
      const double unlikely = std::min(p[at], 1 - p[at]);
      const double slack = 0x1p-16 * std::sqrt(visits[at] * std::log(2 / 1e-9) / 2) +
                           visits[at] * unlikely * 0x1p-20 + 0x1p-15;
      const double excess = std::abs(ones[at] - visits[at] * p[at]) - slack;
      worst = std::max(worst, excess);
      ASSERT_LE(excess, 1) << "variable " << v << ", " << n << " ones, visits " << visits[at];
    }
    std::swap(before, x);
  }
  EXPECT_GT(worst, 0.9);  // the bound is nearly met
}

TEST(HerdedGibbsLattice, KeepsTheBoundForEveryNumberOfOnes) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const Shape shapes[] = {
        {3, 3, false, false}, {4, 4, true, true}, {5, 4, false, true}, {5, 3, false, false}};
    expect_bound(equal_couplings(shapes[seed % 4], 0.1 * static_cast<double>(1 + seed), 0.5,
                                 seed % 3 == 2 ? 0.2 : 0.0, seed),
                 20'000);
  }
}

// Probabilities of 1e-5 and below: far less than a step of the phase.
TEST(HerdedGibbsLattice, KeepsTheBoundOfSmallProbabilitiesToAMillion) {
  expect_bound(equal_couplings({3, 3, false, false}, 1.2, 1.0, 0, 1), 1'000'000);
}

TEST(HerdedGibbsLattice, BeginsAsTheTablesDo) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const Graph graph = equal_couplings({100, 99, false, false}, 0.3, 1, 0, seed);
    const HerdedGibbsLattice lattice = kernel_of(graph);
    const HerdedGibbsTables tables(graph, HerdedSharing::exact, {HerdedSchedule::colours, {}, {}});
    auto a = lattice.start(seed, 2);
    auto b = tables.start(seed, 2);
    std::vector<Value> x(graph.size()), y(graph.size());
    std::size_t differ = 0;
    for (std::uint64_t t = 0; t < 3; ++t) {
      lattice.sweep(a, t);
      tables.sweep(b, t);
      lattice.read(a, 0, x);
      tables.read(b, 0, y);
      differ = 0;
      for (std::size_t v = 0; v < x.size(); ++v) differ += x[v] != y[v];
    }
    // Phases that lie within 2^-16 of the probability may tell otherwise: 0.15 of 9900 in a sweep, and then
    // their neighbours.
    EXPECT_LE(differ, 12U) << seed;
  }
}

// The joint distribution of the states of small lattices, beside the exact one: as near as the tables get.
TEST(HerdedGibbsLattice, IsAsNearToTheDistributionAsTheTables) {
  double sum_lattice = 0, sum_tables = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Graph graph = seed % 2 ? equal_couplings({4, 3, false, false}, 0.25, 0.6, 0.1, seed)
                                 : equal_couplings({3, 3, false, false},
                                                   -0.2 - 0.03 * static_cast<double>(seed), 0.6, 0, seed);
    const Enumeration exact = enumerate(graph);
    const auto distance = [&](const auto& kernel) {
      constexpr std::uint32_t sweeps = 30'000;
      std::vector<double> counts(exact.probabilities.size(), 0.0);
      std::vector<Value> x(graph.size());
      auto state = kernel.start(seed, 0);
      for (std::uint32_t t = 0; t < sweeps; ++t) {
        kernel.sweep(state, t);
        kernel.read(state, 0, x);
        ++counts[testing::state_index(graph, x)];
      }
      double total = 0;
      for (std::size_t s = 0; s < counts.size(); ++s)
        total += std::abs(counts[s] / sweeps - exact.probabilities[s]) / 2;
      return total;
    };
    const double lattice = distance(kernel_of(graph));
    const double tables =
        distance(HerdedGibbsTables(graph, HerdedSharing::exact, {HerdedSchedule::colours, {}, {}}));
    EXPECT_NEAR(lattice, tables, 0.05) << seed;
    sum_lattice += lattice / 10;
    sum_tables += tables / 10;
  }
  RecordProperty("mean total variation, lattice", std::to_string(sum_lattice));
  RecordProperty("mean total variation, tables", std::to_string(sum_tables));
  EXPECT_NEAR(sum_lattice, sum_tables, 0.02);
}

TEST(HerdedGibbsLattice, AnyNumberOfThreads) {
  for (double observed : {0.0, 0.05}) {
    const Graph graph = equal_couplings({300, 301, false, false}, 0.4, 1, observed, 3);
    const HerdedGibbsLattice kernel = kernel_of(graph);
    const auto run = [&] {
      auto state = kernel.start(5, 1);
      std::vector<float> sums(graph.size(), 0.0f);
      for (std::uint64_t t = 0; t < 30; ++t) kernel.sweep(state, t, ConditionalSums{sums});
      std::vector<Value> x(graph.size());
      kernel.read(state, 0, x);
      return std::pair(x, sums);
    };
    const auto expected = tbb::task_arena(1).execute(run);
    for (int threads : {2, 4}) EXPECT_EQ(tbb::task_arena(threads).execute(run), expected) << threads;
  }
}

TEST(HerdedGibbsLattice, ScoresAndCheckpoints) {
  for (const Shape shape : {Shape{3, 3, false, false},
                            {4, 6, true, true},
                            {131, 9, false, false},
                            {128, 4, true, false},
                            {257, 7, false, false}})
    for (double observed : {0.0, 0.2}) {
      const Graph graph = equal_couplings(shape, 0.3, 1, observed, shape.width);
      const HerdedGibbsLattice kernel = kernel_of(graph);
      testing::expect_scores(kernel, graph, 1, 1e-6);
      auto whole = kernel.start(5, 1);
      const float beta = 0.5f;
      kernel.set_inverse_temperatures(whole, std::span(&beta, 1));
      for (std::uint64_t t = 0; t < 10; ++t) kernel.sweep(whole, t);
      SaveArchive saved;
      whole.visit(saved);
      HerdedGibbsLattice::State resumed;
      LoadArchive loaded(saved.bytes());
      resumed.visit(loaded);
      EXPECT_TRUE(loaded.at_end());
      std::vector<Value> a(graph.size()), b(graph.size());
      for (std::uint64_t t = 10; t < 30; ++t) {
        kernel.sweep(whole, t);
        kernel.sweep(resumed, t);
      }
      kernel.read(whole, 0, a);
      kernel.read(resumed, 0, b);
      EXPECT_EQ(a, b);
    }
}

TEST(HerdedGibbsLattice, KnowsItsLattices) {
  EXPECT_TRUE(herded_lattice(equal_couplings({3, 3, false, false}, 0.3, 1, 0, 1)));
  EXPECT_TRUE(herded_lattice(equal_couplings({9, 8, false, true}, 0.3, 1, 0.3, 1)));
  EXPECT_FALSE(herded_lattice(equal_couplings({5, 4, true, true}, 0.3, 1, 0, 1)));  // an odd side
  EXPECT_FALSE(herded_lattice(equal_couplings({4, 4, true, true}, 30, 1, 0, 1)));   // fields beyond 80
  EXPECT_FALSE(herded_lattice(compile(testing::random_grid(4, 4, false, 1))));
  EXPECT_FALSE(herded_lattice(compile(Model{})));
  Graph graph = equal_couplings({5, 5, false, false}, 0.3, 1, 0, 1);
  SpinPairs& pairs = graph.spin_pairs;
  const auto last = pairs.couplings.back();
  pairs.couplings.back() = last + 1e-3;  // one coupling is another
  EXPECT_FALSE(herded_lattice(graph));
  pairs.couplings.back() = 0;  // a pair is missing
  EXPECT_FALSE(herded_lattice(graph));
  pairs.couplings.back() = last;
  EXPECT_TRUE(herded_lattice(graph));
}

}  // namespace
}  // namespace drover
