#include "drover/sample/blocked/blocked_sweep.hpp"

#include <limits>

#include "drover/core/random.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/sample/blocked/blocked_sweep.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, block_lanes>;
using Words = hn::RebindToUnsigned<Floats>;
using Ints = hn::RebindToSigned<Floats>;
using F = hn::Vec<Floats>;
using W = hn::Vec<Words>;
using I = hn::Vec<Ints>;

constexpr std::size_t max_digits = 32;  // cliques have fewer than 2^32 entries

// Calls body(l) for the first lane of each vector of a row.
template <class Body>
HWY_INLINE void for_lanes(Body body) {
  for (std::size_t l = 0; l < block_lanes; l += hn::Lanes(Floats())) body(l);
}

HWY_INLINE F load(const LaneFloats& row, std::size_t l) {
  return hn::Load(Floats(), row.lane + l);
}
HWY_INLINE void store(F value, LaneFloats& row, std::size_t l) {
  hn::Store(value, Floats(), row.lane + l);
}
HWY_INLINE I load(const LaneValues& row, std::size_t l) {
  return hn::Load(Ints(), row.lane + l);
}
HWY_INLINE void store(I value, LaneValues& row, std::size_t l) {
  hn::Store(value, Ints(), row.lane + l);
}
HWY_INLINE F constant(float value) {
  return hn::Set(Floats(), value);
}

// The upper half of the 64-bit products of all 32-bit lanes.
HWY_INLINE W multiply_high(W a, W b) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(Words(), static_cast<std::uint32_t>(std::uint64_t{hn::GetLane(a)} * hn::GetLane(b) >> 32));
#else
  const hn::RepartitionToWide<Words> wide;
  const auto even = hn::MulEven(a, b);
  const auto odd = hn::MulEven(hn::BitCast(Words(), hn::ShiftRight<32>(hn::BitCast(wide, a))), b);
  return hn::OddEven(hn::BitCast(Words(), odd), hn::BitCast(Words(), hn::ShiftRight<32>(even)));
#endif
}

// Philox4x32-10, the counters of core/random.hpp for consecutive chains.
HWY_INLINE void philox(std::uint64_t seed, std::uint32_t first_chain, std::uint64_t sweep, std::uint32_t site,
                       LaneFloats uniforms[4]) {
  const Words w;
  const W multiplier0 = hn::Set(w, 0xD2511F53U), multiplier1 = hn::Set(w, 0xCD9E8D57U);
  for_lanes([&](std::size_t l) {
    W c0 = hn::Set(w, site);
    W c1 = hn::Iota(w, first_chain + static_cast<std::uint32_t>(l));
    W c2 = hn::Set(w, static_cast<std::uint32_t>(sweep));
    W c3 = hn::Set(
        w, static_cast<std::uint32_t>(sweep >> 32) ^ (static_cast<std::uint32_t>(Stream::sweep) << 24));
    std::uint32_t key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const W high0 = multiply_high(c0, multiplier0), low0 = hn::Mul(c0, multiplier0);
      const W high1 = multiply_high(c2, multiplier1), low1 = hn::Mul(c2, multiplier1);
      c0 = hn::Xor(hn::Xor(high1, c1), hn::Set(w, key0));
      c1 = low1;
      c2 = hn::Xor(hn::Xor(high0, c3), hn::Set(w, key1));
      c3 = low0;
      key0 += 0x9E3779B9U;
      key1 += 0xBB67AE85U;
    }
    // (2 * (word >> 1) + 1) * 2^-32: never 0, so an event of probability 0 never happens; at most 1.
    const auto to_unit = [&](W word) {
      const F value = hn::ConvertTo(Floats(), hn::BitCast(Ints(), hn::ShiftRight<1>(word)));
      return hn::MulAdd(value, constant(0x1p-31F), constant(0x1p-32F));
    };
    store(to_unit(c0), uniforms[0], l);
    store(to_unit(c1), uniforms[1], l);
    store(to_unit(c2), uniforms[2], l);
    store(to_unit(c3), uniforms[3], l);
  });
}

