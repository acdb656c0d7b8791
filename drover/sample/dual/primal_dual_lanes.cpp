#include "drover/sample/dual/primal_dual_lanes.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "drover/sample/dual/primal_dual_plain.hpp"
#include "drover/sample/lane_random.hpp"
#include "drover/sample/lane_random_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/sample/dual/primal_dual_lanes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "drover/sample/spin_groups-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {

using DualLanesView = PrimalDualLanes::View;
using DualEdge = PrimalDualLanes::DualEdge;
using Thresholds = PrimalDualLanes::Thresholds;

// 64 lanes of one byte each are `byte_count` vectors; the 64 random words of a site are four such rows.
using ByteTag = hn::Repartition<std::uint8_t, WordTag>;
using ByteVector = hn::Vec<ByteTag>;
inline constexpr std::size_t byte_lanes = 4 * vector_lanes;
inline constexpr std::size_t byte_count = 64 / byte_lanes;

HWY_INLINE std::uint64_t byte_mask_bits(hn::Mask<ByteTag> mask, std::size_t k) {
  std::uint64_t bits = 0;
  hn::StoreMaskBits(ByteTag(), mask, reinterpret_cast<std::uint8_t*>(&bits));
  return bits << (k * byte_lanes % 64);
}

HWY_INLINE hn::Mask<ByteTag> byte_mask(std::uint64_t word, std::size_t k) {
  const std::uint64_t part = word >> (k * byte_lanes % 64);
  return hn::LoadMaskBits(ByteTag(), reinterpret_cast<const std::uint8_t*>(&part));
}

struct Comparison {
  std::uint64_t below = 0, tied = 0;
};

// Compares two rows of random bytes, the more significant first, with two rows of threshold bytes.
template <class ThresholdByte>
HWY_INLINE Comparison compare_rows(const WordVector* HWY_RESTRICT rows, ThresholdByte threshold_byte,
                                   std::size_t first_byte) {
  const ByteTag d;
  Comparison result;
  for (std::size_t k = 0; k < byte_count; ++k) {
    const ByteVector high = hn::BitCast(d, rows[k]), low = hn::BitCast(d, rows[byte_count + k]);
    const ByteVector high_limit = threshold_byte(first_byte, k),
                     low_limit = threshold_byte(first_byte + 1, k);
    const auto equal = hn::Eq(high, high_limit);
    const auto below = hn::Or(hn::Lt(high, high_limit), hn::And(equal, hn::Lt(low, low_limit)));
    result.below |= byte_mask_bits(below, k);
    result.tied |= byte_mask_bits(hn::And(equal, hn::Eq(low, low_limit)), k);
  }
  return result;
}

// Bits that are 1 with probability threshold / 2^32 in every lane. `site` is where more random numbers are
// when two bytes do not decide.
template <class ThresholdByte>
HWY_INLINE std::uint64_t draw_below(const WordVector* HWY_RESTRICT rows, ThresholdByte threshold_byte,
                                    const LaneWords& lane_words, std::uint32_t site) {
  const Comparison first = compare_rows(rows, threshold_byte, 0);
  if (HWY_LIKELY(first.tied == 0)) return first.below;
  WordVector more[vector_count];
  lane_words.draw(site, more);
  return first.below | (first.tied & compare_rows(more, threshold_byte, 2).below);
}

// Where the random numbers of a sweep are: two edges or two variables share a site, and each has one of its
// own in reserve.
struct Sites {
  explicit Sites(const DualLanesView& view)
      : variable_pairs(static_cast<std::uint32_t>((view.edge_count + 1) / 2)),
        edges(variable_pairs + static_cast<std::uint32_t>((view.size + 1) / 2)),
        variables(edges + static_cast<std::uint32_t>(view.edge_count)) {}
  std::uint32_t variable_pairs, edges, variables;
};

HWY_INLINE std::uint64_t draw_dual(const DualEdge& edge, const std::uint64_t* HWY_RESTRICT words,
                                   const WordVector* HWY_RESTRICT rows, const LaneWords& lane_words,
                                   std::uint32_t site) {
  const ByteTag d;
  const auto noise_byte = [&](std::size_t byte, std::size_t) {
    return hn::Set(d, static_cast<std::uint8_t>(edge.noise >> (24 - 8 * byte)));
  };
  const std::uint64_t noise = draw_below(rows, noise_byte, lane_words, site);
  std::uint64_t coin = 0;
  for (std::size_t k = 0; k < byte_count; ++k)
    coin |= byte_mask_bits(hn::Lt(hn::BitCast(d, rows[k]), hn::Set(d, std::uint8_t{0x80})), k);
  // The noise is at most one half, so that its lanes are among the coin's.
  const std::uint64_t differ = words[edge.first] ^ words[edge.second] ^ (std::uint64_t{0} - edge.flip);
  return words[edge.first] ^ (noise | (coin & differ));
}

