#include "drover/sample/dual/dynamic_tables_draw.hpp"

#include <algorithm>

#include "drover/sample/lane_random_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/sample/dual/dynamic_tables_draw.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "drover/sample/gibbs/gibbs_spin_draw-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {

using IntegerTag = hn::RebindToSigned<FloatTag>;
using IntegerVector = hn::Vec<IntegerTag>;
using FewBytes = hn::Rebind<std::uint8_t, FloatTag>;

HWY_INLINE IntegerVector load_bytes(const std::uint8_t* bytes) {
  return hn::PromoteTo(IntegerTag(), hn::LoadU(FewBytes(), bytes));
}
HWY_INLINE void store_bytes(IntegerVector numbers, std::uint8_t* bytes) {
  hn::StoreU(hn::DemoteTo(FewBytes(), numbers), FewBytes(), bytes);
}

// table[index], where the table has `count` numbers: one permutation if a vector holds them.
HWY_INLINE FloatVector look_up(const float* table, std::size_t count, IntegerVector index) {
  const FloatTag f;
  if (count <= vector_lanes) return hn::TableLookupLanes(hn::LoadU(f, table), hn::IndicesFromVec(f, index));
  return hn::GatherIndex(f, table, index);
}

// A number in (0, 1] for each of some lanes.
HWY_INLINE FloatVector uniform(WordVector random) {
  const FloatTag f;
  return hn::Mul(hn::ConvertTo(f, odd_number(random)), hn::Set(f, 0x1p-31f));
}

// How many of the running sums, all but the last, a share of the last has reached.
HWY_INLINE IntegerVector count_reached(const float* HWY_RESTRICT running, std::uint32_t count,
                                       FloatVector share) {
  const FloatTag f;
  const IntegerTag integers;
  const FloatVector target = hn::Mul(share, hn::Load(f, running + (count - 1) * vector_lanes));
  IntegerVector reached = hn::Zero(integers);
  for (std::uint32_t r = 0; r + 1 < count; ++r)
    reached = hn::Sub(
        reached,
        hn::BitCast(integers, hn::VecFromMask(f, hn::Ge(target, hn::Load(f, running + r * vector_lanes)))));
  return reached;
}

void DrawComponents(const MixtureTables& mixture, const std::uint8_t* HWY_RESTRICT first,
                    const std::uint8_t* HWY_RESTRICT second, const LaneRandom& random, std::uint32_t batch,
                    std::uint64_t sweep, std::uint32_t site, std::uint8_t* HWY_RESTRICT drawn) {
  const FloatTag f;
  WordVector words[vector_count];
  LaneWords(random, batch, sweep).draw(site, words);
  alignas(64) float running[256 * vector_lanes];
  for (std::size_t v = 0; v < vector_count; ++v) {
    const IntegerVector x = load_bytes(first + v * vector_lanes), y = load_bytes(second + v * vector_lanes);
    FloatVector total = hn::Zero(f);
    for (std::uint32_t r = 0; r < mixture.components; ++r) {
      total = hn::MulAdd(look_up(mixture.weights[0] + r * mixture.states[0], mixture.states[0], x),
                         look_up(mixture.weights[1] + r * mixture.states[1], mixture.states[1], y), total);
      hn::Store(total, f, running + r * vector_lanes);
    }
    store_bytes(count_reached(running, mixture.components, uniform(words[v])), drawn + v * vector_lanes);
  }
}

void AddDrawnTerms(const float* HWY_RESTRICT table, std::uint32_t components, std::uint32_t states,
                   const std::uint8_t* HWY_RESTRICT drawn, float* HWY_RESTRICT logs) {
  for (std::size_t v = 0; v < vector_count; ++v) {
    const IntegerVector index = load_bytes(drawn + v * vector_lanes);
    for (std::uint32_t k = 0; k < states; ++k)
      add_to(logs + 64 * k + v * vector_lanes, look_up(table + k * components, components, index));
  }
}

void DrawStates(float* HWY_RESTRICT logs, std::uint32_t states, const LaneRandom& random, std::uint32_t batch,
                std::uint64_t sweep, std::uint32_t site, std::uint8_t* HWY_RESTRICT drawn) {
  const FloatTag f;
  WordVector words[vector_count];
  LaneWords(random, batch, sweep).draw(site, words);
  alignas(64) float running[64 * vector_lanes];
  const FloatVector one = hn::Set(f, 1.0f);
  for (std::size_t v = 0; v < vector_count; ++v) {
    float* const own = logs + v * vector_lanes;
    FloatVector largest = hn::Load(f, own);
    for (std::uint32_t k = 1; k < states; ++k) largest = hn::Max(largest, hn::Load(f, own + 64 * k));
    FloatVector total = hn::Zero(f);
    for (std::uint32_t k = 0; k < states; ++k) {
      const FloatVector e = hn::Div(one, exp_positive(hn::Sub(largest, hn::Load(f, own + 64 * k))));
      hn::Store(e, f, own + 64 * k);
      total = hn::Add(total, e);
      hn::Store(total, f, running + k * vector_lanes);
    }
    store_bytes(count_reached(running, states, uniform(words[v])), drawn + v * vector_lanes);
    const FloatVector share = hn::Div(one, total);
    for (std::uint32_t k = 0; k < states; ++k)
      hn::Store(hn::Mul(share, hn::Load(f, own + 64 * k)), f, own + 64 * k);
  }
}

LaneMoments Moments(const float* numbers) {
  const FloatTag f;
  FloatVector sum = hn::Zero(f);
  for (std::size_t v = 0; v < vector_count; ++v) sum = hn::Add(sum, hn::Load(f, numbers + v * vector_lanes));
  const double mean = hn::GetLane(hn::SumOfLanes(f, sum)) / 64.0;
  const FloatVector middle = hn::Set(f, static_cast<float>(mean));
  FloatVector squares = hn::Zero(f);
  for (std::size_t v = 0; v < vector_count; ++v) {
    const FloatVector difference = hn::Sub(hn::Load(f, numbers + v * vector_lanes), middle);
    squares = hn::MulAdd(difference, difference, squares);
  }
  return {mean, hn::GetLane(hn::SumOfLanes(f, squares)) / 64.0};
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

namespace {

HWY_EXPORT(DrawComponents);
HWY_EXPORT(AddDrawnTerms);
HWY_EXPORT(DrawStates);
HWY_EXPORT(Moments);

}  // namespace

void draw_components(const MixtureTables& mixture, const std::uint8_t* first, const std::uint8_t* second,
                     const LaneRandom& random, std::uint32_t batch, std::uint64_t sweep, std::uint32_t site,
                     std::uint8_t* drawn) {
  HWY_DYNAMIC_DISPATCH(DrawComponents)(mixture, first, second, random, batch, sweep, site, drawn);
}

void add_drawn_terms(const float* table, std::uint32_t components, std::uint32_t states,
                     const std::uint8_t* drawn, float* logs) {
  HWY_DYNAMIC_DISPATCH(AddDrawnTerms)(table, components, states, drawn, logs);
}

void draw_states(float* logs, std::uint32_t states, const LaneRandom& random, std::uint32_t batch,
                 std::uint64_t sweep, std::uint32_t site, std::uint8_t* drawn) {
  HWY_DYNAMIC_DISPATCH(DrawStates)(logs, states, random, batch, sweep, site, drawn);
}

LaneMoments lane_moments(const float* numbers) {
  return HWY_DYNAMIC_DISPATCH(Moments)(numbers);
}

}  // namespace drover
#endif
