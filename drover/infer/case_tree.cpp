#include "drover/infer/case_tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "drover/core/error.hpp"
#include "drover/core/log_math.hpp"

namespace drover {

namespace {

constexpr double most_entries = 1 << 25;
constexpr double smallest = std::numeric_limits<double>::min();
constexpr double tolerated = 1e-13;

/// For every state of `scope`, where it stands in a table over `part` (a subset).
void append_index(std::span<const std::uint32_t> cardinalities, std::span<const std::uint32_t> scope,
                  std::span<const std::uint32_t> part, std::vector<std::uint32_t>& out) {
  std::vector<std::size_t> strides(scope.size(), 0);
  std::size_t stride = 1;
  for (std::size_t k = part.size(); k-- > 0;) {
    const auto at = std::ranges::find(scope, part[k]);
    strides[static_cast<std::size_t>(at - scope.begin())] = stride;
    stride *= cardinalities[part[k]];
  }
  std::vector<std::uint32_t> value(scope.size(), 0);
  const std::size_t entries = table_size(cardinalities, scope);
  std::size_t place = 0;
  for (std::size_t e = 0; e < entries; ++e) {
    out.push_back(static_cast<std::uint32_t>(place));
    for (std::size_t k = scope.size(); k-- > 0;) {
      place += strides[k];
      if (++value[k] < cardinalities[scope[k]]) break;
      place -= strides[k] * value[k];
      value[k] = 0;
    }
  }
}

}  // namespace

CaseTree::CaseTree(const Graph& graph, const ExactPlan& plan, std::span<const VariableId> query,
                   const ExactOptions& options)
    : graph_(graph),
      plan_(plan),
      options_(options),
      query_(query.begin(), query.end()),
      tree_(build_cluster_tree(graph, plan.order.order)) {
  for (VariableId v : query_) answer_size_ += graph.cardinalities[v];
  if (tree_.table_entries() <= most_entries) lay_out();
}

void CaseTree::lay_out() {
  const ClusterFactors factors = gather_factors(graph_, tree_);
  const auto& cardinalities = tree_.cardinalities;
  weight_offsets_.push_back(0);
  for (std::uint32_t states : cardinalities) weight_offsets_.push_back(weight_offsets_.back() + states);
  clusters_.resize(tree_.size());
  std::size_t message = 0;
  for (std::uint32_t c = 0; c < tree_.size(); ++c) {
    Cluster& cluster = clusters_[c];
    cluster.states = table_size(cardinalities, tree_.eliminated(c));
    cluster.separators = table_size(cardinalities, tree_.separator(c));
    cluster.message = message;
    message += cluster.separators;
    const std::size_t entries = cluster.states * cluster.separators;
    cluster.table = tables_.size();
    tables_.resize(tables_.size() + entries);
    double* table = tables_.data() + cluster.table;
    std::vector<Operand> operands;
    for (std::size_t g = factors.group_offsets[c]; g < factors.group_offsets[c + 1]; ++g)
      operands.push_back(factors.operand(g));
    contract(Reduce::log_sum_exp, cardinalities, tree_.scope(c), operands, 0.0, tree_.scope(c), table);
    cluster.log_scale = subtract_maximum(table, entries);
    std::vector<double> columns(cluster.separators, 0);
    for (std::size_t e = 0; e < entries; ++e) {
      table[e] = std::exp(table[e]);
      columns[e % cluster.separators] += table[e];
      cluster.total += table[e];
    }
    cluster.largest_column = *std::ranges::max_element(columns);
    cluster.weight_index = weight_indices_.size();
    std::vector<std::uint32_t> values;
    const auto eliminated = tree_.eliminated(c);
    for (std::uint32_t p : eliminated) append_index(cardinalities, eliminated, std::span(&p, 1), values);
    for (std::size_t s = 0; s < cluster.states; ++s)
      for (std::size_t k = 0; k < eliminated.size(); ++k)
        weight_indices_.push_back(weight_offsets_[eliminated[k]] + values[k * cluster.states + s]);
    cluster.children_begin = children_.size();
    for (std::uint32_t child : tree_.children(c)) {
      children_.push_back({child, indices_.size()});
      append_index(cardinalities, tree_.scope(c), tree_.separator(child), indices_);
    }
    cluster.children_end = children_.size();
  }
  std::size_t out = 0;
  for (VariableId v : query_) {
    const std::uint32_t place = tree_.place_of[v], home = tree_.home[place];
    questions_.push_back({home, out, graph_.cardinalities[v], value_indices_.size()});
    append_index(cardinalities, tree_.eliminated(home), std::span(&place, 1), value_indices_);
    out += graph_.cardinalities[v];
    for (std::uint32_t c = home; c != no_node && !clusters_[c].has_query; c = tree_.parent[c])
      clusters_[c].has_query = true;
  }
  std::ranges::stable_sort(questions_, std::ranges::greater{}, &Question::cluster);
  for (std::uint32_t c = static_cast<std::uint32_t>(tree_.size()); c-- > 0;)
    if (clusters_[c].has_query) way_down_.push_back(c);

  Room room = make_room();
  prior_messages_.resize(message);
  prior_errors_.resize(tree_.size());
  prior_logs_.resize(tree_.size());
  prior_log_z_ = graph_.log_constant;
  for (std::uint32_t c = 0; c < tree_.size(); ++c) {
    const double scale = pass_up(c, room, prior_messages_.data() + clusters_[c].message, prior_errors_[c]);
    if (scale == 0) return;  // beyond plain numbers, or impossible
    if (tree_.parent[c] == no_node && !(prior_errors_[c] <= tolerated)) return;
    prior_logs_[c] = std::log(scale) + clusters_[c].log_scale;
    prior_log_z_ += prior_logs_[c];
  }
  by_tables_ = true;
}

CaseTree::Room CaseTree::make_room() const {
  Room room;
  if (clusters_.empty()) return room;
  std::size_t entries = 1, message = 0;
  for (const Cluster& cluster : clusters_) {
    entries = std::max(entries, cluster.separators);
    message += cluster.separators;
  }
  room.weights.assign(weight_offsets_.back(), 1.0);
  room.dirty.assign(clusters_.size(), false);
  room.messages.resize(message);
  room.errors.resize(clusters_.size());
  room.down.resize(message);
  room.down_errors.resize(clusters_.size());
  room.base.resize(entries);
  room.product.resize(entries);
  return room;
}

double CaseTree::weight(std::uint32_t c, std::size_t state, const Room& room) const {
  const std::size_t count = tree_.eliminated_count[c];
  const std::uint32_t* index = weight_indices_.data() + clusters_[c].weight_index + state * count;
  double product = 1;
  for (std::size_t k = 0; k < count; ++k) product *= room.weights[index[k]];
  return product;
}

// Fills the message, scaled to a maximum of 1, and the bound of its error; returns the scale, 0 when nothing
// is left.
double CaseTree::pass_up(std::uint32_t c, const Room& room, double* message, double& error) const {
  const Cluster& cluster = clusters_[c];
  const std::size_t separators = cluster.separators;
  const double* table = tables_.data() + cluster.table;
  const auto below = children(cluster);
  std::fill_n(message, separators, 0.0);
  for (std::size_t state = 0; state < cluster.states; ++state, table += separators) {
    const double factor = weight(c, state, room);
    if (factor == 0) continue;
    for (std::size_t s = 0; s < separators; ++s) {
      double value = factor * table[s];
      for (const Child& child : below)
        value *= message_of(child.cluster, room)[indices_[child.index + state * separators + s]];
      message[s] += value;
    }
  }
  double scale = 0;
  for (std::size_t s = 0; s < separators; ++s) scale = std::max(scale, message[s]);
  if (scale == 0) return 0;
  for (std::size_t s = 0; s < separators; ++s) message[s] /= scale;
  double errors = 0;
  for (const Child& child : below) errors += error_of(child.cluster, room);
  error = (cluster.largest_column * errors +
           static_cast<double>(cluster.states * (below.size() + 2)) * smallest) /
          scale;
  return scale;
}

// From the message that comes down to cluster c: those to its children on the way, and the queries it
// answers.
std::span<const CaseTree::Question> CaseTree::questions_of(std::uint32_t c) const {
  const auto first = std::ranges::lower_bound(questions_, c, std::ranges::greater{}, &Question::cluster);
  const auto last = std::ranges::upper_bound(questions_, c, std::ranges::greater{}, &Question::cluster);
  return {first, last};
}

void CaseTree::visit_down(std::uint32_t c, Room& room, std::span<double> out) const {
  const Cluster& cluster = clusters_[c];
  const std::size_t separators = cluster.separators;
  const double* table = tables_.data() + cluster.table;
  const double* down = tree_.parent[c] == no_node ? nullptr : room.down.data() + cluster.message;
  const auto below = children(cluster);
  const std::span<const Question> questions = questions_of(c);
  for (const Child& child : below)
    if (clusters_[child.cluster].has_query)
      std::fill_n(room.down.data() + clusters_[child.cluster].message, clusters_[child.cluster].separators,
                  0.0);
  for (std::size_t state = 0; state < cluster.states; ++state, table += separators) {
    const double factor = weight(c, state, room);
    if (factor == 0) continue;
    for (std::size_t s = 0; s < separators; ++s) room.base[s] = factor * table[s] * (down ? down[s] : 1.0);
    // All children but `skipped` multiply into the product.
    const auto multiply = [&](const Child* skipped) {
      std::copy_n(room.base.begin(), separators, room.product.begin());
      for (const Child& child : below) {
        if (&child == skipped) continue;
        const double* message = message_of(child.cluster, room);
        const std::uint32_t* index = indices_.data() + child.index + state * separators;
        for (std::size_t s = 0; s < separators; ++s) room.product[s] *= message[index[s]];
      }
    };
    for (const Child& child : below) {
      if (!clusters_[child.cluster].has_query) continue;
      multiply(&child);
      double* target = room.down.data() + clusters_[child.cluster].message;
      const std::uint32_t* index = indices_.data() + child.index + state * separators;
      for (std::size_t s = 0; s < separators; ++s) target[index[s]] += room.product[s];
    }
    if (questions.empty()) continue;
    multiply(nullptr);
    double sum = 0;
    for (std::size_t s = 0; s < separators; ++s) sum += room.product[s];
    for (const Question& question : questions)
      out[question.out + value_indices_[question.value_index + state]] += sum;
  }
}

// False when plain numbers do not hold the answers.
bool CaseTree::pass_down(Room& room, std::span<double> out) const {
  std::ranges::fill(out, 0.0);
  for (std::uint32_t c : way_down_) {
    const Cluster& cluster = clusters_[c];
    const auto below = children(cluster);
    visit_down(c, room, out);
    double errors = tree_.parent[c] == no_node ? 0 : room.down_errors[c];
    for (const Child& child : below) errors += error_of(child.cluster, room);
    const double error =
        cluster.total * errors +
        static_cast<double>(cluster.states * cluster.separators * (below.size() + 3)) * smallest;
    for (const Child& child : below) {
      const Cluster& next = clusters_[child.cluster];
      if (!next.has_query) continue;
      double* down = room.down.data() + next.message;
      const double scale = *std::max_element(down, down + next.separators);
      if (scale == 0) return false;
      for (std::size_t s = 0; s < next.separators; ++s) down[s] /= scale;
      room.down_errors[child.cluster] = error / scale;
    }
    for (const Question& question : questions_of(c)) {
      double* p = out.data() + question.out;
      double total = 0;
      for (std::size_t k = 0; k < question.states; ++k) total += p[k];
      if (!(error <= tolerated * total)) return false;
      for (std::size_t k = 0; k < question.states; ++k) p[k] /= total;
    }
  }
  return true;
}

// Puts the row's weights in, each scaled to a maximum of 1, and marks the clusters they change; returns the
// logarithm of the scales.
double CaseTree::weigh(const Observations& evidence, Room& room) const {
  double logs = 0;
  const auto note = [&](VariableId v) {
    const std::uint32_t place = tree_.place_of[v];
    room.weighted.push_back(place);
    for (std::uint32_t c = tree_.home[place]; c != no_node && !room.dirty[c]; c = tree_.parent[c]) {
      room.dirty[c] = true;
      room.dirty_list.push_back(c);
    }
    return room.weights.data() + weight_offsets_[place];
  };
  for (std::size_t e = 0; e < evidence.size(); ++e) {
    double* weights = note(evidence.variables[e]);
    for (std::size_t k = 0; k < graph_.cardinalities[evidence.variables[e]]; ++k)
      if (k != evidence.values[e]) weights[k] = 0;
  }
  for (std::size_t l = 0; l < evidence.likelihoods.size(); ++l) {
    double* weights = note(evidence.likelihoods.variables[l]);
    const auto values = evidence.likelihoods.values(l);
    const double high = *std::ranges::max_element(values);
    logs += high;
    for (std::size_t k = 0; k < values.size(); ++k) weights[k] *= std::exp(values[k] - high);
  }
  std::ranges::sort(room.dirty_list);
  return logs;
}

void CaseTree::clear(Room& room) const {
  for (std::uint32_t place : room.weighted)
    std::fill_n(room.weights.data() + weight_offsets_[place], tree_.cardinalities[place], 1.0);
  for (std::uint32_t c : room.dirty_list) room.dirty[c] = false;
  room.weighted.clear();
  room.dirty_list.clear();
}

// NaN when plain numbers do not hold the answer.
double CaseTree::answer_by_tables(const Observations& evidence, Room& room, std::span<double> out) const {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  double log_z = prior_log_z_ + weigh(evidence, room);
  for (std::uint32_t c : room.dirty_list) {
    const double scale = pass_up(c, room, room.messages.data() + clusters_[c].message, room.errors[c]);
    if (scale == 0) return unknown;
    if (tree_.parent[c] == no_node && !(room.errors[c] <= tolerated)) return unknown;
    log_z += std::log(scale) + clusters_[c].log_scale - prior_logs_[c];
  }
  return pass_down(room, out) ? log_z : unknown;
}

double CaseTree::answer(const Observations& evidence, Room& room, std::span<double> out) const {
  if (by_tables_) {
    const double log_z = answer_by_tables(evidence, room, out);
    clear(room);
    if (!std::isnan(log_z)) return log_z;
  }
  return answer_by_logs(evidence, room, out);
}

double CaseTree::answer_by_logs(const Observations& evidence, Room& room, std::span<double> out) const {
  if (!room.graph) room.graph = graph_;
  Graph& graph = *room.graph;
  graph.unary = graph_.unary;
  for (std::size_t e = 0; e < evidence.size(); ++e) {
    const VariableId v = evidence.variables[e];
    for (std::size_t k = 0; k < graph.cardinalities[v]; ++k)
      if (k != evidence.values[e]) graph.unary[graph.unary_offsets[v] + k] = log_zero;
  }
  for (std::size_t l = 0; l < evidence.likelihoods.size(); ++l) {
    const auto values = evidence.likelihoods.values(l);
    double* unary = graph.unary.data() + graph.unary_offsets[evidence.likelihoods.variables[l]];
    for (std::size_t k = 0; k < values.size(); ++k) unary[k] += values[k];
  }
  try {
    JunctionTree tree(graph, plan_, options_);
    const double log_z = tree.log_z();
    std::vector<std::vector<VariableId>> sets;
    for (VariableId v : query_) sets.push_back({v});
    std::size_t at = 0;
    for (const auto& p : tree.joints(sets)) {
      std::ranges::copy(p, out.begin() + static_cast<std::ptrdiff_t>(at));
      at += p.size();
    }
    return log_z;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_data) throw;
    return log_zero;
  }
}

}  // namespace drover
