#include "drover/sample/blocked/blocked_gibbs.hpp"

#include <algorithm>
#include <cassert>

#include "drover/core/parallel.hpp"
#include "drover/core/random.hpp"
#include "drover/core/stop_check.hpp"
#include "drover/infer/support.hpp"

namespace drover {

namespace {

constexpr std::size_t supported_starts = 64;

// A temperature of infinity must not turn hard zeros into 0 * infinity; this is as good as 0 for the rest.
constexpr float smallest_inverse_temperature = 1e-30F;

// Only ratios within a table matter, so its largest entry becomes 0 before it is rounded.
std::vector<float> rounded_tables(const Tables& tables) {
  std::vector<float> values(tables.log_values.size());
  for (std::size_t t = 0; t < tables.table_count(); ++t) {
    const auto table = tables.table(t);
    const double most = *std::max_element(table.begin(), table.end());
    for (std::size_t e = 0; e < table.size(); ++e)
      values[tables.table_offsets[t] + e] = static_cast<float>(table[e] - most);
  }
  return values;
}

}  // namespace

BlockedGibbs::BlockedGibbs(const Graph& graph, const BlockOptions& options,
                           std::vector<std::vector<Value>> starts)
    : BlockedGibbs(graph, choose_blocks(graph, options), std::move(starts)) {}

BlockedGibbs::BlockedGibbs(const Graph& graph, Blocks blocks, std::vector<std::vector<Value>> starts,
                           const RunControl& control)
    : graph_(&graph),
      blocks_(std::move(blocks)),
      starts_(std::move(starts)),
      table_values_(rounded_tables(graph.tables)) {
  if (starts_.empty() && !graph.is_strictly_positive())
    starts_ = find_supported_states(graph, 1, supported_starts, control);
  entry_offsets_.push_back(0);
  for (std::uint32_t states : graph.cardinalities)
    entry_offsets_.push_back(entry_offsets_.back() + (states == 2 ? 1 : states));
  StopCheck check(control, "the blocks", "were planned");
  check.ask();
  const FactorsOfVariables factors(graph);
  check.ask();
  std::uint64_t site = 0;
  for (std::size_t end : blocks_.round_ends) {
    std::vector<float> weights(graph.size(), 0.0F);
    while (plans_.size() < end) {
      const Block& block = blocks_.list[plans_.size()];
      plans_.push_back(plan_block(graph, factors, block, site, check));
      site += block.order.size();
      scratch_rows_ = std::max(scratch_rows_, plans_.back().rows);
      for (VariableId v : block.order) weights[v] += 1;
    }
    for (float& weight : weights) {
      assert(weight > 0);
      weight = 1 / weight;
    }
    sum_weights_.push_back(std::move(weights));
  }
}

double BlockedGibbs::updates_per_sweep() const {
  std::size_t updates = 0;
  for (const BlockPlan& plan : plans_) updates += plan.size();
  return static_cast<double>(updates) /
         static_cast<double>(std::max<std::size_t>(1, blocks_.round_ends.size()));
}

BlockedGibbs::State BlockedGibbs::start(std::uint64_t seed, std::uint32_t first_chain,
                                        const RunControl& control) const {
  StopCheck check(control, "the chains", "were started");
  State state;
  state.values.resize(size());
  state.scratch.resize(scratch_rows_);
  state.seed = seed;
  state.first_chain = first_chain;
  std::fill(std::begin(state.inverse_temperatures.lane), std::end(state.inverse_temperatures.lane), 1.0F);
  std::vector<Value> random_values(starts_.empty() ? size() : 0);
  for (std::uint32_t lane = 0; lane < lanes(); ++lane) {
    check.step(size());
    const std::uint32_t chain = first_chain + lane;
    if (!starts_.empty()) {
      write(state, lane, starts_[chain % starts_.size()]);
      continue;
    }
    RandomSequence random(seed, Stream::start, chain);
    for (std::size_t v = 0; v < size(); ++v)
      random_values[v] = static_cast<Value>(random.below(graph_->cardinalities[v]));
    write(state, lane, random_values);
  }
  return state;
}

void BlockedGibbs::run(State& state, std::uint64_t sweep, float* sums) const {
  if (plans_.empty()) return;
  const std::size_t round = sweep % blocks_.round_ends.size();
  const BlockRun run{.table_values = table_values_.data(),
                     .inverse_temperatures = &state.inverse_temperatures,
                     .values = state.values.data(),
                     .scratch = state.scratch.data(),
                     .seed = state.seed,
                     .sweep = sweep,
                     .first_chain = state.first_chain,
                     .sums = sums,
                     .entry_offsets = entry_offsets_.data(),
                     .sum_weights = sum_weights_[round].data()};
  // Chunks share no factor inside the block and have their own rows, so their order does not matter.
  for (std::size_t p = round == 0 ? 0 : blocks_.round_ends[round - 1]; p < blocks_.round_ends[round]; ++p) {
    const BlockPlan& plan = plans_[p];
    if (plan.chunks.size() == 1)
      run_chunk(plan, plan.chunks[0], run);
    else
      parallel_for(std::size_t{0}, plan.chunks.size(),
                   [&](std::size_t c) { run_chunk(plan, plan.chunks[c], run); });
  }
}

void BlockedGibbs::read(const State& state, std::uint32_t lane, std::span<Value> values) const {
  assert(values.size() == size());
  for (std::size_t v = 0; v < size(); ++v) values[v] = static_cast<Value>(state.values[v].lane[lane]);
}

void BlockedGibbs::write(State& state, std::uint32_t lane, std::span<const Value> values) const {
  assert(values.size() == size());
  for (std::size_t v = 0; v < size(); ++v) state.values[v].lane[lane] = values[v];
}

void BlockedGibbs::log_scores(const State& state, std::span<double> scores) const {
  assert(scores.size() == lanes());
  const Graph& graph = *graph_;
  std::fill(scores.begin(), scores.end(), graph.log_constant);
  for (std::size_t v = 0; v < size(); ++v)
    for (std::uint32_t l = 0; l < block_lanes; ++l)
      scores[l] += graph.unary[graph.unary_offsets[v] + static_cast<std::size_t>(state.values[v].lane[l])];
  const auto add_pairs = [&](const Pairs& pairs, double different) {
    for (std::size_t f = 0; f < pairs.size(); ++f) {
      const LaneValues& first = state.values[pairs.first[f]];
      const LaneValues& second = state.values[pairs.second[f]];
      for (std::uint32_t l = 0; l < block_lanes; ++l)
        scores[l] += pairs.couplings[f] * (first.lane[l] == second.lane[l] ? 1.0 : different);
    }
  };
  add_pairs(graph.spin_pairs, -1);
  add_pairs(graph.potts_pairs, 0);
  for (std::size_t f = 0; f < graph.tables.size(); ++f) {
    std::size_t index[block_lanes] = {};
    for (VariableId v : graph.tables.scope(f))
      for (std::uint32_t l = 0; l < block_lanes; ++l)
        index[l] = index[l] * graph.cardinalities[v] + static_cast<std::size_t>(state.values[v].lane[l]);
    for (std::uint32_t l = 0; l < block_lanes; ++l) scores[l] += graph.tables.values(f)[index[l]];
  }
}

void BlockedGibbs::set_inverse_temperatures(State& state, std::span<const float> inverse_temperatures) const {
  assert(inverse_temperatures.size() == lanes());
  for (std::uint32_t l = 0; l < block_lanes; ++l)
    state.inverse_temperatures.lane[l] = std::max(inverse_temperatures[l], smallest_inverse_temperature);
}

}  // namespace drover
