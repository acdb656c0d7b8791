#include "drover/sample/herded/herded_gibbs_visited.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

#include "drover/sample/herded/herded_gibbs_weights.hpp"

namespace drover {

namespace {

constexpr std::uint64_t no_key = ~std::uint64_t{0}, no_key_instead = 0x5DEECE66DU;

std::uint32_t mark_of(std::uint64_t key) {
  return static_cast<std::uint32_t>(herded_mix(key) >> 32);
}

}  // namespace

std::pair<std::int32_t*, bool> HerdedTable::find(std::uint64_t key, std::uint32_t width) {
  if (key == no_key) key = no_key_instead;
  if (2 * (used_ + 1) > keys_.size()) grow(keys_.empty() ? 4 : 2 * keys_.size(), width);
  const std::size_t mask = keys_.size() - 1;
  std::size_t place = herded_mix(key) & mask;
  while (keys_[place] != key && keys_[place] != no_key) place = (place + 1) & mask;
  const bool fresh = keys_[place] == no_key;
  keys_[place] = key;
  used_ += fresh ? 1 : 0;
  return {weights_.data() + place * width, fresh};
}

std::int32_t* HerdedTable::lookup(std::uint64_t key, std::uint32_t width) {
  if (key == no_key) key = no_key_instead;
  const std::size_t mask = keys_.size() - 1;
  std::size_t place = herded_mix(key) & mask;
  for (std::size_t tried = 0; tried < keys_.size() && keys_[place] != no_key; ++tried) {
    if (keys_[place] == key) return weights_.data() + place * width;
    place = (place + 1) & mask;
  }
  return nullptr;
}

std::int32_t* HerdedTable::insert(std::uint64_t key, std::uint32_t width) {
  constexpr std::size_t few = 4;
  const bool is_full = keys_.size() <= few ? used_ == keys_.size() : 2 * (used_ + 1) > keys_.size();
  if (is_full) grow(std::max<std::size_t>(1, 2 * keys_.size()), width);
  if (key == no_key) key = no_key_instead;
  const std::size_t mask = keys_.size() - 1;
  std::size_t place = herded_mix(key) & mask;
  while (keys_[place] != no_key) place = (place + 1) & mask;
  keys_[place] = key;
  ++used_;
  return weights_.data() + place * width;
}

void HerdedVisits::add(std::uint32_t mark, std::span<const Value> y, std::size_t value_bytes) {
  const std::size_t length = mark_bytes + y.size() * value_bytes;
  // In small steps, so that little is reserved in vain.
  if (records_.size() + length > records_.capacity())
    records_.reserve(records_.size() + std::max(8 * length, records_.size() / 4));
  const std::size_t at = records_.size();
  records_.resize(at + length);
  std::memcpy(records_.data() + at, &mark, mark_bytes);
  std::uint8_t* value = records_.data() + at + mark_bytes;
  for (Value v : y)
    for (std::size_t b = 0; b < value_bytes; ++b) *value++ = static_cast<std::uint8_t>(v >> (8 * b));
}

void HerdedTable::grow(std::size_t places, std::uint32_t width) {
  const std::vector<std::uint64_t> keys = std::move(keys_);
  const std::vector<std::int32_t> weights = std::move(weights_);
  keys_.assign(places, no_key);
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
    : layout_(graph, std::move(options)),
      key_(key),
      bins_(bins),
      fewest_states_(layout_.visits_from_states()) {
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
  for (const HerdedVisits& visits : state.visits) bytes += visits.bytes();
  return bytes;
}

HerdedGibbsVisited::State HerdedGibbsVisited::start(std::uint64_t seed, std::uint32_t first_chain) const {
  State state;
  state.seed = seed;
  state.chain = first_chain;
  state.values = layout_.start(seed, first_chain);
  if (layout_.schedule() == HerdedSchedule::jacobi) state.scratch = state.values;
  state.tables.resize(size());
  if (layout_.max_states() >= fewest_states_) state.visits.resize(size());
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
                                 Scratches& scratches) const {
  Scratch& scratch = scratches.now;
  const std::uint32_t width = herded_weight_count(layout_.states(position));
  const std::span<const std::int32_t> probabilities(scratch.probabilities.data(), width);
  layout_.gather(position, from, scratch.y.data());
  layout_.conditional(position, scratch.y.data(), state.inverse_temperature, scratch.logs.data(),
                      scratch.probabilities.data());
  const std::uint64_t key = key_of(position, state.inverse_temperature, scratch);
  if (keeps_visits(position)) return visit(state, position, key, random, scratches);
  const auto [weights, fresh] = state.tables[position].find(key, width);
  const VariableId variable = layout_.variable(position);
  if (width == 1) {
    if (fresh) *weights = herded_start(random, state.chain, variable, key, probabilities[0]);
    return herd(*weights, probabilities[0]);
  }
  if (fresh) herded_start(random, state.chain, variable, key, probabilities, {weights, width});
  return herd({weights, width}, probabilities);
}

Value HerdedGibbsVisited::visit(State& state, std::size_t position, std::uint64_t key, const Random& random,
                                Scratches& scratches) const {
  const std::uint32_t width = layout_.states(position);
  const std::span<const std::int32_t> probabilities(scratches.now.probabilities.data(), width);
  HerdedTable& table = state.tables[position];
  if (std::int32_t* const stored = table.lookup(key, width)) return herd({stored, width}, probabilities);

  const VariableId variable = layout_.variable(position);
  const std::span<std::int32_t> weights(scratches.weights.data(), width);
  const std::size_t degree = layout_.neighbours(position).size();
  Scratch& past = scratches.past;
  const std::span<const std::int32_t> past_probabilities(past.probabilities.data(), width);
  HerdedVisits& visits = state.visits[position];
  const std::uint32_t mark = mark_of(key);
  std::uint64_t count = 0;
  visits.for_each(&mark, {past.y.data(), degree}, value_bytes(), [&] {
    layout_.conditional(position, past.y.data(), state.inverse_temperature, past.logs.data(),
                        past.probabilities.data());
    if (key_of(position, state.inverse_temperature, past) != key) return;
    if (count++ == 0) herded_start(random, state.chain, variable, key, past_probabilities, weights);
    herd(weights, past_probabilities);
  });
  if (count == 0) herded_start(random, state.chain, variable, key, probabilities, weights);
  const Value x = herd(weights, probabilities);
  if (count + 1 >= herded_visits_before_weights(width) ||
      visits.size(degree, value_bytes()) >= HerdedVisits::most)
    std::copy(weights.begin(), weights.end(), table.insert(key, width));
  else
    visits.add(mark, {scratches.now.y.data(), degree}, value_bytes());
  return x;
}

void HerdedGibbsVisited::settle(State& state) const {
  const Random random(state.seed, Stream::weights);
  Scratch past = make_scratch().past;
  std::vector<std::uint64_t> fresh;
  for (std::size_t p = 0; p < state.visits.size(); ++p) {
    const std::uint32_t width = layout_.states(p);
    const std::span<const std::int32_t> probabilities(past.probabilities.data(), width);
    fresh.clear();
    state.visits[p].for_each(nullptr, {past.y.data(), layout_.neighbours(p).size()}, value_bytes(), [&] {
      layout_.conditional(p, past.y.data(), state.inverse_temperature, past.logs.data(),
                          past.probabilities.data());
      const std::uint64_t key = key_of(p, state.inverse_temperature, past);
      std::int32_t* weights = state.tables[p].lookup(key, width);
      if (weights == nullptr) {
        fresh.push_back(key);
        weights = state.tables[p].insert(key, width);
        herded_start(random, state.chain, layout_.variable(p), key, probabilities, {weights, width});
      } else if (std::find(fresh.begin(), fresh.end(), key) == fresh.end()) {
        return;  // stored before, this visit included
      }
      herd({weights, width}, probabilities);
    });
    state.visits[p].clear();
  }
}

HerdedGibbsVisited::Scratches HerdedGibbsVisited::make_scratch() const {
  const Scratch one{std::vector<Value>(layout_.max_degree() + 1), std::vector<double>(layout_.max_states()),
                    std::vector<std::int32_t>(layout_.max_states())};
  return {one, one, std::vector<std::int32_t>(layout_.max_states())};
}

/// Calls see(position, new value).
template <class See>
void HerdedGibbsVisited::run(State& state, See see) const {
  const Random random(state.seed, Stream::weights);
  Scratches lone = make_scratch();
  layout_.run(state.values, state.scratch,
              [&](std::size_t begin, std::size_t end, const Value* from, Value* to) {
                // Ranges of several variables may run at once; single ones never do.
                Scratches own;
                if (end - begin > 1) own = make_scratch();
                Scratches& scratch = end - begin > 1 ? own : lone;
                for (std::size_t p = begin; p < end; ++p) {
                  to[p] = update(state, p, from, random, scratch);
                  see(p, to[p]);
                }
              });
}

void HerdedGibbsVisited::sweep(State& state, std::uint64_t) const {
  run(state, [](std::size_t, Value) {});
}

void HerdedGibbsVisited::sweep(State& state, std::uint64_t, ConditionalSums sums) const {
  run(state, [&](std::size_t p, Value x) {
    if (layout_.states(p) > 2)
      sums.sums[layout_.entry(p) + x] += 1;
    else
      sums.sums[layout_.entry(p)] += x;
  });
}

void HerdedGibbsVisited::sweep(State& state, std::uint64_t, ValueSums sums) const {
  run(state, [&](std::size_t p, Value x) { sums.sums[layout_.variable(p)] += sums.values[x]; });
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
  if (inverse_temperatures[0] != state.inverse_temperature) settle(state);
  state.inverse_temperature = inverse_temperatures[0];
}

static_assert(Kernel<HerdedGibbsVisited> && SumsValues<HerdedGibbsVisited>);

}  // namespace drover
