#include "drover/infer/junction_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>

#include "drover/core/error.hpp"
#include "drover/core/log_math.hpp"
#include "drover/core/parallel.hpp"
#include "drover/core/random.hpp"
#include "drover/infer/cluster_conditionals.hpp"
#include "drover/infer/cluster_tree.hpp"
#include "drover/infer/projections.hpp"

namespace drover {
namespace {

OrderOptions order_options(const ExactOptions& options) {
  OrderOptions result;
  result.tries = options.order_tries;
  result.seed = options.seed;
  result.control = options.control;
  return result;
}

// Messages upward; those downward that wait for their cluster to be visited, depth first as one thread goes; the unions of
// projections.hpp in two clusters at a time (an eighth of the largest each), and the bookkeeping of every cluster.
double predict_bytes(const ClusterTree& tree) {
  const auto entries = [&](std::span<const std::uint32_t> scope) {
    double product = 1;
    for (std::uint32_t v : scope) product *= tree.cardinalities[v];
    return product;
  };
  double messages = 0, largest = 0, down = 0, most_down = 0;
  for (std::size_t c = tree.size(); c-- > 0;) {
    messages += entries(tree.separator(c));
    largest = std::max(largest, entries(tree.scope(c)));
    for (std::uint32_t child : tree.children(c)) down += entries(tree.separator(child));
    most_down = std::max(most_down, down);
    if (tree.parent[c] != no_node) down -= entries(tree.separator(c));
  }
  return sizeof(double) * (messages + most_down + 2 * largest / 8) +
         static_cast<double>(sizeof(std::uint32_t) * tree.scopes.size() + 256 * tree.size());
}

std::string readable_bytes(double bytes) {
  if (!(bytes < 0x1p60)) return fmt::format("2^{:.0f} bytes", std::log2(bytes));
  if (bytes < 0x1p20)
    return bytes < 0x1p10 ? fmt::format("{:.0f} bytes", bytes) : fmt::format("{:.1f} kB", bytes / 0x1p10);
  return bytes < 0x1p30 ? fmt::format("{:.1f} MB", bytes / 0x1p20) : fmt::format("{:.1f} GB", bytes / 0x1p30);
}

void refuse_above(const ExactPlan& plan, std::size_t limit) {
  if (plan.fits(limit)) return;
  if (!plan.order.exact)
    throw Error(
        ErrorKind::misfit,
        fmt::format("exact inference does not fit this model: its treewidth (at most {}) needs tables of "
                    "up to 2^{:.0f} entries; the memory limit is {}",
                    plan.order.treewidth_bound, plan.order.log2_max_clique,
                    readable_bytes(static_cast<double>(limit))));
  throw Error(
      ErrorKind::misfit,
      fmt::format("exact inference would need {} (treewidth at most {}, largest table 2^{:.1f} entries); "
                  "the memory limit is {}",
                  readable_bytes(plan.predicted_bytes), plan.order.treewidth_bound,
                  plan.order.log2_max_clique, readable_bytes(static_cast<double>(limit))));
}

using Table = std::unique_ptr<double[]>;

}  // namespace

ExactPlan plan_exact(const Graph& graph, const ExactOptions& options) {
  ExactPlan plan;
  plan.order = find_elimination_order(graph, order_options(options));
  if (plan.order.exact) {
    const ClusterTree tree = build_cluster_tree(graph, plan.order.order);
    plan.predicted_bytes = predict_bytes(tree);
    plan.predicted_operations = tree.table_entries();
  } else {
    plan.predicted_bytes = std::exp2(plan.order.log2_total_table) * sizeof(double);
    plan.predicted_operations = std::exp2(plan.order.log2_total_table);
  }
  return plan;
}

class JunctionTree::Engine {
 public:
  Engine(const Graph& graph, const ExactPlan& plan, const ExactOptions& options)
      : graph_(graph),
        control_(*options.control),
        memory_limit_(static_cast<double>(options.memory_limit_bytes)),
        width_(plan.order.width),
        tree_(build_cluster_tree(graph, plan.order.order)),
        predicted_(static_cast<std::size_t>(predict_bytes(tree_))),
        factors_(gather_factors(graph, tree_)) {
    std::vector<double> costs(tree_.size());
    message_offsets_.reserve(tree_.size() + 1);
    message_offsets_.push_back(0);
    for (std::size_t c = 0; c < tree_.size(); ++c) {
      message_offsets_.push_back(message_offsets_[c] + table_size(tree_.cardinalities, tree_.separator(c)));
      costs[c] = 500 + static_cast<double>(table_size(tree_.cardinalities, tree_.scope(c)));
    }
    schedule_ = TreeSchedule(tree_.parent, costs);
  }

