#include "drover/sample/herded/herded_gibbs_visited.hpp"

#include <bit>
#include <cassert>

#include "drover/sample/herded/herded_gibbs_weights.hpp"

namespace drover {

namespace {

constexpr std::uint64_t no_key = ~std::uint64_t{0};

}  // namespace

std::pair<std::int32_t*, bool> HerdedTable::find(std::uint64_t key, std::uint32_t width) {
  if (key == no_key) key = 0x5DEECE66DU;
  if (2 * (used_ + 1) > keys_.size()) grow(width);
  const std::size_t mask = keys_.size() - 1;
  std::size_t place = herded_mix(key) & mask;
  while (keys_[place] != key && keys_[place] != no_key) place = (place + 1) & mask;
  const bool fresh = keys_[place] == no_key;
  keys_[place] = key;
  used_ += fresh ? 1 : 0;
  return {weights_.data() + place * width, fresh};
}

void HerdedTable::grow(std::uint32_t width) {
  const std::vector<std::uint64_t> keys = std::move(keys_);
  const std::vector<std::int32_t> weights = std::move(weights_);
  keys_.assign(keys.empty() ? 4 : 2 * keys.size(), no_key);
  weights_.assign(keys_.size() * width, 0);
  const std::size_t mask = keys_.size() - 1;
  for (std::size_t from = 0; from < keys.size(); ++from) {
    if (keys[from] == no_key) continue;
    std::size_t place = herded_mix(keys[from]) & mask;
    while (keys_[place] != no_key) place = (place + 1) & mask;
    keys_[place] = keys[from];
    std::copy_n(weights.data() + from * width, width, weights_.data() + place * width);
  }
}

HerdedGibbsVisited::HerdedGibbsVisited(const Graph& graph, HerdedKey key, std::uint32_t bins,
                                       HerdedOptions options)
    : layout_(graph, std::move(options)), key_(key), bins_(bins) {
  assert(bins >= 1);
}

std::size_t HerdedGibbsVisited::rows(const State& state) {
  std::size_t rows = 0;
  for (const HerdedTable& table : state.tables) rows += table.size();
  return rows;
}

std::size_t HerdedGibbsVisited::state_bytes(const State& state) {
  std::size_t bytes = 0;
  for (const HerdedTable& table : state.tables) bytes += table.bytes();
  return bytes;
}

HerdedGibbsVisited::State HerdedGibbsVisited::start(std::uint64_t seed, std::uint32_t first_chain) const {
  State state;
  state.seed = seed;
  state.chain = first_chain;
  state.values = layout_.start(seed, first_chain);
  if (layout_.schedule() == HerdedSchedule::jacobi) state.scratch = state.values;
  state.tables.resize(size());
  return state;
}

std::uint64_t HerdedGibbsVisited::key_of(std::size_t position, double inverse_temperature,
                                         Scratch& scratch) const {
  const std::uint32_t states = layout_.states(position);
  std::uint64_t key = 0;
  switch (key_) {
    case HerdedKey::configuration: {
      const auto near = layout_.neighbours(position);
      const bool fits = near.size() <= 16 || layout_.configurations(position) <= 0x1p63;
      for (std::size_t j = 0; j < near.size(); ++j) {
        key = key * layout_.states(near[j]) + scratch.y[j];
        if (!fits) key = herded_mix(key);
      }
      break;
    }
    case HerdedKey::conditional: {
      const std::span<double> logs(scratch.logs.data(), states);
      layout_.log_weights(position, scratch.y.data(), inverse_temperature, logs.data());
      herded_round_logs(logs);
      for (double l : logs) key = herded_mix(key ^ std::bit_cast<std::uint64_t>(l));
      break;
    }
    case HerdedKey::bins: {
      // Zero, then `bins_` half-open intervals, then one.
      const auto bin = [&](std::int32_t probability, std::int32_t one) -> std::uint64_t {
        return probability == 0 ? 0 : 1 + static_cast<std::uint64_t>(probability) * bins_ / one;
      };
      if (states == 2) return bin(scratch.probabilities[0], herded_one);
      for (std::uint32_t k = 0; k < states; ++k)
        key = herded_mix(key ^ bin(scratch.probabilities[k], herded_states_one));
      break;
    }
  }
  return key;
}

Value HerdedGibbsVisited::update(State& state, std::size_t position, const Value* from, const Random& random,
                                 Scratch& scratch) const {
  const std::uint32_t width = herded_weight_count(layout_.states(position));
  const std::span<const std::int32_t> probabilities(scratch.probabilities.data(), width);
  layout_.gather(position, from, scratch.y.data());
  layout_.conditional(position, scratch.y.data(), state.inverse_temperature, scratch.logs.data(),
                      scratch.probabilities.data());
  const std::uint64_t key = key_of(position, state.inverse_temperature, scratch);
  const auto [weights, fresh] = state.tables[position].find(key, width);
  const VariableId variable = layout_.variable(position);
  if (width == 1) {
    if (fresh) *weights = herded_start(random, state.chain, variable, key, probabilities[0]);
    return herd(*weights, probabilities[0]);
  }
  if (fresh) herded_start(random, state.chain, variable, key, probabilities, {weights, width});
  return herd({weights, width}, probabilities);
}

void HerdedGibbsVisited::run(State& state, float* sums) const {
  const Random random(state.seed, Stream::weights);
  const auto make_scratch = [&] {
    return Scratch{std::vector<Value>(layout_.max_degree() + 1), std::vector<double>(layout_.max_states()),
                   std::vector<std::int32_t>(layout_.max_states())};
  };
  Scratch lone = make_scratch();
  layout_.run(state.values, state.scratch,
              [&](std::size_t begin, std::size_t end, const Value* from, Value* to) {
                // Ranges of several variables may run at once; single ones never do.
                Scratch own;
                if (end - begin > 1) own = make_scratch();
                Scratch& scratch = end - begin > 1 ? own : lone;
                for (std::size_t p = begin; p < end; ++p) {
                  to[p] = update(state, p, from, random, scratch);
                  if (sums == nullptr) continue;
                  if (layout_.states(p) > 2)
                    sums[layout_.entry(p) + to[p]] += 1;
                  else
                    sums[layout_.entry(p)] += to[p];
                }
              });
}

void HerdedGibbsVisited::sweep(State& state, std::uint64_t) const {
  run(state, nullptr);
}

void HerdedGibbsVisited::sweep(State& state, std::uint64_t, ConditionalSums sums) const {
  run(state, sums.sums.data());
}

void HerdedGibbsVisited::read(const State& state, std::uint32_t, std::span<Value> values) const {
  layout_.read(state.values, values);
}

void HerdedGibbsVisited::write(State& state, std::uint32_t, std::span<const Value> values) const {
  layout_.write(state.values, values);
}

void HerdedGibbsVisited::log_scores(const State& state, std::span<double> scores) const {
  scores[0] = layout_.score(state.values);
}

void HerdedGibbsVisited::set_inverse_temperatures(State& state,
                                                  std::span<const float> inverse_temperatures) const {
  state.inverse_temperature = inverse_temperatures[0];
}

static_assert(Kernel<HerdedGibbsVisited>);

}  // namespace drover
