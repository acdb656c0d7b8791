#include "drover/sample/gibbs/gibbs_spin_lanes.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

#include "drover/core/parallel.hpp"
#include "drover/sample/gibbs/spin_scan.hpp"
#include "drover/sample/lane_random.hpp"
#include "drover/sample/lane_random_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/sample/gibbs/gibbs_spin_lanes.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "drover/sample/spin_groups-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {

using SpinLanesView = GibbsSpinLanes::View;

#if HWY_TARGET <= HWY_AVX3

// Draws a variable of at most four neighbours from its table of thresholds.
template <bool summed>
HWY_INLINE std::uint64_t draw_from_table(const SpinLanesView& view, const std::uint64_t* HWY_RESTRICT words,
                                         std::size_t i, const WordVector* HWY_RESTRICT random,
                                         float* HWY_RESTRICT sums) {
  const WordTag d;
  const FloatTag df;
  const WordVector thresholds = hn::Load(d, view.thresholds + std::size_t{16} * view.table[i]);
  WordVector index[4];
  group_index(words, view.neighbours + std::size_t{4} * view.group_begin[i], index);
  std::uint64_t word = 0;
  for (std::size_t k = 0; k < 4; ++k) {
    const WordVector threshold = hn::TableLookupLanes(thresholds, hn::IndicesFromVec(d, index[k]));
    word |= bits_of(d, hn::Lt(random[k], threshold), k);
    if constexpr (summed) add_to(sums + 16 * k, hn::Mul(hn::ConvertTo(df, threshold), hn::Set(df, 0x1p-32f)));
  }
  return word;
}
inline constexpr bool has_tables = true;

#else

template <bool summed>
std::uint64_t draw_from_table(const SpinLanesView&, const std::uint64_t*, std::size_t, const WordVector*,
                              float*);
inline constexpr bool has_tables = false;

#endif

// Draws any variable at temperature 1 from exp(-f), made as a product.
template <bool summed>
HWY_INLINE std::uint64_t draw_from_odds(const SpinLanesView& view, const std::uint64_t* HWY_RESTRICT words,
                                        std::size_t i, const WordVector* HWY_RESTRICT random,
                                        float* HWY_RESTRICT sums) {
  FloatVector odds[vector_count];
  for (std::size_t k = 0; k < vector_count; ++k) odds[k] = hn::Set(FloatTag(), view.bias_odds[i]);
  for (std::size_t g = view.group_begin[i]; g < view.group_begin[i + 1]; ++g)
    combine_group<true>(words, view.neighbours + 4 * g, view.odds + 4 * g, odds);
  if constexpr (summed)
    for (std::size_t k = 0; k < vector_count; ++k)
      add_to(sums + k * vector_lanes, probability_of_odds(odds[k]));
  return draw_word_of_odds(odds, random);
}

// Draws any variable from its 64 fields.
template <bool tempered, bool summed>
HWY_INLINE std::uint64_t draw_from_fields(const SpinLanesView& view, const std::uint64_t* HWY_RESTRICT words,
                                          std::size_t i, const float* HWY_RESTRICT inverse_temperatures,
                                          const WordVector* HWY_RESTRICT random, float* HWY_RESTRICT sums) {
  const FloatTag d;
  FloatVector fields[vector_count];
  for (std::size_t k = 0; k < vector_count; ++k) fields[k] = hn::Set(d, view.bias[i]);
  for (std::size_t g = view.group_begin[i]; g < view.group_begin[i + 1]; ++g)
    combine_group<false>(words, view.neighbours + 4 * g, view.weights + 4 * g, fields);
  for (std::size_t k = 0; k < vector_count; ++k) {
    if constexpr (tempered)
      fields[k] = hn::Mul(fields[k], hn::LoadU(d, inverse_temperatures + k * vector_lanes));
    if constexpr (summed) add_to(sums + k * vector_lanes, probability_of(fields[k]));
  }
  return draw_word(fields, random);
}

// How many variables ahead of its use memory is asked for.
inline constexpr std::size_t words_ahead = 12, rows_ahead = 24;

HWY_INLINE void prefetch_row(const SpinLanesView& view, std::size_t i) {
  hwy::Prefetch(view.neighbours + std::size_t{4} * view.group_begin[i]);
  hwy::Prefetch(view.weights + std::size_t{4} * view.group_begin[i]);
  if (has_tables && view.table[i] != GibbsSpinLanes::no_table)
    hwy::Prefetch(view.thresholds + std::size_t{16} * view.table[i]);
}

HWY_INLINE void prefetch_words(const SpinLanesView& view, const std::uint64_t* words, std::size_t i) {
  for (std::size_t e = std::size_t{4} * view.group_begin[i]; e < std::size_t{4} * view.group_begin[i + 1];
       ++e)
    hwy::Prefetch(words + view.neighbours[e]);
}