void draw_duals(const DualLanesView& view, const std::uint64_t* HWY_RESTRICT words,
                const LaneWords& lane_words, const Sites& sites, std::uint64_t* HWY_RESTRICT duals) {
  WordVector rows[vector_count];
  for (std::size_t e = 0; e < view.edge_count; ++e) {
    if (e % 2 == 0) lane_words.draw(static_cast<std::uint32_t>(e / 2), rows);
    duals[e] = draw_dual(view.edges[e], words, rows + e % 2 * (vector_count / 2), lane_words,
                         sites.edges + static_cast<std::uint32_t>(e));
  }
}

// The index 0 .. 15 that the bits of four duals spell in every lane.
HWY_INLINE ByteVector byte_index(const std::uint64_t* HWY_RESTRICT words,
                                 const std::uint32_t* HWY_RESTRICT places, std::size_t k) {
  const ByteTag d;
  ByteVector index = hn::Zero(d);
  for (int j = 0; j < 4; ++j)
    index = hn::IfThenElse(byte_mask(words[places[j]], k),
                           hn::Add(index, hn::Set(d, static_cast<std::uint8_t>(1 << j))), index);
  return index;
}

HWY_INLINE std::uint64_t draw_from_thresholds(const DualLanesView& view, std::size_t i,
                                              const std::uint64_t* HWY_RESTRICT duals,
                                              const WordVector* HWY_RESTRICT rows,
                                              const LaneWords& lane_words, std::uint32_t site) {
  const ByteTag d;
  const Thresholds& thresholds = view.thresholds[view.table[i]];
  ByteVector index[byte_count];
  for (std::size_t k = 0; k < byte_count; ++k)
    index[k] = byte_index(duals, view.duals + std::size_t{4} * view.group_begin[i], k);
  return draw_below(
      rows,
      [&](std::size_t byte, std::size_t k) {
        return hn::TableLookupBytes(hn::LoadDup128(d, thresholds.bytes[byte]), index[k]);
      },
      lane_words, site);
}

// Products of odds, or sums of fields, of all 64 lanes.
template <bool product>
HWY_INLINE void combine_duals(const DualLanesView& view, std::size_t i,
                              const std::uint64_t* HWY_RESTRICT duals, FloatVector* HWY_RESTRICT totals) {
  const float start = product ? view.bias_odds[i] : view.bias[i];
  for (std::size_t k = 0; k < vector_count; ++k) totals[k] = hn::Set(FloatTag(), start);
  for (std::size_t g = view.group_begin[i]; g < view.group_begin[i + 1]; ++g)
    combine_group<product>(duals, view.duals + 4 * g, (product ? view.odds : view.weights) + 4 * g, totals);
}

template <bool product>
HWY_INLINE void add_probabilities(const FloatVector* HWY_RESTRICT totals, float* HWY_RESTRICT sums) {
  for (std::size_t k = 0; k < vector_count; ++k)
    add_to(sums + k * vector_lanes, product ? probability_of_odds(totals[k]) : probability_of(totals[k]));
}

template <bool product, bool summed>
HWY_INLINE void draw_variables(const DualLanesView& view, const std::uint64_t* HWY_RESTRICT duals,
                               const LaneWords& lane_words, const Sites& sites,
                               std::uint64_t* HWY_RESTRICT words, float* HWY_RESTRICT sums) {
  WordVector rows[vector_count];
  FloatVector totals[vector_count];
  for (std::size_t i = 0; i < view.size; ++i) {
    if (i % 2 == 0) lane_words.draw(sites.variable_pairs + static_cast<std::uint32_t>(i / 2), rows);
    const std::uint32_t own_site = sites.variables + static_cast<std::uint32_t>(i);
    const bool has_table = view.table[i] != PrimalDualLanes::no_table;
    if (summed || !has_table) combine_duals<product>(view, i, duals, totals);
    if (summed) add_probabilities<product>(totals, sums + 64 * i);
    if (has_table) {
      words[i] =
          draw_from_thresholds(view, i, duals, rows + i % 2 * (vector_count / 2), lane_words, own_site);
    } else {
      WordVector random[vector_count];
      lane_words.draw(own_site, random);
      words[i] = product ? draw_word_of_odds(totals, random) : draw_word(totals, random);
    }
  }
}