  std::size_t predicted_bytes() const { return predicted_; }
  std::uint32_t width() const { return width_; }

  double log_z() {
    sum_up();
    double total = graph_.log_constant;
    for (double shift : shifts_) total += shift;
    return total;
  }

  std::vector<std::vector<double>> marginals() {
    std::vector<Query> queries(tree_.cardinalities.size());
    for (std::uint32_t p = 0; p < queries.size(); ++p) queries[p].scope = {p};
    std::vector<std::vector<double>> by_place = answer(std::move(queries));
    std::vector<std::vector<double>> result(graph_.size());
    for (std::size_t p = 0; p < by_place.size(); ++p) result[tree_.variable_at[p]] = std::move(by_place[p]);
    return result;
  }

  std::vector<std::vector<double>> pair_marginals(std::span<const std::pair<VariableId, VariableId>> pairs) {
    std::vector<std::vector<VariableId>> sets;
    for (const auto& [i, j] : pairs) {
      assert(i != j && i < graph_.size() && j < graph_.size());
      sets.push_back({i, j});
      if (!in_one_cluster(places_of(sets.back())))
        throw Error(ErrorKind::misfit,
                    fmt::format("variables {} and {} share no factor; their joint distribution "
                                "is not at hand in the junction tree",
                                graph_.name(i), graph_.name(j)));
    }
    return joints(sets);
  }

  std::vector<std::vector<double>> joints(std::span<const std::vector<VariableId>> sets) {
    std::vector<std::vector<double>> result(sets.size());
    std::vector<Query> queries;
    std::vector<std::size_t> query_of;
    for (std::size_t s = 0; s < sets.size(); ++s) {
      std::vector<std::uint32_t> scope = places_of(sets[s]);
      check_memory(entries_of(scope));
      if (scope.empty()) {
        result[s] = {1.0};
      } else if (in_one_cluster(scope)) {
        queries.push_back({std::move(scope), no_node});
        query_of.push_back(s);
      } else {
        result[s] = in_order(sets[s], carry_to_root(scope));
      }
    }
    std::vector<std::vector<double>> answers = answer(std::move(queries));
    for (std::size_t q = 0; q < answers.size(); ++q)
      result[query_of[q]] = in_order(sets[query_of[q]], std::move(answers[q]));
    return result;
  }

  ScoredState map() {
    const Table messages = std::make_unique_for_overwrite<double[]>(message_offsets_.back());
    std::vector<double> shifts(tree_.size());
    pass_up(Reduce::maximum, messages.get(), shifts);
    const ClusterConditionals conditionals(tree_, factors_, messages.get(), message_offsets_);
    std::vector<Value> x(tree_.cardinalities.size());
    std::vector<double> weights(conditionals.max_states());
    for (std::size_t c = tree_.size(); c-- > 0;) {
      const std::size_t states = conditionals.log_weights(c, x.data(), weights.data());
      const auto best =
          std::max_element(weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(states));
      conditionals.assign(c, static_cast<std::size_t>(best - weights.begin()), x.data());
    }
    ScoredState result;
    result.assignment.resize(graph_.size());
    for (std::size_t p = 0; p < x.size(); ++p) result.assignment[tree_.variable_at[p]] = x[p];
    result.log_score = log_score(graph_, result.assignment);
    return result;
  }

