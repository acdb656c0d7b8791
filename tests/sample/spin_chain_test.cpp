#include "drover/sample/gibbs/gibbs_spin_chain.hpp"
#include "tests/sample/spin_checks.hpp"

namespace drover {
namespace {

using testing::random_spin_graph;
static_assert(Kernel<GibbsSpinChain>);

TEST(GibbsSpinChain, Scores) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = random_spin_graph(seed);
    testing::expect_scores(GibbsSpinChain(spin_graph(graph)), graph, seed, 1e-6);
  }
  const Graph graph = compile(testing::random_grid(211, 190, false, 5));
  testing::expect_scores(GibbsSpinChain(spin_graph(graph)), graph, 1, 1e-6);
}

TEST(GibbsSpinChain, EveryInstructionSetSamplesTheSameModel) {
  testing::for_each_target([] {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      const Graph graph = random_spin_graph(seed);
      const GibbsSpinChain kernel(spin_graph(graph));
      testing::expect_leaves_distribution(kernel, graph, seed, 512);
      testing::expect_leaves_distribution(testing::Tempered(kernel, 0.5f), testing::tempered(graph, 0.5),
                                          seed, 512);
      testing::expect_scores(kernel, graph, seed);
    }
  });
}

// Many copies of one small model side by side fill whole units, with runs and gathers: the copies
// are independent, so their joint states are draws from the exact distribution.
TEST(GibbsSpinChain, FullUnitsLeaveTheDistribution) {
  for (bool tempered : {false, true}) {
    const Model one = testing::random_grid(3, 3, false, 11);
    const std::uint32_t copies = 6000, small = 9;
    for (bool interleaved : {false, true}) {
      const auto place = [&](VariableId v, std::uint32_t copy) {
        return interleaved ? v * copies + copy : copy * small + v;
      };
      Model many;
      many.cardinalities.assign(std::size_t{copies} * small, 2);
      for (std::uint32_t copy = 0; copy < copies; ++copy) {
        for (std::size_t f = 0; f < one.unaries.size(); ++f)
          many.unaries.add(place(one.unaries.variables[f], copy), one.unaries.values(f));
        for (std::size_t f = 0; f < one.spin_pairs.size(); ++f)
          many.spin_pairs.add(place(one.spin_pairs.first[f], copy), place(one.spin_pairs.second[f], copy),
                              one.spin_pairs.couplings[f]);
      }
      const float beta = tempered ? 0.7f : 1.0f;
      const Graph small_graph = testing::tempered(compile(one), beta);
      const testing::Tempered kernel(GibbsSpinChain(spin_graph(compile(many))), beta);
      auto state = kernel.start(3, 0);
      std::vector<float> sums(kernel.size(), 0.0f);
      for (std::uint64_t sweep = 0; sweep < 100; ++sweep) kernel.sweep(state, sweep);
      kernel.sweep(state, 100, ConditionalSums{sums});
      std::vector<Value> x(kernel.size()), own(small);
      kernel.read(state, 0, x);
      const Enumeration exact = enumerate(small_graph);
      std::vector<double> counts(exact.probabilities.size(), 0.0), means(small, 0.0);
      for (std::uint32_t copy = 0; copy < copies; ++copy) {
        for (VariableId v = 0; v < small; ++v) {
          own[v] = x[place(v, copy)];
          means[v] += sums[place(v, copy)] / copies;
        }
        ++counts[testing::state_index(small_graph, own)];
      }
      EXPECT_LT(testing::chi_square_score(counts, exact.probabilities), testing::chi_square_limit);
      for (VariableId v = 0; v < small; ++v)  // at most p (1 - p) of variance
        EXPECT_NEAR(means[v], exact.marginals[v][1],
                    6 * std::sqrt(exact.marginals[v][0] * exact.marginals[v][1] / copies));
    }
  }
}

}  // namespace
}  // namespace drover
