#include "drover/infer/soft_consistency.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

namespace drover {

void RankedSet::add(std::uint32_t rank) {
  const std::size_t word = rank / 64;
  const std::uint64_t bit = std::uint64_t{1} << (rank % 64);
  if ((words_[word] & bit) != 0) return;
  words_[word] |= bit;
  low_ = count_ == 0 ? word : std::min(low_, word);
  high_ = count_ == 0 ? word : std::max(high_, word);
  ++count_;
}

std::uint32_t RankedSet::take_least() {
  while (words_[low_] == 0) ++low_;
  const int bit = std::countr_zero(words_[low_]);
  words_[low_] &= words_[low_] - 1;
  --count_;
  return static_cast<std::uint32_t>(low_ * 64) + static_cast<std::uint32_t>(bit);
}

std::uint32_t RankedSet::take_largest() {
  while (words_[high_] == 0) --high_;
  const int bit = 63 - std::countl_zero(words_[high_]);
  words_[high_] &= ~(std::uint64_t{1} << bit);
  --count_;
  return static_cast<std::uint32_t>(high_ * 64) + static_cast<std::uint32_t>(bit);
}

void RankedSet::clear() {
  if (count_ > 0) std::fill(words_.begin(), words_.end(), 0);
  count_ = 0;
}

SoftConsistency::SoftConsistency(const CostNetwork& network, std::span<const VariableId> order)
    : network_(network),
      rank_(network.size()),
      by_rank_(order.begin(), order.end()),
      deltas_(network.unary.size()),
      arena_(network.unary.size() + network.delta_offsets.back(), 0.0),
      stamp_(network.size() + network.edge_count(), 0),
      values_(network.unary.size()),
      where_(network.unary.size()),
      count_(network.cardinalities),
      open_(network.size()),
      open_where_(network.size()),
      open_size_(network.size()),
      free_(network.factor_count()),
      done_(network.factor_count(), 0),
      support_value_(network.size(), 0),
      hint_(network.delta_offsets.back(), 0),
      weight_(network.factor_count(), 1.0),
      changed_(network.size()),
      directional_(network.size()),
      existential_(network.size()),
      fruitless_(network.size(), 0),
      is_raised_(network.size(), 0) {
  assert(order.size() == network.size());
  std::uint32_t most = 1, arity = 1;
  for (std::uint32_t r = 0; r < order.size(); ++r) rank_[order[r]] = r;
  std::copy(network.unary.begin(), network.unary.end(), arena_.begin());
  for (VariableId v = 0; v < network.size(); ++v) {
    most = std::max(most, network.cardinalities[v]);
    open_[v] = open_where_[v] = v;
    for (std::uint32_t k = 0; k < network.cardinalities[v]; ++k) {
      values_[network.value_offsets[v] + k] = static_cast<Value>(k);
      where_[network.value_offsets[v] + k] = k;
    }
  }
  for (std::size_t f = 0; f < network.factor_count(); ++f) {
    free_[f] = static_cast<std::uint32_t>(network.scope(f).size());
    arity = std::max(arity, free_[f]);
  }
  least_.resize(most);
  other_.resize(most);
  total_.resize(most);
  digits_.resize(arity);
  // Values that are impossible from the start.
  for (VariableId v = 0; v < network.size(); ++v)
    for (std::uint32_t k = 0; k < network.cardinalities[v]; ++k)
      if (network.unary[network.value_offsets[v] + k] == infinite_cost) {
        arena_[network.value_offsets[v] + k] = 0;
        drop(v, static_cast<Value>(k));
      }
  removals_.clear();
  touch_all();
}

void SoftConsistency::touch_all() {
  checked_lower_ = -1;
  for (VariableId v = 0; v < network_.size(); ++v) {
    changed_.add(rank_[v]);
    raised(v);
  }
}

void SoftConsistency::push() {
  marks_.push_back({lower_, saved_blocks_.size(), saved_.size(), removals_.size(), done_list_.size(),
                    open_size_, next_stamp_});
  ++next_stamp_;
}

void SoftConsistency::pop() {
  const Mark& mark = marks_.back();
  lower_ = mark.lower;
  std::size_t at = saved_.size();
  while (saved_blocks_.size() > mark.blocks) {
    const auto [block, count] = saved_blocks_.back();
    const std::size_t begin =
        block < network_.size() ? network_.value_offsets[block] : delta_begin(block - network_.size());
    at -= count;
    std::copy_n(saved_.begin() + static_cast<std::ptrdiff_t>(at), count,
                arena_.begin() + static_cast<std::ptrdiff_t>(begin));
    saved_blocks_.pop_back();
  }
  saved_.resize(mark.saved);
  while (removals_.size() > mark.removals) {
    ++count_[removals_.back()];
    removals_.pop_back();
  }
  for (std::size_t p = open_size_; p < mark.open; ++p)
    for (std::uint32_t e : network_.edges_of(open_[p])) ++free_[network_.factor[e]];
  open_size_ = mark.open;
  while (done_list_.size() > mark.done) {
    done_[done_list_.back()] = 0;
    done_list_.pop_back();
  }
  marks_.pop_back();
  ++next_stamp_;  // blocks saved under a deeper stamp are to be saved again
  checked_lower_ = -1;
}

void SoftConsistency::save(std::size_t block, std::size_t begin, std::size_t count) {
  if (marks_.empty() || stamp_[block] == next_stamp_) return;
  stamp_[block] = next_stamp_;
  saved_blocks_.emplace_back(static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(count));
  saved_.insert(saved_.end(), arena_.begin() + static_cast<std::ptrdiff_t>(begin),
                arena_.begin() + static_cast<std::ptrdiff_t>(begin + count));
}

bool SoftConsistency::fail(std::size_t factor) {
  if (factor < weight_.size()) weight_[factor] += 1;
  changed_.clear();
  directional_.clear();
  existential_.clear();
  for (VariableId v : raised_) is_raised_[v] = 0;
  raised_.clear();
  return false;
}

// Takes a value away; false when it was the last.
bool SoftConsistency::drop(VariableId v, Value k) {
  const std::size_t begin = network_.value_offsets[v];
  const std::uint32_t at = where_[begin + k];
  if (at >= count_[v]) return true;
  const std::uint32_t last = count_[v] - 1;
  const Value other = values_[begin + last];
  values_[begin + at] = other;
  where_[begin + other] = at;
  values_[begin + last] = k;
  where_[begin + k] = last;
  count_[v] = last;
  removals_.push_back(v);
  changed_.add(rank_[v]);
  if (last == 1) {
    const std::uint32_t place = open_where_[v];
    const VariableId moved = open_[open_size_ - 1];
    open_[place] = moved;
    open_where_[moved] = place;
    open_[open_size_ - 1] = v;
    open_where_[v] = static_cast<std::uint32_t>(open_size_ - 1);
    --open_size_;
    for (std::uint32_t e : network_.edges_of(v)) --free_[network_.factor[e]];
  }
  return last > 0;
}

void SoftConsistency::remove(VariableId v, Value k) {
  drop(v, k);
}

void SoftConsistency::assign(VariableId v, Value k) {
  while (count_[v] > 1) {
    const Value last = values_[network_.value_offsets[v] + count_[v] - 1];
    drop(v, last == k ? values_[network_.value_offsets[v]] : last);
  }
}

void SoftConsistency::raised(VariableId v) {
  directional_.add(rank_[v]);
  if (is_raised_[v] != 0) return;
  is_raised_[v] = 1;
  raised_.push_back(v);
}

// visit(residual cost); digits_ holds the values of the tuple by position in the scope.
template <class Visit>
void SoftConsistency::for_each_tuple(std::size_t factor, Visit&& visit) {
  const std::size_t begin = network_.scope_offsets[factor];
  const std::size_t arity = network_.scope_offsets[factor + 1] - begin;
  const double* const table = network_.tables.data() + network_.table_offsets[factor];
  const auto level = [&](auto&& self, std::size_t a, const double* at, double moved) -> void {
    const VariableId v = network_.variable[begin + a];
    const double* const delta = arena_.data() + delta_begin(begin + a);
    const Value* const live = values_.data() + network_.value_offsets[v];
    const std::size_t stride = network_.stride[begin + a];
    for (std::uint32_t p = 0; p < count_[v]; ++p) {
      const Value k = live[p];
      digits_[a] = k;
      if (a + 1 == arity) {
        visit(at[k] - moved - delta[k]);
      } else {
        self(self, a + 1, at + stride * k, moved + delta[k]);
      }
    }
    if (a + 1 == arity) work_ += count_[v];
  };
  level(level, 0, table, 0.0);
}

void SoftConsistency::min_marginals(std::size_t edge, std::span<double> least) {
  const std::size_t f = network_.factor[edge];
  const std::size_t position = edge - network_.scope_offsets[f];
  for (Value k : live(network_.variable[edge])) least[k] = infinite_cost;
  if (network_.scope(f).size() == 2) {
    const std::size_t other = network_.scope_offsets[f] + 1 - position;
    const VariableId v = network_.variable[edge], w = network_.variable[other];
    const double* const table = network_.tables.data() + network_.table_offsets[f];
    const double* const delta = arena_.data() + delta_begin(edge);
    const double* const delta_other = arena_.data() + delta_begin(other);
    const std::size_t stride = network_.stride[edge], stride_other = network_.stride[other];
    for (Value k : live(v)) {
      const double* const row = table + stride * k;
      double most = infinite_cost;
      for (Value b : live(w)) most = std::min(most, row[stride_other * b] - delta_other[b]);
      least[k] = most - delta[k];
    }
    work_ += std::uint64_t{count_[v]} * count_[w];
    return;
  }
  // for_each_tuple() with the entry of `least` known before the innermost loop: where bounds are made, all
  // time goes here.
  const std::size_t begin = network_.scope_offsets[f], last = network_.scope_offsets[f + 1] - 1;
  const VariableId inner = network_.variable[last];
  const double* const inner_delta = arena_.data() + delta_begin(last);
  const std::span<const Value> inner_live = live(inner);
  const auto innermost = [&](const double* at, double moved, double* entry) {
    if (last == edge) {
      for (Value k : inner_live) least[k] = std::min(least[k], at[k] - moved - inner_delta[k]);
    } else {
      double most = infinite_cost;
      for (Value k : inner_live) most = std::min(most, at[k] - inner_delta[k]);
      *entry = std::min(*entry, most - moved);
    }
    work_ += inner_live.size();
  };
  const auto level = [&](auto&& self, std::size_t e, const double* at, double moved, double* entry) -> void {
    const double* const delta = arena_.data() + delta_begin(e);
    const std::size_t stride = network_.stride[e];
    for (Value k : live(network_.variable[e])) {
      double* const own = e == edge ? &least[k] : entry;
      if (e + 1 == last)
        innermost(at + stride * k, moved + delta[k], own);
      else
        self(self, e + 1, at + stride * k, moved + delta[k], own);
    }
  };
  const double* const table = network_.tables.data() + network_.table_offsets[f];
  if (begin == last)
    innermost(table, 0.0, nullptr);
  else
    level(level, begin, table, 0.0, nullptr);
}

void SoftConsistency::move(std::size_t edge, std::span<const double> amount) {
  const VariableId v = network_.variable[edge];
  save_unary(v);
  save_delta(edge);
  double* const unary = arena_.data() + network_.value_offsets[v];
  double* const delta = arena_.data() + delta_begin(edge);
  for (Value k : live(v)) {
    unary[k] += amount[k];
    delta[k] += amount[k];
  }
}

double SoftConsistency::bound() {
  double total = lower_;
  for (VariableId v = 0; v < network_.size(); ++v) {
    double least = infinite_cost;
    for (Value k : live(v)) least = std::min(least, unary(v, k));
    total += least;
  }
  for (std::size_t f = 0; f < network_.factor_count(); ++f) {
    if (done_[f] != 0) continue;
    double least = infinite_cost;
    for_each_tuple(f, [&](double cost) { least = std::min(least, cost); });
    total += least;
  }
  return total;
}

void SoftConsistency::settle() {
  assert(marks_.empty());
  for (VariableId v = 0; v < network_.size(); ++v)
    for (Value k : live(v))
      arena_[network_.value_offsets[v] + k] = network_.unary[network_.value_offsets[v] + k];
  lower_ = 0;
  for (std::size_t e = 0; e < network_.edge_count(); ++e) {
    const VariableId v = network_.variable[e];
    double* const delta = arena_.data() + delta_begin(e);
    for (Value k : live(v)) {
      delta[k] = std::round(delta[k]);
      arena_[network_.value_offsets[v] + k] += delta[k];
    }
  }
  std::fill(done_.begin(), done_.end(), 0);
  done_list_.clear();
  for (std::size_t f = 0; f < network_.factor_count(); ++f) {
    double least = infinite_cost;
    for_each_tuple(f, [&](double cost) { least = std::min(least, cost); });
    if (least == infinite_cost || least == 0) continue;
    lower_ += least;
    const std::size_t e = network_.scope_offsets[f];
    for (Value k : live(network_.variable[e])) arena_[delta_begin(e) + k] += least;
  }
  for (VariableId v = 0; v < network_.size(); ++v) {
    double least = infinite_cost;
    for (Value k : live(v)) least = std::min(least, unary(v, k));
    lower_ += least;
    for (Value k : live(v)) arena_[network_.value_offsets[v] + k] -= least;
  }
  touch_all();
}

// Moves least_ (at least 0 at every live value) from the factor to the variable; infinite ones go.
bool SoftConsistency::apply_projection(std::size_t edge) {
  const VariableId v = network_.variable[edge];
  bool moves = false, kills = false;
  for (Value k : live(v)) {
    moves |= least_[k] > 0;
    kills |= least_[k] == infinite_cost;
  }
  if (!moves) return true;
  if (kills) {
    for (std::uint32_t p = count_[v]; p-- > 0;) {
      const Value k = values_[network_.value_offsets[v] + p];
      if (least_[k] == infinite_cost && !drop(v, k)) return fail(network_.factor[edge]);
    }
  }
  save_unary(v);
  save_delta(edge);
  double* const unary = arena_.data() + network_.value_offsets[v];
  double* const delta = arena_.data() + delta_begin(edge);
  bool from_zero = false;
  for (Value k : live(v)) {
    if (least_[k] == 0) continue;
    from_zero |= unary[k] == 0;
    unary[k] += least_[k];
    delta[k] += least_[k];
  }
  if (from_zero) {
    raised(v);
    blamed_ = network_.factor[edge];
    return node_consistency(v);
  }
  return true;
}

bool SoftConsistency::project(std::size_t edge) {
  const std::size_t f = network_.factor[edge];
  const VariableId v = network_.variable[edge];
  if (network_.scope(f).size() != 2) {
    min_marginals(edge, least_);
    return apply_projection(edge);
  }
  const std::size_t other = 2 * network_.scope_offsets[f] + 1 - edge;
  const VariableId w = network_.variable[other];
  const double* const table = network_.tables.data() + network_.table_offsets[f];
  const double* const delta = arena_.data() + delta_begin(edge);
  const double* const delta_other = arena_.data() + delta_begin(other);
  const std::size_t stride = network_.stride[edge], stride_other = network_.stride[other];
  Value* const hint = hint_.data() + network_.delta_offsets[edge];
  bool moves = false;
  for (Value k : live(v)) {
    const double* const row = table + stride * k;
    const Value h = hint[k];
    if (is_live(w, h) && row[stride_other * h] - delta_other[h] - delta[k] == 0) {
      least_[k] = 0;
      continue;
    }
    double least = infinite_cost;
    for (Value b : live(w)) {
      const double cost = row[stride_other * b] - delta_other[b];
      if (cost < least) {
        least = cost;
        hint[k] = b;
      }
    }
    work_ += count_[w];
    least_[k] = least - delta[k];
    moves |= least_[k] > 0;
  }
  return !moves || apply_projection(edge);
}

// least[k]: of the tuples with k, each with the unary costs of the other variables.
void SoftConsistency::least_with_unaries(std::size_t edge, double* least) {
  const std::size_t f = network_.factor[edge];
  const VariableId v = network_.variable[edge];
  const auto scope = network_.scope(f);
  if (scope.size() == 2) {
    const std::size_t other = 2 * network_.scope_offsets[f] + 1 - edge;
    const VariableId w = network_.variable[other];
    const double* const table = network_.tables.data() + network_.table_offsets[f];
    const double* const delta = arena_.data() + delta_begin(edge);
    const double* const delta_other = arena_.data() + delta_begin(other);
    const double* const unary_other = arena_.data() + network_.value_offsets[w];
    const std::size_t stride = network_.stride[edge], stride_other = network_.stride[other];
    Value* const hint = hint_.data() + network_.delta_offsets[edge];
    for (Value k : live(v)) {
      const double* const row = table + stride * k;
      const Value h = hint[k];
      if (is_live(w, h) && unary_other[h] == 0 && row[stride_other * h] - delta_other[h] - delta[k] == 0) {
        least[k] = 0;
        continue;
      }
      double cheapest = infinite_cost;
      for (Value b : live(w)) {
        const double cost = row[stride_other * b] - delta_other[b] + unary_other[b];
        if (cost < cheapest) {
          cheapest = cost;
          hint[k] = b;
        }
      }
      work_ += count_[w];
      least[k] = cheapest - delta[k];
    }
    return;
  }
  const std::size_t position = edge - network_.scope_offsets[f];
  for (Value k : live(v)) least[k] = infinite_cost;
  for_each_tuple(f, [&](double cost) {
    for (std::size_t a = 0; a < scope.size(); ++a)
      if (a != position) cost += unary(scope[a], static_cast<Value>(digits_[a]));
    double& entry = least[digits_[position]];
    entry = std::min(entry, cost);
  });
}

bool SoftConsistency::has_full_support(std::size_t edge, Value k) {
  const std::size_t f = network_.factor[edge];
  if (network_.scope(f).size() != 2) {
    least_with_unaries(edge, least_.data());
    return least_[k] == 0;
  }
  const std::size_t other = 2 * network_.scope_offsets[f] + 1 - edge;
  const VariableId w = network_.variable[other];
  const double* const row = network_.tables.data() + network_.table_offsets[f] + network_.stride[edge] * k;
  const double* const delta_other = arena_.data() + delta_begin(other);
  const std::size_t stride = network_.stride[other];
  const double own = arena_[delta_begin(edge) + k];
  Value& hint = hint_[network_.delta_offsets[edge] + k];
  const auto supports = [&](Value b) {
    return unary(w, b) == 0 && row[stride * b] - delta_other[b] - own == 0;
  };
  if (is_live(w, hint) && supports(hint)) return true;
  work_ += count_[w];
  for (Value b : live(w)) {
    if (!supports(b)) continue;
    hint = b;
    return true;
  }
  return false;
}

// Takes from the other variables what the tuples of `edge` lack, and gives it to the edge's variable.
bool SoftConsistency::full_support(std::size_t edge) {
  const std::size_t f = network_.factor[edge];
  const auto scope = network_.scope(f);
  const std::size_t begin = network_.scope_offsets[f];
  const std::size_t position = edge - begin;
  const VariableId v = network_.variable[edge];
  least_with_unaries(edge, least_.data());
  bool moves = false;
  for (Value k : live(v)) moves |= least_[k] > 0;
  if (!moves) return true;
  for (std::size_t a = 0; a < scope.size(); ++a) {
    if (a == position) continue;
    const VariableId w = scope[a];
    bool pays = false;
    for (Value b : live(w)) {
      other_[b] = 0;
      pays |= unary(w, b) > 0;
    }
    if (!pays) continue;
    // Later variables of the scope still pay their whole unary costs.
    for_each_tuple(f, [&](double cost) {
      const double wanted = least_[digits_[position]];
      if (wanted == infinite_cost || cost >= wanted) return;
      for (std::size_t b = a + 1; b < scope.size(); ++b)
        if (b != position) cost += unary(scope[b], static_cast<Value>(digits_[b]));
      double& entry = other_[digits_[a]];
      entry = std::max(entry, wanted - cost);
    });
    bool takes = false;
    for (Value b : live(w)) {
      takes |= other_[b] > 0;
      other_[b] = -other_[b];
    }
    if (takes) move(begin + a, other_);
  }
  return apply_projection(edge);
}

bool SoftConsistency::node_consistency(VariableId v) {
  double* const unary = arena_.data() + network_.value_offsets[v];
  double least = infinite_cost;
  for (Value k : live(v)) least = std::min(least, unary[k]);
  if (least > 0) {
    save_unary(v);
    for (Value k : live(v)) unary[k] -= least;
    lower_ += least;
    if (lower_ >= limit_) return fail(blamed_);
  }
  const double room = limit_ - lower_;
  for (std::uint32_t p = count_[v]; p-- > 0;) {
    const Value k = values_[network_.value_offsets[v] + p];
    if (unary[k] >= room && !drop(v, k)) return fail(blamed_);
  }
  return true;
}

// A factor with at most one open variable is worth no more than a unary.
bool SoftConsistency::close_factor(std::size_t factor) {
  const std::size_t begin = network_.scope_offsets[factor];
  std::size_t edge = begin;
  for (std::size_t e = begin; e < network_.scope_offsets[factor + 1]; ++e)
    if (count_[network_.variable[e]] > 1) edge = e;
  if (!project(edge)) return false;
  done_[factor] = 1;
  done_list_.push_back(static_cast<std::uint32_t>(factor));
  return true;
}

std::size_t SoftConsistency::first_open_edge(std::size_t factor) const {
  std::size_t first = network_.scope_offsets[factor];
  std::uint32_t least = std::numeric_limits<std::uint32_t>::max();
  for (std::size_t e = network_.scope_offsets[factor]; e < network_.scope_offsets[factor + 1]; ++e) {
    const VariableId v = network_.variable[e];
    if (count_[v] > 1 && rank_[v] < least) {
      least = rank_[v];
      first = e;
    }
  }
  return first;
}

bool SoftConsistency::revise(VariableId v) {
  if (!node_consistency(v)) return false;
  if (!is_live(v, support_value_[v])) existential_.add(rank_[v]);
  for (std::uint32_t own : network_.edges_of(v)) {
    const std::size_t f = network_.factor[own];
    if (done_[f] != 0) continue;
    blamed_ = f;
    if (free_[f] <= 1) {
      if (!close_factor(f)) return false;
      continue;
    }
    for (std::size_t e = network_.scope_offsets[f]; e < network_.scope_offsets[f + 1]; ++e)
      if (e != own && count_[network_.variable[e]] > 1 && !project(e)) return false;
  }
  return true;
}

bool SoftConsistency::enforce_directional(VariableId v) {
  for (std::uint32_t own : network_.edges_of(v)) {
    const std::size_t f = network_.factor[own];
    if (done_[f] != 0) continue;
    if (free_[f] <= 1) {
      if (!close_factor(f)) return false;
      continue;
    }
    const std::size_t first = first_open_edge(f);
    blamed_ = f;
    if (first != own && !full_support(first)) return false;
  }
  return true;
}

bool SoftConsistency::enforce_existential(VariableId v) {
  if (count_[v] <= 1) {
    support_value_[v] = values_[network_.value_offsets[v]];
    return true;
  }
  Value candidate = support_value_[v];
  if (!is_live(v, candidate) || unary(v, candidate) > 0)
    for (Value k : live(v))
      if (unary(v, k) == 0) candidate = k;
  bool supported = unary(v, candidate) == 0;
  for (std::uint32_t e : network_.edges_of(v)) {
    if (!supported) break;
    if (done_[network_.factor[e]] == 0) supported = has_full_support(e, candidate);
  }
  if (!supported) {
    for (Value k : live(v)) total_[k] = unary(v, k);
    for (std::uint32_t e : network_.edges_of(v)) {
      if (done_[network_.factor[e]] != 0) continue;
      least_with_unaries(e, least_.data());
      for (Value k : live(v)) total_[k] += least_[k];
    }
    candidate = live(v)[0];
    for (Value k : live(v))
      if (total_[k] < total_[candidate]) candidate = k;
    // Factors that share more than v count the unary costs of what they share twice, so that this may gain
    // nothing: then not again in this propagation, which could go on for ever.
    if (total_[candidate] > 0 && fruitless_[v] != propagation_) {
      const double before = lower_;
      for (std::uint32_t e : network_.edges_of(v)) {
        if (done_[network_.factor[e]] != 0) continue;
        blamed_ = network_.factor[e];
        if (!full_support(e)) return false;
      }
      if (!node_consistency(v)) return false;
      if (lower_ == before) fruitless_[v] = propagation_;
      candidate = values_[network_.value_offsets[v]];
      for (Value k : live(v))
        if (unary(v, k) < unary(v, candidate)) candidate = k;
    }
  }
  support_value_[v] = candidate;
  return true;
}

bool SoftConsistency::propagate(double limit) {
  limit_ = limit;
  ++propagation_;
  if (lower_ >= limit_) return fail(weight_.size());
  for (;;) {
    if (!changed_.empty()) {
      if (!revise(by_rank_[changed_.take_least()])) return false;
    } else if (checked_lower_ != lower_ || checked_limit_ != limit_) {
      checked_lower_ = lower_;
      checked_limit_ = limit_;
      for (std::size_t p = open_size_; p-- > 0;)
        if (p < open_size_ && !node_consistency(open_[p])) return false;
    } else if (!directional_.empty()) {
      if (!enforce_directional(by_rank_[directional_.take_largest()])) return false;
    } else {
      for (VariableId v : raised_) {
        is_raised_[v] = 0;
        for (std::uint32_t own : network_.edges_of(v)) {
          const std::size_t f = network_.factor[own];
          if (done_[f] != 0) continue;
          for (VariableId w : network_.scope(f))
            if (w != v && count_[w] > 1 && rank_[w] > rank_[v]) existential_.add(rank_[w]);
        }
        if (count_[v] > 1) existential_.add(rank_[v]);
      }
      raised_.clear();
      if (existential_.empty()) return true;
      if (!enforce_existential(by_rank_[existential_.take_least()])) return false;
    }
  }
}

}  // namespace drover
