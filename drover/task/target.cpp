#include "drover/task/target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "drover/core/error.hpp"
#include "drover/infer/junction_tree.hpp"
#include "drover/io/evidence.hpp"
#include "drover/methods/method.hpp"
#include "drover/task/conflict.hpp"
#include "drover/task/stated.hpp"

namespace drover {

namespace {

struct Factor {
  std::vector<VariableId> scope;
  std::span<const double> log_values;
};

std::vector<Factor> factors_of(const Model& model) {
  std::vector<Factor> factors;
  for (std::size_t f = 0; f < model.unaries.size(); ++f)
    factors.push_back({{model.unaries.variables[f]}, model.unaries.values(f)});
  for (std::size_t f = 0; f < model.tables.size(); ++f) {
    const auto scope = model.tables.scope(f);
    factors.push_back({{scope.begin(), scope.end()}, model.tables.values(f)});
  }
  return factors;
}

// Marginals of all free variables and the tables of all factors, given the evidence and the target's state.
struct Given {
  std::vector<std::vector<double>> marginals;
  std::vector<std::vector<double>> tables;  // over the model's variables
};

class Work {
 public:
  Work(const Model& model, const Problem& problem, VariableId target, const RunControl& control)
      : model_(model), problem_(problem), target_(target), control_(control), factors_(factors_of(model)) {
    for (const Factor& factor : factors_) {
      sets_.emplace_back();
      for (VariableId v : factor.scope)
        if (problem.graph().free_variable[v] != no_variable)
          sets_.back().push_back(problem.graph().free_variable[v]);
    }
  }

  TargetAnswer run() {
    TargetAnswer answer;
    const Graph& graph = problem_.graph();
    const VariableId free = graph.free_variable[target_];
    answer.target = target_;
    answer.names = Names::of(model_);
    answer.by_logarithm = model_.kind != ModelKind::bayes;
    const Given all = work_out(graph);
    answer.probabilities = all.marginals[free];
    std::vector<Given> given(answer.probabilities.size());
    for (std::size_t t = 0; t < given.size(); ++t) {
      if (answer.probabilities[t] == 0) continue;
      answer.entropy -= answer.probabilities[t] * std::log(answer.probabilities[t]);
      Graph fixed = graph;
      for (std::size_t k = 0; k < given.size(); ++k)
        if (k != t) fixed.unary[fixed.unary_offsets[free] + k] = log_zero;
      given[t] = work_out(fixed);
    }
    for (VariableId v = 0; v < graph.size(); ++v)
      if (v != free)
        answer.information.push_back(
            {graph.model_variable[v], information(answer.probabilities, all, given, v)});
    std::ranges::stable_sort(answer.information, std::ranges::greater{}, &Information::mutual_information);
    for (std::size_t f = 0; f < factors_.size(); ++f) add_sensitivities(f, all, given, answer);
    const auto largest = [](const Sensitivity& one) {
      double most = 0;
      for (double derivative : one.derivatives) most = std::max(most, std::abs(derivative));
      return most;
    };
    std::ranges::stable_sort(answer.sensitivity, std::ranges::greater{}, largest);
    return answer;
  }

 private:
  Given work_out(const Graph& graph) const {
    ExactOptions options;
    options.memory_limit_bytes = problem_.memory_limit_bytes();
    options.control = &control_;
    JunctionTree tree(graph, problem_.exact_plan(), options);
    Given given;
    given.marginals = tree.marginals();
    const auto joints = tree.joints(sets_);
    for (std::size_t f = 0; f < factors_.size(); ++f)
      given.tables.push_back(whole_table(problem_.graph(), model_, factors_[f].scope, joints[f]));
    return given;
  }

  static double information(std::span<const double> p_target, const Given& all,
                            const std::vector<Given>& given, VariableId v) {
    double sum = 0;
    for (std::size_t t = 0; t < given.size(); ++t)
      for (std::size_t k = 0; k < all.marginals[v].size() && p_target[t] > 0; ++k) {
        const double p = given[t].marginals[v][k];
        if (p > 0) sum += p_target[t] * p * std::log(p / all.marginals[v][k]);
      }
    return std::max(0.0, sum);  // rounding
  }

