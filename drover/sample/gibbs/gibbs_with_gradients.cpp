#include "drover/sample/gibbs/gibbs_with_gradients.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "drover/core/random.hpp"

namespace drover {

namespace {

double gain_of(double field, bool x, double inverse_temperature) {
  return std::exp((x ? -field : field) * inverse_temperature / 2);
}

}  // namespace

GibbsWithGradients::GibbsWithGradients(const SpinGraph& graph) : graph_(&graph) {
  assert(largest_field(graph) <= most_field);
}

void GibbsWithGradients::refresh(State& state) const {
  state.fields.resize(size());
  for (std::size_t i = 0; i < size(); ++i) {
    double field = graph_->bias[i];
    const auto neighbours = graph_->neighbours(i);
    const auto weights = graph_->weights(i);
    for (std::size_t k = 0; k < neighbours.size(); ++k)
      field += state.values[neighbours[k]] ? weights[k] : 0.0;
    state.fields[i] = field;
  }
  weigh(state);
}

void GibbsWithGradients::weigh(State& state) const {
  if (state.gains.size() != size()) state.gains = SumTree(size());
  for (std::size_t i = 0; i < size(); ++i)
    state.gains.put(i, gain_of(state.fields[i], state.values[i] != 0, state.inverse_temperature));
  state.gains.rebuild();
}

// Flipping back restores fields only up to rounding: sums of floats in double lose nothing that could show in
// a run, and every sweep begins with fields worked out afresh.
void GibbsWithGradients::flip(State& state, std::size_t variable) const {
  const double sign = state.values[variable] ? -1 : 1;
  state.values[variable] ^= 1;
  const auto neighbours = graph_->neighbours(variable);
  const auto weights = graph_->weights(variable);
  state.changed.assign(neighbours.begin(), neighbours.end());
  // In its place among them, which come in order.
  state.changed.insert(std::ranges::upper_bound(state.changed, variable),
                       static_cast<std::uint32_t>(variable));
  for (std::size_t k = 0; k < neighbours.size(); ++k) state.fields[neighbours[k]] += sign * weights[k];
  for (const std::uint32_t i : state.changed)
    state.gains.put(i, gain_of(state.fields[i], state.values[i] != 0, state.inverse_temperature));
  if (state.changed.size() > size() / 8)
    state.gains.rebuild();
  else
    state.gains.update(state.changed);
}

GibbsWithGradients::State GibbsWithGradients::start(std::uint64_t seed, std::uint32_t first_chain) const {
  State state;
  state.seed = seed;
  state.chain = first_chain;
  state.values.resize(size());
  const Random random(seed, Stream::start);
  for (std::size_t i = 0; i < size(); ++i)
    state.values[i] = random.block(first_chain, 0, static_cast<std::uint32_t>(i))[0] >> 31;
  refresh(state);
  return state;
}

Moves GibbsWithGradients::sweep(State& state, std::uint64_t sweep, const RunControl& control) const {
  constexpr std::uint64_t steps_a_look = 1U << 14;
  if (size() == 0) return {};
  if (state.step == 0)
    refresh(state);
  else if (state.gains.size() != size())  // from a checkpoint
    weigh(state);
  const Random random(state.seed, Stream::sweep);
  const std::size_t steps =
      size() + (Random(state.seed, Stream::order).block(state.chain, sweep, 0)[0] >> 31);
  Moves moves;
  for (std::uint64_t& step = state.step; step < steps; ++step) {
    if (step % steps_a_look == steps_a_look - 1 && control.should_stop()) return moves;
    ++moves.proposed;
    const Random::Block words = random.block(state.chain, sweep, static_cast<std::uint32_t>(step));
    const double before = state.gains.total();
    const std::size_t i = state.gains.find(Random::to_unit(words[0], words[1]) * before);
    flip(state, i);
    if (Random::to_unit(words[2], words[3]) * state.gains.total() < before)
      ++moves.accepted;
    else
      flip(state, i);
  }
  state.step = 0;
  return moves;
}

Moves GibbsWithGradients::sweep(State& state, std::uint64_t sweep_number, ConditionalSums sums,
                                const RunControl& control) const {
  const Moves moves = sweep(state, sweep_number, control);
  if (is_midway(state)) return moves;
  for (std::size_t i = 0; i < size(); ++i)
    sums.sums[i] += static_cast<float>(1 / (1 + std::exp(-state.fields[i] * state.inverse_temperature)));
  return moves;
}

void GibbsWithGradients::read(const State& state, std::uint32_t, std::span<Value> values) const {
  for (std::size_t i = 0; i < size(); ++i) values[i] = state.values[i];
}

void GibbsWithGradients::write(State& state, std::uint32_t, std::span<const Value> values) const {
  for (std::size_t i = 0; i < size(); ++i) state.values[i] = static_cast<std::uint8_t>(values[i]);
  state.step = 0;
  refresh(state);
}

void GibbsWithGradients::log_scores(const State& state, std::span<double> scores) const {
  // Every pair stands in the fields of both its variables.
  double score = graph_->log_constant;
  for (std::size_t i = 0; i < size(); ++i)
    if (state.values[i]) score += (state.fields[i] + graph_->bias[i]) / 2;
  scores[0] = score;
}

void GibbsWithGradients::set_inverse_temperatures(State& state,
                                                  std::span<const float> inverse_temperatures) const {
  state.inverse_temperature = inverse_temperatures[0];
  refresh(state);
}

}  // namespace drover