// Hands out the uniforms of sites that are asked for in descending order, four to a generator call.
class Uniforms {
 public:
  explicit Uniforms(const BlockRun& run) : run_(run) {}
  HWY_INLINE const LaneFloats& at(std::uint64_t site) {
    const std::uint64_t block = site >> 2;
    if (block != block_) {
      philox(run_.seed, run_.first_chain, run_.sweep, static_cast<std::uint32_t>(block), rows_);
      block_ = block;
    }
    return rows_[site & 3];
  }

 private:
  const BlockRun& run_;
  std::uint64_t block_ = ~std::uint64_t{0};
  LaneFloats rows_[4];
};

HWY_INLINE void add_to_sums(const BlockRun& run, VariableId v, std::size_t entry, F probability,
                            std::size_t l) {
  float* sum = run.sums + (run.entry_offsets[v] + entry) * block_lanes + l;
  hn::StoreU(hn::MulAdd(probability, constant(run.sum_weights[v]), hn::LoadU(Floats(), sum)), Floats(), sum);
}

// ---- strictly positive binary trees: rows 3p (log-odds, later the marginal), 3p + 1, 3p + 2 (p given
// parent)

void spin_tree_up(const BlockPlan& plan, const Chunk& chunk, const BlockRun& run) {
  const F zero = hn::Zero(Floats()), one = constant(1);
  for (std::uint32_t p = chunk.begin; p < chunk.end; ++p) {
    const SpinNode& node = plan.nodes[p];
    const FieldTerm* fields = plan.fields.data() + node.first_field;
    LaneFloats* rows = run.scratch + std::size_t{3} * p;
    for_lanes([&](std::size_t l) {
      F field = constant(node.odds);
      for (std::uint32_t f = 0; f < node.field_count; ++f)
        field = hn::MulAdd(hn::ConvertTo(Floats(), load(run.values[fields[f].other], l)),
                           constant(fields[f].weight), field);
      const F beta = load(*run.inverse_temperatures, l);
      const F odds0 = node.has_child ? hn::MulAdd(beta, field, load(rows[0], l)) : hn::Mul(beta, field);
      const F e0 = hn::Exp(Floats(), hn::Neg(hn::Abs(odds0)));
      const F inverse0 = hn::Div(one, hn::Add(one, e0));
      store(hn::IfThenElse(hn::Ge(odds0, zero), inverse0, hn::Mul(e0, inverse0)), rows[1], l);
      if (node.parent == no_parent) return;
      const F odds1 = hn::MulAdd(beta, constant(node.odds_step), odds0);
      const F e1 = hn::Exp(Floats(), hn::Neg(hn::Abs(odds1)));
      const F sum1 = hn::Add(one, e1);
      const F inverse1 = hn::Div(one, sum1);
      store(hn::IfThenElse(hn::Ge(odds1, zero), inverse1, hn::Mul(e1, inverse1)), rows[2], l);
      // base + log(1 + exp odds1) - log(1 + exp odds0)
      F message = hn::Sub(hn::Max(odds1, zero), hn::Max(odds0, zero));
      message = hn::Add(message, hn::Log(Floats(), hn::Mul(sum1, inverse0)));
      message = hn::MulAdd(beta, constant(node.base), message);
      LaneFloats& target = run.scratch[std::size_t{3} * node.parent];
      store(node.first_child ? message : hn::Add(message, load(target, l)), target, l);
    });
  }
}