  std::vector<ScoredState> best(std::size_t count) {
    const Table messages = std::make_unique_for_overwrite<double[]>(message_offsets_.back());
    std::vector<double> shifts(tree_.size());
    pass_up(Reduce::maximum, messages.get(), shifts);
    const ClusterConditionals conditionals(tree_, factors_, messages.get(), message_offsets_);
    std::vector<double> weights(conditionals.max_states());
    // As `base` down to the cluster, where it takes another state.
    struct Deviation {
      double loss;
      std::size_t number, base, cluster, state;
      bool operator<(const Deviation& other) const {
        return loss != other.loss ? loss < other.loss : number < other.number;
      }
    };
    std::set<Deviation> candidates;
    std::vector<std::vector<Value>> found;  // by place
    std::size_t number = 0;
    // Takes the best state of every cluster below `end`; the others become candidates.
    const auto complete = [&](std::vector<Value> x, std::size_t end, double loss) {
      for (std::size_t c = end; c-- > 0;) {
        fail_if_stopped(control_, "exact inference");
        const std::size_t states = conditionals.log_weights(c, x.data(), weights.data());
        const auto last = weights.begin() + static_cast<std::ptrdiff_t>(states);
        const auto top = std::max_element(weights.begin(), last);
        for (auto other = weights.begin(); other != last; ++other) {
          if (other == top || *other == log_zero) continue;
          candidates.insert({loss + (*top - *other), number++, found.size(), c,
                             static_cast<std::size_t>(other - weights.begin())});
          if (found.size() + 1 + candidates.size() > count) candidates.erase(std::prev(candidates.end()));
        }
        conditionals.assign(c, static_cast<std::size_t>(top - weights.begin()), x.data());
      }
      found.push_back(std::move(x));
    };
    complete(std::vector<Value>(tree_.cardinalities.size()), tree_.size(), 0);
    while (found.size() < count && !candidates.empty()) {
      const Deviation next = *candidates.begin();
      candidates.erase(candidates.begin());
      std::vector<Value> x = found[next.base];
      conditionals.assign(next.cluster, next.state, x.data());
      complete(std::move(x), next.cluster, next.loss);
    }
    std::vector<ScoredState> result(found.size());
    for (std::size_t k = 0; k < found.size(); ++k) {
      result[k].assignment.resize(graph_.size());
      for (std::size_t p = 0; p < found[k].size(); ++p)
        result[k].assignment[tree_.variable_at[p]] = found[k][p];
      result[k].log_score = log_score(graph_, result[k].assignment);
    }
    // Losses are rounded: nearly equal scores may be out of order.
    std::stable_sort(result.begin(), result.end(),
                     [](const ScoredState& a, const ScoredState& b) { return a.log_score > b.log_score; });
    return result;
  }

  void sample(std::uint64_t seed, std::uint64_t first_draw, std::size_t count, std::span<Value> out) {
    assert(out.size() == count * graph_.size());
    sum_up();
    if (!conditionals_) conditionals_.emplace(tree_, factors_, messages_.get(), message_offsets_);
    const Random random(seed, Stream::exact);
    parallel_for(IndexRange(0, count), [&](const IndexRange& range) {
      std::vector<Value> x(tree_.cardinalities.size());
      std::vector<double> weights(conditionals_->max_states());
      for (std::size_t d = range.begin(); d < range.end(); ++d) {
        for (std::size_t c = tree_.size(); c-- > 0;) {
          const std::size_t states = conditionals_->log_weights(c, x.data(), weights.data());
          const double u = random.uniform(0, first_draw + d, tree_.variable_at[tree_.eliminated(c)[0]]);
          conditionals_->assign(c, draw({weights.data(), states}, u), x.data());
        }
        for (std::size_t p = 0; p < x.size(); ++p) out[d * graph_.size() + tree_.variable_at[p]] = x[p];
      }
    });
  }

