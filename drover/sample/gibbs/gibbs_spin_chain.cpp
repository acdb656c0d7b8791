#include "drover/sample/gibbs/gibbs_spin_chain.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "drover/core/parallel.hpp"
#include "drover/sample/lane_random.hpp"
#include "drover/sample/lane_random_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/sample/gibbs/gibbs_spin_chain.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "drover/sample/gibbs/gibbs_spin_draw-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {

using SpinChainView = GibbsSpinChain::View;
using Unit = GibbsSpinChain::Unit;

// The 64 bits from position p on.
HWY_INLINE std::uint64_t bits_from(const std::uint64_t* HWY_RESTRICT words, std::size_t p) {
  const std::size_t shift = p % 64;
  return words[p / 64] >> shift | words[p / 64 + 1] << 1 << (63 - shift);
}

// The bits at the positions of one vector of neighbours.
HWY_INLINE FloatMask gathered_bits(const std::uint64_t* HWY_RESTRICT words,
                                   const std::int32_t* HWY_RESTRICT positions) {
  const hn::RebindToSigned<WordTag> di;
  const auto position = hn::LoadU(di, positions);
  const auto halves =
      hn::GatherIndex(di, reinterpret_cast<const std::int32_t*>(words), hn::ShiftRight<5>(position));
  const auto bit = hn::Shl(hn::Set(di, 1), hn::And(position, hn::Set(di, 31)));
  return hn::RebindMask(FloatTag(), hn::TestBit(halves, bit));
}

// Fields (or, as a product, exp(-f)) of a unit: start[lane] and the terms of all neighbours that are 1.
template <bool product>
HWY_INLINE void combine_unit(const SpinChainView& view, const Unit& unit,
                             const std::uint64_t* HWY_RESTRICT words, const float* HWY_RESTRICT terms,
                             FloatVector* HWY_RESTRICT totals) {
  const FloatTag d;
  const std::size_t vectors = unit.stride / vector_lanes;
  for (std::uint32_t slot = 0; slot < unit.degree; ++slot) {
    const std::size_t begin = unit.slots + std::size_t{slot} * unit.stride;
    const std::uint32_t first = view.runs[unit.runs + slot];
    if (first != GibbsSpinChain::no_run && unit.stride == 64) {
      const std::uint64_t bits = bits_from(words, first);
      for (std::size_t k = 0; k < vector_count; ++k)
        totals[k] =
            combine<product>(totals[k], mask_of(bits, k), hn::LoadU(d, terms + begin + k * vector_lanes));
    } else if (unit.stride == 64) {
      for (std::size_t k = 0; k < vector_count; ++k)
        totals[k] =
            combine<product>(totals[k], gathered_bits(words, view.neighbours + begin + k * vector_lanes),
                             hn::LoadU(d, terms + begin + k * vector_lanes));
    } else {
      for (std::size_t k = 0; k < vectors; ++k)
        totals[k] =
            combine<product>(totals[k], gathered_bits(words, view.neighbours + begin + k * vector_lanes),
                             hn::LoadU(d, terms + begin + k * vector_lanes));
    }
  }
}

template <bool product, bool summed>
HWY_INLINE void sweep_range(const SpinChainView& view, std::uint64_t* HWY_RESTRICT words,
                            std::span<const std::uint32_t> units, float inverse_temperature,
                            const LaneWords& lane_words, float* HWY_RESTRICT sums) {
  const FloatTag d;
  for (const std::uint32_t u : units) {
    WordVector random[vector_count];
    lane_words.draw(view.numbers[u], random);
    FloatVector totals[vector_count];
    for (std::size_t k = 0; k < vector_count; ++k)
      totals[k] =
          hn::LoadU(d, (product ? view.bias_odds : view.bias) + std::size_t{64} * u + k * vector_lanes);
    combine_unit<product>(view, view.units[u], words, product ? view.odds : view.weights, totals);
    if constexpr (!product)
      for (std::size_t k = 0; k < vector_count; ++k)
        totals[k] = hn::Mul(totals[k], hn::Set(d, inverse_temperature));
    if constexpr (summed) {
      alignas(64) float p[64];
      for (std::size_t k = 0; k < vector_count; ++k)
        hn::Store(product ? probability_of_odds(totals[k]) : probability_of(totals[k]), d,
                  p + k * vector_lanes);
      for (std::size_t lane = 0; lane < view.units[u].members; ++lane)
        sums[view.entry_of[std::size_t{64} * u + lane]] += p[lane];
    }
    words[u] = product ? draw_word_of_odds(totals, random) : draw_word(totals, random);
  }
}

