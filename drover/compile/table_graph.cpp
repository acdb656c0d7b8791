#include "drover/compile/table_graph.hpp"

#include <algorithm>
#include <cassert>
#include <numbers>
#include <numeric>

namespace drover {

float log2_of(double natural) {
  return static_cast<float>(natural * std::numbers::log2e);
}

namespace {

/// Collects float copies of the tables, one per table, shape and axis.
class TableCopies {
 public:
  TableCopies(const Tables& tables, OwnAxis own_axis)
      : tables_(tables), own_axis_(own_axis), copies_of_(tables.table_count()) {}

  /// Where the copy with `axis` moved begins.
  std::size_t base(std::uint32_t table, std::span<const std::uint32_t> shape, std::uint32_t axis) {
    for (const Copy& copy : copies_of_[table])
      if (copy.axis == axis && std::equal(shape.begin(), shape.end(), copy.shape.begin(), copy.shape.end()))
        return copy.base;
    copies_of_[table].push_back({{shape.begin(), shape.end()}, axis, entries.size()});
    append(tables_.table(table), shape, axis);
    return copies_of_[table].back().base;
  }

  AlignedFloats entries;

 private:
  struct Copy {
    std::vector<std::uint32_t> shape;
    std::uint32_t axis;
    std::size_t base;
  };

  void append(std::span<const double> values, std::span<const std::uint32_t> shape, std::uint32_t axis) {
    // The table as [before][own][after]; the axis moves to the front or to the end.
    std::size_t before = 1, after = 1;
    for (std::uint32_t a = 0; a < axis; ++a) before *= shape[a];
    for (std::size_t a = axis + 1; a < shape.size(); ++a) after *= shape[a];
    const std::size_t own = shape[axis];
    const std::size_t begin = entries.size();
    entries.resize(begin + values.size());
    float* out = entries.data() + begin;
    for (std::size_t b = 0; b < before; ++b)
      for (std::size_t k = 0; k < own; ++k)
        for (std::size_t a = 0; a < after; ++a) {
          const std::size_t rest = b * after + a;
          const std::size_t place =
              own_axis_ == OwnAxis::slowest ? k * before * after + rest : rest * own + k;
          out[place] = log2_of(values[(b * own + k) * after + a]);
        }
  }

