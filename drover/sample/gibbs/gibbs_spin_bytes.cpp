#include "drover/sample/gibbs/gibbs_spin_bytes.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

#include "drover/core/large_memory.hpp"
#include "drover/core/parallel.hpp"
#include "drover/core/stop_check.hpp"
#include "drover/sample/gibbs/spin_scan.hpp"
#include "drover/sample/lane_random.hpp"
#include "drover/sample/lane_random_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/sample/gibbs/gibbs_spin_bytes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "drover/sample/gibbs/byte_odds-inl.hpp"
#include "drover/sample/gibbs/byte_thresholds-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {

// How many variables ahead of its use memory is asked for.
inline constexpr std::size_t bytes_ahead = 12, rows_ahead = 24;

HWY_INLINE void prefetch_row(const View& view, std::size_t i) {
  hwy::Prefetch(view.neighbours + std::size_t{4} * view.group_begin[i]);
  hwy::Prefetch(view.tables + std::size_t{64} * view.table_begin[i]);
}

template <class States>
HWY_INLINE void prefetch_neighbours(const View& view, States states, std::size_t i) {
  for (std::size_t e = std::size_t{4} * view.group_begin[i]; e < std::size_t{4} * view.group_begin[i + 1];
       ++e)
    states.prefetch(view.neighbours[e]);
}

enum class Heat { none, uniform, by_lane };

// A piece of a sweep: places begin .. end - 1 of its order.
template <Heat heat, bool summed, class States>
HWY_NOINLINE void sweep_part(const View& view, const GibbsSpinBytes::Job& job, const LaneBytes& random,
                             std::size_t begin, std::size_t end) {
  const States states{job.states};
  const std::uint32_t* const order = job.order;
  for (std::size_t place = begin; place < end; ++place) {
    const std::size_t i = order ? order[place] : place;
    if (view.prefetch && place + rows_ahead < view.size) {
      if (order) prefetch_row(view, order[place + rows_ahead]);
      prefetch_neighbours(view, states, order ? order[place + bytes_ahead] : place + bytes_ahead);
    }
    float* const sums = summed ? job.sums + 64 * i : nullptr;
    const std::size_t group = view.group_begin[i];
    const std::uint32_t* const neighbours = view.neighbours + 4 * group;
    if (heat != Heat::by_lane && view.group_begin[i + 1] == group + 1) {
      alignas(64) std::uint8_t heated[64];
      if (heat == Heat::uniform) make_thresholds(view, i, job.inverse_temperatures[0], heated);
      const std::uint8_t* table =
          heat == Heat::uniform ? heated : view.tables + std::size_t{64} * view.table_begin[i];
      draw_by_table<0, summed>(table, states, i, neighbours, random, sums);
    } else if (heat == Heat::none && view.beyond[i] > 0) {
      const std::uint8_t* const table = view.tables + std::size_t{64} * view.table_begin[i];
      if (view.beyond[i] == 1)
        draw_by_table<1, summed>(table, states, i, neighbours, random, sums);
      else
        draw_by_table<2, summed>(table, states, i, neighbours, random, sums);
    } else if (heat == Heat::none && view.moderate) {
      if (!draw_any<false, summed>(view, states, i, nullptr, random, sums))
        draw_any_whole<false>(view, states, i, nullptr, random);
    } else if (!draw_any<true, summed>(view, states, i, job.inverse_temperatures, random, sums)) {
      draw_any_whole<true>(view, states, i, job.inverse_temperatures, random);
    }
  }
}

// All sweeps of a job together, each `reach` variables behind the one before it: no variable is drawn before
// its neighbours are in the state that they have in sweeps one after the other.
template <Heat heat, bool summed, class States>
void sweep_all(const View& view, const GibbsSpinBytes::Job& job) {
  constexpr std::size_t step = 64;
  LaneBytes random[GibbsSpinBytes::most_together];
  for (std::size_t k = 0; k < job.count; ++k) random[k].start(*job.random, job.batch, job.first_sweep + k);
  if (job.count == 1) return sweep_part<heat, summed, States>(view, job, random[0], 0, view.size);
  const std::size_t last = view.size + (job.count - 1) * view.reach;
  for (std::size_t front = 0; front < last; front += step)
    for (std::size_t k = 0; k < job.count; ++k) {
      const std::size_t behind = k * view.reach;
      if (front + step <= behind) break;
      sweep_part<heat, summed, States>(view, job, random[k],
                                       front < behind ? 0 : std::min(view.size, front - behind),
                                       std::min(view.size, front + step - behind));
    }
}

