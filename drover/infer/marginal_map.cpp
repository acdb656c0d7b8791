#include "drover/infer/marginal_map.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "drover/core/error.hpp"
#include "drover/infer/table_ops.hpp"

namespace drover {

namespace {

struct LogTable {
  std::vector<std::uint32_t> scope;  // places, ascending
  std::vector<double> values;
};

enum class Side { upper, lower };

/// Elimination of all variables in one order, some of them fixed.
class MixedElimination {
 public:
  /// The variables of `last` go after all others.
  MixedElimination(const Graph& graph, std::span<const char> maximised, bool maximised_last)
      : graph_(graph), maximised_(maximised), tables_(all_tables(graph)) {
    order(maximised_last);
  }

  double entries() const { return entries_; }
  double largest() const { return largest_; }

  /// log of the mixed sum and maximum. `fixed`: a value per variable or no_value. With `states`, maximised
  /// variables get their values (meaningful when all of them come last). Tables above `largest_table` are
  /// split, as `side` says; `sums` sums over the maximised variables too.
  static constexpr std::uint32_t no_value = ~std::uint32_t{0};
  double run(std::span<const std::uint32_t> fixed, Side side, double largest_table, bool sums,
             std::vector<Value>* states, const RunControl& control) const {
    const std::size_t n = graph_.size();
    std::vector<std::vector<LogTable>> buckets(n);
    double constant = graph_.log_constant;
    const auto put = [&](LogTable table) {
      if (table.scope.empty()) {
        constant += table.values[0];
      } else {
        buckets[table.scope[0]].push_back(std::move(table));
      }
    };
    for (VariableId v = 0; v < n; ++v) {
      const auto unary = graph_.unary_of(v);
      put(sliced(std::span(&v, 1), unary, fixed));
    }
    for (std::size_t f = 0; f < tables_.size(); ++f) put(sliced(tables_.scope(f), tables_.values(f), fixed));
    for (std::uint32_t p = 0; p < n; ++p) {
      if (fixed[at_[p]] != no_value || buckets[p].empty()) continue;
      fail_if_stopped(control, "marginal MAP");
      const bool maximum = maximised_[at_[p]] != 0 && !sums;
      reduce(p, buckets[p], maximum, side, largest_table, put);
    }
    if (states != nullptr) decode(buckets, fixed, *states);
    return constant;
  }

 private:
  // Smallest table first, within the variables that may go.
  void order(bool maximised_last) {
    const std::size_t n = graph_.size();
    const Adjacency adjacent = adjacency(graph_);
    std::vector<std::vector<VariableId>> around(n);
    for (VariableId v = 0; v < n; ++v) around[v].assign(adjacent.of(v).begin(), adjacent.of(v).end());
    const auto size = [&](VariableId v) {
      double entries = graph_.cardinalities[v];
      for (VariableId w : around[v]) entries *= graph_.cardinalities[w];
      return entries;
    };
    std::set<std::pair<std::pair<bool, double>, VariableId>> waiting;
    std::vector<std::pair<bool, double>> key(n);
    for (VariableId v = 0; v < n; ++v)
      waiting.insert({key[v] = {maximised_last && maximised_[v] != 0, size(v)}, v});
    place_.resize(n);
    std::vector<VariableId> joined;
    while (!waiting.empty()) {
      const VariableId v = waiting.begin()->second;
      waiting.erase(waiting.begin());
      place_[v] = static_cast<std::uint32_t>(at_.size());
      at_.push_back(v);
      entries_ += key[v].second;
      largest_ = std::max(largest_, key[v].second);
      for (VariableId w : around[v]) {
        // Beyond any memory the order no longer matters; joining would cost the square of the neighbourhood.
        if (key[v].second < 0x1p60) {
          joined.clear();
          std::set_union(around[w].begin(), around[w].end(), around[v].begin(), around[v].end(),
                         std::back_inserter(joined));
          around[w].swap(joined);
        }
        std::erase_if(around[w], [&](VariableId u) { return u == v || u == w; });
        waiting.erase({key[w], w});
        key[w].second = size(w);
        waiting.insert({key[w], w});
      }
    }
    cardinalities_.resize(n);
    for (VariableId v = 0; v < n; ++v) cardinalities_[place_[v]] = graph_.cardinalities[v];
  }

  LogTable sliced(std::span<const VariableId> scope, std::span<const double> values,
                  std::span<const std::uint32_t> fixed) const {
    LogTable table;
    std::vector<std::pair<std::uint32_t, std::size_t>> axes;
    std::size_t base = 0, stride = values.size();
    for (VariableId v : scope) {
      stride /= graph_.cardinalities[v];
      if (fixed[v] != no_value) {
        base += stride * fixed[v];
      } else {
        axes.emplace_back(place_[v], stride);
      }
    }
    std::sort(axes.begin(), axes.end());
    std::size_t entries = 1;
    for (const auto& [place, step] : axes) {
      table.scope.push_back(place);
      entries *= cardinalities_[place];
    }
    std::vector<std::uint32_t> digits(axes.size(), 0);
    for (std::size_t k = 0; k < entries; ++k) {
      table.values.push_back(values[base]);
      for (std::size_t a = axes.size(); a-- > 0;) {
        base += axes[a].second;
        if (++digits[a] < cardinalities_[axes[a].first]) break;
        base -= axes[a].second * digits[a];
        digits[a] = 0;
      }
    }
    return table;
  }