// The same without logarithms, for odds far from overflow and all lanes at temperature 1.
void spin_tree_up_in_ratios(const BlockPlan& plan, const Chunk& chunk, const BlockRun& run) {
  const F one = constant(1);
  for (std::uint32_t p = chunk.begin; p < chunk.end; ++p) {
    const SpinNode& node = plan.nodes[p];
    const FieldTerm* fields = plan.fields.data() + node.first_field;
    LaneFloats* rows = run.scratch + std::size_t{3} * p;
    for_lanes([&](std::size_t l) {
      F ratio0 = constant(node.exp_odds);
      if (node.has_child) ratio0 = hn::Mul(ratio0, load(rows[0], l));
      for (std::uint32_t f = 0; f < node.field_count; ++f) {
        const auto up =
            hn::RebindMask(Floats(), hn::Gt(load(run.values[fields[f].other], l), hn::Zero(Ints())));
        ratio0 = hn::Mul(ratio0, hn::IfThenElse(up, constant(fields[f].exp_weight), one));
      }
      const F sum0 = hn::Add(one, ratio0);
      if (node.parent == no_parent) {
        store(hn::Div(ratio0, sum0), rows[1], l);
        return;
      }
      const F ratio1 = hn::Mul(ratio0, constant(node.exp_odds_step));
      const F sum1 = hn::Add(one, ratio1);
      const F inverse = hn::Div(one, hn::Mul(sum0, sum1));  // one division for both
      const F inverse0 = hn::Mul(inverse, sum1);
      store(hn::Mul(ratio0, inverse0), rows[1], l);
      store(hn::Mul(ratio1, hn::Mul(inverse, sum0)), rows[2], l);
      const F message = hn::Mul(hn::Mul(sum1, inverse0), constant(node.exp_base));
      LaneFloats& target = run.scratch[std::size_t{3} * node.parent];
      store(node.first_child ? message : hn::Mul(message, load(target, l)), target, l);
    });
  }
}

template <bool with_sums>
void spin_tree_down(const BlockPlan& plan, const Chunk& chunk, const BlockRun& run) {
  Uniforms uniforms(run);
  for (std::uint32_t p = chunk.end; p-- > chunk.begin;) {
    const SpinNode& node = plan.nodes[p];
    LaneFloats* rows = run.scratch + std::size_t{3} * p;
    const LaneFloats& uniform = uniforms.at(plan.first_site + p);
    for_lanes([&](std::size_t l) {
      F probability = load(rows[1], l);
      F marginal = probability;
      if (node.parent != no_parent) {
        const VariableId parent = plan.nodes[node.parent].variable;
        const auto up = hn::RebindMask(Floats(), hn::Gt(load(run.values[parent], l), hn::Zero(Ints())));
        const F given_one = load(rows[2], l);
        if (with_sums) {
          const F parent_marginal = load(run.scratch[std::size_t{3} * node.parent], l);
          marginal = hn::MulAdd(parent_marginal, hn::Sub(given_one, probability), probability);
        }
        probability = hn::IfThenElse(up, given_one, probability);
      }
      const auto drawn = hn::RebindMask(Ints(), hn::Le(load(uniform, l), probability));
      store(hn::IfThenElseZero(drawn, hn::Set(Ints(), 1)), run.values[node.variable], l);
      if (with_sums) {
        store(marginal, rows[0], l);
        add_to_sums(run, node.variable, 0, marginal, l);
      }
    });
  }
}

// ---- the general case

void fill_fields(const BlockPlan& plan, const Bucket& bucket, const BlockRun& run) {
  LaneFloats* rows = run.scratch + bucket.field_row;
  const FieldTerm* fields = plan.fields.data() + bucket.first_field;
  if (bucket.states == 2) {
    for_lanes([&](std::size_t l) {
      F field = hn::Zero(Floats());
      for (std::uint32_t f = 0; f < bucket.field_count; ++f)
        field = hn::MulAdd(hn::ConvertTo(Floats(), load(run.values[fields[f].other], l)),
                           constant(fields[f].weight), field);
      store(hn::Zero(Floats()), rows[0], l);
      store(field, rows[1], l);
    });
    return;
  }
  for (std::uint32_t k = 0; k < bucket.states; ++k)
    for_lanes([&](std::size_t l) { store(hn::Zero(Floats()), rows[k], l); });
  for (std::uint32_t f = 0; f < bucket.field_count; ++f) {
    const LaneValues& other = run.values[fields[f].other];
    for (std::size_t l = 0; l < block_lanes; ++l) rows[other.lane[l]].lane[l] += fields[f].weight;
  }
}

