#include "drover/compile/dual.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "drover/compile/cluster_bonds.hpp"
#include "drover/core/log_math.hpp"
#include "drover/infer/enumerate.hpp"
#include "tests/support/random_models.hpp"

namespace drover {
namespace {

// The table that a dual stands for: log p(x1, x2) at 2 x1 + x2.
double table_value(const TableDual& dual, int x1, int x2) {
  const double at_zero = dual.alpha1 * x1 + dual.alpha2 * x2;
  return dual.log_constant + log_add(at_zero, at_zero + dual.q + dual.beta1 * x1 + dual.beta2 * x2);
}

void expect_factorises(const std::array<double, 4>& table) {
  const TableDual dual = dual_of_table(table);
  double largest = 1;
  for (double value : table) largest = std::max(largest, std::abs(value));
  for (int x1 : {0, 1})
    for (int x2 : {0, 1})
      EXPECT_NEAR(table_value(dual, x1, x2), table[2 * x1 + x2], 1e-14 * largest)
          << table[0] << " " << table[1] << " " << table[2] << " " << table[3];
}

TEST(Dual, FactorsAnyPositiveTable) {
  RandomSequence random(1, Stream::generate);
  for (double scale : {1e-8, 1e-3, 0.1, 1.0, 10.0, 100.0, 1e4})
    for (int repetition = 0; repetition < 3000; ++repetition) {
      std::array<double, 4> table{};
      for (double& value : table) value = scale * random.normal();
      expect_factorises(table);
    }
}

TEST(Dual, SignsOfTheDeterminant) {
  EXPECT_TRUE(dual_of_table(std::array{1.0, 0.0, 0.0, 1.0}).needed);
  EXPECT_TRUE(dual_of_table(std::array{0.0, 1.0, 1.0, 0.0}).needed);
  expect_factorises({0, 1, 1, 0});
  const TableDual product = dual_of_table(std::array{0.5, 1.5, -0.5, 0.5});
  EXPECT_FALSE(product.needed);
  EXPECT_EQ(product.beta1, 0);
  EXPECT_EQ(product.beta2, 0);
  expect_factorises({0.5, 1.5, -0.5, 0.5});
}

TEST(Dual, CouplingsOfEitherSign) {
  RandomSequence random(2, Stream::generate);
  for (int repetition = 0; repetition < 10000; ++repetition) {
    const double coupling = std::pow(10.0, 6 * random.uniform() - 4) * (repetition % 2 ? 1 : -1);
    const SpinDual dual = dual_of_coupling(coupling);
    const double sign = dual.flip ? -1 : 1;
    for (double s1 : {-1, 1})
      for (double s2 : {-1, 1}) {
        const double plus = dual.strength / 2 * (s1 + sign * s2);
        EXPECT_NEAR(dual.log_constant + log_add(plus, -plus), coupling * s1 * s2,
                    1e-14 * (1 + std::abs(coupling)));
        // The noise is p(t != s1 | s1, s2).
        const double differs = 1 / (1 + std::exp(2 * plus * s1));
        EXPECT_NEAR(differs, s1 == sign * s2 ? dual.noise : 0.5, 1e-14);
      }
    // Small noise keeps its relative precision.
    EXPECT_NEAR(dual.noise * (1 + std::exp(2 * dual.strength)), 1, 1e-12 * (1 + std::abs(coupling)));
  }
}

// Summing the duals out of the bipartite graph gives the model back, constant included.
TEST(Dual, BipartiteGraphHasTheModelAsItsMarginal) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    testing::RandomModelOptions options;
    options.variables = 4;
    options.factors = 5;
    const Graph graph = compile(testing::random_model(seed, options));
    const SpinEdges edges = spin_edges(spin_graph(graph));
    const SpinGraph joint = dual_spin_graph(edges);
    ASSERT_EQ(joint.size(), graph.size() + edges.edges.size());
    for (unsigned state = 0; state < 16; ++state) {
      std::vector<Value> x(4);
      for (unsigned i = 0; i < 4; ++i) x[i] = state >> i & 1;
      std::vector<double> terms;
      for (unsigned duals = 0; duals < 1U << edges.edges.size(); ++duals) {
        const unsigned bits = state | duals << 4;
        double score = joint.log_constant;
        for (std::size_t i = 0; i < joint.size(); ++i) {
          if ((bits >> i & 1) == 0) continue;
          score += joint.bias[i];
          for (std::size_t k = 0; k < joint.degree(i); ++k)
            if (bits >> joint.neighbours(i)[k] & 1) score += joint.weights(i)[k] / 2;
        }
        terms.push_back(score);
      }
      EXPECT_NEAR(log_sum_exp(terms), log_score(graph, x), 1e-5);
    }
  }
}