  /// Of two numbers that would be equal but for rounding it is none; probabilities are sums of such of size 1.
  static double difference(double a, double b) {
    constexpr double rounding = 1e-12, of_sums = 1e-15;
    return std::abs(a - b) <= rounding * std::max(std::abs(a), std::abs(b)) + of_sums ? 0 : a - b;
  }

  void add_sensitivities(std::size_t f, const Given& all, const std::vector<Given>& given,
                         TargetAnswer& answer) const {
    const Factor& factor = factors_[f];
    const std::size_t entries = factor.log_values.size(), states = given.size();
    // By the logarithm of each entry.
    std::vector<double> by_log(entries * states, 0.0);
    for (std::size_t t = 0; t < states; ++t)
      for (std::size_t u = 0; u < entries && answer.probabilities[t] > 0; ++u)
        by_log[u * states + t] =
            answer.probabilities[t] * difference(given[t].tables[f][u], all.tables[f][u]);
    const std::size_t row = model_.cardinalities[factor.scope.back()];
    std::vector<Value> index(factor.scope.size(), 0);
    for (std::size_t u = 0; u < entries; ++u) {
      const double entry = std::exp(factor.log_values[u]);
      const bool varies = answer.by_logarithm ? entry > 0 : entry > 0 && entry < 1;
      if (varies) {
        Sensitivity one{factor.scope, index, entry, {}};
        for (std::size_t t = 0; t < states; ++t) {
          double derivative = by_log[u * states + t];
          if (!answer.by_logarithm) {
            // theta(x') D(x') is the derivative by the logarithm.
            double others = 0;
            const std::size_t first = u / row * row;
            for (std::size_t k = first; k < first + row; ++k)
              if (k != u) others += by_log[k * states + t];
            derivative = difference(derivative / entry, others / (1 - entry));
          }
          one.derivatives.push_back(derivative);
        }
        answer.sensitivity.push_back(std::move(one));
      }
      for (std::size_t k = index.size(); k-- > 0;) {
        if (++index[k] < model_.cardinalities[factor.scope[k]]) break;
        index[k] = 0;
      }
    }
  }

  const Model& model_;
  const Problem& problem_;
  VariableId target_;
  const RunControl& control_;
  std::vector<Factor> factors_;
  std::vector<std::vector<VariableId>> sets_;
};

}  // namespace

TargetAnswer about_target(const Model& model, const std::string& target, const InferenceOptions& options,
                          const RunControl& control) {
  const std::string name[1] = {target};
  const VariableId v = variables_named(model, name)[0];
  const Stated stated(model, options);
  TargetAnswer answer;
  try {
    with_threads(control, [&] {
      InferenceOptions asked = options;
      asked.method = "exact";
      const Problem problem(stated.compile(control), asked, control);
      if (problem.graph().free_variable[v] == no_variable)
        throw OptionError("target", target, "a variable that the evidence leaves open");
      choose_method(problem, Task::marginals);  // raises misfit where exact inference does not fit
      answer = Work(stated.without_likelihoods(), problem, v, control).run();
    });
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::bad_data) fail_if_conflict(stated, Names::of(model), control);
    throw;
  }
  return answer;
}

void add_json(const TargetAnswer& answer, JsonObject& object) {
  object.add("target", answer.names.variable(answer.target));
  object.add("target_marginal", answer.probabilities);
  object.add("entropy", answer.entropy);
  std::vector<std::string> list;
  for (const Information& one : answer.information) {
    JsonObject entry;
    entry.add("name", answer.names.variable(one.variable));
    entry.add("mutual_information", one.mutual_information);
    list.push_back(entry.line());
  }
  object.add_raw("information", json_list(list));
  list.clear();
  for (const Sensitivity& one : answer.sensitivity) {
    std::vector<std::string> variables, states;
    for (std::size_t k = 0; k < one.variables.size(); ++k) {
      variables.push_back(answer.names.variable(one.variables[k]));
      states.push_back(answer.names.state(one.variables[k], one.states[k]));
    }
    JsonObject entry;
    entry.add("variables", variables);
    entry.add("states", states);
    entry.add("entry", one.entry);
    entry.add("derivatives", one.derivatives);
    list.push_back(entry.line());
  }
  object.add_raw("sensitivity", json_list(list));
  object.add("sensitivity_by", answer.by_logarithm ? "logarithm" : "probability");
}

}  // namespace drover