template <bool tempered, bool summed>
HWY_INLINE void sweep_all(const SpinLanesView& view, std::uint64_t* HWY_RESTRICT words,
                          const float* HWY_RESTRICT inverse_temperatures,
                          const std::uint32_t* HWY_RESTRICT order, const LaneWords& lane_words,
                          float* HWY_RESTRICT sums) {
  for (std::size_t place = 0; place < view.size; ++place) {
    const std::size_t i = order ? order[place] : place;
    if (view.prefetch && place + rows_ahead < view.size) {
      if (order) prefetch_row(view, order[place + rows_ahead]);
      prefetch_words(view, words, order ? order[place + words_ahead] : place + words_ahead);
    }
    WordVector random[vector_count];
    lane_words.draw(static_cast<std::uint32_t>(i), random);
    float* const sums_here = summed ? sums + 64 * i : nullptr;
    if (has_tables && !tempered && view.table[i] != GibbsSpinLanes::no_table)
      words[i] = draw_from_table<summed>(view, words, i, random, sums_here);
    else if (!tempered && view.moderate)
      words[i] = draw_from_odds<summed>(view, words, i, random, sums_here);
    else
      words[i] = draw_from_fields<tempered, summed>(view, words, i, inverse_temperatures, random, sums_here);
  }
}

// inverse_temperatures, order and sums may be null: all one, ascending, not wanted.
void sweep_lanes(const SpinLanesView& view, std::uint64_t* words, const float* inverse_temperatures,
                 const std::uint32_t* order, const LaneRandom& random, std::uint32_t batch,
                 std::uint64_t sweep, float* sums) {
  const LaneWords lane_words(random, batch, sweep);
  if (inverse_temperatures) {
    if (sums)
      sweep_all<true, true>(view, words, inverse_temperatures, order, lane_words, sums);
    else
      sweep_all<true, false>(view, words, inverse_temperatures, order, lane_words, sums);
  } else if (sums) {
    sweep_all<false, true>(view, words, inverse_temperatures, order, lane_words, sums);
  } else {
    sweep_all<false, false>(view, words, inverse_temperatures, order, lane_words, sums);
  }
}

// Adds sum_i x_i (bias_i + 1/2 sum_j weight_ij x_j) to every lane's score; floats within a block of
// variables, then double.
void add_scores(const SpinLanesView& view, const std::uint64_t* HWY_RESTRICT words,
                double* HWY_RESTRICT scores) {
  constexpr std::size_t block = 32;
  const FloatTag d;
  for (std::size_t begin = 0; begin < view.size; begin += block) {
    FloatVector totals[vector_count];
    for (std::size_t k = 0; k < vector_count; ++k) totals[k] = hn::Zero(d);
    for (std::size_t i = begin; i < std::min(begin + block, view.size); ++i) {
      if (view.prefetch && i + words_ahead < view.size) prefetch_words(view, words, i + words_ahead);
      FloatVector fields[vector_count];
      for (std::size_t k = 0; k < vector_count; ++k) fields[k] = hn::Zero(d);
      for (std::size_t g = view.group_begin[i]; g < view.group_begin[i + 1]; ++g)
        combine_group<false>(words, view.neighbours + 4 * g, view.weights + 4 * g, fields);
      for (std::size_t k = 0; k < vector_count; ++k)
        totals[k] = combine<false>(totals[k], mask_of(words[i], k),
                                   hn::MulAdd(fields[k], hn::Set(d, 0.5f), hn::Set(d, view.bias[i])));
    }
    alignas(64) float sums[64];
    for (std::size_t k = 0; k < vector_count; ++k) hn::Store(totals[k], d, sums + k * vector_lanes);
    for (std::size_t lane = 0; lane < 64; ++lane) scores[lane] += sums[lane];
  }
}

