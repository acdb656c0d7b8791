#include "drover/sample/dual/dynamic_model.hpp"

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <cmath>
#include <map>

#include "drover/model/builders.hpp"
#include "tests/support/kernel_test.hpp"
#include "tests/support/random_models.hpp"
#include "tests/support/stop_questions.hpp"

namespace drover {
namespace {

using Id = DynamicModel::Id;

// The same edits in the plainest possible form.
struct Mirror {
  struct Variable {
    double log_odds = 0;
    int clamped = -1;
  };
  struct Factor {
    Id first, second;
    std::array<double, 4> log_values;
  };
  std::map<Id, Variable> variables;
  std::map<Id, Factor> factors;

  std::vector<Id> ids() const {
    std::vector<Id> result;
    for (const auto& [id, variable] : variables) result.push_back(id);
    return result;
  }
  Model model(const std::vector<Id>& order) const {
    Model model;
    std::map<Id, VariableId> number;
    for (Id id : order) {
      number[id] = static_cast<VariableId>(model.cardinalities.size());
      model.cardinalities.push_back(2);
      const double unary[2] = {0, variables.at(id).log_odds};
      model.unaries.add(number[id], unary);
    }
    for (const auto& [id, factor] : factors) {
      const VariableId scope[2] = {number.at(factor.first), number.at(factor.second)};
      model.tables.add(scope, factor.log_values);
    }
    return model;
  }
  Evidence evidence(const std::vector<Id>& order) const {
    Evidence evidence;
    for (std::size_t v = 0; v < order.size(); ++v)
      if (variables.at(order[v]).clamped >= 0)
        evidence.add(static_cast<VariableId>(v), static_cast<Value>(variables.at(order[v]).clamped));
    return evidence;
  }
};

class Editor {
 public:
  Editor(DynamicModel& dynamic, std::uint64_t seed, double scale)
      : dynamic_(dynamic), random_(seed, Stream::generate), scale_(scale) {}

  const Mirror& mirror() const { return mirror_; }

  void edit() {
    const std::uint32_t what = random_.below(12);
    if (mirror_.variables.size() < 3 || (what == 0 && mirror_.variables.size() < 7)) {
      const double log_odds = scale_ * random_.normal();
      const Id id = dynamic_.add_variable(log_odds);
      EXPECT_FALSE(mirror_.variables.contains(id));
      EXPECT_FALSE(removed_.contains(id));
      mirror_.variables[id] = {log_odds, -1};
    } else if (what == 1 && mirror_.variables.size() > 4) {
      const Id id = any(mirror_.variables);
      dynamic_.remove_variable(id);
      mirror_.variables.erase(id);
      std::erase_if(mirror_.factors,
                    [&](const auto& entry) { return entry.second.first == id || entry.second.second == id; });
      removed_[id] = true;
    } else if (what == 2) {
      const Id id = any(mirror_.variables);
      dynamic_.set_unary(id, mirror_.variables[id].log_odds = scale_ * random_.normal());
    } else if (what == 3) {
      const Id id = any(mirror_.variables);
      mirror_.variables[id].clamped = static_cast<int>(random_.below(2));
      dynamic_.clamp(id, mirror_.variables[id].clamped == 1);
    } else if (what <= 5) {
      const Id id = any(mirror_.variables);
      mirror_.variables[id].clamped = -1;
      dynamic_.release(id);
    } else if (what <= 7 && mirror_.factors.size() > 3) {
      const Id id = any(mirror_.factors);
      dynamic_.remove_factor(id);
      mirror_.factors.erase(id);
      EXPECT_FALSE(dynamic_.has_factor(id));
    } else {
      add_factor();
    }
  }

  void check_ids() const {
    EXPECT_EQ(dynamic_.variable_count(), mirror_.variables.size());
    EXPECT_EQ(dynamic_.factor_count(), mirror_.factors.size());
    std::map<Id, std::size_t> degree;
    for (const auto& [id, factor] : mirror_.factors) {
      EXPECT_TRUE(dynamic_.has_factor(id));
      ++degree[factor.first];
      ++degree[factor.second];
    }
    for (const auto& [id, variable] : mirror_.variables) {
      EXPECT_TRUE(dynamic_.has_variable(id));
      EXPECT_EQ(dynamic_.degree(id), degree[id]);
    }
    for (const auto& [id, unused] : removed_) EXPECT_FALSE(dynamic_.has_variable(id));
  }

