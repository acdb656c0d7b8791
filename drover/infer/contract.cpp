// Loop planning for contract(): which axes run inside a vector block, which outside, and how each operand is
// read.
//
// The inner block is made of the last target variables. An operand is constant over the block, runs along
// with it, or is read through an index list (any other pattern). A small target would leave blocks of a few
// entries; then some reduced variables join the target for a first pass and a short second pass reduces them.

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "drover/core/parallel.hpp"
#include "drover/core/types.hpp"
#include "drover/infer/table_ops.hpp"
#include "drover/infer/table_ops_block.hpp"

namespace drover {
namespace {

constexpr std::size_t block_limit = 512;   // entries of an inner block
constexpr std::size_t scalar_limit = 512;  // joint tables up to this size take the plain path
constexpr std::size_t small_target = 64;   // below this a target is widened
constexpr std::size_t widened_target = 4096;
constexpr std::size_t parallel_limit = std::size_t{1} << 16;  // joint entries worth splitting over threads
constexpr std::size_t parallel_grain = std::size_t{1} << 15;

using Scope = std::span<const std::uint32_t>;

// Mixed-radix counting over some axes with one running offset per table.
struct Counter {
  std::vector<std::uint32_t> sizes;
  std::vector<std::size_t> strides;  // axis-major: strides[axis * tables + table]
  std::size_t tables = 0;
  std::size_t total = 1;

  void add_axis(std::uint32_t size) {
    sizes.push_back(size);
    total *= size;
  }
  void seek(std::size_t at, std::uint32_t* digits, std::size_t* offsets) const {
    std::fill(offsets, offsets + tables, 0);
    for (std::size_t a = sizes.size(); a-- > 0;) {
      digits[a] = static_cast<std::uint32_t>(at % sizes[a]);
      at /= sizes[a];
      for (std::size_t t = 0; t < tables; ++t) offsets[t] += digits[a] * strides[a * tables + t];
    }
  }
  void step(std::uint32_t* digits, std::size_t* offsets) const {
    for (std::size_t a = sizes.size(); a-- > 0;) {
      const std::size_t* stride = strides.data() + a * tables;
      if (++digits[a] < sizes[a]) {
        for (std::size_t t = 0; t < tables; ++t) offsets[t] += stride[t];
        return;
      }
      for (std::size_t t = 0; t < tables; ++t) offsets[t] -= (sizes[a] - 1) * stride[t];
      digits[a] = 0;
    }
  }
};

// The stride of every variable of `scope` within a table over `own`; 0 where the table lacks it.
void strides_in(std::span<const std::uint32_t> cardinalities, Scope scope, Scope own, std::size_t* strides) {
  std::size_t stride = 1;
  std::size_t at = own.size();
  for (std::size_t a = scope.size(); a-- > 0;) {
    strides[a] = 0;
    if (at > 0 && own[at - 1] == scope[a]) {
      strides[a] = stride;
      stride *= cardinalities[scope[a]];
      --at;
    }
  }
  assert(at == 0);
}

double combine_small(Reduce reduce, double* values, std::size_t count) {
  if (reduce == Reduce::sum || reduce == Reduce::sum_of_exp) {
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += reduce == Reduce::sum ? values[i] : std::exp(values[i]);
    return sum;
  }
  double high = log_zero;
  for (std::size_t i = 0; i < count; ++i) high = std::max(high, values[i]);
  if (reduce == Reduce::maximum || high == log_zero) return high;
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += std::exp(values[i] - high);
  return high + std::log(sum);
}

class Contraction {
 public:
  Contraction(Reduce reduce, std::span<const std::uint32_t> cardinalities, Scope scope,
              std::span<const Operand> operands, double constant, Scope target, double* out)
      : reduce_(reduce), operands_(operands), constant_(constant), out_(out) {
    const std::size_t count = operands.size();
    const std::size_t arity = scope.size();
    std::vector<std::size_t> strides((count + 1) * arity);
    for (std::size_t k = 0; k < count; ++k)
      strides_in(cardinalities, scope, operands[k].scope, strides.data() + k * arity);
    strides_in(cardinalities, scope, target, strides.data() + count * arity);
    const std::size_t* in_target = strides.data() + count * arity;

    std::size_t inner_begin = arity;  // the first axis of the inner block, among target axes
    std::size_t length = 1;
    for (std::size_t a = arity; a-- > 0;) {
      if (in_target[a] == 0) continue;
      if (length > 1 && length * cardinalities[scope[a]] > block_limit) break;
      length *= cardinalities[scope[a]];
      inner_begin = a;
    }
    inner_.tables = outer_.tables = reduced_.tables = count;
    for (std::size_t a = 0; a < arity; ++a) {
      Counter& counter = in_target[a] == 0 ? reduced_ : a < inner_begin ? outer_ : inner_;
      counter.add_axis(cardinalities[scope[a]]);
      for (std::size_t k = 0; k < count; ++k) counter.strides.push_back(strides[k * arity + a]);
    }
  }

