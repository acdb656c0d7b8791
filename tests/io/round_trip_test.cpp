// Model -> file -> model gives the identical model where the format can hold it, and the same distribution
// otherwise.
#include <fmt/format.h>

#include "drover/io/number_text.hpp"
#include "drover/model/builders.hpp"
#include "tests/support/io_support.hpp"
#include "tests/support/random_models.hpp"

namespace drover {
namespace {

using namespace drover::testing;

// The logarithm of a plain value as files hold them: few or many digits, huge, tiny or zero.
double random_log(RandomSequence& random, double zero_share) {
  if (random.uniform() < zero_share) return log_zero;
  switch (random.below(4)) {
    case 0:
      return std::log(std::round(random.uniform() * 1000 + 1) / 1000);
    case 1:
      return std::log(std::exp(random.normal()));
    case 2:
      return std::log(std::exp(std::clamp(200 * random.normal(), -700.0, 700.0)));
    default:
      return std::log(static_cast<double>(1 + random.below(9)));
  }
}

Model random_plain_model(std::uint64_t seed, bool bayes) {
  RandomSequence random(seed, Stream::generate);
  Model model;
  model.kind = bayes ? ModelKind::bayes : ModelKind::markov;
  const std::uint32_t variables = 1 + random.below(7);
  for (std::uint32_t v = 0; v < variables; ++v) model.cardinalities.push_back(1 + random.below(4));
  if (!bayes && random.below(2) == 0) model.log_constant = random_log(random, 0);
  const std::uint32_t factors = bayes ? variables : random.below(12);
  std::vector<double> values;
  for (std::uint32_t f = 0; f < factors; ++f) {
    std::vector<VariableId> scope;
    // Parents of a network stand before their child, so that there is no cycle.
    const std::uint32_t others = bayes ? f : variables;
    const std::uint32_t arity = 1 + random.below(std::min(bayes ? f + 1 : variables, 4U));
    if (bayes) scope.push_back(f);
    while (scope.size() < arity) {
      const VariableId v = random.below(others);
      if (std::find(scope.begin(), scope.end(), v) == scope.end()) scope.push_back(v);
    }
    if (bayes) std::reverse(scope.begin(), scope.end());
    std::size_t entries = 1;
    for (VariableId v : scope) entries *= model.cardinalities[v];
    values.assign(entries, 0);
    for (double& value : values) value = random_log(random, 0.3);
    values[random.below(static_cast<std::uint32_t>(entries))] = random_log(random, 0);
    if (arity == 1) {
      model.unaries.add(scope[0], values);
    } else {
      const std::uint32_t table = model.tables.add_table(values);
      model.tables.add_factor(scope, table);
      if (!bayes && random.below(3) == 0) model.tables.add_factor(scope, table);
    }
  }
  return model;
}

TEST(RoundTrip, PlainModelsAreIdentical) {
  TemporaryFolder folder;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    const Model model = random_plain_model(seed, seed % 2 == 0);
    const std::string path = folder.file(seed % 3 == 0 ? "m.uai.gz" : "m.uai");
    write_model(model, path);
    expect_identical(model, read_model(path));
    // A factor graph has no kind, and names variables only in factors.
    Model expected = model;
    expected.kind = ModelKind::markov;
    std::vector<bool> used(model.variable_count(), false);
    for (VariableId v : model.unaries.variables) used[v] = true;
    for (VariableId v : model.tables.scopes) used[v] = true;
    for (VariableId v = 0; v < used.size(); ++v)
      if (!used[v] && (model.cardinalities[v] > 1 || v + 1 == used.size()))
        expected.unaries.add(v, std::vector<double>(model.cardinalities[v], 0.0));
    write_model(model, folder.file("m.fg"));
    const Model from_fg = read_model(folder.file("m.fg"));
    expect_identical(expected, from_fg);
    // .uai -> .fg -> .uai
    write_model(from_fg, folder.file("again.uai"));
    expect_identical(expected, read_model(folder.file("again.uai")));
    if (HasFailure()) break;
  }
}

TEST(RoundTrip, NamedNetworksAreIdentical) {
  TemporaryFolder folder;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    Model model = random_plain_model(seed, true);
    const char* names[] = {"a", "two words", "c,d", "e{f}", "/g", "h/i", "7"};
    for (std::size_t v = 0; v < model.variable_count(); ++v) {
      model.variable_names.push_back(names[v]);
      auto& states = model.state_names.emplace_back();
      for (std::uint32_t k = 0; k < model.cardinalities[v]; ++k)
        states.push_back(k == 1 ? "> 1" : fmt::format("s{}", k));
    }
    write_model(model, folder.file("m.bif"));
    expect_identical(model, read_model(folder.file("m.bif")));
    // bif -> uai -> bif loses the names and nothing else.
    write_model(read_model(folder.file("m.bif")), folder.file("m.uai"));
    write_model(read_model(folder.file("m.uai")), folder.file("n.bif"));
    Model back = read_model(folder.file("n.bif"));
    EXPECT_EQ(back.variable_names[0], "x0");
    back.variable_names = model.variable_names;
    back.state_names = model.state_names;
    expect_identical(model, back);
    if (HasFailure()) break;
  }
}

