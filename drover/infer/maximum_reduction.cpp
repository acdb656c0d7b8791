#include "drover/infer/maximum_reduction.hpp"

#include <algorithm>
#include <set>

namespace drover {

class MaximumReduction::Elimination {
 public:
  Elimination(const Graph& graph, const ReductionOptions& options, MaximumReduction& result)
      : graph_(graph),
        options_(options),
        result_(result),
        factors_of_(graph.size()),
        gone_(graph.size(), 0),
        x_(graph.size(), 0) {
    for (VariableId v = 0; v < graph.size(); ++v) {
      const auto unary = graph.unary_of(v);
      unary_.emplace_back(unary.begin(), unary.end());
    }
    const Tables tables = all_tables(graph);
    for (std::size_t f = 0; f < tables.size(); ++f) {
      const auto scope = tables.scope(f);
      const auto values = tables.values(f);
      add({{scope.begin(), scope.end()}, {values.begin(), values.end()}});
    }
  }

  void run() {
    for (VariableId v = 0; v < graph_.size(); ++v) consider(v);
    while (!waiting_.empty()) {
      const VariableId v = waiting_.begin()->second;
      waiting_.erase(waiting_.begin());
      const std::vector<VariableId> around = neighbours(v);
      if (fits(v, around)) eliminate(v, around);
    }
  }

  void collect_parts() {
    std::vector<std::uint32_t> local(graph_.size(), no_variable);
    std::vector<char> taken(factors_.size(), 0);
    for (VariableId first = 0; first < graph_.size(); ++first) {
      if (gone_[first] != 0 || local[first] != no_variable) continue;
      Part part;
      local[first] = 0;
      part.variables.push_back(first);
      for (std::size_t at = 0; at < part.variables.size(); ++at)
        for (std::size_t f : factors_of_[part.variables[at]])
          for (VariableId w : factors_[f].scope)
            if (local[w] == no_variable) {
              local[w] = 0;
              part.variables.push_back(w);
            }
      std::sort(part.variables.begin(), part.variables.end());
      for (std::uint32_t k = 0; k < part.variables.size(); ++k) local[part.variables[k]] = k;
      std::vector<VariableId> scope;
      for (VariableId v : part.variables) {
        part.model.cardinalities.push_back(graph_.cardinalities[v]);
        part.model.unaries.add(local[v], unary_[v]);
        for (std::size_t f : factors_of_[v]) {
          if (taken[f] != 0) continue;
          taken[f] = 1;
          scope.clear();
          for (VariableId w : factors_[f].scope) scope.push_back(local[w]);
          part.model.tables.add(scope, factors_[f].values);
        }
      }
      result_.parts_.push_back(std::move(part));
    }
  }

 private:
  void add(Factor factor) {
    for (VariableId v : factor.scope) factors_of_[v].push_back(factors_.size());
    factors_.push_back(std::move(factor));
  }

  std::vector<VariableId> neighbours(VariableId v) const {
    std::vector<VariableId> around;
    for (std::size_t f : factors_of_[v])
      for (VariableId w : factors_[f].scope)
        if (w != v && std::find(around.begin(), around.end(), w) == around.end()) {
          around.push_back(w);
          if (around.size() > options_.largest_scope) return around;
        }
    std::sort(around.begin(), around.end());
    return around;
  }

  void consider(VariableId v) {
    const std::vector<VariableId> around = neighbours(v);
    if (around.size() <= options_.largest_scope) waiting_.insert({around.size(), v});
  }

  bool fits(VariableId v, const std::vector<VariableId>& around) const {
    if (gone_[v] != 0 || around.size() > options_.largest_scope) return false;
    std::size_t entries = 1, replaced = 0;
    for (VariableId w : around) entries *= graph_.cardinalities[w];
    for (std::size_t f : factors_of_[v]) replaced += factors_[f].values.size();
    return entries <= std::max(options_.largest_table, replaced);
  }

  void eliminate(VariableId v, const std::vector<VariableId>& around) {
    Step step{v, std::move(unary_[v]), {}};
    for (std::size_t f : factors_of_[v]) {
      for (VariableId w : factors_[f].scope)
        if (w != v) std::erase(factors_of_[w], f);
      step.factors.push_back(std::move(factors_[f]));
    }
    factors_of_[v].clear();
    gone_[v] = 1;
    Factor made{around, {}};
    std::vector<double> weights;
    for (VariableId w : around) x_[w] = 0;
    for (bool more = true; more;) {
      result_.weigh(step, x_, weights);
      made.values.push_back(*std::max_element(weights.begin(), weights.end()));
      std::size_t a = around.size();
      while (a > 0 && ++x_[around[a - 1]] == graph_.cardinalities[around[a - 1]]) x_[around[--a]] = 0;
      more = a > 0;
    }
    if (around.empty()) {
      result_.constant_ += made.values[0];
    } else if (around.size() == 1) {
      for (std::size_t k = 0; k < made.values.size(); ++k) unary_[around[0]][k] += made.values[k];
    } else {
      add(std::move(made));
    }
    result_.steps_.push_back(std::move(step));
    for (VariableId w : around) consider(w);
  }

  const Graph& graph_;
  const ReductionOptions& options_;
  MaximumReduction& result_;
  std::vector<Factor> factors_;
  std::vector<std::vector<double>> unary_;
  std::vector<std::vector<std::size_t>> factors_of_;
  std::vector<char> gone_;
  std::vector<Value> x_;
  std::set<std::pair<std::size_t, VariableId>> waiting_;
};

MaximumReduction::MaximumReduction(const Graph& graph, const ReductionOptions& options)
    : cardinalities_(graph.cardinalities), constant_(graph.log_constant) {
  Elimination elimination(graph, options, *this);
  if (options.eliminate) elimination.run();
  elimination.collect_parts();
}

// The log weight of every value of the step's variable where the others are as in `state`.
void MaximumReduction::weigh(const Step& step, std::span<const Value> state,
                             std::vector<double>& weights) const {
  weights = step.unary;
  for (const Factor& factor : step.factors) {
    std::size_t at = 0, own = 0, stride = factor.values.size();
    for (VariableId w : factor.scope) {
      stride /= cardinalities_[w];
      if (w == step.variable) {
        own = stride;
      } else {
        at += stride * state[w];
      }
    }
    for (std::size_t k = 0; k < weights.size(); ++k) weights[k] += factor.values[at + own * k];
  }
}

void MaximumReduction::extend(std::span<Value> state) const {
  std::vector<double> weights;
  for (std::size_t s = steps_.size(); s-- > 0;) {
    weigh(steps_[s], state, weights);
    state[steps_[s].variable] =
        static_cast<Value>(std::max_element(weights.begin(), weights.end()) - weights.begin());
  }
}

}  // namespace drover
