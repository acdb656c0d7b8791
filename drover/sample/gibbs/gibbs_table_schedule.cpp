#include "drover/sample/gibbs/gibbs_table_schedule.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "drover/compile/table_graph.hpp"
#include "drover/core/error.hpp"
#include "drover/core/random.hpp"

namespace drover {
namespace {

/// A whole number in 0 .. bound - 1; its bias of bound / 2^32 changes neither support nor correctness.
std::uint32_t scale_word(std::uint32_t word, std::uint32_t bound) {
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(word) * bound) >> 32);
}

}  // namespace

void check_starts(const Graph& graph, std::span<const std::vector<Value>> starts) {
  if (starts.empty() && has_table_zeros(graph))
    throw Error(ErrorKind::misfit,
                "the model has hard zeros: single-site sampling needs a starting state in its support");
  for (const std::vector<Value>& start : starts) {
    bool fits = start.size() == graph.size();
    for (std::size_t v = 0; fits && v < start.size(); ++v) fits = start[v] < graph.cardinalities[v];
    if (!fits || log_score(graph, start) == log_zero)
      throw Error(ErrorKind::misfit, "a starting state does not lie in the support of the model");
  }
}

void draw_start(const Graph& graph, std::span<const std::vector<Value>> starts, std::uint64_t seed,
                std::uint32_t chain, std::span<Value> values) {
  assert(values.size() == graph.size());
  if (!starts.empty()) {
    std::ranges::copy(starts[chain % starts.size()], values.begin());
    return;
  }
  const Random random(seed, Stream::start);
  for (VariableId v = 0; v < values.size(); ++v) {
    const auto unary = graph.unary_of(v);
    const auto allowed = static_cast<std::uint32_t>(
        std::ranges::count_if(unary, [](double value) { return value != log_zero; }));
    std::uint32_t remaining = scale_word(random.block(chain, 0, v)[0], allowed);
    Value k = 0;
    while (unary[k] == log_zero || remaining-- > 0) ++k;
    values[v] = k;
  }
}

void shuffle_order(std::uint64_t seed, std::uint64_t sweep, std::span<VariableId> order) {
  std::iota(order.begin(), order.end(), VariableId{0});
  const Random random(seed, Stream::order);
  Random::Block words{};
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    if (i % 4 == 0) words = random.block(0, sweep, static_cast<std::uint32_t>(i / 4));
    const auto left = static_cast<std::uint32_t>(order.size() - i);
    std::swap(order[i], order[i + scale_word(words[i % 4], left)]);
  }
}

}  // namespace drover