 private:
  struct Query {
    std::vector<std::uint32_t> scope;
    std::uint32_t separator_of = no_node;  // read from this cluster's separator; else from the home cluster
  };

  std::vector<std::uint32_t> places_of(std::span<const VariableId> variables) const {
    std::vector<std::uint32_t> places;
    for (VariableId v : variables) places.push_back(tree_.place_of[v]);
    std::ranges::sort(places);
    return places;
  }

  // The cluster that eliminates the first variable holds all that share a cluster with it and come later.
  bool in_one_cluster(std::span<const std::uint32_t> places) const {
    if (places.empty()) return true;
    const auto scope = tree_.scope(tree_.home[places[0]]);
    return std::ranges::includes(scope, places);
  }

  double entries_of(std::span<const std::uint32_t> scope) const {
    double entries = 1;
    for (std::uint32_t p : scope) entries *= tree_.cardinalities[p];
    return entries;
  }

  void check_memory(double entries) const {
    const double bytes = entries * sizeof(double);
    if (bytes > memory_limit_)
      throw Error(ErrorKind::misfit,
                  fmt::format("this joint distribution would need tables of {}; the memory limit is {}",
                              readable_bytes(bytes), readable_bytes(memory_limit_)));
  }

  // A table over the sorted places of the variables, as one over the variables in the order asked for.
  std::vector<double> in_order(std::span<const VariableId> variables, std::vector<double> table) const {
    const std::vector<std::uint32_t> places = places_of(variables);
    std::vector<std::size_t> strides(variables.size());  // in `table`, of the variables as asked for
    for (std::size_t k = 0; k < variables.size(); ++k) {
      const auto at = std::ranges::find(places, tree_.place_of[variables[k]]);
      strides[k] = table_size(tree_.cardinalities, std::span(at + 1, places.end()));
    }
    std::vector<double> result(table.size());
    std::vector<std::uint32_t> index(variables.size(), 0);
    std::size_t from = 0;
    for (double& value : result) {
      value = table[from];
      for (std::size_t k = index.size(); k-- > 0;) {
        from += strides[k];
        if (++index[k] < graph_.cardinalities[variables[k]]) break;
        from -= strides[k] * index[k];
        index[k] = 0;
      }
    }
    return result;
  }

  // Messages on the way from the clusters that eliminate `wanted` to their roots, which keep these variables.
  std::vector<double> carry_to_root(std::span<const std::uint32_t> wanted) {
    sum_up();
    struct Message {
      std::vector<std::uint32_t> scope;
      std::vector<double> values;
    };
    std::vector<std::optional<Message>> messages(tree_.size());
    for (std::uint32_t p : wanted)
      for (std::uint32_t c = tree_.home[p]; c != no_node && !messages[c]; c = tree_.parent[c])
        messages[c].emplace();
    std::vector<Message> roots;
    for (std::uint32_t c = 0; c < tree_.size(); ++c) {
      if (!messages[c]) continue;
      check_stop();
      Message& message = *messages[c];
      const auto add_to = [](std::vector<std::uint32_t>& scope, std::span<const std::uint32_t> more) {
        std::vector<std::uint32_t> both;
        std::ranges::set_union(scope, more, std::back_inserter(both));
        scope = std::move(both);
      };
      std::vector<Operand> operands;
      for (std::size_t g = factors_.group_offsets[c]; g < factors_.group_offsets[c + 1]; ++g)
        operands.push_back(factors_.operand(g));
      std::vector<std::uint32_t> scope;
      add_to(scope, tree_.scope(c));
      for (std::uint32_t child : tree_.children(c)) {
        if (messages[child])
          operands.push_back({messages[child]->scope, messages[child]->values.data()});
        else
          operands.push_back({tree_.separator(child), messages_.get() + message_offsets_[child]});
        add_to(scope, operands.back().scope);
      }
      std::ranges::set_intersection(scope, wanted, std::back_inserter(message.scope));
      add_to(message.scope, tree_.separator(c));
      check_memory(entries_of(scope));
      message.values.resize(table_size(tree_.cardinalities, message.scope));
      contract(Reduce::log_sum_exp, tree_.cardinalities, scope, operands, 0.0, message.scope,
               message.values.data());
      subtract_maximum(message.values.data(), message.values.size());
      for (std::uint32_t child : tree_.children(c)) messages[child].reset();
      if (tree_.parent[c] == no_node) roots.push_back(std::move(message));
    }
    std::vector<Operand> operands;
    for (const Message& root : roots) operands.push_back({root.scope, root.values.data()});
    std::vector<double> result(table_size(tree_.cardinalities, wanted));
    contract(Reduce::log_sum_exp, tree_.cardinalities, wanted, operands, 0.0, wanted, result.data());
    normalise_logs(result);
    return result;
  }