template <Heat heat, class States>
void sweep_heated(const View& view, const GibbsSpinBytes::Job& job) {
  if (job.sums)
    sweep_all<heat, true, States>(view, job);
  else
    sweep_all<heat, false, States>(view, job);
}

template <class States>
void sweep_states(const View& view, const GibbsSpinBytes::Job& job) {
  const float* const inverse = job.inverse_temperatures;
  if (!inverse)
    sweep_heated<Heat::none, States>(view, job);
  else if (std::all_of(inverse, inverse + 64, [&](float b) { return b == inverse[0]; }))
    sweep_heated<Heat::uniform, States>(view, job);
  else
    sweep_heated<Heat::by_lane, States>(view, job);
}

void sweep_bytes(const View& view, const GibbsSpinBytes::Job& job) {
  if (view.packed)
    sweep_states<BitStates>(view, job);
  else
    sweep_states<ByteStates>(view, job);
}

// Adds sum_i x_i (bias_i + 1/2 sum_j weight_ij x_j) to every lane's score; floats within a block of
// variables, then double.
template <class States>
void add_scores_of(const View& view, States states, double* HWY_RESTRICT scores) {
  constexpr std::size_t block = 32;
  const FloatTag d;
  for (std::size_t begin = 0; begin < view.size; begin += block) {
    FloatVector totals[4 * byte_vectors];
    for (FloatVector& total : totals) total = hn::Zero(d);
    for (std::size_t i = begin; i < std::min(begin + block, view.size); ++i) {
      if (view.prefetch && i + bytes_ahead < view.size) prefetch_neighbours(view, states, i + bytes_ahead);
      FloatVector fields[4 * byte_vectors];
      for (FloatVector& field : fields) field = hn::Zero(d);
      for (std::size_t g = view.group_begin[i]; g < view.group_begin[i + 1]; ++g) {
        Group group;
        load_group<false>(view, i, g, group);
        for (std::size_t k = 0; k < byte_vectors; ++k)
          combine<false>(group, group_index(states, view.neighbours + 4 * g, k), fields + 4 * k);
      }
      for (std::size_t k = 0; k < byte_vectors; ++k) {
        const ByteVector here = states.load(i, k);
        WordVector masks[4];
        join_bytes(here, here, here, here, masks);
        for (std::size_t q = 0; q < 4; ++q) {
          const FloatVector term =
              hn::Add(hn::Mul(fields[4 * k + q], hn::Set(d, 0.5f)), hn::Set(d, view.bias[i]));
          totals[4 * k + q] = hn::Add(totals[4 * k + q], hn::And(term, hn::BitCast(d, masks[q])));
        }
      }
    }
    alignas(64) float sums[64];
    for (std::size_t k = 0; k < byte_vectors; ++k)
      for (std::size_t q = 0; q < 4; ++q) hn::StoreU(totals[4 * k + q], d, sums + lane_of(k, q));
    for (std::size_t lane = 0; lane < 64; ++lane) scores[lane] += sums[lane];
  }
}

// Neither function writes, though the types of states can.
void add_scores(const View& view, const std::uint8_t* states, double* HWY_RESTRICT scores) {
  if (view.packed)
    add_scores_of(view, BitStates{const_cast<std::uint8_t*>(states)}, scores);
  else
    add_scores_of(view, ByteStates{const_cast<std::uint8_t*>(states)}, scores);
}

