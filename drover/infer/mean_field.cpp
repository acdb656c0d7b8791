#include "drover/infer/mean_field.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "drover/core/log_math.hpp"
#include "drover/core/parallel.hpp"
#include "drover/core/random.hpp"

namespace drover {

namespace {

// Calls see(entry, value of every axis) for all entries of a table, the last axis fastest.
template <class See>
void for_each_entry(std::span<const std::uint32_t> states, std::size_t entries, See see) {
  std::vector<std::uint32_t> digits(states.size(), 0);
  for (std::size_t entry = 0; entry < entries; ++entry) {
    see(entry, digits);
    for (std::size_t axis = states.size(); axis-- > 0;) {
      if (++digits[axis] < states[axis]) break;
      digits[axis] = 0;
    }
  }
}

double times_log(double p, double log_value) {
  return p > 0 ? p * log_value : 0;
}

// p(x = 1) of a spin: bias + sum over the neighbours of weight * p(x_j = 1) are its log odds.
double update_spin(const SpinGraph& graph, VariableId v, double* q, double step) {
  double field = graph.bias[v];
  for (std::size_t e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e)
    field += static_cast<double>(graph.weight[e]) * q[2 * std::size_t{graph.neighbour[e]} + 1];
  const double wanted = 1 / (1 + std::exp(-field));
  const double old = q[2 * std::size_t{v} + 1];
  const double next = old + step * (wanted - old);
  q[2 * std::size_t{v}] = step == 1 ? 1 / (1 + std::exp(field)) : 1 - next;
  q[2 * std::size_t{v} + 1] = next;
  return std::abs(wanted - old);
}

}  // namespace

MeanField::MeanField(const Graph& graph) : graph_(graph), max_states_(graph.max_cardinality()) {
  const std::size_t n = graph.size();
  if (graph.is_spin()) {
    spins_ = spin_graph(graph);
    colours_ = colour_variables(spins_.offsets, spins_.neighbour);
    return;
  }
  const Adjacency near = adjacency(graph);
  colours_ = colour_variables(near.offsets, near.list);

  link_offsets_.assign(n + 1, 0);
  const auto each_pair = [&](auto see) {
    for (std::size_t f = 0; f < graph.spin_pairs.size(); ++f)
      see(graph.spin_pairs.first[f], graph.spin_pairs.second[f], 2 * graph.spin_pairs.couplings[f]);
    for (std::size_t f = 0; f < graph.potts_pairs.size(); ++f)
      see(graph.potts_pairs.first[f], graph.potts_pairs.second[f], graph.potts_pairs.couplings[f]);
  };
  each_pair([&](VariableId i, VariableId j, double) {
    ++link_offsets_[i + 1];
    ++link_offsets_[j + 1];
  });
  table_offsets_.assign(n + 1, 0);
  for (VariableId v : graph.tables.scopes) ++table_offsets_[v + 1];
  for (std::size_t v = 0; v < n; ++v) {
    link_offsets_[v + 1] += link_offsets_[v];
    table_offsets_[v + 1] += table_offsets_[v];
  }
  links_.resize(link_offsets_[n]);
  std::vector<std::size_t> cursor(link_offsets_.begin(), link_offsets_.end() - 1);
  each_pair([&](VariableId i, VariableId j, double coupling) {
    links_[cursor[i]++] = {j, coupling};
    links_[cursor[j]++] = {i, coupling};
  });
  tables_.resize(table_offsets_[n]);
  cursor.assign(table_offsets_.begin(), table_offsets_.end() - 1);
  for (std::size_t f = 0; f < graph.tables.size(); ++f)
    for (VariableId v : graph.tables.scope(f)) tables_[cursor[v]++] = static_cast<std::uint32_t>(f);
}

std::vector<double> MeanField::start_at_unaries() const {
  std::vector<double> q = graph_.unary;
  for (VariableId v = 0; v < graph_.size(); ++v)
    normalise_logs({q.data() + graph_.unary_offsets[v], graph_.cardinalities[v]});
  return q;
}

std::vector<double> MeanField::start_at(std::span<const Value> state) const {
  assert(state.size() == graph_.size());
  std::vector<double> q(graph_.unary.size(), 0.0);
  for (VariableId v = 0; v < graph_.size(); ++v) q[graph_.unary_offsets[v] + state[v]] = 1;
  return q;
}

std::vector<double> MeanField::start_at_random(std::uint64_t seed, std::uint32_t number) const {
  const Random random(seed, Stream::start);
  std::vector<double> q(graph_.unary.size());
  for (VariableId v = 0; v < graph_.size(); ++v) {
    // Exponential numbers, normalised: uniform over all distributions.
    double total = 0;
    for (std::uint32_t k = 0; k < graph_.cardinalities[v]; ++k)
      total += q[graph_.unary_offsets[v] + k] = -std::log1p(-random.uniform(number, k, v));
    for (std::uint32_t k = 0; k < graph_.cardinalities[v]; ++k)
      q[graph_.unary_offsets[v] + k] =
          total > 0 ? q[graph_.unary_offsets[v] + k] / total : 1.0 / graph_.cardinalities[v];
  }
  return q;
}

void MeanField::add_table(std::size_t factor, VariableId variable, std::span<const double> q,
                          std::span<double> field) const {
  const auto scope = graph_.tables.scope(factor);
  const auto values = graph_.tables.values(factor);
  if (scope.size() == 2) {  // the usual case: no odometer, no allocation
    const bool first = scope[0] == variable;
    const VariableId other = first ? scope[1] : scope[0];
    const std::uint32_t other_states = graph_.cardinalities[other];
    const std::size_t own_stride = first ? other_states : 1, other_stride = first ? 1 : field.size();
    const double* weights = q.data() + graph_.unary_offsets[other];
    for (std::size_t k = 0; k < field.size(); ++k)
      for (std::uint32_t l = 0; l < other_states; ++l)
        field[k] += times_log(weights[l], values[k * own_stride + l * other_stride]);
    return;
  }
  std::vector<std::uint32_t> states;
  for (VariableId u : scope) states.push_back(graph_.cardinalities[u]);
  const auto own = static_cast<std::size_t>(std::find(scope.begin(), scope.end(), variable) - scope.begin());
  for_each_entry(states, values.size(), [&](std::size_t entry, std::span<const std::uint32_t> digits) {
    double weight = 1;
    for (std::size_t axis = 0; axis < scope.size(); ++axis)
      if (axis != own) weight *= q[graph_.unary_offsets[scope[axis]] + digits[axis]];
    field[digits[own]] += times_log(weight, values[entry]);
  });
}

double MeanField::expected_table(std::size_t factor, std::span<const double> q) const {
  const auto scope = graph_.tables.scope(factor);
  const auto values = graph_.tables.values(factor);
  std::vector<std::uint32_t> states;
  for (VariableId u : scope) states.push_back(graph_.cardinalities[u]);
  double sum = 0;
  for_each_entry(states, values.size(), [&](std::size_t entry, std::span<const std::uint32_t> digits) {
    double weight = 1;
    for (std::size_t axis = 0; axis < scope.size(); ++axis)
      weight *= q[graph_.unary_offsets[scope[axis]] + digits[axis]];
    sum += times_log(weight, values[entry]);
  });
  return sum;
}

double MeanField::update(VariableId v, std::span<double> q, double step, std::span<double> field) const {
  const std::size_t begin = graph_.unary_offsets[v];
  const std::uint32_t states = graph_.cardinalities[v];
  field = field.first(states);
  std::copy_n(graph_.unary.begin() + static_cast<std::ptrdiff_t>(begin), states, field.begin());
  for (std::size_t e = link_offsets_[v]; e < link_offsets_[v + 1]; ++e) {
    const double* neighbour = q.data() + graph_.unary_offsets[links_[e].neighbour];
    for (std::uint32_t k = 0; k < states; ++k) field[k] += links_[e].coupling * neighbour[k];
  }
  for (std::size_t e = table_offsets_[v]; e < table_offsets_[v + 1]; ++e) add_table(tables_[e], v, q, field);
  if (*std::max_element(field.begin(), field.end()) == log_zero) return 0;  // no state of v fits the others
  normalise_logs(field);
  double change = 0;
  for (std::uint32_t k = 0; k < states; ++k) {
    change = std::max(change, std::abs(field[k] - q[begin + k]));
    q[begin + k] = step == 1 ? field[k] : (1 - step) * q[begin + k] + step * field[k];
  }
  return change;
}

double MeanField::update(VariableId v, std::span<double> q, double step) const {
  if (spins_.size() > 0) return update_spin(spins_, v, q.data(), step);
  std::vector<double> field(max_states_);
  return update(v, q, step, field);
}

double MeanField::sweep(std::span<double> q, double step) const {
  assert(q.size() == graph_.unary.size() && step > 0 && step <= 1);
  double change = 0;
  for (std::size_t c = 0; c < colours_.count(); ++c) {
    const auto members = colours_.members_of(c);
    const auto part = [&](std::size_t begin, std::size_t end, double most) {
      if (spins_.size() > 0) {
        for (std::size_t m = begin; m < end; ++m)
          most = std::max(most, update_spin(spins_, members[m], q.data(), step));
        return most;
      }
      std::vector<double> field(max_states_);
      for (std::size_t m = begin; m < end; ++m) most = std::max(most, update(members[m], q, step, field));
      return most;
    };
    constexpr std::size_t grain = 4096;
    if (members.size() <= grain) {
      change = part(0, members.size(), change);
      continue;
    }
    change = parallel_max(IndexRange(0, members.size(), grain), change,
                          [&](const IndexRange& range) { return part(range.begin(), range.end(), change); });
  }
  return change;
}

double MeanField::bound(std::span<const double> q) const {
  double energy = graph_.log_constant, entropy = 0;
  for (std::size_t e = 0; e < q.size(); ++e) {
    energy += times_log(q[e], graph_.unary[e]);
    if (q[e] > 0) entropy -= q[e] * std::log(q[e]);
  }
  const auto agreement = [&](VariableId i, VariableId j) {
    double sum = 0;
    for (std::uint32_t k = 0; k < graph_.cardinalities[i]; ++k)
      sum += q[graph_.unary_offsets[i] + k] * q[graph_.unary_offsets[j] + k];
    return sum;
  };
  const SpinPairs& spins = graph_.spin_pairs;
  for (std::size_t f = 0; f < spins.size(); ++f)
    energy += spins.couplings[f] * (2 * agreement(spins.first[f], spins.second[f]) - 1);
  const PottsPairs& potts = graph_.potts_pairs;
  for (std::size_t f = 0; f < potts.size(); ++f)
    energy += potts.couplings[f] * agreement(potts.first[f], potts.second[f]);
  for (std::size_t f = 0; f < graph_.tables.size(); ++f) energy += expected_table(f, q);
  return energy + entropy;
}

MeanFieldRun MeanField::run(std::vector<double> start, const MeanFieldOptions& options,
                            const GoOn& go_on) const {
  MeanFieldRun result;
  result.probabilities = std::move(start);
  while (result.iterations < options.iterations && !result.converged) {
    const double change = sweep(result.probabilities, options.step);
    ++result.iterations;
    result.converged = change <= options.tolerance;
    if (go_on && !go_on(result.iterations, change)) break;
  }
  result.bound = bound(result.probabilities);
  return result;
}

}  // namespace drover
