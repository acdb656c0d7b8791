#include "drover/sample/herded/herded_gibbs_layout.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "drover/compile/colouring.hpp"
#include "drover/compile/table_graph.hpp"
#include "drover/core/error.hpp"
#include "drover/sample/gibbs/gibbs_table_schedule.hpp"
#include "drover/sample/herded/herded_gibbs_weights.hpp"

namespace drover {

HerdedLayout::HerdedLayout(const Graph& graph, HerdedOptions options)
    : graph_(&graph), options_(std::move(options)) {
  check_starts(graph, options_.starts);
  if (options_.schedule == HerdedSchedule::jacobi && has_table_zeros(graph))
    throw Error(ErrorKind::misfit,
                "the jacobi schedule changes all variables at once and may leave the support of a model "
                "with hard zeros; use sequential or colours");
  const Adjacency near = adjacency(graph);
  order_ = options_.order.empty() ? natural_order(graph) : options_.order;
  if (options_.schedule == HerdedSchedule::colours) {
    const Colouring colouring = colour_variables(near.offsets, near.list);
    order_ = colouring.members;
    colour_begin_ = colouring.offsets;
  }
  assert(order_.size() == graph.size());

  position_of_.resize(order_.size());
  for (std::size_t p = 0; p < order_.size(); ++p) position_of_[order_[p]] = static_cast<std::uint32_t>(p);
  const std::vector<std::size_t> entry_offsets = conditional_offsets(graph);
  entry_count_ = entry_offsets.back();
  offsets_.push_back(0);
  for (VariableId v : order_) {
    states_.push_back(graph.cardinalities[v]);
    entries_.push_back(entry_offsets[v]);
    for (VariableId u : near.of(v)) neighbours_.push_back(position_of_[u]);
    offsets_.push_back(neighbours_.size());
    max_degree_ = std::max(max_degree_, near.of(v).size());
    max_states_ = std::max(max_states_, graph.cardinalities[v]);
  }
  add_pairs(near);
  add_tables(near);
}

namespace {

std::uint32_t place_of(std::span<const VariableId> neighbours, VariableId u) {
  return static_cast<std::uint32_t>(std::lower_bound(neighbours.begin(), neighbours.end(), u) -
                                    neighbours.begin());
}

}  // namespace

void HerdedLayout::add_pairs(const Adjacency& near) {
  const auto for_each_link = [&](auto&& visit) {
    const auto both = [&](const Pairs& pairs, double scale) {
      for (std::size_t f = 0; f < pairs.size(); ++f) {
        visit(pairs.first[f], pairs.second[f], scale * pairs.couplings[f]);
        visit(pairs.second[f], pairs.first[f], scale * pairs.couplings[f]);
      }
    };
    both(graph_->spin_pairs, 2);
    both(graph_->potts_pairs, 1);
  };
  pair_offsets_.assign(size() + 1, 0);
  for_each_link([&](VariableId v, VariableId, double) { ++pair_offsets_[position_of_[v] + 1]; });
  std::partial_sum(pair_offsets_.begin(), pair_offsets_.end(), pair_offsets_.begin());
  pairs_.resize(pair_offsets_.back());
  std::vector<std::size_t> cursor = pair_offsets_;
  for_each_link([&](VariableId v, VariableId u, double coupling) {
    pairs_[cursor[position_of_[v]]++] = {place_of(near.of(v), u), coupling};
  });
}

void HerdedLayout::add_tables(const Adjacency& near) {
  const Tables& tables = graph_->tables;
  table_offsets_.assign(size() + 1, 0);
  for (VariableId v : tables.scopes) ++table_offsets_[position_of_[v] + 1];
  std::partial_sum(table_offsets_.begin(), table_offsets_.end(), table_offsets_.begin());
  tables_.resize(table_offsets_.back());
  std::vector<std::size_t> cursor = table_offsets_;
  std::vector<std::uint32_t> strides;
  for (std::size_t f = 0; f < tables.size(); ++f) {
    const auto scope = tables.scope(f);
    strides.assign(scope.size(), 1);
    for (std::size_t a = scope.size() - 1; a-- > 0;)
      strides[a] = strides[a + 1] * graph_->cardinalities[scope[a + 1]];
    for (std::size_t a = 0; a < scope.size(); ++a) {
      TableLink& link = tables_[cursor[position_of_[scope[a]]]++];
      link.values = tables.values(f).data();
      link.own_stride = strides[a];
      link.others_begin = static_cast<std::uint32_t>(others_.size());
      for (std::size_t b = 0; b < scope.size(); ++b)
        if (b != a) others_.push_back({place_of(near.of(scope[a]), scope[b]), strides[b]});
      link.others_end = static_cast<std::uint32_t>(others_.size());
    }
  }
}

double HerdedLayout::configurations(std::size_t position) const {
  double count = 1;
  for (std::uint32_t u : neighbours(position)) count *= states_[u];
  return count;
}

void HerdedLayout::log_weights(std::size_t position, const Value* y, double beta, double* out) const {
  const auto unary = graph_->unary_of(order_[position]);
  std::copy(unary.begin(), unary.end(), out);
  for (std::size_t l = pair_offsets_[position]; l < pair_offsets_[position + 1]; ++l)
    out[y[pairs_[l].neighbour]] += pairs_[l].coupling;
  for (std::size_t l = table_offsets_[position]; l < table_offsets_[position + 1]; ++l) {
    const double* row = tables_[l].values;
    for (std::uint32_t o = tables_[l].others_begin; o < tables_[l].others_end; ++o)
      row += std::size_t{others_[o].stride} * y[others_[o].neighbour];
    for (std::size_t k = 0; k < unary.size(); ++k) out[k] += row[k * tables_[l].own_stride];
  }
  if (beta == 1) return;
  for (std::size_t k = 0; k < unary.size(); ++k)
    if (out[k] != log_zero) out[k] *= beta;
}

void HerdedLayout::conditional(std::size_t position, const Value* y, double beta, double* scratch,
                               std::int32_t* probabilities) const {
  log_weights(position, y, beta, scratch);
  const std::uint32_t states = states_[position];
  if (states == 2) {
    const bool possible = scratch[0] != log_zero || scratch[1] != log_zero;
    *probabilities = possible ? herded_probability(1 / (1 + std::exp(scratch[0] - scratch[1]))) : 0;
    return;
  }
  const double high = *std::max_element(scratch, scratch + states);
  if (high == log_zero) {
    std::fill_n(probabilities, states, 0);
    return;
  }
  double sum = 0;
  for (std::uint32_t k = 0; k < states; ++k) sum += scratch[k] = std::exp(scratch[k] - high);
  for (std::uint32_t k = 0; k < states; ++k) scratch[k] /= sum;
  herded_probabilities({scratch, states}, {probabilities, states});
}

std::vector<Value> HerdedLayout::start(std::uint64_t seed, std::uint32_t chain) const {
  std::vector<Value> by_variable(size()), values(size());
  draw_start(*graph_, options_.starts, seed, chain, by_variable);
  write(values, by_variable);
  return values;
}

void HerdedLayout::read(std::span<const Value> values, std::span<Value> out) const {
  for (std::size_t p = 0; p < size(); ++p) out[order_[p]] = values[p];
}

void HerdedLayout::write(std::span<Value> values, std::span<const Value> in) const {
  for (std::size_t p = 0; p < size(); ++p) values[p] = in[order_[p]];
}

double HerdedLayout::score(std::span<const Value> values) const {
  std::vector<Value> by_variable(size());
  read(values, by_variable);
  return log_score(*graph_, by_variable);
}

}  // namespace drover