 private:
  template <class Map>
  Id any(const Map& map) {
    return std::next(map.begin(), random_.below(static_cast<std::uint32_t>(map.size())))->first;
  }
  void add_factor() {
    const Id first = any(mirror_.variables), second = any(mirror_.variables);
    if (first == second) return;
    std::array<double, 4> values{};
    Id id = 0;
    if (random_.below(2) == 0) {
      const double coupling = scale_ * random_.normal() / 2;
      values = {coupling, -coupling, -coupling, coupling};
      id = dynamic_.add_factor(first, second, coupling);
    } else {
      for (double& value : values) value = scale_ * random_.normal();
      id = dynamic_.add_factor(first, second, values);
    }
    EXPECT_FALSE(mirror_.factors.contains(id));
    mirror_.factors[id] = {first, second, values};
  }

  DynamicModel& dynamic_;
  RandomSequence random_;
  double scale_;
  Mirror mirror_;
  std::map<Id, bool> removed_;
};

struct Exact {
  std::vector<Id> order;  // of the variables
  Graph graph;
  Enumeration enumeration;
  Id id(std::size_t free) const { return order[graph.model_variable[free]]; }
};

Exact exact_of(const Mirror& mirror) {
  Exact exact;
  exact.order = mirror.ids();
  exact.graph = compile(mirror.model(exact.order), mirror.evidence(exact.order));
  exact.enumeration = enumerate(exact.graph);
  return exact;
}

// The model itself is the edited one, and a sweep leaves its whole distribution unchanged.
TEST(DynamicModel, LeavesTheDistributionAfterAnyEdits) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    DynamicModel dynamic(seed);
    Editor editor(dynamic, seed, 0.8);
    for (int edit = 0; edit < 80; ++edit) {
      editor.edit();
      if (edit % 7 == 0) dynamic.sweep();
    }
    editor.check_ids();
    const Exact exact = exact_of(editor.mirror());
    if (exact.graph.size() == 0) continue;

    std::vector<double> counts(exact.enumeration.probabilities.size(), 0.0);
    RandomSequence random(seed, Stream::exact);
    std::vector<Value> x(exact.graph.size());
    for (int batch = 0; batch < 48; ++batch) {
      std::vector<std::uint64_t> words(exact.graph.size(), 0);
      for (std::uint32_t lane = 0; lane < 64; ++lane) {
        double u = random.uniform();
        std::size_t s = 0;
        while (s + 1 < counts.size() && (u -= exact.enumeration.probabilities[s]) >= 0) ++s;
        x = testing::state_of_index(exact.graph, s);
        for (std::size_t v = 0; v < x.size(); ++v) words[v] |= std::uint64_t{x[v]} << lane;
      }
      for (std::size_t v = 0; v < x.size(); ++v) dynamic.set_word(exact.id(v), words[v]);
      dynamic.sweep();
      dynamic.sweep();
      for (std::uint32_t lane = 0; lane < 64; ++lane) {
        for (std::size_t v = 0; v < x.size(); ++v) x[v] = dynamic.word(exact.id(v)) >> lane & 1;
        ++counts[testing::state_index(exact.graph, x)];
      }
    }
    EXPECT_LT(testing::chi_square_score(counts, exact.enumeration.probabilities), testing::chi_square_limit)
        << "seed " << seed;
  }
}

TEST(DynamicModel, GivesTheModelItIs) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    DynamicModel dynamic(seed);
    Editor editor(dynamic, seed, 1);
    for (int edit = 0; edit < 60; ++edit) editor.edit();
    const Graph graph = compile(dynamic.model(), dynamic.evidence());
    const Mirror& mirror = editor.mirror();
    const std::vector<Id> order = dynamic.variables();
    const Graph expected = compile(mirror.model(order), mirror.evidence(order));
    const Enumeration ours = enumerate(graph), exact = enumerate(expected);
    ASSERT_EQ(ours.probabilities.size(), exact.probabilities.size());
    for (std::size_t s = 0; s < exact.probabilities.size(); ++s)
      EXPECT_NEAR(ours.probabilities[s], exact.probabilities[s], 1e-6);
  }
}

