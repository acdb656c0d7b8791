// The flat layout gives the conditionals of the graph it was made from, in any order and with either axis.
#include "drover/compile/table_graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tests/support/random_models.hpp"

namespace drover {
namespace {

/// The field of one value as the header defines it; x is in the order of the layout.
double field(const TableGraph& layout, VariableId v, std::uint32_t k, const std::vector<Value>& x) {
  double sum = layout.unary[layout.unary_offsets[v] + k];
  for (const PottsLink& link : layout.potts_of(v)) sum += x[link.neighbour] == k ? link.coupling : 0.0F;
  for (const TableLink& link : layout.links_of(v)) {
    std::size_t index = link.base + std::size_t{k} * link.own_stride;
    for (std::uint32_t o = link.others_begin; o < link.others_end; ++o)
      index += std::size_t{layout.others[o].stride} * x[layout.others[o].variable];
    sum += layout.entries.at(index);
  }
  return sum;
}

/// Differences of fields are differences of scores, for every variable at a few random states.
void expect_same_conditionals(const Graph& graph, OwnAxis axis, std::uint64_t seed) {
  RandomSequence random(seed, Stream::start);
  std::vector<VariableId> order = natural_order(graph);
  std::shuffle(order.begin(), order.end(), random);
  const TableGraph layout = make_table_graph(graph, axis, order);
  for (int repeat = 0; repeat < 5; ++repeat) {
    std::vector<Value> x(graph.size()), placed(graph.size());
    for (std::size_t p = 0; p < order.size(); ++p)
      x[order[p]] = placed[p] = static_cast<Value>(random.below(graph.cardinalities[order[p]]));
    for (VariableId p = 0; p < order.size(); ++p) {
      const VariableId v = order[p];
      std::vector<double> scores, fields;
      for (std::uint32_t k = 0; k < graph.cardinalities[v]; ++k) {
        std::vector<Value> changed = x;
        changed[v] = static_cast<Value>(k);
        scores.push_back(log_score(graph, changed) * std::numbers::log2e);
        fields.push_back(field(layout, p, k, placed));
      }
      const double best_score = *std::ranges::max_element(scores);
      const double best_field = *std::ranges::max_element(fields);
      if (best_score == log_zero) continue;
      for (std::size_t k = 0; k < scores.size(); ++k)
        if (scores[k] == log_zero)
          EXPECT_EQ(fields[k], log_zero);
        else
          EXPECT_NEAR(fields[k] - best_field, scores[k] - best_score, 1e-4) << "seed " << seed;
    }
  }
}

TEST(TableGraph, KeepsConditionals) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    testing::RandomModelOptions options;
    options.max_states = 2 + seed % 4;
    options.max_arity = 2 + seed % 3;
    options.zero_share = seed % 2 ? 0.1 : 0.0;
    const Graph graph = compile(testing::random_model(seed, options));
    expect_same_conditionals(graph, OwnAxis::slowest, seed);
    expect_same_conditionals(graph, OwnAxis::fastest, seed);
  }
}

TEST(TableGraph, LargeTablesAreKeptOnce) {
  Model model;
  model.cardinalities = {20, 3, 90, 2};
  RandomSequence random(6, Stream::generate);
  std::vector<double> values(20 * 3 * 90 * 2);
  for (double& value : values) value = random.normal();
  model.tables.add(std::vector<VariableId>{0, 1, 2, 3}, values);
  const Graph graph = compile(model);
  for (OwnAxis axis : {OwnAxis::slowest, OwnAxis::fastest}) {
    EXPECT_EQ(make_table_graph(graph, axis, natural_order(graph)).entries.size(),
              values.size() + entry_padding);
    expect_same_conditionals(graph, axis, 1);
  }
}

TEST(TableGraph, TiedTablesShareTheirCopies) {
  // One table used with two shapes and in both directions.
  Model model;
  model.cardinalities = {2, 8, 4, 4, 2, 8};
  RandomSequence random(7, Stream::generate);
  std::vector<double> values(16);
  for (double& value : values) value = random.normal();
  const std::uint32_t table = model.tables.add_table(values);
  for (auto [i, j] : {std::pair{0U, 1U}, {2U, 3U}, {4U, 5U}, {1U, 0U}, {3U, 2U}, {0U, 5U}})
    model.tables.add_factor(std::vector<VariableId>{i, j}, table);
  const Graph graph = compile(model);
  for (OwnAxis axis : {OwnAxis::slowest, OwnAxis::fastest}) expect_same_conditionals(graph, axis, 2);
}

TEST(TableGraph, EntriesBeginAtACacheLine) {
  Model model;
  model.cardinalities = {3, 3};
  model.tables.add(std::vector<VariableId>{0, 1}, std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 10});
  const Graph graph = compile(model);
  const TableGraph layout = make_table_graph(graph, OwnAxis::fastest, natural_order(graph));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(layout.entries.data()) % 64, 0U);
}

}  // namespace
}  // namespace drover