// Draws units, which must be of one colour. With `odds`, at temperature 1 from products.
void sweep_units(const SpinChainView& view, std::uint64_t* words, std::span<const std::uint32_t> units,
                 bool odds, float inverse_temperature, const LaneRandom& random, std::uint32_t chain,
                 std::uint64_t sweep, float* sums) {
  const LaneWords lane_words(random, chain, sweep);
  if (odds) {
    if (sums)
      sweep_range<true, true>(view, words, units, 1, lane_words, sums);
    else
      sweep_range<true, false>(view, words, units, 1, lane_words, sums);
  } else if (sums) {
    sweep_range<false, true>(view, words, units, inverse_temperature, lane_words, sums);
  } else {
    sweep_range<false, false>(view, words, units, inverse_temperature, lane_words, sums);
  }
}

// sum_i x_i (bias_i + 1/2 sum_j weight_ij x_j) over units.
WholeSum score_units(const SpinChainView& view, const std::uint64_t* words,
                     std::span<const std::uint32_t> units) {
  const FloatTag d;
  WholeSum total;
  for (const std::uint32_t u : units) {
    FloatVector fields[vector_count];
    for (std::size_t k = 0; k < vector_count; ++k) fields[k] = hn::Zero(d);
    combine_unit<false>(view, view.units[u], words, view.weights, fields);
    FloatVector sum = hn::Zero(d);
    for (std::size_t k = 0; k < vector_count; ++k)
      sum = combine<false>(sum, mask_of(words[u], k),
                           hn::MulAdd(fields[k], hn::Set(d, 0.5f),
                                      hn::LoadU(d, view.bias + std::size_t{64} * u + k * vector_lanes)));
    total.add(hn::GetLane(hn::SumOfLanes(d, sum)));
  }
  return total;
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

namespace {

HWY_EXPORT(sweep_units);
HWY_EXPORT(score_units);

constexpr std::size_t unit_size = 64;
constexpr std::size_t grain = 128;  // units that one task takes: about 10 microseconds of work

}  // namespace

GibbsSpinChain::GibbsSpinChain(const SpinGraph& graph)
    : GibbsSpinChain(graph, colour_variables(graph.offsets, graph.neighbour)) {}

GibbsSpinChain::GibbsSpinChain(const SpinGraph& graph, Colouring colouring)
    : GibbsSpinChain(graph, places(graph, std::move(colouring)), {}, {}) {}

GibbsSpinChain::Places GibbsSpinChain::places(const SpinGraph& graph, Colouring colouring) {
  // By colour, degree and index; every colour begins a new unit.
  Places places;
  places.position_of.resize(graph.size());
  places.colour_begin.push_back(0);
  for (std::size_t c = 0; c < colouring.count(); ++c) {
    const std::span<VariableId> members(colouring.members.data() + colouring.offsets[c],
                                        colouring.offsets[c + 1] - colouring.offsets[c]);
    std::stable_sort(members.begin(), members.end(),
                     [&](VariableId a, VariableId b) { return graph.degree(a) < graph.degree(b); });
    for (VariableId v : members) {
      places.position_of[v] = static_cast<std::uint32_t>(places.variable_of.size());
      places.variable_of.push_back(v);
    }
    places.variable_of.resize((places.variable_of.size() + unit_size - 1) / unit_size * unit_size,
                              no_variable);
    places.colour_begin.push_back(places.units());
  }
  return places;
}

GibbsSpinChain::GibbsSpinChain(const SpinGraph& graph, Places places, const std::vector<bool>& held,
                               std::vector<std::uint32_t> entry_of)
    : moderate_(largest_field(graph) <= most_moderate),
      log_constant_(graph.log_constant),
      places_(std::move(places)),
      units_(places_.units()),
      entry_of_(places_.variable_of),
      all_(places_.units()) {
  if (!entry_of.empty())
    for (std::uint32_t& entry : entry_of_)
      if (entry != no_variable) entry = entry_of[entry];
  std::iota(all_.begin(), all_.end(), 0U);
  std::size_t slots = 0, runs = 0;
  for (std::size_t u = 0; u < units_.size(); ++u) {
    Unit& unit = units_[u];
    unit = {slots, runs, 0, 0, 0};
    if (!held.empty() && !held[u]) continue;
    places_.for_members(u, [&](VariableId v) {
      ++unit.members;
      unit.degree = std::max(unit.degree, static_cast<std::uint32_t>(graph.degree(v)));
    });
    unit.stride = (unit.members + 15) / 16 * 16;
    slots += std::size_t{unit.stride} * unit.degree;
    runs += unit.degree;
  }
  neighbours_.assign(slots, 0);
  weights_.assign(slots, 0.0f);
  bias_.assign(places_.variable_of.size(), 0.0f);

  parallel_for(IndexRange(0, units_.size(), grain), [&](const IndexRange& range) {
    for (std::size_t u = range.begin(); u < range.end(); ++u) {
      const Unit& unit = units_[u];
      for (std::uint32_t lane = 0; lane < unit.members; ++lane) {
        const std::size_t p = u * unit_size + lane;
        const VariableId v = places_.variable_of[p];
        bias_[p] = graph.bias[v];
        for (std::size_t slot = 0; slot < graph.degree(v); ++slot) {
          const std::size_t e = unit.slots + slot * unit.stride + lane;
          neighbours_[e] = static_cast<std::int32_t>(places_.position_of[graph.neighbours(v)[slot]]);
          weights_[e] = graph.weights(v)[slot];
        }
      }
    }
  });
  complete();
}

GibbsSpinChain::GibbsSpinChain(Held held)
    : moderate_(held.moderate),
      log_constant_(held.log_constant),
      units_(std::move(held.units)),
      neighbours_(std::move(held.neighbours)),
      weights_(std::move(held.weights)),
      bias_(std::move(held.bias)),
      entry_of_(std::move(held.entry_of)),
      numbers_(std::move(held.numbers)) {
  complete();
}

// What follows from units, neighbours, weights and biases.
void GibbsSpinChain::complete() {
  odds_.resize(weights_.size());
  bias_odds_.resize(bias_.size());
  const std::size_t last = units_.empty() ? 0 : units_.back().runs + units_.back().degree;
  runs_.assign(last, no_run);
  parallel_for(IndexRange(0, units_.size(), grain), [&](const IndexRange& range) {
    for (std::size_t u = range.begin(); u < range.end(); ++u) {
      const Unit& unit = units_[u];
      for (std::size_t p = u * unit_size; p < (u + 1) * unit_size; ++p) bias_odds_[p] = std::exp(-bias_[p]);
      for (std::size_t e = unit.slots; e < unit.slots + std::size_t{unit.stride} * unit.degree; ++e)
        odds_[e] = std::exp(-weights_[e]);
      if (unit.members < unit_size) continue;
      for (std::uint32_t slot = 0; slot < unit.degree; ++slot) {
        const std::int32_t* first = neighbours_.data() + unit.slots + std::size_t{slot} * unit_size;
        bool consecutive = true;
        for (std::int32_t lane = 0; lane < static_cast<std::int32_t>(unit_size); ++lane)
          consecutive = consecutive && first[lane] == first[0] + lane;
        if (consecutive) runs_[unit.runs + slot] = static_cast<std::uint32_t>(first[0]);
      }
    }
  });
}

GibbsSpinChain::View GibbsSpinChain::view() const {
  return {units_.data(), neighbours_.data(), weights_.data(),
          odds_.data(),  bias_.data(),       bias_odds_.data(),
          runs_.data(),  entry_of_.data(),   numbers_.empty() ? all_.data() : numbers_.data()};
}

GibbsSpinChain::State GibbsSpinChain::start(std::uint64_t seed, std::uint32_t first_chain) const {
  State state;
  state.seed = seed;
  state.chain = first_chain;
  state.words.assign(units_.size() + 1, 0);  // one behind the end, for bits_from()
  const LaneRandom random(seed, Stream::start);
  for (std::size_t u = 0; u < units_.size(); ++u) {
    const auto words =
        random.words(first_chain, 0, numbers_.empty() ? static_cast<std::uint32_t>(u) : numbers_[u]);
    state.words[u] = std::uint64_t{words[0]} << 32 | words[1];
  }
  return state;
}

void GibbsSpinChain::draw_units(State& state, std::span<const std::uint32_t> units, std::uint64_t sweep,
                                float* sums) const {
  const LaneRandom random(state.seed, Stream::sweep);
  const View flat = view();
  const bool odds = moderate_ && state.inverse_temperature == 1;
  const auto draw = [&](std::span<const std::uint32_t> some) {
    HWY_DYNAMIC_DISPATCH(sweep_units)
    (flat, state.words.data(), some, odds, state.inverse_temperature, random, state.chain, sweep, sums);
  };
  if (units.size() < 2 * grain)
    draw(units);
  else
    parallel_for(IndexRange(0, units.size(), grain),
                 [&](const IndexRange& range) { draw(units.subspan(range.begin(), range.size())); });
}

void GibbsSpinChain::draw_colour(State& state, std::size_t colour, std::uint64_t sweep, float* sums) const {
  const std::size_t begin = places_.colour_begin[colour], end = places_.colour_begin[colour + 1];
  draw_units(state, std::span(all_).subspan(begin, end - begin), sweep, sums);
}

void GibbsSpinChain::run(State& state, std::uint64_t sweep, float* sums) const {
  for (std::size_t c = 0; c < colour_count(); ++c) draw_colour(state, c, sweep, sums);
}

void GibbsSpinChain::sweep(State& state, std::uint64_t sweep) const {
  run(state, sweep, nullptr);
}

void GibbsSpinChain::sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const {
  assert(sums.sums.size() == entry_count());
  run(state, sweep, sums.sums.data());
}

void GibbsSpinChain::read(const State& state, std::uint32_t, std::span<Value> values) const {
  for (std::size_t v = 0; v < values.size(); ++v) {
    const std::uint32_t position = places_.position_of[v];
    values[v] = state.words[position / unit_size] >> position % unit_size & 1;
  }
}

void GibbsSpinChain::write(State& state, std::uint32_t, std::span<const Value> values) const {
  for (std::size_t v = 0; v < values.size(); ++v) {
    const std::uint32_t position = places_.position_of[v];
    std::uint64_t& word = state.words[position / unit_size];
    const std::size_t bit = position % unit_size;
    word = (word & ~(std::uint64_t{1} << bit)) | std::uint64_t{values[v]} << bit;
  }
}

WholeSum GibbsSpinChain::score_of(const State& state, std::span<const std::uint32_t> units) const {
  const View flat = view();
  constexpr std::size_t block = 2 * grain;
  std::vector<WholeSum> sums((units.size() + block - 1) / block);
  parallel_for(std::size_t{0}, sums.size(), [&](std::size_t b) {
    sums[b] = HWY_DYNAMIC_DISPATCH(score_units)(
        flat, state.words.data(), units.subspan(b * block, std::min(block, units.size() - b * block)));
  });
  WholeSum total;
  for (const WholeSum& sum : sums) total.add(sum);
  return total;
}

void GibbsSpinChain::log_scores(const State& state, std::span<double> scores) const {
  scores[0] = log_constant_ + score_of(state, all_).value();
}

void GibbsSpinChain::set_inverse_temperatures(State& state,
                                              std::span<const float> inverse_temperatures) const {
  state.inverse_temperature = inverse_temperatures[0];
}

}  // namespace drover
#endif