// sums may be null: not wanted.
void sweep_primal_dual(const DualLanesView& view, std::uint64_t* words, std::uint64_t* duals,
                       const LaneRandom& random, std::uint32_t batch, std::uint64_t sweep, float* sums) {
  const LaneWords lane_words(random, batch, sweep);
  const Sites sites(view);
  draw_duals(view, words, lane_words, sites, duals);
  if (view.moderate) {
    if (sums)
      draw_variables<true, true>(view, duals, lane_words, sites, words, sums);
    else
      draw_variables<true, false>(view, duals, lane_words, sites, words, sums);
  } else if (sums) {
    draw_variables<false, true>(view, duals, lane_words, sites, words, sums);
  } else {
    draw_variables<false, false>(view, duals, lane_words, sites, words, sums);
  }
}

// Adds sum_i field_i x_i and sum over edges of coupling s_i s_j; floats within a block, then double.
void score_primal_dual(const SpinEdges& graph, const std::uint64_t* HWY_RESTRICT words,
                       double* HWY_RESTRICT scores) {
  constexpr std::size_t block = 64;
  const FloatTag d;
  const auto add_terms = [&](std::size_t count, const auto& word_of, const auto& term_of) {
    for (std::size_t begin = 0; begin < count; begin += block) {
      FloatVector totals[vector_count];
      for (std::size_t k = 0; k < vector_count; ++k) totals[k] = hn::Zero(d);
      for (std::size_t t = begin; t < std::min(begin + block, count); ++t)
        for (std::size_t k = 0; k < vector_count; ++k)
          totals[k] = combine<false>(totals[k], mask_of(word_of(t), k), hn::Set(d, term_of(t)));
      alignas(64) float sums[64];
      for (std::size_t k = 0; k < vector_count; ++k) hn::Store(totals[k], d, sums + k * vector_lanes);
      for (std::size_t lane = 0; lane < 64; ++lane) scores[lane] += sums[lane];
    }
  };
  add_terms(
      graph.size(), [&](std::size_t i) { return words[i]; }, [&](std::size_t i) { return graph.field[i]; });
  double all_differ = 0;
  for (const auto& edge : graph.edges) all_differ -= edge.coupling;
  for (std::size_t lane = 0; lane < 64; ++lane) scores[lane] += all_differ;
  add_terms(
      graph.edges.size(),
      [&](std::size_t e) { return ~(words[graph.edges[e].first] ^ words[graph.edges[e].second]); },
      [&](std::size_t e) { return 2 * graph.edges[e].coupling; });
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

namespace {

HWY_EXPORT(sweep_primal_dual);
HWY_EXPORT(score_primal_dual);

constexpr std::size_t group_size = 4;

std::uint32_t as_threshold(double probability) {
  return static_cast<std::uint32_t>(std::min(std::floor(0x1p32 * probability + 0.5), 0x1p32 - 1));
}

PrimalDualLanes::Thresholds thresholds_of(float bias, const float* weights) {
  PrimalDualLanes::Thresholds thresholds;
  for (unsigned bits = 0; bits < 16; ++bits) {
    double field = bias;
    for (unsigned j = 0; j < group_size; ++j)
      if (bits >> j & 1) field += weights[j];
    const std::uint32_t threshold = as_threshold(1 / (1 + std::exp(-field)));
    for (unsigned byte = 0; byte < 4; ++byte)
      thresholds.bytes[byte][bits] = static_cast<std::uint8_t>(threshold >> (24 - 8 * byte));
  }
  return thresholds;
}

}  // namespace

PrimalDualLanes::PrimalDualLanes(const SpinGraph& graph)
    : spins_(spin_edges(graph)), group_begin_(graph.size() + 1, 0), table_(graph.size(), no_table) {
  std::vector<std::uint32_t> degree(size(), 0);
  for (const auto& edge : spins_.edges) {
    ++degree[edge.first];
    ++degree[edge.second];
  }
  std::uint32_t tables = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    const std::uint32_t groups = std::max<std::uint32_t>(1, (degree[i] + group_size - 1) / group_size);
    group_begin_[i + 1] = group_begin_[i] + groups;
    if (groups == 1) table_[i] = tables++;
  }
  duals_.assign(group_size * group_begin_.back(), 0);
  weights_.assign(duals_.size(), 0.0F);
  odds_.assign(duals_.size(), 1.0F);

  // Each pair gives its two variables +-strength t = +-strength (2 theta - 1).
  std::vector<double> bias(spins_.field.begin(), spins_.field.end());
  std::vector<double> bound(size());
  std::vector<std::uint32_t> filled(size(), 0);
  const auto put = [&](std::uint32_t i, std::size_t dual, double strength) {
    const std::size_t place = group_size * group_begin_[i] + filled[i]++;
    duals_[place] = static_cast<std::uint32_t>(dual);
    weights_[place] = static_cast<float>(2 * strength);
    odds_[place] = std::exp(-weights_[place]);
    bias[i] -= strength;
    bound[i] += 2 * std::abs(strength);
  };
  edges_.reserve(spins_.edges.size());
  for (std::size_t e = 0; e < spins_.edges.size(); ++e) {
    const auto& edge = spins_.edges[e];
    const SpinDual dual = dual_of_coupling(edge.coupling);
    edges_.push_back({edge.first, edge.second, as_threshold(dual.noise), dual.flip ? 1U : 0U});
    put(edge.first, e, dual.strength);
    put(edge.second, e, dual.flip ? -dual.strength : dual.strength);
  }
  bias_.assign(bias.begin(), bias.end());
  bias_odds_.resize(size());
  thresholds_.resize(tables);
  moderate_ = true;
  for (std::size_t i = 0; i < size(); ++i) {
    bias_odds_[i] = std::exp(-bias_[i]);
    moderate_ = moderate_ && std::abs(bias[i]) + bound[i] <= 80;
    if (table_[i] != no_table)
      thresholds_[table_[i]] = thresholds_of(bias_[i], weights_.data() + group_size * group_begin_[i]);
  }
}