  // The bucket's tables in groups whose joint scope is small enough: one, unless that is too large.
  std::vector<std::vector<std::size_t>> groups(const std::vector<LogTable>& bucket,
                                               double largest_table) const {
    std::vector<std::vector<std::size_t>> parts;
    std::vector<std::vector<std::uint32_t>> scopes;
    std::vector<std::uint32_t> joined;
    for (std::size_t t = 0; t < bucket.size(); ++t) {
      bool placed = false;
      for (std::size_t g = 0; g < parts.size() && !placed; ++g) {
        joined.clear();
        std::set_union(scopes[g].begin(), scopes[g].end(), bucket[t].scope.begin(), bucket[t].scope.end(),
                       std::back_inserter(joined));
        double entries = 1;
        for (std::uint32_t p : joined) entries *= cardinalities_[p];
        if (entries > largest_table) continue;
        scopes[g] = joined;
        parts[g].push_back(t);
        placed = true;
      }
      if (placed) continue;
      parts.push_back({t});
      scopes.push_back(bucket[t].scope);
    }
    return parts;
  }

  template <class Put>
  void reduce(std::uint32_t p, const std::vector<LogTable>& bucket, bool maximum, Side side,
              double largest_table, Put&& put) const {
    const auto parts = groups(bucket, largest_table);
    std::vector<Operand> operands;
    std::vector<LogTable> negated;
    for (std::size_t g = 0; g < parts.size(); ++g) {
      // Below: the first part keeps its operation, the others are bounded by their least value.
      const bool least = side == Side::lower && g > 0;
      std::vector<std::uint32_t> scope, joined;
      operands.clear();
      negated.clear();
      negated.reserve(parts[g].size());
      for (std::size_t t : parts[g]) {
        joined.clear();
        std::set_union(scope.begin(), scope.end(), bucket[t].scope.begin(), bucket[t].scope.end(),
                       std::back_inserter(joined));
        scope.swap(joined);
        const double* values = bucket[t].values.data();
        if (least) {
          negated.push_back(bucket[t]);
          for (double& value : negated.back().values) value = -value;
          values = negated.back().values.data();
        }
        operands.push_back({bucket[t].scope, values});
      }
      LogTable message;
      message.scope.assign(scope.begin() + 1, scope.end());
      message.values.resize(table_size(cardinalities_, message.scope));
      const Reduce how = maximum || g > 0 ? Reduce::maximum : Reduce::log_sum_exp;
      contract(how, cardinalities_, scope, operands, 0, message.scope, message.values.data());
      if (least)
        for (double& value : message.values) value = -value;
      put(std::move(message));
    }
    (void)p;
  }

  // Every maximised variable at its best given those eliminated after it.
  void decode(const std::vector<std::vector<LogTable>>& buckets, std::span<const std::uint32_t> fixed,
              std::vector<Value>& states) const {
    const std::size_t n = graph_.size();
    states.assign(n, 0);
    std::vector<double> weights;
    for (std::uint32_t p = static_cast<std::uint32_t>(n); p-- > 0;) {
      const VariableId v = at_[p];
      if (fixed[v] != no_value) {
        states[v] = static_cast<Value>(fixed[v]);
        continue;
      }
      if (maximised_[v] == 0) continue;
      weights.assign(cardinalities_[p], 0.0);
      for (const LogTable& table : buckets[p]) {
        std::size_t at = 0, stride = table.values.size();
        for (std::uint32_t q : table.scope) {
          stride /= cardinalities_[q];
          if (q != p) at += stride * states[at_[q]];
        }
        const std::size_t own = table.values.size() / cardinalities_[p];
        for (std::size_t k = 0; k < weights.size(); ++k) weights[k] += table.values[at + own * k];
      }
      states[v] = static_cast<Value>(std::max_element(weights.begin(), weights.end()) - weights.begin());
    }
  }

  const Graph& graph_;
  std::span<const char> maximised_;
  Tables tables_;
  std::vector<std::uint32_t> place_;  // of every variable in the order
  std::vector<VariableId> at_;
  std::vector<std::uint32_t> cardinalities_;  // by place
  double entries_ = 0, largest_ = 0;
};

constexpr std::uint32_t no_value = MixedElimination::no_value;

/// Branch and bound over the wanted variables.
class Search {
 public:
  Search(const MixedElimination& relaxed, const Graph& graph, std::span<const VariableId> wanted,
         const MarginalMapOptions& options, const RunControl& control, MarginalMap& result)
      : relaxed_(relaxed),
        graph_(graph),
        wanted_(wanted),
        options_(options),
        control_(control),
        result_(result) {}

