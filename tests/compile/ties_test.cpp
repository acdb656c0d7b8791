// compile() gives factors that share a table in the model one table in the graph, and the same numbers, to
// the last bit, as if every factor had its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "drover/compile/graph.hpp"
#include "drover/compile/table_graph.hpp"
#include "tests/support/tied_models.hpp"

namespace drover {
namespace {

using testing::random_tied_model;
using testing::untied;

TEST(Ties, CompiledNumbersAreThoseOfUntiedTables) {
  std::size_t factors = 0, tables = 0, slices = 0, potts = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const auto [model, evidence] = random_tied_model(seed, seed % 2 == 1);
    const Graph tied = compile(model, evidence), own = compile(untied(model), evidence);
    ASSERT_EQ(tied.unary, own.unary);
    ASSERT_EQ(tied.log_constant, own.log_constant);
    ASSERT_EQ(tied.spin_pairs.couplings, own.spin_pairs.couplings);
    ASSERT_EQ(tied.spin_pairs.first, own.spin_pairs.first);
    ASSERT_EQ(tied.potts_pairs.couplings, own.potts_pairs.couplings);
    ASSERT_EQ(tied.potts_pairs.first, own.potts_pairs.first);
    ASSERT_EQ(tied.potts_pairs.second, own.potts_pairs.second);
    ASSERT_EQ(tied.tables.scopes, own.tables.scopes);
    ASSERT_EQ(tied.tables.scope_offsets, own.tables.scope_offsets);
    ASSERT_EQ(tied.tables.size(), own.tables.size());
    for (std::size_t f = 0; f < tied.tables.size(); ++f) {
      const auto a = tied.tables.values(f), b = own.tables.values(f);
      ASSERT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
    }
    // A table for every table of the model, shape and evidence at most, and one for every scope that was
    // stated more than once: a sum of several is nobody else's.
    std::set<std::vector<std::uint32_t>> kinds;
    std::map<std::set<VariableId>, std::size_t> stated;
    for (const Pairs* pairs :
         {static_cast<const Pairs*>(&model.spin_pairs), static_cast<const Pairs*>(&model.potts_pairs)})
      for (std::size_t f = 0; f < pairs->size(); ++f) ++stated[{pairs->first[f], pairs->second[f]}];
    for (std::size_t f = 0; f < model.tables.size(); ++f) {
      std::set<VariableId> left;
      for (VariableId v : model.tables.scope(f))
        if (tied.free_variable[v] != no_variable) left.insert(v);
      ++stated[left];
      std::vector<std::uint32_t> kind{model.tables.table_of[f]};
      std::size_t free = 0;
      for (VariableId v : model.tables.scope(f)) {
        const bool is_free = tied.free_variable[v] != no_variable;
        kind.push_back(model.cardinalities[v]);
        kind.push_back(is_free ? no_variable : tied.clamped_value[v]);
        free += is_free;
      }
      if (free >= 2) kinds.insert(kind);
      slices += free >= 2 && free < model.tables.scope(f).size();
    }
    const auto several = std::count_if(stated.begin(), stated.end(), [](const auto& scope) {
      return scope.first.size() > 1 && scope.second > 1;
    });
    EXPECT_LE(tied.tables.table_count(), kinds.size() + static_cast<std::size_t>(several));
    factors += tied.tables.size();
    tables += tied.tables.table_count();
    potts += tied.potts_pairs.size();
  }
  EXPECT_LT(3 * tables, 2 * factors) << "most of these factors are tied";
  EXPECT_GT(slices, 100U);
  EXPECT_GT(potts, 100U);
}

TEST(Ties, ScoresAreTheModels) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto [model, evidence] = random_tied_model(seed, seed % 2 == 1);
    const Graph graph = compile(model, evidence);
    std::vector<Value> x(graph.size(), 0);
    for (bool more = true; more;) {
      const double expected = log_score(model, whole_assignment(graph, x));
      if (expected == log_zero)
        ASSERT_EQ(log_score(graph, x), log_zero);
      else
        ASSERT_NEAR(log_score(graph, x), expected, 1e-12 * (1 + std::abs(expected)));
      std::size_t k = x.size();
      while (k > 0 && ++x[k - 1] == graph.cardinalities[k - 1]) x[--k] = 0;
      more = k > 0;
    }
  }
}

TEST(Ties, AllTablesHoldsEqualPottsPairsOnce) {
  Model model;
  model.cardinalities.assign(6, 3);
  for (VariableId v = 0; v + 1 < 6; ++v) model.potts_pairs.add(v, v + 1, v % 2 == 0 ? 0.5 : -0.25);
  const Tables tables = all_tables(compile(model));
  EXPECT_EQ(tables.size(), 5U);
  EXPECT_EQ(tables.table_count(), 2U);
  EXPECT_EQ(tables.values(1)[0], -0.25);
  EXPECT_EQ(tables.values(4)[4], 0.5);
  EXPECT_EQ(tables.values(4)[3], 0);
}

TEST(Ties, AGridWithOneLargeTableIsSmall) {
  // 99 x 99 entries: a copy for each of the 4 900 factors would be 384 MB.
  constexpr std::uint32_t states = 99, side = 50;
  Model model;
  model.cardinalities.assign(side * side, states);
  std::vector<double> values(states * states);
  for (std::size_t e = 0; e < values.size(); ++e) values[e] = -0.01 * static_cast<double>(e % 100);
  const std::uint32_t table = model.tables.add_table(values);
  for (VariableId v = 0; v < side * side; ++v) {
    if (v % side + 1 < side) model.tables.add_factor(std::vector<VariableId>{v, v + 1}, table);
    if (v + side < side * side) model.tables.add_factor(std::vector<VariableId>{v, v + side}, table);
  }
  const Graph graph = compile(model);
  EXPECT_EQ(graph.tables.size(), 2U * side * (side - 1));
  EXPECT_EQ(graph.tables.log_values.size(), values.size());
  // The layout has it once for each axis, contiguous along the axis it is read.
  const TableGraph layout = make_table_graph(graph, OwnAxis::fastest, natural_order(graph));
  EXPECT_EQ(layout.entries.size(), 2 * values.size() + entry_padding);
  for (const TableLink& link : layout.links) ASSERT_EQ(link.own_stride, 1U);
}

}  // namespace
}  // namespace drover
