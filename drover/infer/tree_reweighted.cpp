#include "drover/infer/tree_reweighted.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "drover/core/parallel.hpp"
#include "drover/core/random.hpp"

namespace drover {

namespace {

// Groups of variables that are joined.
class Components {
 public:
  explicit Components(std::size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0U); }
  VariableId find(VariableId v) {
    while (parent_[v] != v) v = parent_[v] = parent_[parent_[v]];
    return v;
  }
  /// Joins all of a scope unless two are joined already.
  bool join(std::span<const VariableId> scope, std::vector<VariableId>& roots) {
    roots.clear();
    for (VariableId v : scope) roots.push_back(find(v));
    std::sort(roots.begin(), roots.end());
    if (std::adjacent_find(roots.begin(), roots.end()) != roots.end()) return false;
    for (VariableId root : roots) parent_[root] = roots[0];
    return true;
  }

 private:
  std::vector<VariableId> parent_;
};

}  // namespace

ForestCover cover_by_forests(const FactorGraph& graph, std::uint64_t seed, std::size_t least,
                             const GoOn& go_on) {
  const std::size_t factors = graph.factor_count();
  ForestCover cover;
  std::vector<std::uint32_t> used(factors, 0), order(factors);
  std::vector<std::uint64_t> key(factors);
  std::vector<VariableId> roots;
  const Random random(seed, Stream::tie_break);
  std::size_t unused = factors;
  while (cover.forests.size() < least || unused > 0) {
    if (go_on && !go_on()) return {};
    const auto round = static_cast<std::uint64_t>(cover.forests.size());
    for (std::uint32_t f = 0; f < factors; ++f)
      key[f] = std::uint64_t{used[f]} << 32 | random.block(0, round, f)[0];
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return key[a] < key[b]; });
    std::vector<char> forest(factors, 0);
    Components components(graph.variable_count());
    std::size_t taken = 0;
    for (std::uint32_t f : order) {
      if (!components.join(graph.scope(f), roots)) continue;
      forest[f] = 1;
      ++taken;
      if (used[f]++ == 0) --unused;
    }
    cover.forests.push_back(std::move(forest));
    if (taken == factors) break;  // the graph is a forest
  }
  for (std::size_t f = 0; f < factors; ++f)
    cover.appearance.push_back(used[f] / static_cast<double>(cover.forests.size()));
  return cover;
}

TreeReweighted tree_reweighted(const Graph& graph, const BeliefOptions& options, std::uint64_t seed,
                               const OnIteration& on_iteration, const GoOn& go_on,
                               const GoOn& go_on_to_bound) {
  const FactorGraph layout = factor_graph(graph);
  const ForestCover cover = cover_by_forests(layout, seed, 16, go_on);
  if (cover.forests.empty()) return {};
  BeliefPropagation beliefs(layout, options, cover.appearance);
  beliefs.run(on_iteration, go_on);
  TreeReweighted result;
  result.marginals = beliefs.marginals();
  result.converged = beliefs.converged();
  result.iterations = beliefs.iterations();
  result.largest_change = beliefs.largest_change();
  result.forests = cover.forests.size();
  const auto stopped = [&] { return go_on_to_bound && !go_on_to_bound(); };
  if (stopped()) return result;

  const std::span<const double> messages = beliefs.messages();
  std::vector<double> scales(layout.factor_count());
  for (std::size_t f = 0; f < scales.size(); ++f) scales[f] = 1 / cover.appearance[f];
  // Adds weight * message to unaries; a hard zero of a message is one of the model.
  const auto add_message = [&](std::vector<double>& unary, std::size_t e, double weight) {
    double* const to = unary.data() + graph.unary_offsets[layout.variable[e]];
    const std::size_t begin = layout.message_offsets[e];
    for (std::size_t k = 0; k < layout.message_offsets[e + 1] - begin; ++k)
      to[k] += messages[begin + k] == log_zero ? log_zero : weight * messages[begin + k];
  };
  std::vector<double> shared = graph.unary;
  for (std::size_t e = 0; e < layout.edge_count(); ++e)
    add_message(shared, e, cover.appearance[layout.factor[e]]);
  std::vector<double> log_z(cover.forests.size());
  std::atomic<std::size_t> done = 0;
  parallel_for(std::size_t{0}, cover.forests.size(), [&](std::size_t t) {
    if (stopped()) return;
    const std::vector<char>& forest = cover.forests[t];
    std::vector<double> unary = shared;
    for (std::size_t e = 0; e < layout.edge_count(); ++e)
      if (forest[layout.factor[e]]) add_message(unary, e, -1);
    const FactorGraph part = factor_graph(graph, forest);
    BeliefPropagation exact(part, {.schedule = MessageSchedule::sequential, .iterations = 1});
    exact.set_unary(unary);
    exact.set_scales(scales);
    exact.run({}, go_on_to_bound);
    if (stopped()) return;
    log_z[t] = exact.log_z();
    ++done;
  });
  if (done < log_z.size()) return result;
  double sum = 0;
  for (double value : log_z) sum += value / static_cast<double>(log_z.size());
  result.upper = sum;
  return result;
}

}  // namespace drover
