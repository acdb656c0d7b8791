// Inference on graphs with tied tables: right by enumeration, and the bits of untied tables.
#include <gtest/gtest.h>

#include <cmath>

#include "drover/infer/belief_propagation.hpp"
#include "drover/infer/enumerate.hpp"
#include "drover/infer/junction_tree.hpp"
#include "tests/support/tied_models.hpp"

namespace drover {
namespace {

using testing::random_tied_model;
using testing::untied;

TEST(TiedInference, JunctionTreeAgreesWithEnumeration) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto [model, evidence] = random_tied_model(seed, seed % 2 == 1);
    const Graph graph = compile(model, evidence);
    const Enumeration truth = enumerate(graph);
    JunctionTree tree(graph);
    ASSERT_NEAR(tree.log_z(), truth.log_z, 1e-10 * (1 + std::abs(truth.log_z)));
    const auto marginals = tree.marginals();
    for (std::size_t v = 0; v < graph.size(); ++v)
      for (std::size_t k = 0; k < graph.cardinalities[v]; ++k)
        ASSERT_NEAR(marginals[v][k], truth.marginals[v][k], 1e-10);
    const Graph own = compile(untied(model), evidence);
    EXPECT_EQ(JunctionTree(own).marginals(), marginals);
  }
}

TEST(TiedInference, MessagesAreThoseOfUntiedTables) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto [model, evidence] = random_tied_model(seed, false);
    const Graph tied = compile(model, evidence), own = compile(untied(model), evidence);
    const FactorGraph tied_layout = factor_graph(tied), own_layout = factor_graph(own);
    BeliefOptions options;
    options.iterations = 5;
    BeliefPropagation a(tied_layout, options), b(own_layout, options);
    a.run();
    b.run();
    const auto x = a.messages(), y = b.messages();
    ASSERT_TRUE(std::equal(x.begin(), x.end(), y.begin(), y.end()));
  }
}

TEST(TiedInference, TruncatedLinearTablesAreRecognisedOnce) {
  Model model;
  model.cardinalities.assign(20, 5);
  std::vector<double> values;
  for (int a = 0; a < 5; ++a)
    for (int b = 0; b < 5; ++b) values.push_back(-std::min(0.7 * std::abs(a - b), 1.5));
  const std::uint32_t table = model.tables.add_table(values);
  for (VariableId v = 0; v + 1 < 20; ++v) model.tables.add_factor(std::vector<VariableId>{v, v + 1}, table);
  const Graph graph = compile(model);
  const FactorGraph layout = factor_graph(graph);
  EXPECT_EQ(layout.truncated_linear.size(), 1U);
  for (std::size_t f = 0; f < layout.factor_count(); ++f) {
    EXPECT_EQ(layout.kind[f], FactorKind::truncated_linear);
    EXPECT_EQ(layout.index[f], 0U);
  }
}

}  // namespace
}  // namespace drover