void fill_slice(const BlockPlan& plan, const Slice& slice, const BlockRun& run) {
  const Outsider* outsiders = plan.outsiders.data() + slice.first_outsider;
  const Axis* axes = plan.axes.data() + slice.first_axis;
  const float* table = run.table_values + slice.table;
  LaneValues base;
  for_lanes([&](std::size_t l) {
    I index = hn::Zero(Ints());
    for (std::uint32_t o = 0; o < slice.outsider_count; ++o)
      index = hn::Add(
          index, hn::Mul(load(run.values[outsiders[o].variable], l), hn::Set(Ints(), outsiders[o].step)));
    store(index, base, l);
  });
  std::uint32_t digits[max_digits] = {};
  std::int32_t offset = 0;
  for (std::uint32_t e = 0; e < slice.entries; ++e) {
    for_lanes([&](std::size_t l) {
      const F value = hn::GatherIndex(Floats(), table, hn::Add(load(base, l), hn::Set(Ints(), offset)));
      store(hn::Mul(value, load(*run.inverse_temperatures, l)), run.scratch[slice.row + e], l);
    });
    for (std::uint32_t d = 0; d < slice.axis_count; ++d) {
      offset += axes[d].step;
      if (++digits[d] < axes[d].states) break;
      offset -= axes[d].step * static_cast<std::int32_t>(axes[d].states);
      digits[d] = 0;
    }
  }
}

void fill_constants(const BlockPlan& plan, const Bucket& bucket, const BlockRun& run) {
  const float* constants = plan.constants.data() + bucket.constant;
  LaneFloats* table = run.scratch + bucket.row;
  for (std::uint32_t c = 0; c < bucket.configurations; ++c)
    for (std::uint32_t k = 0; k < bucket.states; ++k, ++constants, ++table)
      for_lanes([&](std::size_t l) {
        F value = constant(*constants);
        if (bucket.field_count > 0) value = hn::Add(value, load(run.scratch[bucket.field_row + k], l));
        store(hn::Mul(value, load(*run.inverse_temperatures, l)), *table, l);
      });
}

void add_source(const BlockPlan& plan, const Bucket& bucket, const Source& source, const BlockRun& run) {
  LaneFloats* table = run.scratch + bucket.row;
  const LaneFloats* from = run.scratch + source.row;
  const auto add = [&](LaneFloats& to, const LaneFloats& row) {
    for_lanes([&](std::size_t l) { store(hn::Add(load(to, l), load(row, l)), to, l); });
  };
  if (source.same_layout) {
    const std::size_t entries = std::size_t{bucket.configurations} * bucket.states;
    for (std::size_t e = 0; e < entries; ++e) add(table[e], from[e]);
    return;
  }
  const std::int32_t* jumps = plan.jumps.data() + source.first_jump;
  const std::uint32_t* states = plan.digits.data() + bucket.first_digit;
  const std::uint32_t K = bucket.states;
  std::uint32_t digits[max_digits] = {};
  std::int32_t index = 0;
  for (std::uint32_t c = 0;;) {
    for (std::uint32_t k = 0; k < K; ++k, ++table, index += jumps[0]) add(*table, from[index]);
    if (++c == bucket.configurations) return;
    index -= jumps[0];
    std::uint32_t d = 1;
    while (++digits[d] == states[d]) digits[d++] = 0;
    index += jumps[d];
  }
}

