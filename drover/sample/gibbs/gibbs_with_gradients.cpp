#include "drover/sample/gibbs/gibbs_with_gradients.hpp"

#include <bit>
#include <cassert>
#include <cmath>

#include "drover/core/random.hpp"

namespace drover {

namespace {

double leaf_of(double field, bool x, double inverse_temperature) {
  return std::exp((x ? -field : field) * inverse_temperature / 2);
}

void rebuild(std::vector<double>& sums, std::size_t leaves) {
  for (std::size_t k = leaves; k-- > 1;) sums[k] = sums[2 * k] + sums[2 * k + 1];
}

/// The leaf that holds `target`, 0 <= target < sums[1].
std::size_t descend(const std::vector<double>& sums, std::size_t leaves, double target) {
  std::size_t k = 1;
  while (k < leaves) {
    k *= 2;
    // Rounding may leave a target at or beyond the sum of the right child; a subtree of sum zero is never
    // entered.
    if (target >= sums[k] && sums[k + 1] > 0) target -= sums[k++];
  }
  return k - leaves;
}

}  // namespace

GibbsWithGradients::GibbsWithGradients(const SpinGraph& graph)
    : graph_(&graph), leaves_(std::bit_ceil(std::max<std::size_t>(1, graph.size()))) {
  assert(largest_field(graph) <= most_field);
}

void GibbsWithGradients::refresh(State& state) const {
  state.fields.resize(size());
  state.sums.assign(2 * leaves_, 0.0);
  for (std::size_t i = 0; i < size(); ++i) {
    double field = graph_->bias[i];
    const auto neighbours = graph_->neighbours(i);
    const auto weights = graph_->weights(i);
    for (std::size_t k = 0; k < neighbours.size(); ++k)
      field += state.values[neighbours[k]] ? weights[k] : 0.0;
    state.fields[i] = field;
    state.sums[leaves_ + i] = leaf_of(field, state.values[i] != 0, state.inverse_temperature);
  }
  rebuild(state.sums, leaves_);
}

// Flipping back restores fields only up to rounding: sums of floats in double lose nothing that could show in
// a run, and every sweep begins with fields worked out afresh.
void GibbsWithGradients::flip(State& state, std::size_t variable) const {
  const double sign = state.values[variable] ? -1 : 1;
  state.values[variable] ^= 1;
  const double beta = state.inverse_temperature;
  const auto neighbours = graph_->neighbours(variable);
  const auto weights = graph_->weights(variable);
  const auto depth = static_cast<std::size_t>(std::bit_width(leaves_));
  const bool whole = neighbours.size() * depth > leaves_;
  const auto put = [&](std::size_t i) {
    std::size_t k = leaves_ + i;
    state.sums[k] = leaf_of(state.fields[i], state.values[i] != 0, beta);
    if (whole) return;
    while (k > 1) {
      k /= 2;
      state.sums[k] = state.sums[2 * k] + state.sums[2 * k + 1];
    }
  };
  for (std::size_t k = 0; k < neighbours.size(); ++k) {
    state.fields[neighbours[k]] += sign * weights[k];
    put(neighbours[k]);
  }
  put(variable);
  if (whole) rebuild(state.sums, leaves_);
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

Moves GibbsWithGradients::propose(State& state, std::uint64_t sweep) const {
  if (size() == 0) return {};
  refresh(state);
  const Random random(state.seed, Stream::sweep);
  const std::size_t steps =
      size() + (Random(state.seed, Stream::order).block(state.chain, sweep, 0)[0] >> 31);
  Moves moves{.proposed = steps};
  for (std::size_t step = 0; step < steps; ++step) {
    const Random::Block words = random.block(state.chain, sweep, static_cast<std::uint32_t>(step));
    const double before = state.sums[1];
    const std::size_t i = descend(state.sums, leaves_, Random::to_unit(words[0], words[1]) * before);
    flip(state, i);
    if (Random::to_unit(words[2], words[3]) * state.sums[1] < before)
      ++moves.accepted;
    else
      flip(state, i);
  }
  return moves;
}

Moves GibbsWithGradients::sweep(State& state, std::uint64_t sweep) const {
  return propose(state, sweep);
}

Moves GibbsWithGradients::sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const {
  const Moves moves = propose(state, sweep);
  for (std::size_t i = 0; i < size(); ++i)
    sums.sums[i] += static_cast<float>(1 / (1 + std::exp(-state.fields[i] * state.inverse_temperature)));
  return moves;
}

void GibbsWithGradients::read(const State& state, std::uint32_t, std::span<Value> values) const {
  for (std::size_t i = 0; i < size(); ++i) values[i] = state.values[i];
}

void GibbsWithGradients::write(State& state, std::uint32_t, std::span<const Value> values) const {
  for (std::size_t i = 0; i < size(); ++i) state.values[i] = static_cast<std::uint8_t>(values[i]);
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