Graph ring(std::vector<double> couplings) {
  Model model;
  const auto size = static_cast<VariableId>(couplings.size());
  model.cardinalities.assign(size, 2);
  for (VariableId i = 0; i < size; ++i) model.spin_pairs.add(i, (i + 1) % size, couplings[i]);
  return compile(model);
}

TEST(ClusterBonds, FrustrationNeedsAnOddCycle) {
  EXPECT_EQ(frustration(ring({1, 2, 3, 1})), "");
  EXPECT_EQ(frustration(ring({-1, 2, -3, 1})), "");
  EXPECT_EQ(frustration(ring({-1, -1, -1, -1, 1})), "");
  EXPECT_NE(frustration(ring({-1, 2, 3, 1})), "");
  EXPECT_NE(frustration(ring({-1, -1, -1})), "");
}

// exp(J s s') is exp(2 |J| [satisfied]) up to a constant, exp(w [x = x']) is a bond of strength w; doubles add up.
TEST(ClusterBonds, StrengthIsWhatASatisfiedPairGains) {
  Model model;
  model.cardinalities = {2, 2, 3, 3, 3};
  model.spin_pairs.add(1, 0, -0.3);
  model.spin_pairs.add(0, 1, -0.5);
  model.potts_pairs.add(2, 3, 0.7);
  model.potts_pairs.add(4, 3, -1.5);
  const Graph graph = compile(model);
  const auto bonds = cluster_bonds(graph);
  ASSERT_EQ(bonds.size(), 3U);
  const ClusterBond expected[] = {{0, 1, 1.6F, 1}, {2, 3, 0.7F, 0}, {3, 4, -1.5F, 0}};
  for (std::size_t b = 0; b < 3; ++b) {
    EXPECT_EQ(bonds[b].first, expected[b].first);
    EXPECT_EQ(bonds[b].second, expected[b].second);
    EXPECT_FLOAT_EQ(bonds[b].strength, expected[b].strength);
    EXPECT_EQ(bonds[b].flip, expected[b].flip);
  }
}

TEST(ClusterBonds, FrustrationAgreesWithEnumeration) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RandomSequence random(seed, Stream::generate);
    Model model;
    model.cardinalities.assign(5, 2);
    for (int f = 0; f < 6; ++f) {
      const VariableId i = random.below(5), j = (i + 1 + random.below(4)) % 5;
      model.spin_pairs.add(i, j, random.normal());
    }
    const Graph graph = compile(model);
    // A relabelling exists when some state satisfies every bond at once.
    const auto bonds = cluster_bonds(graph);
    bool satisfiable = false;
    for (unsigned state = 0; state < 32; ++state) {
      bool all = true;
      for (const ClusterBond& bond : bonds)
        all = all && ((state >> bond.first ^ state >> bond.second ^ bond.flip) & 1) == 0;
      satisfiable = satisfiable || all;
    }
    EXPECT_EQ(frustration(graph).empty(), satisfiable) << seed;
  }
}

}  // namespace
}  // namespace drover
