#include "drover/sample/gibbs/gibbs_table_lanes.hpp"

#include <algorithm>
#include <cassert>

#include "drover/core/error.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/sample/gibbs/gibbs_table_lanes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "drover/core/stop_check.hpp"
#include "drover/sample/gibbs/gibbs_table_draw-inl.hpp"

// What one sweep needs, without a choice left to make; shared by all targets.
#ifndef DROVER_SAMPLE_GIBBS_TABLE_LANES_SWEEP
#define DROVER_SAMPLE_GIBBS_TABLE_LANES_SWEEP
namespace drover {
namespace {

constexpr std::uint32_t max_lanes = 64;
constexpr std::uint32_t vector_limit = 16;  // lanes of the widest vector used
constexpr std::uint32_t narrow_states = 256;

template <class Stored>
struct LaneSweep {
  const TableGraph* layout;
  const std::size_t* conditional_offsets;
  const VariableId* order;  // or null for 0, 1, 2, ...
  Stored* values;
  std::uint32_t lanes;
  std::uint64_t seed;
  std::uint32_t first_chain;
  std::uint64_t sweep;
  const float* inverse_temperatures;
  float* sums;     // or null
  float* scratch;  // most states * vector_limit floats
};

}  // namespace
}  // namespace drover
#endif

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {

template <class Stored>
HWY_INLINE IntVector load_values(const Stored* values) {
  return hn::PromoteTo(IntTag(), hn::LoadU(hn::Rebind<Stored, IntTag>(), values));
}

using RowIndices = decltype(hn::IndicesFromVec(FloatTag(), hn::Zero(IntTag())));

/// Looks up entries 0 .. parts * Lanes of a row held in registers.
template <std::uint32_t parts>
HWY_INLINE FloatVector permute_row(const float* HWY_RESTRICT row, RowIndices within, IntVector part_of) {
  const FloatTag d;
  FloatVector found = hn::TableLookupLanes(hn::LoadU(d, row), within);
  for (std::uint32_t part = 1; part < parts; ++part) {
    const FloatVector next = hn::TableLookupLanes(hn::LoadU(d, row + part * hn::Lanes(d)), within);
    const auto here = hn::Eq(part_of, hn::Set(IntTag(), static_cast<int>(part)));
    found = hn::IfThenElse(hn::RebindMask(d, here), next, found);
  }
  return found;
}

/// Adds to sum[b] the entries of a row of `parts` vectors for the values first .. first + block - 1.
template <std::uint32_t parts, std::uint32_t block>
HWY_INLINE void add_permuted_rows(const float* HWY_RESTRICT row, std::uint32_t own_stride, IntVector index,
                                  FloatVector (&sum)[block]) {
  const IntTag di;
  const auto N = static_cast<int>(hn::Lanes(di));
  const auto within = hn::IndicesFromVec(FloatTag(), hn::And(index, hn::Set(di, N - 1)));
  IntVector part_of = hn::Zero(di);
  for (std::uint32_t part = 1; part < parts; ++part) {
    const auto beyond = hn::Gt(index, hn::Set(di, static_cast<int>(part) * N - 1));
    part_of = hn::Sub(part_of, hn::VecFromMask(di, beyond));
  }
  for (std::uint32_t b = 0; b < block; ++b)
    sum[b] = hn::Add(sum[b], permute_row<parts>(row + std::size_t{b} * own_stride, within, part_of));
}

/// The fields of the values first .. first + block - 1 of one variable in one vector of lanes.
template <std::uint32_t block, class Stored>
HWY_INLINE void block_fields(const LaneSweep<Stored>& run, VariableId v, std::uint32_t first,
                             std::uint32_t lane, FloatVector (&sum)[block]) {
  const FloatTag d;
  const IntTag di;
  const auto N = static_cast<std::uint32_t>(hn::Lanes(d));
  const TableGraph& layout = *run.layout;
  const Stored* values = run.values + lane;
  const float* unary = layout.unary.data() + layout.unary_offsets[v] + first;
  for (std::uint32_t b = 0; b < block; ++b) sum[b] = hn::Set(d, unary[b]);

  for (const PottsLink& link : layout.potts_of(v)) {
    const IntVector value = load_values(values + std::size_t{link.neighbour} * run.lanes);
    const FloatVector coupling = hn::Set(d, link.coupling);
    for (std::uint32_t b = 0; b < block; ++b) {
      const auto equal = hn::Eq(value, hn::Set(di, static_cast<int>(first + b)));
      sum[b] = add_where(hn::RebindMask(d, equal), sum[b], coupling);
    }
  }
  for (const TableLink& link : layout.links_of(v)) {
    IntVector index = hn::Zero(di);
    for (std::uint32_t o = link.others_begin; o < link.others_end; ++o) {
      const LinkedVariable other = layout.others[o];
      const IntVector value = load_values(values + std::size_t{other.variable} * run.lanes);
      index = hn::Add(index, hn::Mul(value, hn::Set(di, static_cast<int>(other.stride))));
    }
    const float* row = layout.entries.data() + link.base + std::size_t{first} * link.own_stride;
    if (link.configurations != 0 && link.configurations <= N)
      add_permuted_rows<1>(row, link.own_stride, index, sum);
    else if (link.configurations != 0 && link.configurations <= 2 * N)
      add_permuted_rows<2>(row, link.own_stride, index, sum);
    else if (link.configurations != 0 && link.configurations <= 4 * N)
      add_permuted_rows<4>(row, link.own_stride, index, sum);
    else
      for (std::uint32_t b = 0; b < block; ++b)
        sum[b] = hn::Add(sum[b], hn::GatherIndex(d, row + std::size_t{b} * link.own_stride, index));
  }
}

/// Stores the new values of one vector of lanes.
template <class Stored>
HWY_INLINE void store_values(IntVector value, Stored* values) {
  const hn::Rebind<Stored, IntTag> ds;
  hn::StoreU(hn::DemoteTo(ds, value), ds, values);
}

/// A variable with few states: its fields stay in registers.
template <std::uint32_t states, class Stored>
HWY_INLINE void update_small(const LaneSweep<Stored>& run, VariableId v, const float* HWY_RESTRICT uniforms) {
  const FloatTag d;
  const auto N = static_cast<std::uint32_t>(hn::Lanes(d));
  Stored* own = run.values + std::size_t{v} * run.lanes;
  for (std::uint32_t lane = 0; lane < run.lanes; lane += N) {
    FloatVector fields[states], total;
    block_fields(run, v, 0, lane, fields);
    store_values(draw_value(fields, hn::LoadU(d, run.inverse_temperatures + lane),
                            hn::LoadU(d, uniforms + lane), load_values(own + lane), total),
                 own + lane);
    assert(hn::AllTrue(d, hn::Gt(total, hn::Zero(d))));
    if (run.sums == nullptr) continue;
    float* sums = run.sums + run.conditional_offsets[v] * run.lanes + lane;
    const FloatVector scale = hn::Div(hn::Set(d, 1.0F), total);
    for (std::uint32_t k = states == 2 ? 1 : 0; k < states; ++k, sums += run.lanes)
      hn::StoreU(hn::MulAdd(fields[k], scale, hn::LoadU(d, sums)), d, sums);
  }
}

/// Computes a block of fields and leaves it in the scratch array.
template <std::uint32_t block, class Stored>
HWY_INLINE void store_block_fields(const LaneSweep<Stored>& run, VariableId v, std::uint32_t first,
                                   std::uint32_t lane) {
  const FloatTag d;
  FloatVector fields[block];
  block_fields(run, v, first, lane, fields);
  for (std::uint32_t b = 0; b < block; ++b)
    hn::StoreU(fields[b], d, run.scratch + (first + b) * hn::Lanes(d));
}

template <class Stored>
HWY_NOINLINE void update_large(const LaneSweep<Stored>& run, VariableId v,
                               const float* HWY_RESTRICT uniforms) {
  const FloatTag d;
  const auto N = static_cast<std::uint32_t>(hn::Lanes(d));
  const std::uint32_t states = run.layout->cardinalities[v];
  Stored* own = run.values + std::size_t{v} * run.lanes;
  for (std::uint32_t lane = 0; lane < run.lanes; lane += N) {
    std::uint32_t k = 0;
    for (; k + 8 <= states; k += 8) store_block_fields<8>(run, v, k, lane);
    for (; k + 2 <= states; k += 2) store_block_fields<2>(run, v, k, lane);
    if (k < states) store_block_fields<1>(run, v, k, lane);
    FloatVector total;
    store_values(draw_value(states, run.scratch, hn::LoadU(d, run.inverse_temperatures + lane),
                            hn::LoadU(d, uniforms + lane), load_values(own + lane), total),
                 own + lane);
    assert(hn::AllTrue(d, hn::Gt(total, hn::Zero(d))));
    if (run.sums == nullptr) continue;
    float* sums = run.sums + run.conditional_offsets[v] * run.lanes + lane;
    const FloatVector scale = hn::Div(hn::Set(d, 1.0F), total);
    for (std::uint32_t j = 0; j < states; ++j, sums += run.lanes)
      hn::StoreU(hn::MulAdd(hn::LoadU(d, run.scratch + j * N), scale, hn::LoadU(d, sums)), d, sums);
  }
}

template <class Stored>
HWY_INLINE void update_variable(const LaneSweep<Stored>& run, VariableId v, const float* uniforms) {
  switch (run.layout->cardinalities[v]) {
    case 2:
      return update_small<2>(run, v, uniforms);
    case 3:
      return update_small<3>(run, v, uniforms);
    case 4:
      return update_small<4>(run, v, uniforms);
    case 5:
      return update_small<5>(run, v, uniforms);
    case 6:
      return update_small<6>(run, v, uniforms);
    case 8:
      return update_small<8>(run, v, uniforms);
    default:
      return update_large(run, v, uniforms);
  }
}

template <class Stored>
HWY_INLINE void sweep_lanes(const LaneSweep<Stored>& run) {
  const FloatTag d;
  const WordTag dw;
  const auto N = static_cast<std::uint32_t>(hn::Lanes(d));
  const auto n = static_cast<std::uint32_t>(run.layout->size());
  float uniforms[4][max_lanes];
  for (std::uint32_t site = 0; site < n; ++site) {
    // One block of the generator serves four visits of a chain.
    if (site % 4 == 0)
      for (std::uint32_t lane = 0; lane < run.lanes; lane += N) {
        WordVector words[4];
        philox_blocks(run.seed, Stream::sweep, hn::Iota(dw, run.first_chain + lane), run.sweep,
                      hn::Set(dw, site / 4), words);
        for (int j = 0; j < 4; ++j) hn::StoreU(to_uniform(words[j]), d, uniforms[j] + lane);
      }
    update_variable(run, run.order == nullptr ? site : run.order[site], uniforms[site % 4]);
  }
}

void sweep_narrow(const LaneSweep<std::uint8_t>& run) {
  sweep_lanes(run);
}
void sweep_wide(const LaneSweep<Value>& run) {
  sweep_lanes(run);
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {
namespace {

HWY_EXPORT(sweep_narrow);
HWY_EXPORT(sweep_wide);

/// log p~ of every lane, factor by factor.
template <class Stored>
void lane_scores(const Graph& graph, const Stored* values, std::uint32_t lanes, std::span<double> scores) {
  std::ranges::fill(scores, graph.log_constant);
  double* score = scores.data();
  for (std::size_t v = 0; v < graph.size(); ++v) {
    const double* unary = graph.unary.data() + graph.unary_offsets[v];
    const Stored* own = values + v * lanes;
    for (std::uint32_t l = 0; l < lanes; ++l) score[l] += unary[own[l]];
  }
  const auto add_pairs = [&](const Pairs& pairs, double if_different) {
    for (std::size_t f = 0; f < pairs.size(); ++f) {
      const Stored* first = values + std::size_t{pairs.first[f]} * lanes;
      const Stored* second = values + std::size_t{pairs.second[f]} * lanes;
      const double equal = pairs.couplings[f], different = if_different * equal;
      for (std::uint32_t l = 0; l < lanes; ++l) score[l] += first[l] == second[l] ? equal : different;
    }
  };
  add_pairs(graph.spin_pairs, -1);
  add_pairs(graph.potts_pairs, 0);
  std::uint32_t index[max_lanes];
  for (std::size_t f = 0; f < graph.tables.size(); ++f) {
    std::fill(index, index + lanes, 0);
    for (VariableId v : graph.tables.scope(f)) {
      const Stored* own = values + std::size_t{v} * lanes;
      for (std::uint32_t l = 0; l < lanes; ++l) index[l] = index[l] * graph.cardinalities[v] + own[l];
    }
    const double* table = graph.tables.values(f).data();
    for (std::uint32_t l = 0; l < lanes; ++l) score[l] += table[index[l]];
  }
}

}  // namespace

GibbsTableLanes::GibbsTableLanes(const Graph& graph, Options options)
    : graph_(&graph),
      options_(std::move(options)),
      layout_(make_table_graph(graph, OwnAxis::slowest, natural_order(graph))),
      conditional_offsets_(conditional_offsets(graph)),
      max_states_(graph.max_cardinality()) {
  if (options_.lanes != 16 && options_.lanes != 32 && options_.lanes != 64)
    throw Error(ErrorKind::usage, "the number of lanes must be 16, 32 or 64");
  check_starts(graph, options_.starts);
}

GibbsTableLanes::State GibbsTableLanes::start(std::uint64_t seed, std::uint32_t first_chain,
                                              const RunControl& control) const {
  StopCheck check(control, "the chains", "were started");
  State state;
  state.seed = seed;
  state.first_chain = first_chain;
  const std::size_t places = size() * lanes();
  if (max_states_ <= narrow_states)
    state.narrow.resize(places);
  else
    state.wide.resize(places);
  state.inverse_temperatures.assign(lanes(), 1.0F);
  if (options_.scan == Scan::random) state.order.resize(size());
  std::vector<Value> values(size());
  for (std::uint32_t lane = 0; lane < lanes(); ++lane) {
    draw_start(*graph_, options_.starts, seed, first_chain + lane, values);
    write(state, lane, values);
    check.step(values.size());
  }
  return state;
}

void GibbsTableLanes::sweep(State& state, std::uint64_t sweep_number) const {
  sweep(state, sweep_number, ConditionalSums{});
}

void GibbsTableLanes::sweep(State& state, std::uint64_t sweep_number, ConditionalSums sums) const {
  assert(sums.sums.empty() || sums.sums.size() == entry_count() * lanes());
  if (options_.scan == Scan::random) shuffle_order(state.seed, sweep_number, state.order);
  const auto run = [&](auto* values, float* scratch) {
    return LaneSweep<std::remove_pointer_t<decltype(values)>>{
        &layout_,
        conditional_offsets_.data(),
        options_.scan == Scan::random ? state.order.data() : nullptr,
        values,
        lanes(),
        state.seed,
        state.first_chain,
        sweep_number,
        state.inverse_temperatures.data(),
        sums.sums.empty() ? nullptr : sums.sums.data(),
        scratch};
  };
  if (max_states_ <= narrow_states) {
    float scratch[narrow_states * vector_limit];
    HWY_DYNAMIC_DISPATCH(sweep_narrow)(run(state.narrow.data(), scratch));
  } else {
    std::vector<float> scratch(std::size_t{max_states_} * vector_limit);
    HWY_DYNAMIC_DISPATCH(sweep_wide)(run(state.wide.data(), scratch.data()));
  }
}

void GibbsTableLanes::read(const State& state, std::uint32_t lane, std::span<Value> values) const {
  assert(lane < lanes() && values.size() == size());
  for (std::size_t v = 0; v < values.size(); ++v) {
    const std::size_t place = v * lanes() + lane;
    values[v] = state.wide.empty() ? state.narrow[place] : state.wide[place];
  }
}

void GibbsTableLanes::write(State& state, std::uint32_t lane, std::span<const Value> values) const {
  assert(lane < lanes() && values.size() == size());
  for (std::size_t v = 0; v < values.size(); ++v) {
    assert(values[v] < layout_.cardinalities[v]);
    const std::size_t place = v * lanes() + lane;
    if (state.wide.empty())
      state.narrow[place] = static_cast<std::uint8_t>(values[v]);
    else
      state.wide[place] = values[v];
  }
}

void GibbsTableLanes::log_scores(const State& state, std::span<double> scores) const {
  assert(scores.size() == lanes());
  if (state.wide.empty())
    lane_scores(*graph_, state.narrow.data(), lanes(), scores);
  else
    lane_scores(*graph_, state.wide.data(), lanes(), scores);
}

void GibbsTableLanes::set_inverse_temperatures(State& state,
                                               std::span<const float> inverse_temperatures) const {
  assert(inverse_temperatures.size() == lanes());
  assert(std::ranges::all_of(inverse_temperatures, [](float beta) { return beta >= 0; }));
  std::ranges::copy(inverse_temperatures, state.inverse_temperatures.begin());
}

}  // namespace drover
#endif