  // Every joint entry by plain loops: for tables too small to pay for blocks.
  void run_scalar() const {
    const std::size_t count = operands_.size();
    std::vector<std::size_t> offsets(3 * count);
    std::vector<std::uint32_t> digits(outer_.sizes.size() + inner_.sizes.size() + reduced_.sizes.size());
    std::uint32_t* inner_digits = digits.data() + outer_.sizes.size();
    std::uint32_t* reduced_digits = inner_digits + inner_.sizes.size();
    std::size_t* inner_offsets = offsets.data() + count;
    std::size_t* reduced_offsets = inner_offsets + count;
    std::vector<double> values(reduced_.total);
    outer_.seek(0, digits.data(), offsets.data());
    for (std::size_t o = 0; o < outer_.total; ++o, outer_.step(digits.data(), offsets.data())) {
      inner_.seek(0, inner_digits, inner_offsets);
      for (std::size_t i = 0; i < inner_.total; ++i, inner_.step(inner_digits, inner_offsets)) {
        reduced_.seek(0, reduced_digits, reduced_offsets);
        for (std::size_t r = 0; r < reduced_.total; ++r, reduced_.step(reduced_digits, reduced_offsets)) {
          double value = constant_;
          for (std::size_t k = 0; k < count; ++k)
            value += operands_[k].values[offsets[k] + inner_offsets[k] + reduced_offsets[k]];
          values[r] = value;
        }
        out_[o * inner_.total + i] = combine_small(reduce_, values.data(), reduced_.total);
      }
    }
  }

  void run_blocks() {
    sort_operands();
    const std::size_t joint = outer_.total * inner_.total * reduced_.total;
    if (joint < parallel_limit) return run_range(0, outer_.total);
    const std::size_t grain = std::max<std::size_t>(1, parallel_grain / (inner_.total * reduced_.total));
    parallel_for(IndexRange(0, outer_.total, grain),
                 [&](const IndexRange& range) { run_range(range.begin(), range.end()); });
  }

 private:
  // How each operand is read along the inner block.
  void sort_operands() {
    const std::size_t count = operands_.size();
    std::vector<std::uint32_t> digits(inner_.sizes.size());
    std::vector<std::size_t> offsets(count);
    std::vector<std::vector<std::int64_t>> lists(count, std::vector<std::int64_t>(inner_.total));
    inner_.seek(0, digits.data(), offsets.data());
    for (std::size_t i = 0; i < inner_.total; ++i, inner_.step(digits.data(), offsets.data()))
      for (std::size_t k = 0; k < count; ++k) lists[k][i] = static_cast<std::int64_t>(offsets[k]);
    for (std::size_t k = 0; k < count; ++k) {
      bool same = true, straight = true;
      for (std::size_t i = 0; i < inner_.total; ++i) {
        same &= lists[k][i] == 0;
        straight &= lists[k][i] == static_cast<std::int64_t>(i);
      }
      if (same) {
        constant_operands_.push_back(k);
      } else if (straight) {
        straight_operands_.push_back(k);
      } else {
        indexed_operands_.push_back(k);
        index_lists_.push_back(std::move(lists[k]));
      }
    }
  }

