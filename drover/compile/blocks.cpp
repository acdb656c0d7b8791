#include "drover/compile/blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <queue>

#include "drover/compile/stoppable.hpp"
#include "drover/core/random.hpp"
#include "drover/core/stop_check.hpp"

namespace drover {

namespace {

constexpr double rounding = 1e-6;  // of sums of logarithms
constexpr std::size_t largest_positive_table = 256;
constexpr std::size_t largest_pair = std::size_t{1} << 14;

// The factors with zeros and what is covered so far.
struct HardFactors {
  std::vector<std::size_t> factors;
  std::vector<char> inside;                        // some block holds the factor whole
  std::vector<std::uint32_t> outside_of_variable;  // factors not yet inside, per variable
  std::vector<std::uint32_t> component;            // per variable; no_variable when in no hard factor
  std::vector<std::size_t> component_sizes;
  std::vector<char> whole;  // some block holds the component whole

  explicit HardFactors(const Graph& graph)
      : outside_of_variable(graph.size(), 0), component(graph.size(), no_variable) {
    std::vector<VariableId> root(graph.size());
    std::iota(root.begin(), root.end(), 0U);
    const auto find = [&](VariableId v) {
      while (root[v] != v) v = root[v] = root[root[v]];
      return v;
    };
    std::vector<char> has_zero(graph.tables.table_count());
    for (std::size_t t = 0; t < has_zero.size(); ++t) {
      const auto values = graph.tables.table(t);
      has_zero[t] = std::find(values.begin(), values.end(), log_zero) != values.end();
    }
    for (std::size_t f = 0; f < graph.tables.size(); ++f) {
      if (!has_zero[graph.tables.table_of[f]]) continue;
      factors.push_back(f);
      for (VariableId v : graph.tables.scope(f)) {
        ++outside_of_variable[v];
        root[find(v)] = find(graph.tables.scope(f)[0]);
      }
    }
    inside.assign(factors.size(), 0);
    std::vector<std::uint32_t> number(graph.size(), no_variable);
    for (VariableId v = 0; v < graph.size(); ++v) {
      if (outside_of_variable[v] == 0) continue;
      std::uint32_t& mine = number[find(v)];
      if (mine == no_variable) {
        mine = static_cast<std::uint32_t>(component_sizes.size());
        component_sizes.push_back(0);
      }
      component[v] = mine;
      ++component_sizes[mine];
    }
    whole.assign(component_sizes.size(), 0);
  }

  /// Both note what the block holds and return how many are new.
  std::size_t mark_inside(const Graph& graph, const Block& block) {
    std::vector<char> in_block(graph.size(), 0);
    for (VariableId v : block.order) in_block[v] = 1;
    std::size_t found = 0;
    for (std::size_t h = 0; h < factors.size(); ++h) {
      const auto scope = graph.tables.scope(factors[h]);
      if (inside[h] || !std::all_of(scope.begin(), scope.end(), [&](VariableId v) { return in_block[v]; }))
        continue;
      inside[h] = 1;
      ++found;
      for (VariableId v : scope) --outside_of_variable[v];
    }
    return found;
  }
  std::size_t mark_whole(const Block& block) {
    std::vector<std::size_t> held(component_sizes.size(), 0);
    for (VariableId v : block.order)
      if (component[v] != no_variable) ++held[component[v]];
    std::size_t found = 0;
    for (std::size_t c = 0; c < held.size(); ++c)
      if (!whole[c] && held[c] == component_sizes[c]) {
        whole[c] = 1;
        ++found;
      }
    return found;
  }
};

// One pass of elimination with removal; see the header.
class Eliminator {
 public:
  /// Of two variables the one with the smaller `worth` is removed.
  Eliminator(const Graph& graph, const Adjacency& neighbours, double log2_limit, std::uint64_t seed,
             std::uint32_t number, const std::vector<double>& worth, StopCheck& check)
      : limit_(log2_limit + rounding), worth_(worth), random_(seed, Stream::tie_break), check_(check) {
    const std::size_t n = graph.size();
    neighbours_.resize(n);
    log2_states_.resize(n);
    log2_entries_.resize(n);
    ties_.resize(n);
    gone_.assign(n, 0);
    for (VariableId v = 0; v < n; ++v) log2_states_[v] = std::log2(graph.cardinalities[v]);
    std::vector<Candidate> all(n);
    for (VariableId v = 0; v < n; ++v) {
      const auto mine = neighbours.of(v);
      check_.step(1 + mine.size());
      neighbours_[v].assign(mine.begin(), mine.end());
      log2_entries_[v] = log2_states_[v];
      for (VariableId u : mine) log2_entries_[v] += log2_states_[u];
      ties_[v] = tie(number, v, static_cast<std::uint32_t>(n));
      all[v] = {log2_entries_[v], ties_[v], v};
    }
    cheapest_ = decltype(cheapest_)({}, all);
    for (VariableId v = 0; v < n; ++v) all[v] = {removal_cost(v), ties_[v], v};
    removable_ = decltype(removable_)({}, std::move(all));
  }