  void run() {
    std::vector<Node> open = {{value({}, Side::upper), {}}};
    bool diving = true;
    while (!open.empty() && !stop()) {
      // Best bound first; before the first state, and after each step down, straight on.
      if (!diving) std::iter_swap(std::max_element(open.begin(), open.end()), open.end() - 1);
      const Node node = std::move(open.back());
      open.pop_back();
      if (has_state_ && node.bound <= result_.lower + 1e-9 * (1 + std::abs(result_.lower))) {
        if (!diving) {
          open.clear();
          break;
        }
        diving = false;
        continue;
      }
      if (node.values.size() == wanted_.size()) {
        keep(node);
        diving = false;
        continue;
      }
      std::vector<Node> children;
      for (std::uint32_t k = 0; k < graph_.cardinalities[wanted_[node.values.size()]]; ++k) {
        Node child = node;
        child.values.push_back(static_cast<Value>(k));
        child.bound = value(child.values, Side::upper);
        if (child.bound > log_zero) children.push_back(std::move(child));
      }
      std::sort(children.begin(), children.end());
      for (Node& child : children) open.push_back(std::move(child));
      if (children.empty()) diving = false;
    }
    result_.upper = leaves_upper_;
    for (const Node& node : open) result_.upper = std::max(result_.upper, node.bound);
    result_.optimal = open.empty() && result_.exact_sums;
  }

 private:
  struct Node {
    double bound;
    std::vector<Value> values;
    bool operator<(const Node& other) const { return bound < other.bound; }
  };

  bool stop() const {
    if (!has_state_) return false;
    return control_.should_stop() ||
           (!control_.has_time_limit() && static_cast<double>(result_.nodes) * cost() > options_.work);
  }
  double cost() const {
    return std::min(relaxed_.entries(), options_.largest_table * static_cast<double>(graph_.size()));
  }

  double value(std::span<const Value> values, Side side) {
    std::vector<std::uint32_t> fixed(graph_.size(), no_value);
    for (std::size_t k = 0; k < values.size(); ++k) fixed[wanted_[k]] = values[k];
    ++result_.nodes;
    // The first dive is finished whatever the time: without it there is no answer.
    return relaxed_.run(fixed, side, options_.largest_table, false, nullptr, no_control());
  }

  void keep(const Node& node) {
    leaves_upper_ = std::max(leaves_upper_, node.bound);
    const double here = result_.exact_sums ? node.bound : value(node.values, Side::lower);
    if (has_state_ && here <= result_.lower) return;
    has_state_ = true;
    result_.values = node.values;
    result_.lower = here;
    result_.upper_here = node.bound;
  }

  const MixedElimination& relaxed_;
  const Graph& graph_;
  std::span<const VariableId> wanted_;
  const MarginalMapOptions& options_;
  const RunControl& control_;
  MarginalMap& result_;
  bool has_state_ = false;
  double leaves_upper_ = log_zero;  // of the choices that were looked at
};

}  // namespace

MarginalMap marginal_map(const Graph& graph, std::span<const VariableId> wanted,
                         const MarginalMapOptions& options, const RunControl& control) {
  std::vector<char> maximised(graph.size(), 0);
  for (VariableId v : wanted) maximised[v] = 1;
  const std::vector<std::uint32_t> none(graph.size(), no_value);
  const double unlimited = std::numeric_limits<double>::infinity();
  MarginalMap result;
  const MixedElimination constrained(graph, maximised, true), relaxed(graph, maximised, false);
  result.exact_sums = relaxed.largest() <= options.largest_table;
  const double table = result.exact_sums ? unlimited : options.largest_table;
  result.log_z_upper = relaxed.run(none, Side::upper, table, true, nullptr, control);
  if (result.log_z_upper == log_zero)
    throw Error(ErrorKind::bad_data, "the model is impossible: Z = 0, every state has probability zero");
  result.log_z_lower =
      result.exact_sums ? result.log_z_upper : relaxed.run(none, Side::lower, table, true, nullptr, control);

  if (constrained.largest() <= options.largest_table && constrained.entries() <= options.exact_work) {
    std::vector<Value> states;
    result.lower = constrained.run(none, Side::upper, unlimited, false, &states, control);
    for (VariableId v : wanted) result.values.push_back(states[v]);
    result.upper = result.upper_here = result.lower;
    result.optimal = true;
    if (!result.exact_sums) {  // the constrained order can be the better one
      result.exact_sums = true;
      result.log_z_lower = result.log_z_upper =
          constrained.run(none, Side::upper, unlimited, true, nullptr, control);
    }
    return result;
  }
  Search(relaxed, graph, wanted, options, control, result).run();
  return result;
}

}  // namespace drover