  void run_range(std::size_t begin, std::size_t end) const {
    const std::size_t count = operands_.size();
    const std::size_t length = inner_.total;
    std::vector<double> scratch(2 * length);
    std::vector<std::size_t> outer_offsets(count), reduced_offsets(count);
    std::vector<std::uint32_t> outer_digits(outer_.sizes.size()), reduced_digits(reduced_.sizes.size());
    TableBlock block;
    block.length = length;
    block.straight_count = straight_operands_.size();
    block.indexed_count = indexed_operands_.size();
    std::vector<const double*> straight(straight_operands_.size()), indexed(indexed_operands_.size());
    std::vector<const std::int64_t*> index;
    for (const auto& list : index_lists_) index.push_back(list.data());
    block.straight = straight.data();
    block.indexed = indexed.data();
    block.index = index.data();

    outer_.seek(begin, outer_digits.data(), outer_offsets.data());
    for (std::size_t o = begin; o < end; ++o, outer_.step(outer_digits.data(), outer_offsets.data())) {
      double* out = out_ + o * length;
      const bool sums = reduce_ == Reduce::sum || reduce_ == Reduce::sum_of_exp;
      block.high = reduce_ == Reduce::maximum ? out : scratch.data();
      block.sum = sums ? out : scratch.data() + length;
      if (!sums) std::fill(block.high, block.high + length, log_zero);
      if (reduce_ != Reduce::maximum) std::fill(block.sum, block.sum + length, 0.0);
      reduced_.seek(0, reduced_digits.data(), reduced_offsets.data());
      for (std::size_t r = 0; r < reduced_.total;
           ++r, reduced_.step(reduced_digits.data(), reduced_offsets.data())) {
        const auto start = [&](std::size_t k) {
          return operands_[k].values + outer_offsets[k] + reduced_offsets[k];
        };
        block.base = constant_;
        for (std::size_t k : constant_operands_) block.base += *start(k);
        if (block.base == log_zero) continue;
        for (std::size_t k = 0; k < straight_operands_.size(); ++k)
          straight[k] = start(straight_operands_[k]);
        for (std::size_t k = 0; k < indexed_operands_.size(); ++k) indexed[k] = start(indexed_operands_[k]);
        accumulate_block(reduce_, block);
      }
      if (reduce_ == Reduce::log_sum_exp) finish_log_sum(block, out);
    }
  }

  Reduce reduce_;
  std::span<const Operand> operands_;
  double constant_;
  double* out_;
  Counter outer_, inner_, reduced_;
  std::vector<std::size_t> constant_operands_, straight_operands_, indexed_operands_;
  std::vector<std::vector<std::int64_t>> index_lists_;
};

}  // namespace

std::size_t table_size(std::span<const std::uint32_t> cardinalities, Scope scope) {
  std::size_t size = 1;
  for (std::uint32_t v : scope) size *= cardinalities[v];
  return size;
}

void contract(Reduce reduce, std::span<const std::uint32_t> cardinalities, Scope scope,
              std::span<const Operand> operands, double constant, Scope target, double* out) {
  const std::size_t joint = table_size(cardinalities, scope);
  const std::size_t wanted = table_size(cardinalities, target);
  if (joint <= scalar_limit)
    return Contraction(reduce, cardinalities, scope, operands, constant, target, out).run_scalar();
  if (wanted >= small_target || joint == wanted)
    return Contraction(reduce, cardinalities, scope, operands, constant, target, out).run_blocks();

  std::vector<std::uint32_t> wide(target.begin(), target.end());
  std::size_t entries = wanted;
  for (std::size_t a = scope.size(); a-- > 0 && entries < widened_target;) {
    const auto at = std::lower_bound(wide.begin(), wide.end(), scope[a]);
    if (at != wide.end() && *at == scope[a]) continue;
    wide.insert(at, scope[a]);
    entries *= cardinalities[scope[a]];
  }
  const auto partial = std::make_unique_for_overwrite<double[]>(entries);
  Contraction(reduce, cardinalities, scope, operands, constant, wide, partial.get()).run_blocks();
  const Operand rest[1] = {{wide, partial.get()}};
  const Reduce again = reduce == Reduce::sum_of_exp ? Reduce::sum : reduce;
  Contraction(again, cardinalities, wide, rest, 0.0, target, out).run_scalar();
}

double subtract_maximum(double* values, std::size_t count) {
  if (count < parallel_limit) {
    const double high = maximum_of(values, count);
    if (high != log_zero) subtract_from(values, high, count);
    return high;
  }
  const IndexRange all(0, count, parallel_grain);
  const double high = parallel_max(all, log_zero, [&](const IndexRange& range) {
    return maximum_of(values + range.begin(), range.size());
  });
  if (high != log_zero)
    parallel_for(all,
                 [&](const IndexRange& range) { subtract_from(values + range.begin(), high, range.size()); });
  return high;
}

void divide_by_message(double* values, const double* message, double constant, std::size_t count) {
  if (count < parallel_limit) return divide_block(values, message, constant, count);
  parallel_for(IndexRange(0, count, parallel_grain), [&](const IndexRange& range) {
    divide_block(values + range.begin(), message + range.begin(), constant, range.size());
  });
}

}  // namespace drover
