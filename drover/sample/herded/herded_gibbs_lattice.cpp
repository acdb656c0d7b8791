#include "drover/sample/herded/herded_gibbs_lattice.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "drover/core/parallel.hpp"
#include "drover/sample/gibbs/gibbs_table_schedule.hpp"
#include "drover/sample/herded/herded_gibbs_weights.hpp"
#include "drover/sample/lane_random_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/sample/herded/herded_gibbs_lattice.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "drover/sample/gibbs/gibbs_spin_draw-inl.hpp"

#ifndef DROVER_HERDED_LATTICE_ROW
#define DROVER_HERDED_LATTICE_ROW
namespace drover {

struct HerdedLatticeRow {
  std::size_t sites;
  std::size_t shift;  // x = 2 j + shift
  std::uint64_t* own;
  const std::uint64_t *up, *level, *down;  // states of the other colour
  const std::uint32_t* fields_of;
  HerdedGibbsLattice::Phases* phases = nullptr;
  const HerdedGibbsLattice::Numbers* fields = nullptr;  // odds or biases of the distinct blocks
};

inline std::size_t blocks_of(const HerdedLatticeRow& row) {
  return (row.sites + 63) / 64;
}

// The bits of word k that are sites of the row.
inline std::uint64_t inside(const HerdedLatticeRow& row, std::size_t k) {
  const std::size_t count = row.sites - 64 * k;
  return count < 64 ? (std::uint64_t{1} << count) - 1 : ~std::uint64_t{0};
}

// The bits beside those of word k in its row, on the side where the neighbours of sites with this shift are.
inline std::uint64_t beside(const std::uint64_t* level, std::size_t k, std::size_t shift) {
  return shift ? level[k] >> 1 | level[k + 1] << 63 : level[k] << 1 | level[k - 1] >> 63;
}

// Bits 0, 1, 2, ... of the lower half move to 0, 2, 4, ...
inline std::uint64_t spread_bits(std::uint64_t bits) {
  bits &= 0xFFFFFFFFU;
  bits = (bits | bits << 16) & 0x0000FFFF0000FFFFU;
  bits = (bits | bits << 8) & 0x00FF00FF00FF00FFU;
  bits = (bits | bits << 4) & 0x0F0F0F0F0F0F0F0FU;
  bits = (bits | bits << 2) & 0x3333333333333333U;
  return (bits | bits << 1) & 0x5555555555555555U;
}

// Bits 0, 2, 4, ... move to the lower half, the others to the upper one.
inline std::uint64_t even_before_odd(std::uint64_t bits) {
  const auto gather = [](std::uint64_t even) {
    even &= 0x5555555555555555U;
    even = (even | even >> 1) & 0x3333333333333333U;
    even = (even | even >> 2) & 0x0F0F0F0F0F0F0F0FU;
    even = (even | even >> 4) & 0x00FF00FF00FF00FFU;
    even = (even | even >> 8) & 0x0000FFFF0000FFFFU;
    return (even | even >> 16) & 0xFFFFFFFFU;
  };
  return gather(bits) | gather(bits >> 1) << 32;
}

}  // namespace drover
#endif

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {

// Twice as many phases as floats in a vector.
using PhaseTag = hn::Repartition<std::uint16_t, WordTag>;
using PhaseVector = hn::Vec<PhaseTag>;
using PhaseMask = hn::Mask<PhaseTag>;
inline constexpr std::size_t phase_lanes = 2 * vector_lanes;

HWY_INLINE PhaseMask phase_mask_of(std::uint64_t word, std::size_t k) {
  const std::uint64_t part = word >> (k * phase_lanes);
  const PhaseTag d;
#if HWY_TARGET <= HWY_AVX3
  return hn::LoadMaskBits(d, reinterpret_cast<const std::uint8_t*>(&part));
#else
  alignas(64) static constexpr std::uint16_t bit[16] = {1,       1 << 1,  1 << 2,  1 << 3, 1 << 4,  1 << 5,
                                                        1 << 6,  1 << 7,  1 << 8,  1 << 9, 1 << 10, 1 << 11,
                                                        1 << 12, 1 << 13, 1 << 14, 1 << 15};
  return hn::TestBit(hn::Set(d, static_cast<std::uint16_t>(part)), hn::Load(d, bit));
#endif
}

HWY_INLINE std::uint64_t phase_bits_of(PhaseMask mask, std::size_t k) {
  std::uint64_t bits = 0;
  hn::StoreMaskBits(PhaseTag(), mask, reinterpret_cast<std::uint8_t*>(&bits));
  return bits << (k * phase_lanes);
}

// For every 32-bit lane the step of a phase in its lower half: q where 1 is the likelier value, else -q.
HWY_INLINE WordVector steps_of(FloatVector odds, FloatVector favour, FloatVector rounding) {
  const FloatTag d;
  const WordTag dw;
  const FloatVector q = hn::Div(hn::Min(odds, favour), hn::Add(odds, favour));
  // The product is exact; adding 1.5 2^23 rounds to the nearest whole number and leaves it in the low bits.
  const FloatVector scaled = hn::Add(hn::Mul(q, hn::Set(d, 65536.0f)), rounding);
  const WordVector step = hn::BitCast(dw, hn::Add(scaled, hn::Set(d, 0x1.8p23f)));
  return hn::IfThenElse(hn::RebindMask(dw, hn::Lt(odds, favour)), step, hn::Sub(hn::Zero(dw), step));
}

// The lower halves of two vectors, in turns.
HWY_INLINE PhaseVector interleave(WordVector even, WordVector odd) {
  const PhaseTag dp;
  return hn::OddEven(hn::BitCast(dp, hn::ShiftLeft<16>(odd)), hn::BitCast(dp, even));
}

// favours[n] for the counts in the lower halves.
HWY_INLINE FloatVector lookup(const float* HWY_RESTRICT favours, WordVector counts) {
  const FloatTag d;
#if HWY_TARGET <= HWY_AVX2
  return hn::TableLookupLanes(hn::Load(d, favours), hn::IndicesFromVec(d, counts));
#else
  FloatVector favour = hn::Set(d, favours[0]);
  for (std::uint32_t n = 1; n < 5; ++n)
    favour = hn::IfThenElse(hn::RebindMask(d, hn::Eq(counts, hn::Set(WordTag(), n))), hn::Set(d, favours[n]),
                            favour);
  return favour;
#endif
}

// Updates a block of 64 sites whose neighbours are the bits of four words. `favours` has room for a vector.
HWY_INLINE std::uint64_t herd_block(HerdedGibbsLattice::Phases& phases, const float* HWY_RESTRICT odds,
                                    const std::uint64_t* HWY_RESTRICT near, const float* HWY_RESTRICT favours,
                                    FloatVector rounding) {
  const FloatTag d;
  const WordTag dw;
  const PhaseTag dp;
  const PhaseVector one = hn::Set(dp, std::uint16_t{1});
  std::uint64_t drawn = 0;
  for (std::size_t v = 0; v < vector_count / 2; ++v) {
    PhaseVector count = hn::IfThenElseZero(phase_mask_of(near[0], v), one);
    for (int j = 1; j < 4; ++j) count = hn::IfThenElse(phase_mask_of(near[j], v), hn::Add(count, one), count);
    const WordVector counts = hn::BitCast(dw, count);
    const FloatVector favour_even = lookup(favours, hn::And(counts, hn::Set(dw, 0xFFFFU)));
    const FloatVector favour_odd = lookup(favours, hn::ShiftRight<16>(counts));
    const FloatVector odds_even = hn::Load(d, odds + v * vector_lanes);
    const FloatVector odds_odd = hn::Load(d, odds + 32 + v * vector_lanes);
    const PhaseVector step =
        interleave(steps_of(odds_even, favour_even, rounding), steps_of(odds_odd, favour_odd, rounding));

    std::uint16_t* const place = phases.of[0] + v * phase_lanes;
    PhaseMask mask[5];
    for (std::uint16_t n = 0; n < 5; ++n) mask[n] = hn::Eq(count, hn::Set(dp, n));
    PhaseVector before = hn::Load(dp, place);
    for (int n = 1; n < 5; ++n) before = hn::IfThenElse(mask[n], hn::Load(dp, place + 64 * n), before);
    const PhaseVector after = hn::Add(before, step);
    for (int n = 0; n < 5; ++n) hn::BlendedStore(after, mask[n], dp, place + 64 * n);

    // A step up that does not carry, a step down that borrows, and of steps of zero those up.
    drawn |= phase_bits_of(hn::Gt(after, before), v);
    const PhaseMask still = hn::Eq(after, before);
    if (HWY_UNLIKELY(!hn::AllFalse(dp, still))) {
      const WordVector bit = hn::Set(dw, 1U);
      const PhaseVector up =
          interleave(hn::IfThenElseZero(hn::RebindMask(dw, hn::Lt(odds_even, favour_even)), bit),
                     hn::IfThenElseZero(hn::RebindMask(dw, hn::Lt(odds_odd, favour_odd)), bit));
      drawn |= phase_bits_of(hn::And(still, hn::Eq(up, one)), v);
    }
  }
  return drawn;
}

void herd_row(const HerdedLatticeRow& row, const float* favours, float rounding) {
  const FloatTag d;
  const std::size_t blocks = blocks_of(row), shift = row.shift;
  const std::uint64_t *const up = row.up, *const level = row.level, *const down = row.down;
  for (std::size_t k = 0; k < blocks; ++k) {
    const std::uint64_t near[4] = {up[k], down[k], level[k], beside(level, k, shift)};
    row.own[k] = herd_block(row.phases[k], row.fields[row.fields_of[k]].of, near, favours,
                            hn::Set(d, rounding - 0.5f));
  }
}

// The sum of the biases of the sites of a row that are 1.
double herded_bias_sum(const HerdedLatticeRow& row) {
  const FloatTag d;
  double total = 0;
  for (std::size_t k = 0; k < blocks_of(row); ++k) {
    const std::uint64_t ones = even_before_odd(row.own[k] & inside(row, k));
    FloatVector sum = hn::Zero(d);
    for (std::size_t v = 0; v < vector_count; ++v)
      sum = hn::Add(sum, hn::IfThenElseZero(mask_of(ones, v),
                                            hn::Load(d, row.fields[row.fields_of[k]].of + v * vector_lanes)));
    total += hn::GetLane(hn::SumOfLanes(d, sum));
  }
  return total;
}

// Adds the bits of words to as many sums.
void add_bits(const std::uint64_t* words, std::size_t count, float* HWY_RESTRICT sums) {
  const FloatTag d;
  const FloatVector one = hn::Set(d, 1.0f);
  std::size_t i = 0;
  for (; i + 64 <= count; i += 64)
    for (std::size_t v = 0; v < vector_count; ++v)
      add_to(sums + i + v * vector_lanes, hn::IfThenElseZero(mask_of(words[i / 64], v), one));
  for (; i < count; ++i) sums[i] += static_cast<float>(words[i / 64] >> i % 64 & 1);
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

namespace {

HWY_EXPORT(herd_row);
HWY_EXPORT(herded_bias_sum);
HWY_EXPORT(add_bits);

constexpr std::size_t band = 32;                 // rows of one task
constexpr std::size_t parallel_from = 1U << 16;  // sites
constexpr double largest_exponent = 80;          // floats and sums of two stay in range

/// The pairs of free variables between the variables of the model; no pairs for observed ones.
SpinGraph with_holes(const SpinGraph& spins, const Graph& graph) {
  SpinGraph whole;
  whole.log_constant = spins.log_constant;
  whole.bias.assign(graph.model_size(), 0.0f);
  whole.offsets.push_back(0);
  for (VariableId v = 0; v < graph.model_size(); ++v) {
    const VariableId free = graph.free_variable[v];
    if (free != no_variable) {
      whole.bias[v] = spins.bias[free];
      for (std::uint32_t u : spins.neighbours(free)) whole.neighbour.push_back(graph.model_variable[u]);
      const auto weights = spins.weights(free);
      whole.weight.insert(whole.weight.end(), weights.begin(), weights.end());
    }
    whole.offsets.push_back(whole.neighbour.size());
  }
  return whole;
}

}  // namespace

std::optional<HerdedLattice> herded_lattice(const Graph& graph) {
  if (!graph.is_spin() || graph.size() == 0) return {};
  const SpinGraph spins = spin_graph(graph);
  auto lattice = recognise_lattice(graph.size() == graph.model_size() ? spins : with_holes(spins, graph));
  if (!lattice || !lattice->is_checkerboard()) return {};
  HerdedLattice found{std::move(*lattice), 0, graph.model_variable};
  const Lattice& grid = found.lattice;
  const auto is_free = [&](std::size_t i) { return graph.free_variable[i] != no_variable; };
  bool first = true;
  double largest = 0;
  for (std::size_t y = 0; y < grid.height; ++y)
    for (std::size_t x = 0; x < grid.width; ++x) {
      const std::size_t i = y * grid.width + x;
      const bool last_x = x + 1 == grid.width, last_y = y + 1 == grid.height;
      const auto fits = [&](std::size_t j, double weight) {
        if (!is_free(i) || !is_free(j)) return true;
        if (std::exchange(first, false)) found.weight = weight;
        return weight == found.weight;
      };
      if ((!last_x || grid.periodic_x) && !fits(last_x ? i - x : i + 1, grid.right[i])) return {};
      if ((!last_y || grid.periodic_y) && !fits(last_y ? x : i + grid.width, grid.down[i])) return {};
      largest = std::max<double>(largest, std::abs(grid.bias[i]));
    }
  if (largest + 2 * std::abs(found.weight) > largest_exponent) return {};
  return found;
}

HerdedGibbsLattice::HerdedGibbsLattice(const Graph& graph, HerdedLattice lattice,
                                       std::vector<std::vector<Value>> starts)
    : graph_(&graph),
      board_{lattice.lattice.width, lattice.lattice.height, lattice.lattice.periodic_x},
      periodic_y_(lattice.lattice.periodic_y),
      weight_(lattice.weight),
      log_constant_(lattice.lattice.log_constant),
      starts_(std::move(starts)),
      site_(std::move(lattice.site)) {
  check_starts(graph, starts_);
  std::unordered_map<std::string_view, std::uint32_t> known;  // keys lie in biases_, which never moves
  biases_.reserve(block_count());
  for (std::size_t colour = 0; colour < 2; ++colour)
    for (std::size_t y = 0; y < board_.height; ++y)
      for (std::size_t k = 0; k < row_blocks(); ++k) {
        Numbers& biases = biases_.emplace_back(Numbers{});
        float bias = 0;
        for (std::size_t j = 0; j < 64; ++j) {
          const std::size_t x = 2 * (64 * k + j) + Checkerboard::shift(colour, y);
          // What lies beyond a row does not matter: let it be as the site before it.
          if (x < board_.width) bias = lattice.lattice.bias[y * board_.width + x];
          biases.of[j / 2 + 32 * (j % 2)] = bias;
        }
        const std::string_view bytes(reinterpret_cast<const char*>(biases.of), sizeof(biases.of));
        const auto [place, added] = known.try_emplace(bytes, static_cast<std::uint32_t>(biases_.size() - 1));
        if (!added) biases_.pop_back();
        fields_of_.push_back(place->second);
      }
  odds_ = odds_at(1);
  if (!has_holes()) return;
  std::vector<Value> ones(size(), 1);
  State state;
  state.words.assign(board_.word_count(), 0);
  write(state, 0, ones);
  for (std::size_t colour = 0; colour < 2; ++colour)
    for (std::size_t y = 0; y < board_.height; ++y)
      free_.insert(free_.end(), state.words.data() + board_.row(colour, y),
                   state.words.data() + board_.row(colour, y) + row_blocks());
}

std::vector<HerdedGibbsLattice::Numbers> HerdedGibbsLattice::odds_at(float inverse_temperature) const {
  std::vector<Numbers> odds(biases_.size());
  parallel_for(IndexRange(0, odds.size(), 64), [&](const IndexRange& range) {
    for (std::size_t b = range.begin(); b != range.end(); ++b)
      for (std::size_t j = 0; j < 64; ++j) {
        const double field = inverse_temperature * (biases_[b].of[j] + 2 * weight_);
        assert(std::abs(field) <= largest_exponent + 1e-4);
        odds[b].of[j] = static_cast<float>(std::exp(-field));
      }
  });
  return odds;
}

std::size_t HerdedGibbsLattice::above(std::size_t y) const {
  if (y > 0) return y - 1;
  return periodic_y_ ? board_.height - 1 : board_.height;
}

std::size_t HerdedGibbsLattice::below(std::size_t y) const {
  if (y + 1 < board_.height) return y + 1;
  return periodic_y_ ? 0 : board_.height;
}

HerdedLatticeRow HerdedGibbsLattice::row_of(std::uint64_t* words, std::size_t colour, std::size_t y) const {
  return {.sites = board_.row_sites(colour, y),
          .shift = Checkerboard::shift(colour, y),
          .own = words + board_.row(colour, y),
          .up = words + board_.row(1 - colour, above(y)),
          .level = words + board_.row(1 - colour, y),
          .down = words + board_.row(1 - colour, below(y)),
          .fields_of = fields_of_.data() + block(colour, y)};
}

HerdedGibbsLattice::State HerdedGibbsLattice::start(std::uint64_t seed, std::uint32_t first_chain) const {
  State state;
  state.seed = seed;
  state.chain = first_chain;
  state.words.assign(board_.word_count(), 0);
  std::vector<Value> values(size());
  draw_start(*graph_, starts_, seed, first_chain, values);
  write(state, 0, values);
  state.phases.resize(block_count());
  const Random random(seed, Stream::weights);
  parallel_for(IndexRange(0, size(), 1024), [&](const IndexRange& range) {
    for (std::size_t v = range.begin(); v != range.end(); ++v) {
      const std::size_t x = site_[v] % board_.width, y = site_[v] / board_.width;
      Phases& phases = state.phases[block((x + y) % 2, y) + x / 128];
      // 2^n - 1 is the first configuration with n ones: the word that the tables begin with.
      for (std::uint64_t n = 0; n < 5; ++n)
        phases.of[n][x / 2 % 64] = static_cast<std::uint16_t>(
            random.block(first_chain, (std::uint64_t{1} << n) - 1, static_cast<std::uint32_t>(v))[0] >> 16);
    }
  });
  return state;
}

float HerdedGibbsLattice::rounding(std::uint64_t sweep, std::size_t colour) {
  return static_cast<float>(herded_mix(2 * sweep + colour) >> 40) * 0x1p-24f;
}

void HerdedGibbsLattice::sweep(State& state, std::uint64_t sweep) const {
  alignas(64) float favours[16] = {};
  for (int n = 0; n < 5; ++n)
    favours[n] = static_cast<float>(std::exp(state.inverse_temperature * weight_ * (n - 2)));
  const float roundings[2] = {rounding(sweep, 0), rounding(sweep, 1)};
  std::uint64_t* const words = state.words.data();
  const std::vector<Numbers>& odds = state.odds.empty() ? odds_ : state.odds;
  board_.sweep_rows(1, band, parallel_from, [&](std::size_t, std::size_t colour, std::size_t y) {
    HerdedLatticeRow row = row_of(words, colour, y);
    row.phases = state.phases.data() + block(colour, y);
    row.fields = odds.data();
    HWY_DYNAMIC_DISPATCH(herd_row)(row, favours, roundings[colour]);
    if (has_holes())
      for (std::size_t k = 0; k < blocks_of(row); ++k) row.own[k] &= free_[block(colour, y) + k];
    board_.mend_row(words, colour, y);
  });
}

void HerdedGibbsLattice::sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const {
  assert(sums.sums.size() == entry_count());
  this->sweep(state, sweep);
  if (has_holes()) {
    std::vector<Value> values(size());
    read(state, 0, values);
    for (std::size_t v = 0; v < size(); ++v) sums.sums[v] += values[v];
    return;
  }
  const auto add_row = [&](std::size_t y) {
    const std::uint64_t* even = state.words.data() + board_.row(y % 2, y);
    const std::uint64_t* odd = state.words.data() + board_.row(1 - y % 2, y);
    for (std::size_t x = 0; x < board_.width; x += 128) {
      const std::uint64_t both[2] = {spread_bits(even[x / 128]) | spread_bits(odd[x / 128]) << 1,
                                     spread_bits(even[x / 128] >> 32) | spread_bits(odd[x / 128] >> 32) << 1};
      HWY_DYNAMIC_DISPATCH(add_bits)
      (both, std::min<std::size_t>(128, board_.width - x), sums.sums.data() + y * board_.width + x);
    }
  };
  if (board_.size() < parallel_from)
    for (std::size_t y = 0; y < board_.height; ++y) add_row(y);
  else
    parallel_for(IndexRange(0, board_.height, band), [&](const IndexRange& rows) {
      for (std::size_t y = rows.begin(); y != rows.end(); ++y) add_row(y);
    });
}

void HerdedGibbsLattice::read(const State& state, std::uint32_t, std::span<Value> values) const {
  if (!has_holes()) return board_.read(state.words, values);
  std::vector<Value> all(board_.size());
  board_.read(state.words, all);
  for (std::size_t v = 0; v < size(); ++v) values[v] = all[site_[v]];
}

void HerdedGibbsLattice::write(State& state, std::uint32_t, std::span<const Value> values) const {
  if (!has_holes()) return board_.write(state.words, values);
  std::vector<Value> all(board_.size(), 0);
  for (std::size_t v = 0; v < size(); ++v) all[site_[v]] = values[v];
  board_.write(state.words, all);
}

void HerdedGibbsLattice::log_scores(const State& state, std::span<double> scores) const {
  double total = log_constant_;
  std::uint64_t pairs = 0;
  auto* const words = const_cast<std::uint64_t*>(state.words.data());  // only read
  for (std::size_t colour = 0; colour < 2; ++colour)
    for (std::size_t y = 0; y < board_.height; ++y) {
      HerdedLatticeRow row = row_of(words, colour, y);
      row.fields = biases_.data();
      total += HWY_DYNAMIC_DISPATCH(herded_bias_sum)(row);
      if (colour == 1) continue;  // every pair has one site of colour 0
      for (std::size_t k = 0; k < blocks_of(row); ++k) {
        const std::uint64_t ones = row.own[k] & inside(row, k);
        pairs += std::popcount(ones & row.up[k]) + std::popcount(ones & row.down[k]) +
                 std::popcount(ones & row.level[k]) + std::popcount(ones & beside(row.level, k, row.shift));
      }
    }
  scores[0] = total + weight_ * static_cast<double>(pairs);
}

void HerdedGibbsLattice::set_inverse_temperatures(State& state,
                                                  std::span<const float> inverse_temperatures) const {
  if (state.inverse_temperature == inverse_temperatures[0]) return;
  state.inverse_temperature = inverse_temperatures[0];
  state.odds = state.inverse_temperature == 1 ? std::vector<Numbers>() : odds_at(state.inverse_temperature);
}

static_assert(Kernel<HerdedGibbsLattice>);

}  // namespace drover
#endif