// Turns a log table into conditional probabilities (for two states only that of state 1, in row c) and the
// message. A configuration that is impossible in a lane gets the message minus infinity.
void reduce(const Bucket& bucket, const BlockRun& run) {
  LaneFloats* table = run.scratch + bucket.row;
  LaneFloats* messages = bucket.parent_count > 0 ? run.scratch + bucket.message_row : nullptr;
  const F impossible = constant(-std::numeric_limits<float>::infinity());
  const F zero = hn::Zero(Floats()), one = constant(1);
  const std::uint32_t K = bucket.states;
  for_lanes([&](std::size_t l) {
    F most = impossible;
    for (std::uint32_t c = 0; c < bucket.configurations; ++c) {
      F message = zero;
      if (K == 2) {
        const F a0 = load(table[2 * c], l), a1 = load(table[2 * c + 1], l);
        const F high = hn::Max(a0, a1);
        const F possible_high = hn::IfThenElse(hn::Eq(high, impossible), zero, high);
        const F e = hn::Exp(Floats(), hn::Sub(hn::Min(a0, a1), possible_high));
        const F sum = hn::Add(one, e);
        const F inverse = hn::Div(one, sum);
        store(hn::IfThenElse(hn::Ge(a1, a0), inverse, hn::Mul(e, inverse)), table[c], l);
        if (messages) message = hn::Add(high, hn::Log(Floats(), sum));
      } else {
        LaneFloats* rows = table + std::size_t{c} * K;
        F high = load(rows[0], l);
        for (std::uint32_t k = 1; k < K; ++k) high = hn::Max(high, load(rows[k], l));
        const F possible_high = hn::IfThenElse(hn::Eq(high, impossible), zero, high);
        F sum = zero;
        for (std::uint32_t k = 0; k < K; ++k) {
          const F e = hn::Exp(Floats(), hn::Sub(load(rows[k], l), possible_high));
          sum = hn::Add(sum, e);
          store(e, rows[k], l);
        }
        const F at_least_one = hn::Max(sum, one);  // the largest term is 1, unless all are 0
        const F inverse = hn::Div(one, at_least_one);
        for (std::uint32_t k = 0; k < K; ++k) store(hn::Mul(load(rows[k], l), inverse), rows[k], l);
        if (messages) message = hn::Add(high, hn::Log(Floats(), at_least_one));
      }
      if (!messages) return;  // a bucket without parents has one configuration
      store(message, messages[c], l);
      most = hn::Max(most, message);
    }
    most = hn::IfThenElse(hn::Eq(most, impossible), zero, most);
    for (std::uint32_t c = 0; c < bucket.configurations; ++c)
      store(hn::Sub(load(messages[c], l), most), messages[c], l);
  });
}

void buckets_up(const BlockPlan& plan, const Chunk& chunk, const BlockRun& run) {
  for (std::uint32_t p = chunk.begin; p < chunk.end; ++p) {
    const Bucket& bucket = plan.buckets[p];
    if (bucket.field_count > 0) fill_fields(plan, bucket, run);
    for (std::uint32_t s = 0; s < bucket.slice_count; ++s)
      fill_slice(plan, plan.slices[bucket.first_slice + s], run);
    fill_constants(plan, bucket, run);
    for (std::uint32_t s = 0; s < bucket.source_count; ++s)
      add_source(plan, bucket, plan.sources[bucket.first_source + s], run);
    reduce(bucket, run);
  }
}