// Edits that undo each other leave nothing behind: the chains go on bit for bit as those of the model built
// afresh.
TEST(DynamicModel, IsTheModelBuiltAfresh) {
  testing::RandomModelOptions options;
  options.variables = 30;
  options.factors = 60;
  const Graph graph = compile(testing::random_model(3, options));
  DynamicModel fresh(graph, 7), edited(graph, 7);
  RandomSequence random(1, Stream::generate);
  for (int round = 0; round < 20; ++round) {
    std::vector<Id> added;
    for (int e = 0; e < 30; ++e) {
      const Id first = random.below(30), second = (first + 1 + random.below(29)) % 30;
      added.push_back(edited.add_factor(first, second, random.normal()));
    }
    const Id variable = edited.add_variable(1);
    added.push_back(edited.add_factor(variable, random.below(30), 0.3));
    const Id other = random.below(30);
    const double log_odds =
        graph.unary_of(static_cast<VariableId>(other))[1] - graph.unary_of(static_cast<VariableId>(other))[0];
    edited.set_unary(other, 5);
    edited.set_unary(other, log_odds);
    while (!added.empty()) {
      edited.remove_factor(added.back());
      added.pop_back();
    }
    edited.remove_variable(variable);
    fresh.sweep();
    edited.sweep();
  }
  for (Id v = 0; v < 30; ++v) {
    EXPECT_EQ(fresh.word(v), edited.word(v));
    EXPECT_EQ(fresh.marginal(v).probability, edited.marginal(v).probability);
  }
}

// The same with variables of two to four states: tables, Potts pairs of either sign, couplings, clamps.
class WideEditor {
 public:
  WideEditor(DynamicModel& dynamic, std::uint64_t seed)
      : dynamic_(dynamic), random_(seed, Stream::generate) {}

  struct Variable {
    std::vector<double> log_unary;
    int clamped = -1;
  };
  struct Factor {
    Id first, second;
    std::vector<double> log_values;
  };
  std::map<Id, Variable> variables;
  std::map<Id, Factor> factors;

  void edit() {
    const std::uint32_t what = random_.below(12);
    if (variables.size() < 3 || (what == 0 && variables.size() < 5)) {
      const std::vector<double> unary = normals(2 + random_.below(3));
      variables[dynamic_.add_variable(unary)] = {unary, -1};
    } else if (what == 1 && variables.size() > 3) {
      const Id id = any(variables);
      dynamic_.remove_variable(id);
      variables.erase(id);
      std::erase_if(factors,
                    [&](const auto& entry) { return entry.second.first == id || entry.second.second == id; });
    } else if (what == 2) {
      const Id id = any(variables);
      variables[id].log_unary = normals(variables[id].log_unary.size());
      dynamic_.set_unary(id, variables[id].log_unary);
    } else if (what == 3) {
      const Id id = any(variables);
      const std::uint32_t value = random_.below(dynamic_.states(id));
      variables[id].clamped = static_cast<int>(value);
      dynamic_.clamp(id, static_cast<Value>(value));
    } else if (what <= 5) {
      const Id id = any(variables);
      variables[id].clamped = -1;
      dynamic_.release(id);
    } else if (what <= 7 && factors.size() > 3) {
      const Id id = any(factors);
      dynamic_.remove_factor(id);
      factors.erase(id);
    } else {
      add_factor();
    }
  }

  Model model(const std::vector<Id>& order) const {
    Model model;
    std::map<Id, VariableId> number;
    for (Id id : order) {
      number[id] = static_cast<VariableId>(model.cardinalities.size());
      model.cardinalities.push_back(static_cast<std::uint32_t>(variables.at(id).log_unary.size()));
      model.unaries.add(number[id], variables.at(id).log_unary);
    }
    for (const auto& [id, factor] : factors) {
      const VariableId scope[2] = {number.at(factor.first), number.at(factor.second)};
      model.tables.add(scope, factor.log_values);
    }
    return model;
  }
  Evidence evidence(const std::vector<Id>& order) const {
    Evidence evidence;
    for (std::size_t v = 0; v < order.size(); ++v)
      if (variables.at(order[v]).clamped >= 0)
        evidence.add(static_cast<VariableId>(v), static_cast<Value>(variables.at(order[v]).clamped));
    return evidence;
  }

