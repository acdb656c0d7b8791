#include "drover/model/builders.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "drover/compile/graph.hpp"
#include "drover/core/error.hpp"
#include "drover/infer/enumerate.hpp"

namespace drover {
namespace {

std::vector<std::uint32_t> degrees(const Edges& edges) {
  std::vector<std::uint32_t> count(edges.variables, 0);
  std::set<std::pair<VariableId, VariableId>> seen;
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const VariableId i = edges.first[e], j = edges.second[e];
    EXPECT_NE(i, j);
    EXPECT_LT(std::max(i, j), edges.variables);
    EXPECT_TRUE(seen.insert(std::minmax(i, j)).second) << "edge " << i << " " << j << " twice";
    ++count[i];
    ++count[j];
  }
  return count;
}

TEST(Builders, Lattices) {
  const Edges open = grid_edges(4, 3, false);
  EXPECT_EQ(open.size(), 3U * 3 + 4 * 2);
  EXPECT_EQ(degrees(open)[5], 4U);
  EXPECT_EQ(degrees(open)[0], 2U);
  for (std::uint32_t degree : degrees(grid_edges(4, 3, true))) EXPECT_EQ(degree, 4U);
  for (std::uint32_t degree : degrees(grid_edges(2, 3, true))) EXPECT_EQ(degree, 3U);  // no double edges
  EXPECT_EQ(grid_edges(1, 1, true).size(), 0U);
  EXPECT_EQ(chain_edges(6).size(), 5U);
  EXPECT_EQ(complete_edges(7).size(), 21U);
  const Edges tree = tree_edges(50, 3);
  EXPECT_EQ(tree.size(), 49U);
  for (std::size_t e = 0; e < tree.size(); ++e) EXPECT_LT(tree.first[e], tree.second[e]);
  degrees(tree);
}

TEST(Builders, RegularGraphs) {
  for (std::uint32_t variables = 2; variables <= 14; ++variables)
    for (std::uint32_t degree = 0; degree < variables; ++degree) {
      if (variables * degree % 2 != 0) continue;
      for (std::uint64_t seed = 1; seed <= 5; ++seed)
        for (std::uint32_t count : degrees(regular_edges(variables, degree, seed))) ASSERT_EQ(count, degree);
    }
  for (std::uint32_t count : degrees(regular_edges(20000, 8, 1))) ASSERT_EQ(count, 8U);
}

TEST(Builders, RandomGraphs) {
  // The number of edges is binomial; five standard deviations.
  for (const double probability : {0.01, 0.3, 0.9}) {
    const Edges edges = random_edges(400, probability, 2);
    degrees(edges);
    const double pairs = 400 * 399 / 2;
    EXPECT_NEAR(static_cast<double>(edges.size()), pairs * probability,
                5 * std::sqrt(pairs * probability * (1 - probability)));
  }
  EXPECT_EQ(random_edges(9, 1, 1).size(), 36U);
  EXPECT_EQ(random_edges(9, 0, 1).size(), 0U);
  EXPECT_EQ(random_edges(1000000, 1e-15, 1).size(), 0U);
  // Every pair is equally likely: edge counts of all 15 pairs over many seeds.
  std::vector<double> hits(36, 0);
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    const Edges edges = random_edges(6, 0.4, seed);
    for (std::size_t e = 0; e < edges.size(); ++e) ++hits[edges.first[e] * 6 + edges.second[e]];
  }
  for (VariableId i = 0; i < 6; ++i)
    for (VariableId j = i + 1; j < 6; ++j)
      EXPECT_NEAR(hits[i * 6 + j], 1600, 5 * std::sqrt(4000 * 0.4 * 0.6)) << i << " " << j;
}

TEST(Builders, DrawsAreWhatTheySay) {
  const Edges edges = grid_edges(200, 100, false);
  const auto moments = [&](const Draw& draw) {
    const Model model = ising(edges, draw, Draw::constant(0), 7);
    double mean = 0, square = 0;
    for (double J : model.spin_pairs.couplings) {
      mean += J;
      square += J * J;
    }
    const auto n = static_cast<double>(model.spin_pairs.size());
    return std::pair(mean / n, std::sqrt(square / n - mean * mean / n / n));
  };
  const double bound = 5 / std::sqrt(39000.0);
  EXPECT_EQ(moments(Draw::constant(0.5)).first, 0.5);
  EXPECT_NEAR(moments(Draw::normal(1, 2)).first, 1, 2 * bound);
  EXPECT_NEAR(moments(Draw::normal(1, 2)).second, 2, 2 * bound);
  EXPECT_NEAR(moments(Draw::uniform(1, 4)).first, 2.5, bound);
  EXPECT_NEAR(moments(Draw::uniform(1, 4)).second, 3 / std::sqrt(12.0), bound);
  EXPECT_NEAR(moments(Draw::sign(0.5)).first, 0, 0.5 * bound);
  EXPECT_NEAR(moments(Draw::sign(0.5)).second, 0.5, 1e-3);
}