  std::vector<VariableId> run() {
    std::vector<VariableId> order;
    while (!cheapest_.empty()) {
      check_.step();
      const Candidate best = cheapest_.top();
      if (gone_[best.variable] || best.cost != log2_entries_[best.variable]) {
        cheapest_.pop();
        continue;
      }
      const std::vector<VariableId>& around = living_neighbours(best.variable);
      if (best.cost > limit_ && !around.empty()) {
        remove_one();
        continue;
      }
      cheapest_.pop();
      order.push_back(best.variable);
      eliminate(best.variable);
    }
    return order;
  }

 private:
  struct Candidate {
    double cost;
    std::uint32_t tie;
    VariableId variable;
    // The smallest cost is on top of a std::priority_queue.
    bool operator<(const Candidate& other) const {
      return cost != other.cost ? cost > other.cost : tie > other.tie;
    }
  };

  // Numbers of neighbouring variables are often close, and removing variables in that order leaves larger
  // forests that are kinder to the cache; only further blocks need chance to differ.
  std::uint32_t tie(std::uint32_t number, VariableId v, std::uint32_t n) const {
    if (number == 0) return v;
    if (number == 1) return n - v;
    return random_.block(number, 0, v)[0];
  }

  double removal_cost(VariableId v) const { return worth_[v] - log2_entries_[v]; }

  std::vector<VariableId>& living_neighbours(VariableId v) {
    std::erase_if(neighbours_[v], [&](VariableId u) { return gone_[u] != 0; });
    return neighbours_[v];
  }

  void set_entries(VariableId v, double log2_entries) {
    log2_entries_[v] = log2_entries;
    cheapest_.push({log2_entries, ties_[v], v});
    removable_.push({removal_cost(v), ties_[v], v});
  }

  void remove_one() {
    while (gone_[removable_.top().variable] ||
           removable_.top().cost != removal_cost(removable_.top().variable))
      removable_.pop();
    const VariableId v = removable_.top().variable;
    removable_.pop();
    check_.step(neighbours_[v].size());
    gone_[v] = 1;
    for (VariableId u : living_neighbours(v)) set_entries(u, log2_entries_[u] - log2_states_[v]);
  }

  void eliminate(VariableId v) {
    gone_[v] = 1;
    const std::vector<VariableId>& around = neighbours_[v];
    for (std::size_t a = 0; a < around.size(); ++a) log2_entries_[around[a]] -= log2_states_[v];
    for (std::size_t a = 0; a < around.size(); ++a)
      for (std::size_t b = a + 1; b < around.size(); ++b) join(around[a], around[b]);
    for (VariableId u : around) set_entries(u, log2_entries_[u]);
  }