// Independent fair bits.
void start_lanes(const LaneRandom& random, std::uint32_t batch, std::uint64_t* words, std::size_t size) {
  const WordTag d;
  const LaneWords lane_words(random, batch, 0);
  for (std::size_t i = 0; i < size; ++i) {
    WordVector draws[vector_count];
    lane_words.draw(static_cast<std::uint32_t>(i), draws);
    words[i] = 0;
    for (std::size_t k = 0; k < vector_count; ++k)
      words[i] |= bits_of(d, hn::Lt(draws[k], hn::Set(d, 0x80000000U)), k);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

namespace {

HWY_EXPORT(sweep_lanes);
HWY_EXPORT(add_scores);
HWY_EXPORT(start_lanes);

constexpr std::size_t group_size = 4;

// 2^32 p(x = 1) for each of the 16 states of four neighbours.
void fill_thresholds(float bias, const float* weights, std::uint32_t* thresholds) {
  for (unsigned bits = 0; bits < 16; ++bits) {
    double field = bias;
    for (unsigned j = 0; j < group_size; ++j)
      if (bits >> j & 1) field += weights[j];
    const double scaled = std::floor(0x1p32 / (1 + std::exp(-field)) + 0.5);
    thresholds[bits] = static_cast<std::uint32_t>(std::min(scaled, 0x1p32 - 1));
  }
}

}  // namespace

GibbsSpinLanes::GibbsSpinLanes(const SpinGraph& graph, Scan scan)
    : scan_(scan),
      moderate_(largest_field(graph) <= 80),
      prefetch_(is_scattered(graph) || (scan == Scan::random && graph.size() > (std::size_t{1} << 15))),
      log_constant_(graph.log_constant),
      bias_(graph.bias),
      bias_odds_(graph.size()),
      group_begin_(graph.size() + 1, 0),
      table_(graph.size(), no_table) {
  std::uint32_t tables = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    const std::size_t groups = (graph.degree(i) + group_size - 1) / group_size;
    group_begin_[i + 1] = group_begin_[i] + static_cast<std::uint32_t>(std::max<std::size_t>(groups, 1));
    if (groups <= 1) table_[i] = tables++;
  }
  neighbours_.resize(group_size * group_begin_.back());
  weights_.resize(neighbours_.size());
  odds_.resize(neighbours_.size());
  thresholds_.resize(std::size_t{16} * tables);
  parallel_for(IndexRange(0, size(), 4096), [&](const IndexRange& range) {
    for (std::size_t i = range.begin(); i < range.end(); ++i) {
      const std::size_t begin = group_size * group_begin_[i], end = group_size * group_begin_[i + 1];
      std::fill(neighbours_.begin() + begin, neighbours_.begin() + end, static_cast<std::uint32_t>(i));
      std::fill(weights_.begin() + begin, weights_.begin() + end, 0.0f);
      std::ranges::copy(graph.neighbours(i), neighbours_.begin() + begin);
      std::ranges::copy(graph.weights(i), weights_.begin() + begin);
      bias_odds_[i] = std::exp(-bias_[i]);
      for (std::size_t e = begin; e < end; ++e) odds_[e] = std::exp(-weights_[e]);
      if (table_[i] != no_table)
        fill_thresholds(bias_[i], weights_.data() + begin, thresholds_.data() + std::size_t{16} * table_[i]);
    }
  });
}

GibbsSpinLanes::View GibbsSpinLanes::view() const {
  return {.size = size(),
          .bias = bias_.data(),
          .bias_odds = bias_odds_.data(),
          .group_begin = group_begin_.data(),
          .neighbours = neighbours_.data(),
          .weights = weights_.data(),
          .odds = odds_.data(),
          .table = table_.data(),
          .thresholds = thresholds_.data(),
          .moderate = moderate_,
          .prefetch = prefetch_};
}

GibbsSpinLanes::State GibbsSpinLanes::start(std::uint64_t seed, std::uint32_t first_chain) const {
  assert(first_chain % lanes() == 0);
  State state;
  state.seed = seed;
  state.first_chain = first_chain;
  state.words.resize(size());
  state.inverse_temperatures.assign(lanes(), 1.0f);
  if (scan_ == Scan::random) state.order.resize(size());
  const LaneRandom random(seed, Stream::start);
  HWY_DYNAMIC_DISPATCH(start_lanes)(random, first_chain / lanes(), state.words.data(), size());
  return state;
}

void GibbsSpinLanes::run(State& state, std::uint64_t sweep, float* sums) const {
  const bool tempered = std::ranges::any_of(state.inverse_temperatures, [](float b) { return b != 1.0f; });
  if (scan_ == Scan::random) shuffle_sites(state.seed, sweep, state.order);
  const LaneRandom random(state.seed, Stream::sweep);
  HWY_DYNAMIC_DISPATCH(sweep_lanes)
  (view(), state.words.data(), tempered ? state.inverse_temperatures.data() : nullptr,
   scan_ == Scan::random ? state.order.data() : nullptr, random, state.first_chain / lanes(), sweep, sums);
}

void GibbsSpinLanes::sweep(State& state, std::uint64_t sweep) const {
  run(state, sweep, nullptr);
}

void GibbsSpinLanes::sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const {
  assert(sums.sums.size() == entry_count() * lanes());
  run(state, sweep, sums.sums.data());
}

void GibbsSpinLanes::read(const State& state, std::uint32_t lane, std::span<Value> values) const {
  for (std::size_t i = 0; i < size(); ++i) values[i] = state.words[i] >> lane & 1;
}

void GibbsSpinLanes::write(State& state, std::uint32_t lane, std::span<const Value> values) const {
  for (std::size_t i = 0; i < size(); ++i)
    state.words[i] = (state.words[i] & ~(std::uint64_t{1} << lane)) | std::uint64_t{values[i]} << lane;
}

void GibbsSpinLanes::log_scores(const State& state, std::span<double> scores) const {
  std::ranges::fill(scores, log_constant_);
  HWY_DYNAMIC_DISPATCH(add_scores)(view(), state.words.data(), scores.data());
}

void GibbsSpinLanes::set_inverse_temperatures(State& state,
                                              std::span<const float> inverse_temperatures) const {
  state.inverse_temperatures.assign(inverse_temperatures.begin(), inverse_temperatures.end());
}

}  // namespace drover
#endif