// Independent fair bits.
template <class States>
void start_states(const LaneRandom& lane_random, std::uint32_t batch, States states, std::size_t size) {
  const SignedTag s;
  LaneBytes random;
  random.start(lane_random, batch, 0);
  for (std::size_t i = 0; i < size; ++i) {
    ByteVector high[byte_vectors], low[byte_vectors];
    random.draw<0>(static_cast<std::uint32_t>(i), high, low);
    for (std::size_t k = 0; k < byte_vectors; ++k)
      states.store(i, k,
                   hn::BitCast(ByteTag(), hn::VecFromMask(s, hn::Lt(hn::BitCast(s, high[k]), hn::Zero(s)))));
  }
}

void start_bytes(const View& view, const LaneRandom& lane_random, std::uint32_t batch, std::uint8_t* states) {
  if (view.packed)
    start_states(lane_random, batch, BitStates{states}, view.size);
  else
    start_states(lane_random, batch, ByteStates{states}, view.size);
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

namespace {

HWY_EXPORT(arrange_table);
HWY_EXPORT(sweep_bytes);
HWY_EXPORT(add_scores);
HWY_EXPORT(start_bytes);

constexpr std::size_t group_size = 4;

// 2^32 p(x = 1) for each state of 4 + beyond neighbours, the upper two bytes in signed order.
void fill_thresholds(float bias, const float* weights, unsigned beyond, std::uint8_t* table) {
  const unsigned entries = 16U << beyond;
  // exp(-field), one exponential per neighbour while their products stay in range, else one per state.
  double odds[64], most = std::abs(bias);
  for (unsigned j = 0; j < 4 + beyond; ++j) most += std::abs(weights[j]);
  odds[0] = std::exp(-static_cast<double>(bias));
  for (unsigned j = 0; j < 4 + beyond; ++j) {
    const double factor = std::exp(-static_cast<double>(weights[j]));
    for (unsigned bits = 0; bits < 1U << j; ++bits) odds[bits | 1U << j] = odds[bits] * factor;
  }
  for (unsigned bits = 0; bits < entries; ++bits) {
    if (most > 500) {
      double field = bias;
      for (unsigned j = 0; j < 4 + beyond; ++j)
        if (bits >> j & 1) field += weights[j];
      odds[bits] = std::exp(-field);
    }
    const double scaled = std::floor(0x1p32 / (1 + odds[bits]) + 0.5);
    const auto word = static_cast<std::uint32_t>(std::min(scaled, 0x1p32 - 1)) ^ 0x80800000U;
    for (unsigned b = 0; b < 4; ++b) table[entries * b + bits] = static_cast<std::uint8_t>(word >> (8 * b));
  }
}

// The largest distance of two neighbours in the order of a sweep.
std::size_t reach_of(const SpinGraph& graph) {
  std::size_t reach = 1;
  for (std::size_t i = 0; i < graph.size(); ++i)
    for (std::size_t j : graph.neighbours(i)) reach = std::max(reach, j > i ? j - i : i - j);
  return reach;
}

constexpr std::size_t large_cache = 6144;  // variables

// As many sweeps as find room in a cache together, when the whole model does not: a variable takes about 400
// bytes with its sums.
std::size_t sweeps_together(std::size_t size, std::size_t reach, Scan scan) {
  constexpr std::size_t small_cache = 512;
  if (scan == Scan::random || size <= small_cache || 2 * reach > large_cache) return 1;
  return std::min(GibbsSpinBytes::most_together, large_cache / reach);
}

// Where neighbours are far from one another, an eighth of the memory is worth unpacking bits.
bool is_packed(std::size_t size, std::size_t reach) {
  constexpr std::size_t second_cache = std::size_t{1} << 14;  // variables, at 64 bytes of states
  return size > second_cache && 2 * reach > large_cache;
}

// exp(-weight) multiplied over each of the 16 states of four neighbours, in the order of the vector code.
void fill_odds(const float* odds, std::uint8_t* table) {
  for (unsigned bits = 0; bits < 16; ++bits) {
    float product = 1;
    for (unsigned j = 0; j < group_size; ++j)
      if (bits >> j & 1) product *= odds[j];
    const auto word = std::bit_cast<std::uint32_t>(product);
    for (unsigned b = 0; b < 4; ++b) table[16 * b + bits] = static_cast<std::uint8_t>(word >> (8 * b));
  }
}

// How many neighbours beyond four a table covers; 0 for variables of more than six. With seven or eight it would
// be eight or sixteen shuffles a byte, dearer than products of odds but for AVX-512 without sums.
unsigned beyond_four(std::size_t degree) {
  return degree == 5 || degree == 6 ? static_cast<unsigned>(degree) - 4 : 0;
}

}  // namespace

GibbsSpinBytes::GibbsSpinBytes(const SpinGraph& graph, Scan scan, SpinStorage storage)
    : scan_(scan),
      moderate_(largest_field(graph) <= 80),
      prefetch_(is_scattered(graph) || (scan == Scan::random && graph.size() > (std::size_t{1} << 12))),
      reach_(reach_of(graph)),
      together_(sweeps_together(graph.size(), reach_, scan)),
      packed_(storage == SpinStorage::bits ||
              (storage == SpinStorage::chosen && is_packed(graph.size(), reach_))),
      log_constant_(graph.log_constant),
      bias_(graph.bias),
      bias_odds_(graph.size()),
      group_begin_(graph.size() + 1, 0),
      table_begin_(graph.size() + 1, 0),
      beyond_(graph.size()) {
  for (std::size_t i = 0; i < size(); ++i) {
    beyond_[i] = static_cast<std::uint8_t>(beyond_four(graph.degree(i)));
    const std::size_t groups = std::max<std::size_t>(1, (graph.degree(i) + group_size - 1) / group_size);
    group_begin_[i + 1] = group_begin_[i] + static_cast<std::uint32_t>(groups);
    table_begin_[i + 1] =
        table_begin_[i] + static_cast<std::uint32_t>(beyond_[i] > 0 ? std::size_t{1} << beyond_[i] : groups);
  }
  neighbours_.resize(group_size * group_begin_.back());
  weights_.resize(neighbours_.size());
  odds_.resize(neighbours_.size());
  assign_large(tables_, std::size_t{64} * table_begin_.back(), std::uint8_t{0});
  parallel_for(IndexRange(0, size(), 4096), [&](const IndexRange& range) {
    for (std::size_t i = range.begin(); i < range.end(); ++i) {
      const std::size_t begin = group_size * group_begin_[i], end = group_size * group_begin_[i + 1];
      std::fill(neighbours_.begin() + begin, neighbours_.begin() + end, static_cast<std::uint32_t>(i));
      std::fill(weights_.begin() + begin, weights_.begin() + end, 0.0f);
      std::ranges::copy(graph.neighbours(i), neighbours_.begin() + begin);
      std::ranges::copy(graph.weights(i), weights_.begin() + begin);
      bias_odds_[i] = std::exp(-bias_[i]);
      for (std::size_t e = begin; e < end; ++e) odds_[e] = std::exp(-weights_[e]);
      std::uint8_t* const table = tables_.data() + std::size_t{64} * table_begin_[i];
      if (end - begin == group_size || beyond_[i] > 0) {
        fill_thresholds(bias_[i], weights_.data() + begin, beyond_[i], table);
        HWY_DYNAMIC_DISPATCH(arrange_table)(table, beyond_[i]);
      } else {
        for (std::size_t e = begin; e < end; e += group_size)
          fill_odds(odds_.data() + e, table + 16 * (e - begin));
      }
    }
  });
}

GibbsSpinBytes::View GibbsSpinBytes::view() const {
  return {.size = size(),
          .bias = bias_.data(),
          .bias_odds = bias_odds_.data(),
          .group_begin = group_begin_.data(),
          .table_begin = table_begin_.data(),
          .beyond = beyond_.data(),
          .neighbours = neighbours_.data(),
          .weights = weights_.data(),
          .odds = odds_.data(),
          .tables = tables_.data(),
          .moderate = moderate_,
          .prefetch = prefetch_,
          .packed = packed_,
          .reach = reach_};
}

GibbsSpinBytes::State GibbsSpinBytes::start(std::uint64_t seed, std::uint32_t first_chain,
                                            const RunControl& control) const {
  StopCheck check(control, "the chains", "were started");
  assert(first_chain % lanes() == 0);
  State state;
  state.seed = seed;
  state.first_chain = first_chain;
  assign_large(state.states, bytes_each() * size(), std::uint8_t{0}, check);
  state.inverse_temperatures.assign(lanes(), 1.0f);
  if (scan_ == Scan::random) state.order.resize(size());
  const LaneRandom random(seed, Stream::start);
  HWY_DYNAMIC_DISPATCH(start_bytes)(view(), random, first_chain / lanes(), state.states.data());
  return state;
}

void GibbsSpinBytes::run(State& state, std::uint64_t first_sweep, std::uint64_t count, float* sums) const {
  const bool tempered = std::ranges::any_of(state.inverse_temperatures, [](float b) { return b != 1.0f; });
  const LaneRandom random(state.seed, Stream::sweep);
  Job job{.states = state.states.data(),
          .inverse_temperatures = tempered ? state.inverse_temperatures.data() : nullptr,
          .order = scan_ == Scan::random ? state.order.data() : nullptr,
          .random = &random,
          .batch = state.first_chain / lanes(),
          .sums = sums};
  for (std::uint64_t done = 0; done < count; done += job.count) {
    job.first_sweep = first_sweep + done;
    job.count = std::min<std::uint64_t>(together_, count - done);
    if (scan_ == Scan::random) shuffle_sites(state.seed, job.first_sweep, state.order);
    HWY_DYNAMIC_DISPATCH(sweep_bytes)(view(), job);
  }
}

void GibbsSpinBytes::sweep(State& state, std::uint64_t sweep) const {
  run(state, sweep, 1, nullptr);
}

void GibbsSpinBytes::sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const {
  assert(sums.sums.size() == entry_count() * lanes());
  run(state, sweep, 1, sums.sums.data());
}

void GibbsSpinBytes::sweeps(State& state, std::uint64_t first, std::uint64_t count) const {
  run(state, first, count, nullptr);
}

void GibbsSpinBytes::sweeps(State& state, std::uint64_t first, std::uint64_t count,
                            ConditionalSums sums) const {
  assert(sums.sums.size() == entry_count() * lanes());
  run(state, first, count, sums.sums.data());
}

void GibbsSpinBytes::read(const State& state, std::uint32_t lane, std::span<Value> values) const {
  const std::uint32_t place = place_of_lane(lane);
  const std::uint8_t* const states = state.states.data();
  for (std::size_t i = 0; i < size(); ++i)
    values[i] = packed_ ? states[8 * i + place / 8] >> place % 8 & 1 : states[64 * i + place] & 1;
}

void GibbsSpinBytes::write(State& state, std::uint32_t lane, std::span<const Value> values) const {
  const std::uint32_t place = place_of_lane(lane);
  std::uint8_t* const states = state.states.data();
  if (!packed_) {
    for (std::size_t i = 0; i < size(); ++i) states[64 * i + place] = values[i] ? 255 : 0;
    return;
  }
  const auto bit = static_cast<std::uint8_t>(1U << place % 8);
  for (std::size_t i = 0; i < size(); ++i) {
    std::uint8_t& byte = states[8 * i + place / 8];
    byte = static_cast<std::uint8_t>(values[i] ? byte | bit : byte & ~bit);
  }
}

void GibbsSpinBytes::log_scores(const State& state, std::span<double> scores) const {
  std::ranges::fill(scores, log_constant_);
  HWY_DYNAMIC_DISPATCH(add_scores)(view(), state.states.data(), scores.data());
}

void GibbsSpinBytes::set_inverse_temperatures(State& state,
                                              std::span<const float> inverse_temperatures) const {
  state.inverse_temperatures.assign(inverse_temperatures.begin(), inverse_temperatures.end());
}

}  // namespace drover
#endif
