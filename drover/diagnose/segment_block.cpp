#include "drover/diagnose/segment_block.hpp"

#include <algorithm>
#include <cmath>

#include "drover/diagnose/draws.hpp"
#include "drover/diagnose/segment_moments.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/diagnose/segment_block.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first, so that what follows is compiled once for every instruction set.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace drover::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Double = hn::CappedTag<double, 8>;
using DoubleVector = hn::Vec<Double>;

// Some entries of a block, one in each lane.
class LaneFigures {
 public:
  LaneFigures(const SegmentBlock& block, std::size_t first, double* HWY_RESTRICT sums)
      : block_(block), first_(first), sums_(sums) {}

  HWY_INLINE void run(double* HWY_RESTRICT mean_of_all, double* HWY_RESTRICT rhat, double* HWY_RESTRICT ess,
                      double* HWY_RESTRICT mcse) {
    const Double d;
    const std::size_t count = block_.segments.size(), chains = block_.chains, half = count / 2;
    const auto chain_number = static_cast<double>(chains), segment_number = static_cast<double>(count);
    // Per chain: the sum over all segments, over its first and over its second half.
    auto total = hn::Zero(d), least = hn::Set(d, 2.0), most = hn::Set(d, -1.0);
    for (std::size_t c = 0; c < chains; ++c) {
      auto first = hn::Zero(d), second = hn::Zero(d), middle = hn::Zero(d);
      for (std::size_t s = 0; s < count; ++s) {
        const auto y = at(s, c);
        least = hn::Min(least, y);
        most = hn::Max(most, y);
        if (s < half)
          first = hn::Add(first, y);
        else if (s >= count - half)
          second = hn::Add(second, y);
        else
          middle = y;
      }
      const auto all = hn::Add(hn::Add(first, second), middle);
      put(0, c, all);
      put(1, c, first);
      put(2, c, second);
      total = hn::Add(total, all);
    }
    const auto mean = hn::Div(total, hn::Set(d, chain_number * segment_number));
    hn::StoreU(mean, d, mean_of_all);
    hn::StoreU(rhat_of(mean), d, rhat);

    const auto nothing = hn::Set(d, not_a_number);
    if (chains < 2 && count < 2) {
      hn::StoreU(nothing, d, ess);
      hn::StoreU(nothing, d, mcse);
      return;
    }
    auto variance = hn::Zero(d);
    if (chains > 1) {
      const auto share = hn::Set(d, 1 / segment_number);
      auto squares = hn::Zero(d);
      for (std::size_t c = 0; c < chains; ++c) add_square(hn::Sub(hn::Mul(get(0, c), share), mean), squares);
      variance = hn::Div(squares, hn::Set(d, (chain_number - 1) * chain_number));
    }
    for (std::size_t group = 1; count > 1 && (group == 1 || count / group >= least_batches); group *= 2)
      variance = hn::Max(variance, variance_of_batches(group));
    const auto error = hn::Sqrt(variance);
    const double draws = chain_number * segment_number * block_.draws_per_segment;
    const auto largest = hn::Set(d, draws * std::max(1.0, std::log10(draws)));
    const auto size =
        hn::Min(hn::Div(hn::Mul(mean, hn::Sub(hn::Set(d, 1.0), mean)), hn::Mul(error, error)), largest);
    const auto moved = hn::Lt(least, most);
    hn::StoreU(hn::IfThenElse(moved, error, nothing), d, mcse);
    hn::StoreU(hn::IfThenElse(moved, size, nothing), d, ess);
  }

 private:
  static constexpr std::size_t lanes = hn::MaxLanes(Double());

  HWY_INLINE DoubleVector at(std::size_t segment, std::size_t chain) const {
    const Double d;
    const hn::Rebind<float, Double> f;
    return hn::PromoteTo(d, hn::LoadU(f, block_.segments[segment] + chain * block_.chain_stride + first_));
  }
  HWY_INLINE void put(std::size_t kind, std::size_t chain, DoubleVector value) const {
    hn::StoreU(value, Double(), sums_ + (kind * block_.chains + chain) * lanes);
  }
  HWY_INLINE DoubleVector get(std::size_t kind, std::size_t chain) const {
    return hn::LoadU(Double(), sums_ + (kind * block_.chains + chain) * lanes);
  }
  static HWY_INLINE void add_square(DoubleVector distance, DoubleVector& squares) {
    squares = hn::Add(squares, hn::Mul(distance, distance));
  }