  void join(VariableId u, VariableId w) {
    if (neighbours_[u].size() > neighbours_[w].size()) std::swap(u, w);
    check_.step(1 + neighbours_[u].size() / 16);
    if (std::find(neighbours_[u].begin(), neighbours_[u].end(), w) != neighbours_[u].end()) return;
    neighbours_[u].push_back(w);
    neighbours_[w].push_back(u);
    log2_entries_[u] += log2_states_[w];
    log2_entries_[w] += log2_states_[u];
  }

  double limit_;
  const std::vector<double>& worth_;
  Random random_;
  StopCheck& check_;
  std::vector<std::vector<VariableId>> neighbours_;  // may hold variables that are gone
  std::vector<double> log2_states_;
  std::vector<double> log2_entries_;  // of the table that eliminating the variable needs
  std::vector<std::uint32_t> ties_;
  std::vector<char> gone_;
  // Both queues may hold old entries; one counts only when its cost is still right.
  std::priority_queue<Candidate> cheapest_;
  std::priority_queue<Candidate> removable_;
};

// A block with the sizes of its tables; smaller than the eliminator feared where it later removed a variable.
Block measured(const Graph& graph, const Adjacency& neighbours, std::vector<VariableId> order,
               StopCheck& check) {
  Block block;
  std::vector<std::uint32_t> position(graph.size(), no_variable);
  for (std::size_t p = 0; p < order.size(); ++p) position[order[p]] = static_cast<std::uint32_t>(p);
  std::vector<std::vector<std::uint32_t>> later(order.size());
  for (std::uint32_t p = 0; p < order.size(); ++p) {
    std::vector<std::uint32_t>& mine = later[p];
    for (VariableId u : neighbours.of(order[p]))
      if (position[u] != no_variable && position[u] > p) mine.push_back(position[u]);
    check.step(1 + mine.size());
    std::sort(mine.begin(), mine.end());
    mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
    std::size_t entries = graph.cardinalities[order[p]];
    for (std::uint32_t q : mine) entries *= graph.cardinalities[order[q]];
    block.largest_table = std::max(block.largest_table, entries);
    block.total_entries += entries;
    if (!mine.empty()) later[mine[0]].insert(later[mine[0]].end(), mine.begin() + 1, mine.end());
    mine = {};
  }
  block.order = std::move(order);
  return block;
}

// Blocks without edges inside for the variables that no block of the round holds.
void cover_rest(const Graph& graph, const Adjacency& neighbours, const std::vector<std::uint32_t>& held,
                Blocks& blocks) {
  const std::size_t first = blocks.list.size();
  std::vector<std::uint32_t> colour(graph.size(), no_variable);
  std::vector<VariableId> taken;  // taken[c] = v: a neighbour of v has colour c
  for (VariableId v = 0; v < graph.size(); ++v) {
    if (held[v] > 0) continue;
    for (VariableId u : neighbours.of(v))
      if (colour[u] != no_variable) taken[colour[u]] = v;
    std::uint32_t c = 0;
    while (c < taken.size() && taken[c] == v) ++c;
    if (c == taken.size()) {
      taken.push_back(no_variable);
      blocks.list.emplace_back();
    }
    colour[v] = c;
    Block& block = blocks.list[first + c];
    block.order.push_back(v);
    block.largest_table = std::max<std::size_t>(block.largest_table, graph.cardinalities[v]);
    block.total_entries += graph.cardinalities[v];
  }
}

// What keeps a variable in the next block: first that the round lacks it, then that few blocks hold it, then
// that it has factors with zeros, above all such that no block holds.
double worth_keeping(std::uint32_t held_in_round, std::uint32_t held, std::uint32_t hard_factors,
                     std::uint32_t hard_factors_outside) {
  return -1e6 * held_in_round - 1e3 * held + (hard_factors_outside > 0 ? 500.0 : 0.0) +
         std::min(hard_factors, 100U);
}

Blocks blocks_within(const Graph& graph, const Adjacency& neighbours, const BlockOptions& options,
                     std::size_t max_entries, const RunControl& control) {
  StopCheck check(control, "the blocks", "were chosen");
  const std::size_t n = graph.size();
  Blocks blocks;
  blocks.max_entries = max_entries;
  HardFactors hard(graph);
  blocks.hard_factors = blocks.hard_factors_outside = hard.factors.size();
  blocks.hard_components = blocks.hard_components_split = hard.component_sizes.size();
  const std::vector<std::uint32_t> hard_of_variable = hard.outside_of_variable;
  std::vector<std::uint32_t> held(n, 0), held_in_round(n, 0);
  std::vector<double> worth(n);
  std::size_t missing = n;  // in this round
  std::size_t round_begin = 0, total_entries = 0;
  while (n > 0) {
    check.ask();
    for (VariableId v = 0; v < n; ++v)
      worth[v] = worth_keeping(held_in_round[v], held[v], hard_of_variable[v], hard.outside_of_variable[v]);
    Eliminator eliminator(graph, neighbours, std::log2(static_cast<double>(max_entries)), options.seed,
                          static_cast<std::uint32_t>(blocks.list.size()), worth, check);
    Block block = measured(graph, neighbours, eliminator.run(), check);
    for (VariableId v : block.order) {
      ++held[v];
      missing -= held_in_round[v]++ == 0;
    }
    blocks.hard_factors_outside -= hard.mark_inside(graph, block);
    blocks.hard_components_split -= hard.mark_whole(block);
    total_entries += block.total_entries;
    blocks.list.push_back(std::move(block));
    const bool full = blocks.list.size() - round_begin == options.max_blocks;
    if (missing > 0 && !full) continue;
    if (missing > 0) cover_rest(graph, neighbours, held_in_round, blocks);
    blocks.round_ends.push_back(blocks.list.size());
    if (blocks.connectivity_known() || blocks.round_ends.size() == options.max_rounds ||
        total_entries > options.max_total_entries)
      break;
    round_begin = blocks.list.size();
    std::fill(held_in_round.begin(), held_in_round.end(), 0U);
    missing = n;
  }
  return blocks;
}

}  // namespace

std::string Blocks::warning() const {
  if (connectivity_known()) return "";
  if (hard_factors_outside > 0)
    return fmt::format(
        "connectivity not known: {} of {} factors with hard zeros lie inside no block of tables up to {} "
        "entries, so the sampler may not reach every possible state",
        hard_factors_outside, hard_factors, max_entries);
  return fmt::format(
      "connectivity not known: every factor with hard zeros lies inside a block, but {} of {} groups of such "
      "factors are spread over several blocks, so the sampler may not reach every possible state",
      hard_components_split, hard_components);
}

Blocks choose_blocks(const Graph& graph, const BlockOptions& options) {
  return choose_blocks(graph, options, no_control());
}

Blocks choose_blocks(const Graph& graph, const BlockOptions& options, const RunControl& control) {
  const Adjacency neighbours = adjacency(graph, control);
  if (options.max_entries > 0) return blocks_within(graph, neighbours, options, options.max_entries, control);
  // A limit below this would split every pair.
  const std::size_t pair =
      std::min(std::size_t{graph.max_cardinality()} * graph.max_cardinality(), largest_pair);
  if (graph.is_strictly_positive()) {
    std::size_t limit = pair;
    for (std::size_t t = 0; t < graph.tables.table_count(); ++t)
      limit = std::max(limit, std::min(graph.tables.table(t).size(), largest_positive_table));
    return blocks_within(graph, neighbours, options, limit, control);
  }
  for (std::size_t limit : {std::size_t{64}, std::size_t{512}, std::size_t{4096}}) {
    BlockOptions one_round = options;
    one_round.max_rounds = 1;
    Blocks blocks = blocks_within(graph, neighbours, one_round, std::max(limit, pair), control);
    if (blocks.connectivity_known()) return blocks;
  }
  return blocks_within(graph, neighbours, options, std::max(std::size_t{512}, pair), control);
}

}  // namespace drover