  // The state whose interval of the cumulative weights holds u; never one of weight zero.
  static std::size_t draw(std::span<double> weights, double u) {
    const double high = *std::max_element(weights.begin(), weights.end());
    double total = 0;
    for (double& weight : weights) total += weight = std::exp(weight - high);
    double rest = u * total;
    std::size_t chosen = 0;
    for (std::size_t s = 0; s < weights.size(); ++s) {
      if (weights[s] == 0) continue;
      chosen = s;
      if (rest < weights[s]) break;
      rest -= weights[s];
    }
    return chosen;
  }

  void check_stop() const { fail_if_stopped(control_, "exact inference"); }

  std::vector<Operand> operands_of(std::size_t c, const double* messages) const {
    std::vector<Operand> operands;
    for (std::size_t g = factors_.group_offsets[c]; g < factors_.group_offsets[c + 1]; ++g)
      operands.push_back(factors_.operand(g));
    for (std::uint32_t child : tree_.children(c))
      operands.push_back({tree_.separator(child), messages + message_offsets_[child]});
    return operands;
  }

  void pass_up(Reduce reduce, double* messages, std::vector<double>& shifts) const {
    schedule_.upward([&](std::uint32_t c) {
      check_stop();
      double* out = messages + message_offsets_[c];
      contract(reduce, tree_.cardinalities, tree_.scope(c), operands_of(c, messages), 0.0, tree_.separator(c),
               out);
      shifts[c] = subtract_maximum(out, message_offsets_[c + 1] - message_offsets_[c]);
    });
    for (std::size_t c = 0; c < tree_.size(); ++c)
      if (shifts[c] == log_zero)
        throw Error(
            ErrorKind::bad_data,
            fmt::format("the model is impossible: Z = 0; the factors met at variable {} leave no joint state",
                        graph_.name(tree_.variable_at[tree_.eliminated(c).back()])));
  }

  void sum_up() {
    if (messages_) return;
    Table messages = std::make_unique_for_overwrite<double[]>(message_offsets_.back());
    shifts_.resize(tree_.size());
    pass_up(Reduce::log_sum_exp, messages.get(), shifts_);
    messages_ = std::move(messages);
  }