TEST(Builders, KnownPartitionFunctions) {
  // An open Ising chain: Z = 2 (2 cosh J)^(n-1). A Potts chain: Z = K (e^J + K - 1)^(n-1).
  const double J = 0.7;
  EXPECT_NEAR(enumerate(compile(ising(chain_edges(8), Draw::constant(J), Draw::constant(0), 1))).log_z,
              std::log(2) + 7 * std::log(2 * std::cosh(J)), 1e-12);
  EXPECT_NEAR(enumerate(compile(potts(tree_edges(6, 4), 3, Draw::constant(J), Draw::constant(0), 1))).log_z,
              std::log(3) + 5 * std::log(std::exp(J) + 2), 1e-12);
  // An RBM with equal weights w and biases b, summed over the hidden units.
  const double w = 0.4, b = -0.3;
  double z = 0;
  for (int ones = 0; ones <= 3; ++ones)
    z += (ones == 0 || ones == 3 ? 1 : 3) * std::exp(b * ones) * std::pow(1 + std::exp(b + w * ones), 2);
  EXPECT_NEAR(enumerate(compile(rbm(3, 2, Draw::constant(w), Draw::constant(b), 1))).log_z, std::log(z),
              1e-12);
}

TEST(Builders, GenerateMakesEveryKind) {
  for (const auto& [kind, text] : ChoiceNames<GenerateKind>::names) {
    if (kind == GenerateKind::deconvolution) continue;  // with evidence, by generate_model()
    const std::string name(text);
    SCOPED_TRACE(name);
    GenerateOptions options;
    options.kind = parse_generate_kind(name);
    options.variables = 12;
    options.width = 4;
    options.height = 3;
    options.field = Draw::normal(0, 0.5);
    options.zero_share = 0.3;
    options.visible = 7;
    options.hidden = 5;
    const Model a = generate(options);
    EXPECT_EQ(a.variable_count(), 12U);
    const Enumeration first = enumerate(compile(a));
    EXPECT_TRUE(std::isfinite(first.log_z));
    EXPECT_EQ(first.log_z, enumerate(compile(generate(options))).log_z) << "the same seed, the same model";
    options.seed = 2;
    EXPECT_NE(first.log_z, enumerate(compile(generate(options))).log_z);
    options.states = 3;
    if (options.kind != GenerateKind::rbm) {
      EXPECT_EQ(generate(options).cardinalities[0], 3U);
    }
  }
}

TEST(Builders, GenerateChecksItsOptions) {
  const auto refused = [](auto change, const char* words) {
    GenerateOptions options;
    change(options);
    try {
      generate(options);
      ADD_FAILURE() << "accepted: " << words;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), 64);
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  using G = GenerateOptions;
  refused([](G& o) { o.width = 0; }, "width = 0: expected 1 to 2000000000");
  refused([](G& o) { o.width = 100000, o.height = 100000; }, "height = 100000");
  refused([](G& o) { o.states = 1; }, "states = 1: expected 2 to 65535");
  refused([](G& o) { o.kind = GenerateKind::chain, o.variables = 0; }, "variables = 0");
  refused([](G& o) { o.kind = GenerateKind::complete, o.variables = 1000000; }, "variables = 1000000");
  refused([](G& o) { o.kind = GenerateKind::regular, o.variables = 5; }, "an even product");
  refused([](G& o) { o.kind = GenerateKind::regular, o.degree = 100; }, "degree = 100");
  refused([](G& o) { o.kind = GenerateKind::regular, o.degree = 2.5; }, "a whole number");
  refused([](G& o) { o.kind = GenerateKind::random, o.probability = 1.5; }, "probability = 1.5");
  refused([](G& o) { o.kind = GenerateKind::tables, o.arity = 101; }, "arity = 101");
  refused([](G& o) { o.kind = GenerateKind::tables, o.arity = 30, o.states = 9; }, "table entries");
  refused([](G& o) { o.kind = GenerateKind::tables, o.zero_share = -1; }, "zero-share = -1");
  refused([](G& o) { o.kind = GenerateKind::rbm, o.hidden = 0; }, "hidden = 0");
  refused([](G& o) { o.coupling = Draw::normal(0, -1); }, "coupling-sd = -1");
  refused([](G& o) { o.coupling = Draw::uniform(1, 0); }, "the lower end first");
  refused([](G& o) { o.field = Draw::constant(std::nan("")); }, "finite numbers");
  EXPECT_THROW(parse_generate_kind("gird"), Error);
}

}  // namespace
}  // namespace drover