  HWY_INLINE DoubleVector rhat_of(DoubleVector mean) const {
    const Double d;
    const auto nothing = hn::Set(d, not_a_number);
    const std::size_t half = block_.segments.size() / 2;
    const double length = block_.draws_per_segment * static_cast<double>(half);
    const double halves = 2 * static_cast<double>(block_.chains);
    if (half == 0 || length < 2) return nothing;
    const auto share = hn::Set(d, 1 / static_cast<double>(half)), one = hn::Set(d, 1.0);
    auto sum = hn::Zero(d), squares = hn::Zero(d), spread = hn::Zero(d);
    for (std::size_t kind = 1; kind <= 2; ++kind)
      for (std::size_t c = 0; c < block_.chains; ++c) {
        const auto m = hn::Mul(get(kind, c), share);
        const auto distance = hn::Sub(m, mean);
        sum = hn::Add(sum, distance);
        add_square(distance, squares);
        spread = hn::Add(spread, hn::Mul(m, hn::Sub(one, m)));
      }
    spread = hn::Div(spread, hn::Set(d, halves));
    const auto between =
        hn::Div(hn::Max(hn::Zero(d), hn::Sub(squares, hn::Div(hn::Mul(sum, sum), hn::Set(d, halves)))),
                hn::Set(d, halves - 1));
    const auto ratio = hn::Div(hn::Mul(hn::Add(spread, between), hn::Set(d, length - 1)),
                               hn::Mul(hn::Set(d, length), spread));
    const auto defined = hn::Or(hn::Gt(spread, hn::Zero(d)), hn::Gt(between, hn::Zero(d)));
    return hn::IfThenElse(defined, hn::Sqrt(ratio), nothing);
  }

  // Batches of `group` segments, those left over at the start of a chain not used.
  HWY_INLINE DoubleVector variance_of_batches(std::size_t group) const {
    const Double d;
    const std::size_t count = block_.segments.size(), batches = count / group,
                      start = count - batches * group;
    const auto share = hn::Set(d, 1 / static_cast<double>(group));
    const auto whole = hn::Set(d, static_cast<double>(batches * group));
    auto squares = hn::Zero(d);
    for (std::size_t c = 0; c < block_.chains; ++c) {
      auto centre = get(0, c);
      if (start > 0) {
        centre = hn::Zero(d);
        for (std::size_t s = start; s < count; ++s) centre = hn::Add(centre, at(s, c));
      }
      centre = hn::Div(centre, whole);
      for (std::size_t b = start; b < count; b += group) {
        auto sum = at(b, c);
        for (std::size_t s = b + 1; s < b + group; ++s) sum = hn::Add(sum, at(s, c));
        add_square(hn::Sub(hn::Mul(sum, share), centre), squares);
      }
    }
    const auto chains = static_cast<double>(block_.chains), number = static_cast<double>(batches);
    return hn::Div(squares, hn::Set(d, chains * (number - 1) * (chains * number)));
  }

  const SegmentBlock& block_;
  std::size_t first_;
  double* sums_;
};

void block_figures(const SegmentBlock& block, double* room, BlockFigures& figures) {
  for (std::size_t e = 0; e < SegmentBlock::width; e += hn::MaxLanes(Double()))
    LaneFigures(block, e, room).run(figures.mean + e, figures.rhat + e, figures.ess + e, figures.mcse + e);
}

}  // namespace drover::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

HWY_EXPORT(block_figures);

void figures_of_block(const SegmentBlock& block, std::vector<double>& room, BlockFigures& figures) {
  if (block.chains == 0 || block.segments.empty()) {
    for (double* list : {figures.mean, figures.rhat, figures.ess, figures.mcse})
      std::fill_n(list, SegmentBlock::width, not_a_number);
    return;
  }
  room.resize(3 * block.chains * SegmentBlock::width);
  HWY_DYNAMIC_DISPATCH(block_figures)(block, room.data(), figures);
}

}  // namespace drover
#endif