  const Tables& tables_;
  OwnAxis own_axis_;
  std::vector<std::vector<Copy>> copies_of_;
};

/// A place in the scope of a table factor.
struct Incidence {
  std::uint32_t factor;
  std::uint32_t axis;
};

/// The places that each variable takes in table factors: list[offsets[v] .. offsets[v+1]).
struct Incidences {
  std::vector<std::size_t> offsets;
  std::vector<Incidence> list;
};

Incidences table_incidences(const Graph& graph) {
  const Tables& tables = graph.tables;
  Incidences result;
  result.offsets.assign(graph.size() + 1, 0);
  for (VariableId v : tables.scopes) ++result.offsets[v + 1];
  std::partial_sum(result.offsets.begin(), result.offsets.end(), result.offsets.begin());
  result.list.resize(tables.scopes.size());
  std::vector<std::size_t> cursor = result.offsets;
  for (std::uint32_t f = 0; f < tables.size(); ++f) {
    std::uint32_t axis = 0;
    for (VariableId v : tables.scope(f)) result.list[cursor[v]++] = {f, axis++};
  }
  return result;
}

/// The links and the entries they read lie in the order in which a sweep visits the variables, so that memory
/// is read forwards.
void add_table_links(const Graph& graph, OwnAxis own_axis, std::span<const VariableId> order,
                     const std::vector<VariableId>& position, TableGraph& result) {
  const Tables& tables = graph.tables;
  const Incidences incidences = table_incidences(graph);
  std::vector<std::size_t> uses(tables.table_count(), 0);
  for (std::uint32_t table : tables.table_of) ++uses[table];
  TableCopies copies(tables, own_axis);
  std::vector<std::uint32_t> shape, strides;
  result.link_offsets.push_back(0);
  for (VariableId v : order) {
    for (std::size_t i = incidences.offsets[v]; i < incidences.offsets[v + 1]; ++i) {
      const auto [factor, axis] = incidences.list[i];
      const auto scope = tables.scope(factor);
      const auto arity = static_cast<std::uint32_t>(scope.size());
      const auto size = static_cast<std::uint32_t>(tables.values(factor).size());
      shape.clear();
      for (VariableId u : scope) shape.push_back(graph.cardinalities[u]);
      // Strides of the layout that is stored: the own axis moved to its place, or, for a large table, the
      // original one.
      const std::uint32_t unmoved_axis = own_axis == OwnAxis::slowest ? 0 : arity - 1;
      const bool is_copied = size <= largest_copied_table * uses[tables.table_of[factor]];
      const std::uint32_t stored_axis = is_copied ? axis : unmoved_axis;
      strides.assign(arity, 1);
      std::uint32_t rest = own_axis == OwnAxis::slowest ? 1 : shape[stored_axis];
      for (std::uint32_t a = arity; a-- > 0;) {
        if (a == stored_axis) continue;
        strides[a] = rest;
        rest *= shape[a];
      }
      if (own_axis == OwnAxis::slowest) strides[stored_axis] = rest;

      TableLink link;
      link.base = copies.base(tables.table_of[factor], shape, stored_axis);
      link.own_stride = strides[axis];
      link.configurations = axis == stored_axis ? size / shape[axis] : 0;
      link.others_begin = static_cast<std::uint32_t>(result.others.size());
      for (std::uint32_t a = 0; a < arity; ++a)
        if (a != axis) result.others.push_back({position[scope[a]], strides[a]});
      link.others_end = static_cast<std::uint32_t>(result.others.size());
      result.links.push_back(link);
    }
    result.link_offsets.push_back(result.links.size());
  }
  assert(result.others.size() < std::size_t{1} << 32);
  result.entries = std::move(copies.entries);
  result.entries.resize(result.entries.size() + entry_padding, 0.0F);
}

void add_potts_links(const Graph& graph, const std::vector<VariableId>& position, TableGraph& result) {
  const std::size_t n = graph.size();
  const auto for_each_pair = [&](auto&& visit) {
    for (std::size_t f = 0; f < graph.spin_pairs.size(); ++f)
      visit(position[graph.spin_pairs.first[f]], position[graph.spin_pairs.second[f]],
            log2_of(2 * graph.spin_pairs.couplings[f]));
    for (std::size_t f = 0; f < graph.potts_pairs.size(); ++f)
      visit(position[graph.potts_pairs.first[f]], position[graph.potts_pairs.second[f]],
            log2_of(graph.potts_pairs.couplings[f]));
  };
  result.potts_offsets.assign(n + 1, 0);
  for_each_pair([&](VariableId i, VariableId j, float) {
    ++result.potts_offsets[i + 1];
    ++result.potts_offsets[j + 1];
  });
  std::partial_sum(result.potts_offsets.begin(), result.potts_offsets.end(), result.potts_offsets.begin());
  result.potts.resize(result.potts_offsets[n]);
  std::vector<std::size_t> cursor = result.potts_offsets;
  for_each_pair([&](VariableId i, VariableId j, float coupling) {
    result.potts[cursor[i]++] = {j, coupling};
    result.potts[cursor[j]++] = {i, coupling};
  });
}

}  // namespace

TableGraph make_table_graph(const Graph& graph, OwnAxis own_axis, std::span<const VariableId> order,
                            WithUnary with_unary) {
  assert(order.size() == graph.size());
  TableGraph result;
  std::vector<VariableId> position(graph.size());
  result.unary_offsets.push_back(0);
  if (with_unary == WithUnary::yes) result.unary.reserve(graph.unary.size());
  for (std::size_t p = 0; p < order.size(); ++p) {
    position[order[p]] = static_cast<VariableId>(p);
    result.cardinalities.push_back(graph.cardinalities[order[p]]);
    result.unary_offsets.push_back(result.unary_offsets.back() + graph.cardinalities[order[p]]);
    if (with_unary == WithUnary::no) continue;
    for (double value : graph.unary_of(order[p])) result.unary.push_back(log2_of(value));
  }
  add_potts_links(graph, position, result);
  add_table_links(graph, own_axis, order, position, result);
  return result;
}

std::vector<VariableId> natural_order(const Graph& graph) {
  std::vector<VariableId> order(graph.size());
  std::iota(order.begin(), order.end(), VariableId{0});
  return order;
}

std::vector<std::size_t> conditional_offsets(const Graph& graph) {
  std::vector<std::size_t> offsets{0};
  for (std::uint32_t states : graph.cardinalities)
    offsets.push_back(offsets.back() + (states == 2 ? 1 : states));
  return offsets;
}

bool has_table_zeros(const Graph& graph) {
  return std::any_of(graph.tables.log_values.begin(), graph.tables.log_values.end(),
                     [](double value) { return value == log_zero; });
}

}  // namespace drover
