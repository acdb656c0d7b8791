#include "drover/infer/factor_messages.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "drover/infer/gate_messages.hpp"
#include "drover/infer/vector_exp.hpp"

namespace drover {

namespace {

template <class S>
void spin_pair_messages(double coupling, const double* in, double* out) {
  const double *first = in, *second = in + 2;
  out[0] = S::add(second[0] + coupling, second[1] - coupling);
  out[1] = S::add(second[0] - coupling, second[1] + coupling);
  out[2] = S::add(first[0] + coupling, first[1] - coupling);
  out[3] = S::add(first[0] - coupling, first[1] + coupling);
}

// out(k) = (in(k) + coupling) + in of all others.
template <class S>
void potts_message(double coupling, std::size_t states, const double* in, double* out) {
  double before = log_zero;
  for (std::size_t k = 0; k < states; ++k) {
    out[k] = S::add(in[k] + coupling, before);
    before = S::add(before, in[k]);
  }
  double after = log_zero;
  for (std::size_t k = states; k-- > 0;) {
    out[k] = S::add(out[k], after);
    after = S::add(after, in[k]);
  }
}

// result(a) = reduce over b = a - length + 1 .. a of in(b) - slope (a - b). In blocks of that length, a
// window is a suffix of one block and a prefix of the next. `at` maps places to states, so that it also runs
// downwards.
template <class S, class At>
void add_decaying_windows(std::size_t length, double slope, std::size_t states, const double* in, At at,
                          double* scratch, double* result) {
  double* const prefix = scratch;           // decayed to the place itself
  double* const suffix = scratch + states;  // decayed to the last place of the block
  for (std::size_t a = 0; a < states; ++a)
    prefix[a] = a % length == 0 ? in[at(a)] : S::add(prefix[a - 1] - slope, in[at(a)]);
  for (std::size_t a = states; a-- > 0;) {
    const std::size_t last = a - a % length + length - 1;
    const double own = in[at(a)] - slope * static_cast<double>(last - a);
    suffix[a] = a == last || a + 1 == states ? own : S::add(suffix[a + 1], own);
  }
  for (std::size_t a = 0; a < states; ++a) {
    const std::size_t begin = a + 1 > length ? a + 1 - length : 0;
    const std::size_t block = a - a % length;
    result[a] = prefix[a];
    if (begin < block)
      result[a] = S::add(result[a], suffix[begin] - slope * static_cast<double>(a - (block - 1)));
  }
}

// Less than `reach` away the cost is linear, from there on it is the limit.
template <class S>
void truncated_linear_message(const TruncatedLinear& shape, double scale, std::size_t states,
                              const double* in, double* out, std::vector<double>& scratch) {
  const double slope = scale * shape.slope, limit = scale * shape.limit, constant = scale * shape.constant;
  const double ratio = std::ceil(shape.limit / shape.slope);
  const std::size_t reach =
      ratio >= static_cast<double>(states) ? states : static_cast<std::size_t>(std::max(1.0, ratio));
  scratch.resize(3 * states);
  double* const window = scratch.data() + 2 * states;
  add_decaying_windows<S>(
      reach, slope, states, in, [](std::size_t a) { return a; }, scratch.data(), window);
  std::copy(window, window + states, out);
  if (reach > 1) {
    add_decaying_windows<S>(
        reach - 1, slope, states, in, [&](std::size_t a) { return states - 1 - a; }, scratch.data(), window);
    for (std::size_t a = 0; a + 1 < states; ++a) out[a] = S::add(out[a], window[states - 2 - a] - slope);
  }
  double below = log_zero, above = log_zero;
  for (std::size_t a = reach; a < states; ++a) {
    below = S::add(below, in[a - reach]);
    out[a] = S::add(out[a], below - limit);
  }
  for (std::size_t a = states - reach; a-- > 0;) {
    above = S::add(above, in[a + reach]);
    out[a] = S::add(out[a], above - limit);
  }
  for (std::size_t a = 0; a < states; ++a) out[a] += constant;
}

// Calls visit(s, k, t) for every entry and slot: t = scale * theta + sum of in over the other slots.
template <class Visit>
void for_each_term(const FactorGraph& graph, std::size_t factor, double scale, const double* in,
                   FactorScratch& scratch, Visit visit) {
  const Tables& tables = graph.graph->tables;
  const auto scope = graph.scope(factor);
  const auto table = tables.values(graph.index[factor]);
  const std::size_t arity = scope.size();
  // Per slot: the state, where its messages begin, the sum of the slots before it.
  scratch.values.assign(arity + 1, 0.0);
  scratch.states.assign(arity, 0);
  scratch.begins.resize(arity);
  std::uint32_t* const state = scratch.states.data();
  std::size_t* const begin = scratch.begins.data();
  for (std::size_t s = 0, at = 0; s < arity; ++s) {
    begin[s] = at;
    at += graph.graph->cardinalities[scope[s]];
  }
  double* const left = scratch.values.data();
  std::size_t changed = 0;  // the first slot whose state differs from the entry before
  for (double entry : table) {
    for (std::size_t s = changed; s < arity; ++s) left[s + 1] = left[s] + in[begin[s] + state[s]];
    if (entry != log_zero) {
      double right = scale * entry;
      for (std::size_t s = arity; s-- > 0;) {
        visit(begin[s] + state[s], left[s] + right);
        right += in[begin[s] + state[s]];
      }
    }
    for (changed = arity; changed-- > 0;) {
      if (++state[changed] < graph.graph->cardinalities[scope[changed]]) break;
      state[changed] = 0;
    }
  }
}

template <class S>
void table_messages(const FactorGraph& graph, std::size_t factor, double scale, const double* in, double* out,
                    std::size_t entries, FactorScratch& scratch) {
  std::fill(out, out + entries, log_zero);
  for_each_term(graph, factor, scale, in, scratch,
                [&](std::size_t at, double t) { out[at] = std::max(out[at], t); });
  if constexpr (std::is_same_v<S, SumOfExp>) {
    scratch.sums.assign(entries, 0.0);
    for_each_term(graph, factor, scale, in, scratch, [&](std::size_t at, double t) {
      if (t != log_zero) scratch.sums[at] += std::exp(t - out[at]);
    });
    for (std::size_t k = 0; k < entries; ++k)
      if (out[k] != log_zero) out[k] += std::log(scratch.sums[k]);
  }
}

// Sums of plain numbers, which are far faster than sums of logs, are taken where they are surely large
// enough: what was too small for a number is then less than 1e-50 of a sum.
constexpr double smallest_sum = 1e-250;

// Writes exp(in - the largest) to p; returns the largest, minus infinity when there is none.
double numbers_of(std::size_t states, const double* in, double* p) {
  const double high = *std::max_element(in, in + states);
  if (high == log_zero) return high;
  for (std::size_t k = 0; k < states; ++k) p[k] = in[k] - high;
  exp_all(p, states, p);
  return high;
}

// out = log out + shift; false when one is too small.
bool logs_of(std::size_t states, double shift, double* out) {
  if (*std::min_element(out, out + states) < smallest_sum) return false;
  log_all(out, states, out);
  for (std::size_t k = 0; k < states; ++k) out[k] += shift;
  return true;
}

// The sum-product message of a Potts pair: the other states by sums from either side.
bool potts_message_by_numbers(double coupling, std::size_t states, const double* in, double* out,
                              std::vector<double>& scratch) {
  scratch.resize(std::max(scratch.size(), states));
  double* const p = scratch.data();
  const double high = numbers_of(states, in, p);
  if (high == log_zero) return false;
  const double shift = std::max(0.0, coupling);
  const double same = std::exp(coupling - shift), different = std::exp(-shift);
  double after = 0, before = 0;
  for (std::size_t k = states; k-- > 0;) {
    out[k] = after;
    after += p[k];
  }
  for (std::size_t k = 0; k < states; ++k) {
    out[k] = same * p[k] + different * (before + out[k]);
    before += p[k];
  }
  return logs_of(states, high + shift, out);
}

// The sum-product messages of a table of two variables.
bool pair_table_by_numbers(std::span<const double> table, std::size_t rows, std::size_t columns, double scale,
                           const double* in, double* out, std::vector<double>& scratch) {
  scratch.resize(std::max(scratch.size(), table.size() + rows + columns));
  double* const p = scratch.data();
  double* const entries = p + rows + columns;
  const double high_row = numbers_of(rows, in, p), high_column = numbers_of(columns, in + rows, p + rows);
  if (high_row == log_zero || high_column == log_zero) return false;
  const double most = *std::max_element(table.begin(), table.end());
  for (std::size_t e = 0; e < table.size(); ++e) entries[e] = scale * (table[e] - most);
  exp_all(entries, table.size(), entries);
  double* const to_columns = out + rows;
  std::fill(to_columns, to_columns + columns, 0.0);
  for (std::size_t a = 0; a < rows; ++a) {
    const double* const row = entries + a * columns;
    double sum = 0;
    for (std::size_t b = 0; b < columns; ++b) {
      sum += row[b] * p[rows + b];
      to_columns[b] += row[b] * p[a];
    }
    out[a] = sum;
  }
  return logs_of(rows, scale * most + high_column, out) &&
         logs_of(columns, scale * most + high_row, to_columns);
}

template <class S>
void messages_of(const FactorGraph& graph, std::size_t factor, double scale, const double* in, double* out,
                 FactorScratch& scratch) {
  const std::uint32_t index = graph.index[factor];
  const std::size_t first_edge = graph.edge_offsets[factor], last_edge = graph.edge_offsets[factor + 1];
  const std::size_t entries = graph.message_offsets[last_edge] - graph.message_offsets[first_edge];
  switch (graph.kind[factor]) {
    case FactorKind::spin_pair:
      return spin_pair_messages<S>(scale * graph.graph->spin_pairs.couplings[index], in, out);
    case FactorKind::potts_pair: {
      const double coupling = scale * graph.graph->potts_pairs.couplings[index];
      const std::size_t states = entries / 2;
      for (const std::size_t to : {std::size_t{0}, states}) {
        const double* const from = in + (states - to);
        if (!std::is_same_v<S, SumOfExp> ||
            !potts_message_by_numbers(coupling, states, from, out + to, scratch.values))
          potts_message<S>(coupling, states, from, out + to);
      }
      return;
    }
    case FactorKind::truncated_linear: {
      const TruncatedLinear& shape = graph.truncated_linear[index];
      const std::size_t states = entries / 2;
      truncated_linear_message<S>(shape, scale, states, in + states, out, scratch.values);
      return truncated_linear_message<S>(shape, scale, states, in, out + states, scratch.values);
    }
    case FactorKind::gate:
      return gate_messages(std::is_same_v<S, SumOfExp> ? Semiring::sum : Semiring::maximum,
                           graph.graph->gates, index, scale, in, out, scratch);
    case FactorKind::table: {
      const auto scope = graph.scope(factor);
      if (std::is_same_v<S, SumOfExp> && scope.size() == 2 &&
          pair_table_by_numbers(graph.graph->tables.values(index), graph.graph->cardinalities[scope[0]],
                                graph.graph->cardinalities[scope[1]], scale, in, out, scratch.values))
        return;
      return table_messages<S>(graph, factor, scale, in, out, entries, scratch);
    }
  }
}

}  // namespace

void factor_messages(Semiring semiring, const FactorGraph& graph, std::size_t factor, double scale,
                     const double* in, double* out, FactorScratch& scratch) {
  if (semiring == Semiring::sum)
    messages_of<SumOfExp>(graph, factor, scale, in, out, scratch);
  else
    messages_of<Maximum>(graph, factor, scale, in, out, scratch);
}

}  // namespace drover
