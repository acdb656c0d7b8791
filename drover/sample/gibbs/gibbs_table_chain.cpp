#include "drover/sample/gibbs/gibbs_table_chain.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <tuple>

#include "drover/compile/colouring.hpp"
#include "drover/core/parallel.hpp"
#include "drover/core/random.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/sample/gibbs/gibbs_table_chain.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "drover/sample/gibbs/gibbs_table_draw-inl.hpp"

// What one sweep needs, without a choice left to make; shared by all targets.
#ifndef DROVER_SAMPLE_GIBBS_TABLE_CHAIN_SWEEP
#define DROVER_SAMPLE_GIBBS_TABLE_CHAIN_SWEEP
namespace drover {
namespace {

constexpr std::uint32_t group_sites = 16;
constexpr std::uint32_t stack_states = 128;  // up to here scratch arrays lie on the stack
constexpr std::uint32_t stack_links = 512;

struct ChainSweep {
  const ChainLayout* layout;
  std::int32_t* values;
  std::uint64_t seed;
  std::uint32_t chain;
  std::uint64_t sweep;
  float inverse_temperature;
  float* sums;                // or null
  const float* state_values;  // sums are of their means, by variable; null: of every entry
};

/// Working arrays of one thread.
struct ChainScratch {
  float* sums;         // [site][state]: what the tables add to the fields
  float* fields;       // [state][site]
  const float** rows;  // of the table links of a group
  const float** next_rows;
};

/// Floats between the sums of two sites: whole vectors.
constexpr std::uint32_t row_stride(std::uint32_t states) {
  return (states + group_sites - 1) / group_sites * group_sites;
}

}  // namespace
}  // namespace drover
#endif

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {

/// Finds where the row over the own states begins for every table link of a group, and starts to fetch it.
/// Which rows these are depends on values that the group's colour does not change, so this is done while the
/// group before is drawn: tables seldom fit the cache, and no hardware guesses their addresses.
HWY_INLINE void find_rows(const ChainSweep& run, const ChainGroup& group, const float** rows) {
  constexpr std::uint32_t line_floats = 16;
  const TableGraph& tables = run.layout->tables;
  const std::size_t end = tables.link_offsets[group.first + group.count];
  for (std::size_t l = tables.link_offsets[group.first]; l < end; ++l) {
    const TableLink& link = tables.links[l];
    std::size_t index = link.base;
    for (std::uint32_t o = link.others_begin; o < link.others_end; ++o)
      index += static_cast<std::size_t>(run.values[tables.others[o].variable]) * tables.others[o].stride;
    const float* row = tables.entries.data() + index;
    for (std::uint32_t k = 0; k < group.states; k += line_floats) hwy::Prefetch(row + k);
    *rows++ = row;
  }
}

/// `count` entries of a row that is not contiguous.
template <class D>
HWY_NOINLINE hn::Vec<D> strided_row(D d, const float* row, std::uint32_t stride, std::uint32_t count) {
  HWY_ALIGN float entries[group_sites] = {};
  for (std::uint32_t k = 0; k < count; ++k) entries[k] = row[std::size_t{k} * stride];
  return hn::LoadU(d, entries);
}

/// The sum of the table rows of every site of a group, one row over its states per site. A row is read in
/// vectors of `width`: no wider than it needs to be, as every further cache line costs more than the sums.
template <std::size_t width>
HWY_INLINE void table_sums(const ChainSweep& run, const ChainGroup& group, const float* const* rows,
                           float* HWY_RESTRICT sums) {
  const hn::CappedTag<float, width> d;
  const auto N = static_cast<std::uint32_t>(hn::Lanes(d));
  const std::uint32_t states = group.states, stride = row_stride(states);
  for (std::uint32_t site = 0; site < group.count; ++site, sums += stride) {
    const auto links = run.layout->tables.links_of(group.first + site);
    for (std::uint32_t k = 0; k < states; k += N) {
      auto sum = hn::Zero(d);
      for (std::size_t l = 0; l < links.size(); ++l) {
        const std::uint32_t own_stride = links[l].own_stride;
        // May add what follows the row beyond its last state; nobody reads it.
        if (own_stride == 1)
          sum = hn::Add(sum, hn::LoadU(d, rows[l] + k));
        else
          sum = hn::Add(sum, strided_row(d, rows[l] + std::size_t{k} * own_stride, own_stride,
                                         std::min(N, states - k)));
      }
      hn::StoreU(sum, d, sums + k);
    }
    rows += links.size();
  }
}

/// The fields of the values first .. first + block - 1 of one vector of sites.
template <std::uint32_t block>
HWY_INLINE void block_fields(const ChainSweep& run, const ChainGroup& group, const float* table_fields,
                             std::uint32_t first, std::uint32_t site, FloatVector (&sum)[block]) {
  const FloatTag d;
  const IntTag di;
  const ChainLayout& layout = *run.layout;
  const float* unary = layout.unary.data() + group.unary + first * group_sites + site;
  for (std::uint32_t b = 0; b < block; ++b) sum[b] = hn::LoadU(d, unary + b * group_sites);
  if (group.has_tables) {
    const auto stride = static_cast<std::int32_t>(row_stride(group.states));
    const IntVector places = hn::Mul(hn::Iota(di, static_cast<std::int32_t>(site)), hn::Set(di, stride));
    for (std::uint32_t b = 0; b < block; ++b)
      sum[b] = hn::Add(sum[b], hn::GatherIndex(d, table_fields + first + b, places));
  }
  const std::size_t potts = group.potts + site;
  for (std::uint32_t round = 0; round < group.potts_rounds; ++round) {
    const std::size_t place = potts + round * group_sites;
    const IntVector neighbour = hn::LoadU(di, layout.neighbours.data() + place);
    const IntVector value = hn::GatherIndex(di, run.values, neighbour);
    const FloatVector coupling = hn::LoadU(d, layout.couplings.data() + place);
    for (std::uint32_t b = 0; b < block; ++b) {
      const auto equal = hn::Eq(value, hn::Set(di, static_cast<int>(first + b)));
      sum[b] = add_where(hn::RebindMask(d, equal), sum[b], coupling);
    }
  }
}

/// Adds the conditionals of one vector of sites; `weights` is [state][lane].
HWY_NOINLINE void add_conditionals(const ChainSweep& run, const ChainGroup& group, std::uint32_t site,
                                   const float* HWY_RESTRICT weights, FloatVector total) {
  const FloatTag d;
  const auto N = static_cast<std::uint32_t>(hn::Lanes(d));
  HWY_ALIGN float scales[group_sites];
  hn::StoreU(hn::Div(hn::Set(d, 1.0F), total), d, scales);
  for (std::uint32_t lane = 0; lane < N && site + lane < group.count; ++lane) {
    if (run.state_values != nullptr) {
      float mean = 0;
      for (std::uint32_t k = 0; k < group.states; ++k) mean += weights[k * N + lane] * run.state_values[k];
      run.sums[run.layout->order[group.first + site + lane]] += mean * scales[lane];
      continue;
    }
    float* sums = run.sums + run.layout->conditional[group.first + site + lane];
    for (std::uint32_t k = group.states == 2 ? 1 : 0; k < group.states; ++k)
      *sums++ += weights[k * N + lane] * scales[lane];
  }
}

template <std::uint32_t states>
HWY_INLINE void update_small(const ChainSweep& run, const ChainGroup& group, std::int32_t* HWY_RESTRICT own,
                             const float* HWY_RESTRICT uniforms, const float* HWY_RESTRICT table_fields) {
  const FloatTag d;
  const IntTag di;
  const auto N = static_cast<std::uint32_t>(hn::Lanes(d));
  for (std::uint32_t site = 0; site < group_sites; site += N) {
    FloatVector fields[states], total;
    block_fields(run, group, table_fields, 0, site, fields);
    const IntVector value = draw_value(fields, hn::Set(d, run.inverse_temperature),
                                       hn::LoadU(d, uniforms + site), hn::LoadU(di, own + site), total);
    hn::StoreU(value, di, own + site);
    if (run.sums == nullptr) continue;
    HWY_ALIGN float weights[states * group_sites];
    for (std::uint32_t k = 0; k < states; ++k) hn::StoreU(fields[k], d, weights + k * N);
    add_conditionals(run, group, site, weights, total);
  }
}

template <std::uint32_t block>
HWY_INLINE void store_block_fields(const ChainSweep& run, const ChainGroup& group, const float* table_fields,
                                   std::uint32_t first, std::uint32_t site, float* HWY_RESTRICT fields) {
  const FloatTag d;
  FloatVector sum[block];
  block_fields(run, group, table_fields, first, site, sum);
  for (std::uint32_t b = 0; b < block; ++b) hn::StoreU(sum[b], d, fields + (first + b) * hn::Lanes(d));
}

HWY_NOINLINE void update_large(const ChainSweep& run, const ChainGroup& group, std::int32_t* HWY_RESTRICT own,
                               const float* HWY_RESTRICT uniforms, const float* HWY_RESTRICT table_fields,
                               float* HWY_RESTRICT fields) {
  const FloatTag d;
  const IntTag di;
  const auto N = static_cast<std::uint32_t>(hn::Lanes(d));
  for (std::uint32_t site = 0; site < group_sites; site += N) {
    std::uint32_t k = 0;
    for (; k + 8 <= group.states; k += 8) store_block_fields<8>(run, group, table_fields, k, site, fields);
    for (; k + 2 <= group.states; k += 2) store_block_fields<2>(run, group, table_fields, k, site, fields);
    if (k < group.states) store_block_fields<1>(run, group, table_fields, k, site, fields);
    FloatVector total;
    const IntVector value = draw_value(group.states, fields, hn::Set(d, run.inverse_temperature),
                                       hn::LoadU(d, uniforms + site), hn::LoadU(di, own + site), total);
    hn::StoreU(value, di, own + site);
    if (run.sums != nullptr) add_conditionals(run, group, site, fields, total);
  }
}

/// Uniforms of the four groups 4 * quad .. 4 * quad + 3: the words of Random::block(chain, sweep, slot / 4).
HWY_INLINE void quad_uniforms(const ChainSweep& run, std::uint32_t quad, float* HWY_RESTRICT uniforms) {
  const FloatTag d;
  const WordTag dw;
  const auto N = static_cast<std::uint32_t>(hn::Lanes(d));
  for (std::uint32_t block = 0; block < group_sites; block += N) {
    WordVector words[4];
    philox_blocks(run.seed, Stream::sweep, hn::Set(dw, run.chain), run.sweep,
                  hn::Iota(dw, quad * group_sites + block), words);
#if HWY_TARGET == HWY_SCALAR
    for (int j = 0; j < 4; ++j) uniforms[4 * block + j] = hn::GetLane(to_uniform(words[j]));
#else
    hn::StoreInterleaved4(to_uniform(words[0]), to_uniform(words[1]), to_uniform(words[2]),
                          to_uniform(words[3]), d, uniforms + 4 * block);
#endif
  }
}

/// Updates the groups begin .. end - 1 of one colour.
void update_groups(const ChainSweep& run, std::uint32_t begin, std::uint32_t end,
                   const ChainScratch& scratch) {
  HWY_ALIGN float uniforms[4 * group_sites];
  const ChainGroup* const groups = run.layout->groups.data();
  const float **rows = scratch.rows, **next_rows = scratch.next_rows;
  float* const sums = scratch.sums;
  find_rows(run, groups[begin], rows);
  for (std::uint32_t g = begin; g < end; ++g) {
    const ChainGroup& group = groups[g];
    if (g + 1 < end) find_rows(run, groups[g + 1], next_rows);
    if (g == begin || g % 4 == 0) quad_uniforms(run, g / 4, uniforms);
    const float* uniform = uniforms + g % 4 * group_sites;
    std::int32_t* own = run.values + std::size_t{g} * group_sites;
    if (group.has_tables) {
      if (group.states <= 4)
        table_sums<4>(run, group, rows, sums);
      else if (group.states <= 8)
        table_sums<8>(run, group, rows, sums);
      else
        table_sums<16>(run, group, rows, sums);
    }
    switch (group.states) {
      case 2:
        update_small<2>(run, group, own, uniform, sums);
        break;
      case 3:
        update_small<3>(run, group, own, uniform, sums);
        break;
      case 4:
        update_small<4>(run, group, own, uniform, sums);
        break;
      case 5:
        update_small<5>(run, group, own, uniform, sums);
        break;
      case 6:
        update_small<6>(run, group, own, uniform, sums);
        break;
      case 8:
        update_small<8>(run, group, own, uniform, sums);
        break;
      default:
        update_large(run, group, own, uniform, sums, scratch.fields);
    }
    std::swap(rows, next_rows);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {
namespace {

HWY_EXPORT(update_groups);

constexpr std::uint32_t grain = 64;  // groups; about twenty microseconds of work

/// Variables by colour, then cardinality, then number of Potts links, so that groups are uniform.
std::vector<VariableId> group_order(const Graph& graph, const std::vector<std::uint32_t>& colours) {
  std::vector<std::uint32_t> links(graph.size(), 0);
  for (const Pairs* pairs :
       {static_cast<const Pairs*>(&graph.spin_pairs), static_cast<const Pairs*>(&graph.potts_pairs)})
    for (std::size_t f = 0; f < pairs->size(); ++f) {
      ++links[pairs->first[f]];
      ++links[pairs->second[f]];
    }
  std::vector<VariableId> order = natural_order(graph);
  std::ranges::stable_sort(
      order, {}, [&](VariableId v) { return std::tuple(colours[v], graph.cardinalities[v], links[v]); });
  return order;
}

/// Cuts the order into groups; with random scan there are none and slots are variables.
void make_groups(const Graph& graph, const std::vector<std::uint32_t>& colours, ChainLayout& layout) {
  // Groups are full but for the last of a colour and cardinality: this is about what they need.
  layout.unary.reserve(graph.unary.size() + graph.unary.size() / 64);
  const auto n = static_cast<std::uint32_t>(graph.size());
  for (std::uint32_t p = 0; p < n;) {
    const VariableId v = layout.order[p];
    while (layout.colour_groups.size() <= colours[v])
      layout.colour_groups.push_back(static_cast<std::uint32_t>(layout.groups.size()));
    ChainGroup group{p, 0, graph.cardinalities[v], 0, layout.unary.size(), layout.couplings.size(), false};
    while (group.count < group_sites && p < n && colours[layout.order[p]] == colours[v] &&
           graph.cardinalities[layout.order[p]] == group.states) {
      layout.slot_of[layout.order[p]] =
          static_cast<std::uint32_t>(layout.groups.size()) * group_sites + group.count;
      group.potts_rounds =
          std::max(group.potts_rounds, static_cast<std::uint32_t>(layout.tables.potts_of(p).size()));
      group.has_tables |= !layout.tables.links_of(p).empty();
      ++group.count;
      ++p;
    }
    layout.unary.resize(group.unary + std::size_t{group.states} * group_sites, 0.0F);
    layout.neighbours.resize(group.potts + std::size_t{group.potts_rounds} * group_sites, 0);
    layout.couplings.resize(group.potts + std::size_t{group.potts_rounds} * group_sites, 0.0F);
    layout.max_group_links = std::max(
        layout.max_group_links, layout.tables.link_offsets[p] - layout.tables.link_offsets[group.first]);
    layout.groups.push_back(group);
  }
  layout.colour_groups.push_back(static_cast<std::uint32_t>(layout.groups.size()));
}

/// Copies unaries and Potts links site-minor into the groups, and renames the links of tables.
void fill_groups(const Graph& graph, ChainLayout& layout) {
  TableGraph& tables = layout.tables;
  for (const ChainGroup& group : layout.groups)
    for (std::uint32_t site = 0; site < group.count; ++site) {
      const VariableId p = group.first + site;
      const auto unary = graph.unary_of(layout.order[p]);
      for (std::uint32_t k = 0; k < group.states; ++k)
        layout.unary[group.unary + k * group_sites + site] = log2_of(unary[k]);
      const auto links = tables.potts_of(p);
      for (std::size_t round = 0; round < links.size(); ++round) {
        const std::size_t place = group.potts + round * group_sites + site;
        layout.neighbours[place] =
            static_cast<std::int32_t>(layout.slot_of[layout.order[links[round].neighbour]]);
        layout.couplings[place] = links[round].coupling;
      }
    }
  for (LinkedVariable& other : tables.others) other.variable = layout.slot_of[layout.order[other.variable]];
  tables.potts = {};  // only the groups are read from here on
}

ChainLayout make_layout(const Graph& graph, Scan scan) {
  ChainLayout layout;
  layout.slot_of.resize(graph.size());
  if (scan == Scan::random) {
    layout.order = natural_order(graph);
    layout.slot_of = layout.order;
    layout.tables = make_table_graph(graph, OwnAxis::fastest, layout.order);
    layout.colour_groups.assign(1, 0);
  } else {
    const Adjacency neighbours = adjacency(graph);
    const std::vector<std::uint32_t> colours = colour_variables(neighbours.offsets, neighbours.list).colour;
    layout.order = group_order(graph, colours);
    layout.tables = make_table_graph(graph, OwnAxis::fastest, layout.order, WithUnary::no);
    make_groups(graph, colours, layout);
    fill_groups(graph, layout);
  }
  const std::vector<std::size_t> offsets = conditional_offsets(graph);
  for (VariableId v : layout.order) layout.conditional.push_back(offsets[v]);
  return layout;
}

}  // namespace

GibbsTableChain::GibbsTableChain(const Graph& graph, Options options)
    : graph_(&graph),
      options_(std::move(options)),
      layout_(make_layout(graph, options_.scan)),
      entry_count_(conditional_offsets(graph).back()),
      max_states_(graph.max_cardinality()) {
  check_starts(graph, options_.starts);
  colour_ranges_.resize(colours());
  for (std::size_t colour = 0; colour < colours(); ++colour) {
    const std::uint32_t begin = layout_.colour_groups[colour], end = layout_.colour_groups[colour + 1];
    for (std::uint32_t at = begin; at < end; at += grain)
      colour_ranges_[colour].push_back({at, std::min(at + grain, end)});
  }
}

GibbsTableChain::State GibbsTableChain::start(std::uint64_t seed, std::uint32_t chain) const {
  State state;
  state.seed = seed;
  state.first_chain = chain;
  state.values.assign(options_.scan == Scan::random ? size() : layout_.groups.size() * group_sites, 0);
  if (options_.scan == Scan::random) state.order.resize(size());
  std::vector<Value> values(size());
  draw_start(*graph_, options_.starts, seed, chain, values);
  write(state, 0, values);
  return state;
}

void GibbsTableChain::sweep(State& state, std::uint64_t sweep_number) const {
  sweep(state, sweep_number, ConditionalSums{});
}

void GibbsTableChain::sweep(State& state, std::uint64_t sweep_number, ConditionalSums sums) const {
  assert(sums.sums.empty() || sums.sums.size() == entry_count());
  run(state, sweep_number, sums.sums.empty() ? nullptr : sums.sums.data(), nullptr);
}

void GibbsTableChain::sweep(State& state, std::uint64_t sweep_number, ValueSums sums) const {
  assert(sums.sums.size() == size() && sums.values.size() == max_states_);
  run(state, sweep_number, sums.sums.data(), sums.values.data());
}

void GibbsTableChain::run(State& state, std::uint64_t sweep_number, float* sums, const float* values) const {
  if (options_.scan == Scan::random) return sweep_one_by_one(state, sweep_number, sums, values);
  for (const std::vector<GroupRange>& ranges : colour_ranges_)
    draw_ranges(state, ranges, sweep_number, sums, values);
}

void GibbsTableChain::draw_groups(State& state, std::span<const GroupRange> ranges,
                                  std::uint64_t sweep_number, float* sums) const {
  draw_ranges(state, ranges, sweep_number, sums, nullptr);
}

void GibbsTableChain::place_conditionals(std::span<const std::size_t> offset_of) {
  for (std::size_t p = 0; p < layout_.order.size(); ++p) layout_.conditional[p] = offset_of[layout_.order[p]];
}

void GibbsTableChain::draw_ranges(State& state, std::span<const GroupRange> ranges,
                                  std::uint64_t sweep_number, float* sums, const float* values) const {
  const ChainSweep run{&layout_,     state.values.data(),       state.seed, state.first_chain,
                       sweep_number, state.inverse_temperature, sums,       values};
  const auto update = [&](std::uint32_t begin, std::uint32_t end) {
    if (max_states_ <= stack_states && layout_.max_group_links <= stack_links) {
      float floats[2][group_sites * row_stride(stack_states)];
      const float* rows[2][stack_links];
      HWY_DYNAMIC_DISPATCH(update_groups)(run, begin, end, {floats[0], floats[1], rows[0], rows[1]});
    } else {
      const std::size_t half = std::size_t{group_sites} * row_stride(max_states_);
      std::vector<float> floats(2 * half);
      std::vector<const float*> rows(2 * layout_.max_group_links);
      HWY_DYNAMIC_DISPATCH(update_groups)
      (run, begin, end,
       {floats.data(), floats.data() + half, rows.data(), rows.data() + layout_.max_group_links});
    }
  };
  if (ranges.size() <= 2)
    for (const GroupRange& range : ranges) update(range.begin, range.end);
  else
    parallel_for(std::size_t{0}, ranges.size(),
                 [&](std::size_t r) { update(ranges[r].begin, ranges[r].end); });
}

void GibbsTableChain::sweep_one_by_one(State& state, std::uint64_t sweep_number, float* sums,
                                       const float* values) const {
  shuffle_order(state.seed, sweep_number, state.order);
  const Random random(state.seed, Stream::sweep);
  const TableGraph& tables = layout_.tables;
  float few[stack_states];
  std::vector<float> many(max_states_ <= stack_states ? 0 : max_states_);
  float* weights = many.empty() ? few : many.data();
  Random::Block words{};
  for (std::uint32_t visit = 0; visit < state.order.size(); ++visit) {
    if (visit % 4 == 0) words = random.block(state.first_chain, sweep_number, visit / 4);
    const VariableId v = state.order[visit];
    const std::uint32_t states = tables.cardinalities[v];
    std::copy_n(tables.unary.data() + tables.unary_offsets[v], states, weights);
    for (const PottsLink& link : tables.potts_of(v)) weights[state.values[link.neighbour]] += link.coupling;
    for (const TableLink& link : tables.links_of(v)) {
      std::size_t index = link.base;
      for (std::uint32_t o = link.others_begin; o < link.others_end; ++o)
        index += static_cast<std::size_t>(state.values[tables.others[o].variable]) * tables.others[o].stride;
      for (std::uint32_t k = 0; k < states; ++k)
        weights[k] += tables.entries[index + std::size_t{k} * link.own_stride];
    }
    const float highest = *std::max_element(weights, weights + states);
    assert(highest >= std::numeric_limits<float>::lowest());
    float total = 0;
    for (std::uint32_t k = 0; k < states; ++k) {
      const bool possible = weights[k] >= std::numeric_limits<float>::lowest();
      weights[k] = possible ? std::exp2((weights[k] - highest) * state.inverse_temperature) : 0.0F;
      total += weights[k];
    }
    if (!(total > 0)) continue;  // outside the support: the variable keeps its value
    if (values != nullptr) {
      float mean = 0;
      for (std::uint32_t k = 0; k < states; ++k) mean += weights[k] * values[k];
      sums[v] += mean / total;
    } else if (sums != nullptr) {
      float* entry = sums + layout_.conditional[v];
      for (std::uint32_t k = states == 2 ? 1 : 0; k < states; ++k) *entry++ += weights[k] / total;
    }
    const float threshold = (static_cast<float>(words[visit % 4] >> 9) + 0.5F) * 0x1p-23F * total;
    std::uint32_t k = 0;
    float sum = weights[0];
    while (sum <= threshold) sum += weights[++k];
    state.values[v] = static_cast<std::int32_t>(k);
  }
}

void GibbsTableChain::read(const State& state, [[maybe_unused]] std::uint32_t lane,
                           std::span<Value> values) const {
  assert(lane == 0 && values.size() == size());
  for (std::size_t v = 0; v < values.size(); ++v)
    values[v] = static_cast<Value>(state.values[layout_.slot_of[v]]);
}

void GibbsTableChain::write(State& state, [[maybe_unused]] std::uint32_t lane,
                            std::span<const Value> values) const {
  assert(lane == 0 && values.size() == size());
  for (std::size_t v = 0; v < values.size(); ++v) {
    assert(values[v] < graph_->cardinalities[v]);
    state.values[layout_.slot_of[v]] = values[v];
  }
}

void GibbsTableChain::log_scores(const State& state, std::span<double> scores) const {
  assert(scores.size() == 1);
  std::vector<Value> values(size());
  read(state, 0, values);
  scores[0] = log_score(*graph_, values);
}

void GibbsTableChain::set_inverse_temperatures(State& state,
                                               std::span<const float> inverse_temperatures) const {
  assert(inverse_temperatures.size() == 1 && inverse_temperatures[0] >= 0);
  state.inverse_temperature = inverse_temperatures[0];
}

}  // namespace drover
#endif