TEST(RoundTrip, IsingModelsAreIdentical) {
  TemporaryFolder folder;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    Model model = ising(random_edges(1 + static_cast<std::uint32_t>(seed), 0.2, seed), Draw::normal(0, 1),
                        Draw::normal(0, 300), seed);
    model.log_constant = seed % 2 == 0 ? 0 : 1e3 / static_cast<double>(seed);
    write_model(model, folder.file(seed % 3 == 0 ? "m.ising.gz" : "m.coo"));
    expect_identical(model, read_model(folder.file(seed % 3 == 0 ? "m.ising.gz" : "m.coo")));
    if (HasFailure()) break;
  }
}

TEST(RoundTrip, EveryFactorKindKeepsItsDistribution) {
  TemporaryFolder folder;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    RandomModelOptions options;
    options.max_states = seed % 3 == 0 ? 4 : 2;
    options.max_arity = seed % 2 == 0 ? 3 : 2;
    options.zero_share = seed % 4 == 0 ? 0.2 : 0;
    Model model = random_model(seed, options);
    model.log_constant = seed % 5 == 0 ? 2000 : seed % 5 == 1 ? -3000.25 : 0.5;
    if (options.max_states == 2) {
      model.dense_layers.push_back(DenseLayer{0, 2, 3, 3, {0.5, 0, -1, 2, 1.5, 0.25}});
      model.potts_pairs.add(0, 1, 0.75);
      model.potts_pairs.add(1, 0, 0.5);
    }
    for (const char* name : {"m.uai", "m.fg"}) {
      write_model(model, folder.file(name));
      expect_same_distribution(model, read_model(folder.file(name)));
    }
    if (options.max_states == 2 && options.max_arity == 2 && options.zero_share == 0) {
      write_model(model, folder.file("m.coo"));
      expect_same_distribution(model, read_model(folder.file("m.coo")));
    }
    if (HasFailure()) break;
  }
}

TEST(RoundTrip, TextIsShortAndLossless) {
  LogText text;
  EXPECT_EQ(text(log_zero), "0");
  EXPECT_EQ(text(0), "1");
  for (const char* pretty :
       {"0.1", "0.3", "0.7", "0.05", "1.5", "123456", "0.8842572", "7.510891e-05", "1e-300", "1.25e+200"}) {
    double value = 0;
    ASSERT_TRUE(parse_log(pretty, value));
    EXPECT_EQ(text(value), pretty);
  }
  EXPECT_EQ(text(710), "");
  EXPECT_EQ(text(-746), "");
  RandomSequence random(1, Stream::generate);
  for (int k = 0; k < 100000; ++k) {
    const double plain = std::exp(std::clamp(150 * random.normal(), -700.0, 700.0));
    double back = 0;
    ASSERT_TRUE(parse_log(text(std::log(plain)), back));
    ASSERT_EQ(back, std::log(plain));
    // Logarithms that belong to no double are off by half a step of the double, and stay from then on.
    const double any = random.normal();
    ASSERT_TRUE(parse_log(text(any), back));
    ASSERT_NEAR(back, any, 1.2e-16 + 2.3e-16 * std::abs(any));
    double again = 0;
    ASSERT_TRUE(parse_log(text(back), again));
    ASSERT_EQ(back, again);
  }
  for (double constant : {0.0, 1.0, -5000.125, 3021.7, 701.0})
    EXPECT_EQ(
        [&] {
          double sum = 0;
          for (double part : split_constant(constant)) sum += part;
          return sum;
        }(),
        constant);
}

TEST(RoundTrip, Refusals) {
  TemporaryFolder folder;
  const Model three = potts(chain_edges(3), 3, Draw::constant(1), Draw::constant(0), 1);
  expect_error([&] { write_model(three, folder.file("m.coo")); }, ErrorKind::misfit, {"m.coo", "3 states"});
  expect_error([&] { write_model(three, folder.file("m.bif")); }, ErrorKind::misfit, {"m.bif", "Markov"});
  expect_error([&] { write_model(three, folder.file("m.xyz")); }, ErrorKind::usage, {"m.xyz", ".uai"});
  expect_error(
      [&] { write_model(random_tables(4, 2, 3, 3, Draw::normal(0, 1), 0, 1), folder.file("m.coo")); },
      ErrorKind::misfit, {"m.coo", "3 variables"});
  expect_error(
      [&] { write_model(random_tables(4, 2, 3, 2, Draw::normal(0, 1), 0.9, 1), folder.file("m.coo")); },
      ErrorKind::misfit, {"m.coo", "a zero"});
  const Model strong = grid_ising(2, 1, false, 800);
  for (const char* name : {"m.uai", "m.fg"})
    expect_error([&] { write_model(strong, folder.file(name)); }, ErrorKind::misfit,
                 {name, "(0, 1)", "exp(800)"});
  expect_error([&] { write_model(three, folder.file("none/m.uai")); }, ErrorKind::cannot_write,
               {"none/m.uai"});
  EXPECT_EQ(folder.count(), 0U) << "nothing is left behind";
}

}  // namespace
}  // namespace drover