PrimalDualLanes::View PrimalDualLanes::view() const {
  return {.size = size(),
          .edge_count = edges_.size(),
          .edges = edges_.data(),
          .bias = bias_.data(),
          .bias_odds = bias_odds_.data(),
          .group_begin = group_begin_.data(),
          .duals = duals_.data(),
          .weights = weights_.data(),
          .odds = odds_.data(),
          .table = table_.data(),
          .thresholds = thresholds_.data(),
          .moderate = moderate_};
}

PrimalDualLanes::State PrimalDualLanes::start(std::uint64_t seed, std::uint32_t first_chain) const {
  assert(first_chain % lanes() == 0);
  State state;
  state.seed = seed;
  state.first_chain = first_chain;
  state.words.resize(size());
  state.inverse_temperatures.assign(lanes(), 1.0F);
  state.duals.assign(std::max<std::size_t>(1, edges_.size()), 0);
  const LaneRandom random(seed, Stream::start);
  for (std::size_t i = 0; i < size(); ++i) {
    const auto words = random.words(first_chain / lanes(), 0, static_cast<std::uint32_t>(i));
    for (std::uint32_t lane = 0; lane < lanes(); ++lane)
      state.words[i] |= std::uint64_t{words[lane] >> 31} << lane;
  }
  return state;
}

void PrimalDualLanes::run(State& state, std::uint64_t sweep, float* sums) const {
  if (std::ranges::any_of(state.inverse_temperatures, [](float b) { return b != 1.0F; })) {
    run_tempered(state, sweep, sums);
    return;
  }
  state.duals.resize(std::max<std::size_t>(1, edges_.size()));  // a loaded checkpoint has none
  HWY_DYNAMIC_DISPATCH(sweep_primal_dual)
  (view(), state.words.data(), state.duals.data(), LaneRandom(state.seed, Stream::sweep),
   state.first_chain / lanes(), sweep, sums);
}

void PrimalDualLanes::run_tempered(State& state, std::uint64_t sweep, float* sums) const {
  const Random random(state.seed, Stream::sweep);
  std::vector<Value> x(size());
  std::vector<double> p(size());
  for (std::uint32_t lane = 0; lane < lanes(); ++lane) {
    read(state, lane, x);
    plain_primal_dual_sweep(spins_, state.inverse_temperatures[lane], random, state.first_chain + lane, sweep,
                            x, p);
    write(state, lane, x);
    for (std::size_t i = 0; sums && i < size(); ++i) sums[64 * i + lane] += static_cast<float>(p[i]);
  }
}

void PrimalDualLanes::sweep(State& state, std::uint64_t sweep) const {
  run(state, sweep, nullptr);
}

void PrimalDualLanes::sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const {
  assert(sums.sums.size() == entry_count() * lanes());
  run(state, sweep, sums.sums.data());
}

void PrimalDualLanes::read(const State& state, std::uint32_t lane, std::span<Value> values) const {
  for (std::size_t i = 0; i < size(); ++i) values[i] = state.words[i] >> lane & 1;
}

void PrimalDualLanes::write(State& state, std::uint32_t lane, std::span<const Value> values) const {
  for (std::size_t i = 0; i < size(); ++i)
    state.words[i] = (state.words[i] & ~(std::uint64_t{1} << lane)) | std::uint64_t{values[i]} << lane;
}

void PrimalDualLanes::log_scores(const State& state, std::span<double> scores) const {
  std::ranges::fill(scores, spins_.log_constant);
  HWY_DYNAMIC_DISPATCH(score_primal_dual)(spins_, state.words.data(), scores.data());
}

void PrimalDualLanes::set_inverse_temperatures(State& state,
                                               std::span<const float> inverse_temperatures) const {
  state.inverse_temperatures.assign(inverse_temperatures.begin(), inverse_temperatures.end());
}

}  // namespace drover
#endif