 private:
  template <class Map>
  Id any(const Map& map) {
    return std::next(map.begin(), random_.below(static_cast<std::uint32_t>(map.size())))->first;
  }
  std::vector<double> normals(std::size_t count) {
    std::vector<double> values(count);
    for (double& value : values) value = 0.8 * random_.normal();
    return values;
  }
  void add_factor() {
    const Id first = any(variables), second = any(variables);
    if (first == second) return;
    const std::uint32_t rows = dynamic_.states(first), columns = dynamic_.states(second);
    std::vector<double> table(std::size_t{rows} * columns, 0.0);
    Id id = 0;
    if (rows == columns && random_.below(2) == 0) {
      const double strength = random_.normal();
      for (std::uint32_t k = 0; k < rows; ++k) table[k * columns + k] = strength;
      id = dynamic_.add_potts(first, second, strength);
    } else {
      table = normals(table.size());
      id = dynamic_.add_factor(first, second, table);
    }
    EXPECT_FALSE(factors.contains(id));
    factors[id] = {first, second, table};
  }

  DynamicModel& dynamic_;
  RandomSequence random_;
};

TEST(DynamicModel, AnotherCouplingIsTheModelBuiltWithIt) {
  const double before[] = {0.4, -0.9, 0.2}, after[] = {-0.3, 0.7, -1.1};
  const std::array<double, 4> table = {0.1, -0.4, 0.8, 0.3};  // with unary parts, which stay
  const auto build = [&](const double* couplings) {
    DynamicModel model(5);
    for (double log_odds : {0.3, -0.2, 0.5}) model.add_variable(log_odds);
    model.add_factor(0, 1, couplings[0]);
    model.add_factor(1, 2, couplings[1]);
    std::array<double, 4> tilted = table;  // the coupling of the table itself is replaced
    const double own = (table[0] - table[1] + table[3] - table[2]) / 4;
    for (std::size_t k = 0; k < 4; ++k) tilted[k] += (k == 0 || k == 3 ? 1 : -1) * (couplings[2] - own);
    model.add_factor(0, 2, tilted);
    return model;
  };
  DynamicModel changed = build(before);
  const std::vector<Id> factors = changed.factors();
  for (std::size_t f = 0; f < 3; ++f) changed.set_coupling(factors[f], after[f]);
  DynamicModel fresh = build(after);
  for (int sweep = 0; sweep < 200; ++sweep) {
    changed.sweep();
    fresh.sweep();
    for (Id v = 0; v < 3; ++v) ASSERT_EQ(changed.word(v), fresh.word(v)) << sweep << " " << v;
  }
}

TEST(DynamicModel, LeavesTheDistributionOfManyStatesAfterAnyEdits) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    DynamicModel dynamic(seed);
    WideEditor editor(dynamic, seed);
    for (int edit = 0; edit < 80; ++edit) {
      editor.edit();
      if (edit % 7 == 0) dynamic.sweep();
    }
    EXPECT_EQ(dynamic.variable_count(), editor.variables.size());
    EXPECT_EQ(dynamic.factor_count(), editor.factors.size());
    std::map<Id, std::size_t> degree;
    for (const auto& [id, factor] : editor.factors) {
      EXPECT_TRUE(dynamic.has_factor(id));
      ++degree[factor.first];
      ++degree[factor.second];
    }
    for (const auto& [id, variable] : editor.variables) {
      EXPECT_EQ(dynamic.degree(id), degree[id]);
      EXPECT_EQ(dynamic.factors_of(id).size(), degree[id]);
    }
    const std::vector<Id> order = dynamic.variables();
    const Graph graph = compile(editor.model(order), editor.evidence(order));
    if (graph.size() == 0) continue;
    const Enumeration exact = enumerate(graph);
    const Enumeration own = enumerate(compile(dynamic.model(), dynamic.evidence()));
    for (std::size_t s = 0; s < exact.probabilities.size(); ++s)
      EXPECT_NEAR(own.probabilities[s], exact.probabilities[s], 1e-6);

    std::vector<double> counts(exact.probabilities.size(), 0.0);
    RandomSequence random(seed, Stream::exact);
    std::vector<Value> x(graph.size());
    for (int batch = 0; batch < 48; ++batch) {
      for (std::uint32_t lane = 0; lane < 64; ++lane) {
        double u = random.uniform();
        std::size_t s = 0;
        while (s + 1 < counts.size() && (u -= exact.probabilities[s]) >= 0) ++s;
        x = testing::state_of_index(graph, s);
        for (std::size_t v = 0; v < x.size(); ++v)
          dynamic.set_value(order[graph.model_variable[v]], lane, x[v]);
      }
      dynamic.sweep();
      dynamic.sweep();
      for (std::uint32_t lane = 0; lane < 64; ++lane) {
        for (std::size_t v = 0; v < x.size(); ++v) x[v] = dynamic.value(order[graph.model_variable[v]], lane);
        ++counts[testing::state_index(graph, x)];
      }
    }
    EXPECT_LT(testing::chi_square_score(counts, exact.probabilities), testing::chi_square_limit)
        << "seed " << seed;
  }
}