// The rows of a bucket are free once its variable is drawn; they then keep what was added to the sums.
template <bool with_sums>
void buckets_down(const BlockPlan& plan, const Chunk& chunk, const BlockRun& run) {
  Uniforms uniforms(run);
  for (std::uint32_t p = chunk.end; p-- > chunk.begin;) {
    const Bucket& bucket = plan.buckets[p];
    const VariableId* parents = plan.parents.data() + bucket.first_parent;
    const std::uint32_t* states = plan.digits.data() + bucket.first_digit + 1;
    const std::uint32_t K = bucket.states;
    const std::uint32_t rows_each = K == 2 ? 1 : K;  // per configuration
    LaneFloats* table = run.scratch + bucket.row;
    const LaneFloats& uniform = uniforms.at(plan.first_site + p);
    // With a single parent, its conditional (given what that one used) is averaged over as well.
    const bool average = with_sums && bucket.parent_count == 1;
    const LaneFloats* parent_rows =
        average ? run.scratch + plan.buckets[plan.parent_position[bucket.first_parent]].row : nullptr;
    for_lanes([&](std::size_t l) {
      I configuration = hn::Zero(Ints());
      std::int32_t step = 1;
      for (std::uint32_t a = 0; a < bucket.parent_count; ++a) {
        configuration =
            hn::Add(configuration, hn::Mul(load(run.values[parents[a]], l), hn::Set(Ints(), step)));
        step *= static_cast<std::int32_t>(states[a]);
      }
      const auto row_size = static_cast<std::int32_t>(block_lanes);
      I index = hn::Mul(configuration, hn::Set(Ints(), static_cast<std::int32_t>(rows_each) * row_size));
      index = hn::Add(index, hn::Iota(Ints(), static_cast<std::int32_t>(l)));
      const auto probability_of = [&](std::uint32_t row) {
        return hn::GatherIndex(Floats(), table[row].lane, index);
      };
      const F u = load(uniform, l);
      I drawn = hn::Zero(Ints());
      if (K == 2) {
        const auto up = hn::RebindMask(Ints(), hn::Le(u, probability_of(0)));
        drawn = hn::IfThenElseZero(up, hn::Set(Ints(), 1));
      } else {
        F total = hn::Zero(Floats());
        for (std::uint32_t k = 0; k < K; ++k) total = hn::Add(total, probability_of(k));
        const F threshold = hn::Mul(u, total);
        F below = hn::Zero(Floats());
        for (std::uint32_t k = 0; k + 1 < K; ++k) {
          below = hn::Add(below, probability_of(k));
          const auto beyond = hn::RebindMask(Ints(), hn::Lt(below, threshold));
          drawn = hn::Add(drawn, hn::IfThenElseZero(beyond, hn::Set(Ints(), 1)));
        }
      }
      store(drawn, run.values[bucket.variable], l);
      if (!with_sums) return;
      for (std::uint32_t k = 0; k < rows_each; ++k) {
        F share = probability_of(k);
        if (average) {
          const std::uint32_t parent_states = states[0];
          if (parent_states == 2) {
            const F one = load(parent_rows[0], l);
            const F given_zero = load(table[k], l);
            share = hn::MulAdd(one, hn::Sub(load(table[rows_each + k], l), given_zero), given_zero);
          } else {
            share = hn::Zero(Floats());
            for (std::uint32_t c = 0; c < parent_states; ++c)
              share = hn::MulAdd(load(parent_rows[c], l), load(table[c * rows_each + k], l), share);
          }
        }
        add_to_sums(run, bucket.variable, k, share, l);
        // Row k of configuration 0 is read for this k only, except by gathers of later k in their own rows.
        store(share, table[k], l);
      }
    });
  }
}

void run_chunk_here(const BlockPlan& plan, const Chunk& chunk, const BlockRun& run) {
  if (plan.spin_tree) {
    bool at_one = true;
    for (float beta : run.inverse_temperatures->lane) at_one = at_one && beta == 1;
    plan.small_odds&& at_one ? spin_tree_up_in_ratios(plan, chunk, run) : spin_tree_up(plan, chunk, run);
    run.sums ? spin_tree_down<true>(plan, chunk, run) : spin_tree_down<false>(plan, chunk, run);
  } else {
    buckets_up(plan, chunk, run);
    run.sums ? buckets_down<true>(plan, chunk, run) : buckets_down<false>(plan, chunk, run);
  }
}

void block_uniforms_here(std::uint64_t seed, std::uint32_t first_chain, std::uint64_t sweep,
                         std::uint32_t site_block, LaneFloats uniforms[4]) {
  philox(seed, first_chain, sweep, site_block, uniforms);
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

HWY_EXPORT(run_chunk_here);
HWY_EXPORT(block_uniforms_here);

void run_chunk(const BlockPlan& plan, const Chunk& chunk, const BlockRun& run) {
  HWY_DYNAMIC_DISPATCH(run_chunk_here)(plan, chunk, run);
}

void block_uniforms(std::uint64_t seed, std::uint32_t first_chain, std::uint64_t sweep,
                    std::uint32_t site_block, LaneFloats uniforms[4]) {
  HWY_DYNAMIC_DISPATCH(block_uniforms_here)(seed, first_chain, sweep, site_block, uniforms);
}

}  // namespace drover
#endif