  // Reads every query off the smallest table that holds it during one downward pass.
  std::vector<std::vector<double>> answer(std::vector<Query> queries) {
    sum_up();
    place_single_variables(queries);
    std::vector<std::vector<double>> results(queries.size());
    std::vector<std::vector<std::uint32_t>> at_separator(tree_.size()), at_cluster(tree_.size());
    for (std::uint32_t q = 0; q < queries.size(); ++q) {
      results[q].resize(table_size(tree_.cardinalities, queries[q].scope));
      if (queries[q].separator_of != no_node)
        at_separator[queries[q].separator_of].push_back(q);
      else
        at_cluster[tree_.home[queries[q].scope[0]]].push_back(q);
    }
    std::vector<Table> down(tree_.size());  // log p(separator) - message, from parent's visit to own visit
    schedule_.downward([&](std::uint32_t c) {
      check_stop();
      std::vector<Operand> operands = operands_of(c, messages_.get());
      double constant = 0;
      if (tree_.parent[c] == no_node)
        constant = -shifts_[c];
      else
        operands.push_back({tree_.separator(c), down[c].get()});

      std::vector<Projection> wanted;
      for (std::uint32_t child : tree_.children(c)) {
        const std::size_t entries = message_offsets_[child + 1] - message_offsets_[child];
        down[child] = std::make_unique_for_overwrite<double[]>(entries);
        wanted.push_back({tree_.separator(child), down[child].get()});
      }
      for (std::uint32_t q : at_cluster[c]) wanted.push_back({queries[q].scope, results[q].data()});
      project(tree_.cardinalities, tree_.scope(c), operands, constant, wanted);
      down[c].reset();

      for (std::uint32_t child : tree_.children(c)) {
        wanted.clear();
        for (std::uint32_t q : at_separator[child]) wanted.push_back({queries[q].scope, results[q].data()});
        project_table(tree_.cardinalities, tree_.separator(child), down[child].get(), wanted);
        divide_by_message(down[child].get(), messages_.get() + message_offsets_[child], shifts_[child],
                          message_offsets_[child + 1] - message_offsets_[child]);
      }
    });
    for (auto& table : results) {
      double total = 0;
      for (double p : table) total += p;
      for (double& p : table) p /= total;  // removes the rounding of log Z
    }
    return results;
  }

  void place_single_variables(std::vector<Query>& queries) const {
    std::vector<std::uint32_t> smallest(tree_.cardinalities.size(), no_node);
    const auto entries = [&](std::uint32_t c) { return message_offsets_[c + 1] - message_offsets_[c]; };
    for (std::uint32_t c = 0; c < tree_.size(); ++c)
      for (std::uint32_t p : tree_.separator(c))
        if (smallest[p] == no_node || entries(c) < entries(smallest[p])) smallest[p] = c;
    for (Query& query : queries)
      if (query.scope.size() == 1) query.separator_of = smallest[query.scope[0]];
  }

  const Graph& graph_;
  const RunControl& control_;
  double memory_limit_;
  std::uint32_t width_;
  ClusterTree tree_;
  std::size_t predicted_;
  ClusterFactors factors_;
  std::vector<std::size_t> message_offsets_;
  TreeSchedule schedule_;
  Table messages_;  // upward, sums; empty until needed
  std::vector<double> shifts_;
  std::optional<ClusterConditionals> conditionals_;
};

JunctionTree::JunctionTree(const Graph& graph, const ExactOptions& options)
    : JunctionTree(graph, plan_exact(graph, options), options) {}

JunctionTree::JunctionTree(const Graph& graph, const ExactPlan& plan, const ExactOptions& options) {
  refuse_above(plan, options.memory_limit_bytes);
  engine_ = std::make_unique<Engine>(graph, plan, options);
}

JunctionTree::~JunctionTree() = default;
JunctionTree::JunctionTree(JunctionTree&&) noexcept = default;
JunctionTree& JunctionTree::operator=(JunctionTree&&) noexcept = default;

std::size_t JunctionTree::predicted_bytes() const {
  return engine_->predicted_bytes();
}
std::uint32_t JunctionTree::width() const {
  return engine_->width();
}
double JunctionTree::log_z() {
  return engine_->log_z();
}
std::vector<std::vector<double>> JunctionTree::marginals() {
  return engine_->marginals();
}
std::vector<std::vector<double>> JunctionTree::pair_marginals(
    std::span<const std::pair<VariableId, VariableId>> pairs) {
  return engine_->pair_marginals(pairs);
}
std::vector<std::vector<double>> JunctionTree::joints(std::span<const std::vector<VariableId>> sets) {
  return engine_->joints(sets);
}
ScoredState JunctionTree::map() {
  return engine_->map();
}

std::vector<ScoredState> JunctionTree::best(std::size_t count) {
  return engine_->best(count);
}
void JunctionTree::sample(std::uint64_t seed, std::uint64_t first_draw, std::size_t count,
                          std::span<Value> out) {
  engine_->sample(seed, first_draw, count, out);
}

}  // namespace drover