TEST(DynamicModel, MarginalsOfManyStatesFollowTheModel) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    DynamicModel dynamic(seed, 300);
    WideEditor editor(dynamic, seed);
    for (int edit = 0; edit < 30; ++edit) editor.edit();
    for (int change = 0; change < 2; ++change) {
      for (int sweep = 0; sweep < 3000; ++sweep) dynamic.sweep();
      const std::vector<Id> order = dynamic.variables();
      const Graph graph = compile(editor.model(order), editor.evidence(order));
      const Enumeration exact = enumerate(graph);
      for (std::size_t v = 0; v < graph.size(); ++v)
        for (Value k = 0; k < graph.cardinalities[v]; ++k)  // bounds as in MarginalsFollowTheModel
          EXPECT_NEAR(dynamic.marginal(order[graph.model_variable[v]], k).probability, exact.marginals[v][k],
                      0.06)
              << "seed " << seed;
      for (int edit = 0; edit < 10; ++edit) editor.edit();
    }
  }
}

// After one sweep the 64 chains of a variable that is tied to another have conditionals of nearly 0 or 1, of which the
// standard error is known: sqrt(p (1 - p) / 63).
TEST(DynamicModel, StandardErrorsOfManyStatesAreThoseOfTheChains) {
  DynamicModel dynamic(3, 1000);
  const std::vector<double> unary(3, 0.0);
  const Id first = dynamic.add_variable(unary), second = dynamic.add_variable(unary);
  dynamic.add_potts(first, second, 40);
  int told = 0;
  for (int round = 0; round < 4; ++round) {
    for (int sweep = 0; sweep < 3; ++sweep) dynamic.sweep();
    dynamic.forget();
    dynamic.sweep();
    for (Value k = 0; k < 3; ++k) {
      const DynamicModel::Estimate found = dynamic.marginal(second, k);
      const double expected = std::sqrt(found.probability * (1 - found.probability) / 63);
      EXPECT_NEAR(found.standard_error, expected, 1e-4);
      told += expected > 0.01 ? 1 : 0;
    }
  }
  EXPECT_GT(told, 0);
}

TEST(DynamicModel, MarginalsFollowTheModel) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    DynamicModel dynamic(seed, 300);
    Editor editor(dynamic, seed, 0.5);
    for (int edit = 0; edit < 40; ++edit) editor.edit();
    for (int change = 0; change < 3; ++change) {
      // At a half-life of 300 sweeps what was before is worth 2^-10 after 3000. The chains' 64 * 600 or so
      // draws, correlated over fewer than 20 sweeps, err by 0.5 / sqrt(1900) = 0.0115 at most; five times
      // that.
      for (int sweep = 0; sweep < 3000; ++sweep) dynamic.sweep();
      const Exact exact = exact_of(editor.mirror());
      for (std::size_t v = 0; v < exact.graph.size(); ++v) {
        const DynamicModel::Estimate estimate = dynamic.marginal(exact.id(v));
        EXPECT_NEAR(estimate.probability, exact.enumeration.marginals[v][1], 0.06) << "seed " << seed;
        EXPECT_GE(estimate.standard_error, 0.0);     // zero without factors
        EXPECT_LE(estimate.standard_error, 0.0631);  // 0.5 / sqrt(63)
      }
      for (const auto& [id, variable] : editor.mirror().variables) {
        if (variable.clamped < 0) continue;
        EXPECT_EQ(dynamic.marginal(id).probability, variable.clamped);
        EXPECT_EQ(dynamic.marginal(id).standard_error, 0.0);
      }
      for (int edit = 0; edit < 10; ++edit) editor.edit();
    }
  }
}

TEST(DynamicModel, ConditionalsAverageToMarginals) {
  DynamicModel dynamic(5, 1e6);
  const Id a = dynamic.add_variable(0.4), b = dynamic.add_variable(-0.2);
  dynamic.add_factor(a, b, 0.3);
  for (int sweep = 0; sweep < 20000; ++sweep) dynamic.sweep();
  double z = 0, pa = 0;
  for (int xa = 0; xa < 2; ++xa)
    for (int xb = 0; xb < 2; ++xb) {
      const double p = std::exp(0.4 * xa - 0.2 * xb + (xa == xb ? 0.3 : -0.3));
      z += p;
      pa += xa * p;
    }
  // 1.28 million draws, hardly correlated.
  EXPECT_NEAR(dynamic.marginal(a).probability, pa / z, 0.003);
  dynamic.forget();
  EXPECT_EQ(dynamic.marginal(a).standard_error, 0.5);
}

TEST(DynamicModel, IdsAreNotGivenAgain) {
  DynamicModel dynamic(1);
  const Id a = dynamic.add_variable(), b = dynamic.add_variable(), c = dynamic.add_variable();
  const Id ab = dynamic.add_factor(a, b, 1), bc = dynamic.add_factor(b, c, 1),
           again = dynamic.add_factor(b, a, 1);
  dynamic.remove_factor(ab);
  EXPECT_FALSE(dynamic.has_factor(ab));
  EXPECT_TRUE(dynamic.has_factor(bc));
  EXPECT_TRUE(dynamic.has_factor(again));
  const Id other = dynamic.add_factor(a, c, 1);
  EXPECT_NE(other, ab);
  dynamic.remove_variable(b);
  EXPECT_FALSE(dynamic.has_factor(bc));
  EXPECT_FALSE(dynamic.has_factor(again));
  EXPECT_TRUE(dynamic.has_factor(other));
  EXPECT_FALSE(dynamic.has_variable(b));
  EXPECT_NE(dynamic.add_variable(), b);
  EXPECT_EQ(dynamic.factor_count(), 1U);
  EXPECT_FALSE(dynamic.has_variable(Id{1} << 40));
}

TEST(DynamicModel, SameBitsForAnyNumberOfThreads) {
  std::vector<std::vector<std::uint64_t>> results;
  for (int threads : {1, 2, 5}) {
    tbb::task_arena(threads).execute([&] {
      DynamicModel dynamic(3);
      RandomSequence random(4, Stream::generate);
      for (int v = 0; v < 9000; ++v) dynamic.add_variable(random.normal());
      for (int e = 0; e < 20000; ++e) {
        const std::uint32_t first = random.below(9000);
        dynamic.add_factor(first, (first + 1 + random.below(8999)) % 9000, random.normal());
      }
      const std::vector<double> unary = {0, 0.2, -0.1};
      for (int v = 0; v < 300; ++v) {
        const Id wide = dynamic.add_variable(unary);
        dynamic.add_factor(wide, random.below(9000), std::vector<double>{0, 0.5, 0.1, 0.7, -0.2, 0.3});
        if (v > 0) dynamic.add_potts(wide - 1, wide, random.normal());
      }
      for (int sweep = 0; sweep < 4; ++sweep) dynamic.sweep();
      results.emplace_back();
      for (Id v : dynamic.variables())
        for (std::uint32_t lane = 0; lane < 64; ++lane) results.back().push_back(dynamic.value(v, lane));
    });
    EXPECT_EQ(results.back(), results.front());
  }
}

TEST(DynamicModel, MakingItEndsWhenItIsToldTo) {
  const Graph graph = compile(ising(grid_edges(200, 200, false), Draw::normal(0, 1), Draw::normal(0, 1), 7));
  const auto make = [&](const RunControl& control) { DynamicModel(graph, 1, 100, control); };
  // 40,000 variables and 79,600 pairs; 16,384 of them are one question.
  const std::size_t asked = testing::count_questions(make);
  EXPECT_GE(asked, 7U);
  for (const std::size_t after : {std::size_t{0}, asked / 2, asked - 1})
    testing::expect_end_after(after, make);
}

}  // namespace
}  // namespace drover
