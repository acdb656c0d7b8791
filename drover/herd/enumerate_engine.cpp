// Herding with the exact maximum over all joint states.
//
//   <w_t, phi(s)> = <w_0, phi(s)> + t <mu, phi(s)> - sum over tau of <phi(s_tau), phi(s)>
//
// The last term is a table over states; a step adds to it the number of features that hold both in s and in
// the last pseudo-sample: a count of common bits; with all pairs (and triples) of binary variables it follows
// from the number k of common ones, k + k (k-1) / 2 (+ k (k-1) (k-2) / 6). One pass over the table updates it
// and finds the maximum; ties go to the first state. No score is recomputed from weights, and the sums of
// counts are exact. With spins the bits are the signs of the features, and what two states have in common is
// the number of equal signs less that of different ones. Assumes few states (2^16 or so): time and memory are
// proportional to states * features / 64.
#include <cassert>
#include <cmath>
#include <limits>

#include "drover/herd/engine.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/herd/enumerate_engine.cpp"
#include <hwy/aligned_allocator.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef DROVER_HERD_ENUMERATE_ENGINE
#define DROVER_HERD_ENUMERATE_ENGINE
namespace drover {
namespace {

struct TableView {
  std::size_t padded_states;               ///< a multiple of 16
  std::size_t words;                       ///< per state
  const std::uint64_t* HWY_RESTRICT bits;  ///< word w of state s at [w * padded_states + s]
  const double* HWY_RESTRICT rate;         ///< <mu, phi(s)>; minus infinity beyond the last state
  double* HWY_RESTRICT visited;            ///< sum of common features, minus <w_0, phi(s)>
  double features;                         ///< how many there are
};

}  // namespace
}  // namespace drover
#endif

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Adds the pseudo-sample `last` to the table and returns the best state at time t. Bits are features (order
/// 0), their signs (order -1) or the variables themselves (complete sets of order 2 or 3).
template <int order>
HWY_INLINE std::size_t advance(const TableView& view, std::size_t last, double t) {
  const hn::ScalableTag<double> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::RebindToSigned<decltype(d)> di;
  const std::size_t lanes = hn::Lanes(d);
  auto best = hn::Set(d, -std::numeric_limits<double>::infinity());
  auto best_index = hn::Zero(d);
  auto index = hn::Iota(d, 0.0);
  const auto step = hn::Set(d, static_cast<double>(lanes));
  const auto time = hn::Set(d, t);
  [[maybe_unused]] const auto half = hn::Set(d, 0.5), one = hn::Set(d, 1.0), two = hn::Set(d, 2.0),
                              third = hn::Set(d, 1.0 / 3);
  for (std::size_t s = 0; s < view.padded_states; s += lanes) {
    auto common = hn::Zero(du);
    for (std::size_t w = 0; w < view.words; ++w) {
      const std::uint64_t* row = view.bits + w * view.padded_states;
      const auto here = hn::Load(du, row + s), there = hn::Set(du, row[last]);
      common = hn::Add(common, hn::PopulationCount(order < 0 ? hn::Xor(here, there) : hn::And(here, there)));
    }
    auto held = hn::ConvertTo(d, hn::BitCast(di, common));
    if constexpr (order < 0) held = hn::NegMulAdd(two, held, hn::Set(d, view.features));
    if constexpr (order > 0) {
      const auto others = hn::Mul(hn::Sub(held, one), half);
      const auto triples = hn::MulAdd(hn::Sub(held, two), third, one);
      held = hn::MulAdd(held, order == 3 ? hn::Mul(others, triples) : others, held);
      if constexpr (order == 3) held = hn::Round(held);  // of thirds: a whole number again
    }
    const auto visited = hn::Add(hn::Load(d, view.visited + s), held);
    hn::Store(visited, d, view.visited + s);
    const auto score = hn::MulSub(time, hn::Load(d, view.rate + s), visited);
    const auto better = hn::Gt(score, best);
    best = hn::IfThenElse(better, score, best);
    best_index = hn::IfThenElse(better, index, best_index);
    index = hn::Add(index, step);
  }
  // The first of the best states, whatever the number of lanes.
  const auto highest = hn::MaxOfLanes(d, best);
  const auto candidates =
      hn::IfThenElse(hn::Eq(best, highest), best_index, hn::Set(d, std::numeric_limits<double>::infinity()));
  return static_cast<std::size_t>(hn::GetLane(hn::MinOfLanes(d, candidates)));
}

std::size_t advance_features(const TableView& view, std::size_t last, double t) {
  return advance<0>(view, last, t);
}
std::size_t advance_signs(const TableView& view, std::size_t last, double t) {
  return advance<-1>(view, last, t);
}
std::size_t advance_pairs(const TableView& view, std::size_t last, double t) {
  return advance<2>(view, last, t);
}
std::size_t advance_triples(const TableView& view, std::size_t last, double t) {
  return advance<3>(view, last, t);
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

HWY_EXPORT(advance_features);
HWY_EXPORT(advance_signs);
HWY_EXPORT(advance_pairs);
HWY_EXPORT(advance_triples);

namespace {

class EnumeratingEngine : public HerdEngine {
 public:
  EnumeratingEngine(const Moments& moments, std::span<const double> start_weights)
      : set_(moments.set),
        states_(static_cast<std::size_t>(state_count(set_))),
        padded_((states_ + 15) / 16 * 16),
        words_(set_.complete_order > 0 ? 1 : (set_.size() + 63) / 64),
        bits_(hwy::AllocateAligned<std::uint64_t>(padded_ * words_)),
        rate_(hwy::AllocateAligned<double>(padded_)),
        visited_(hwy::AllocateAligned<double>(padded_)),
        visits_(states_, 0) {
    std::fill_n(bits_.get(), padded_ * words_, 0);
    std::fill_n(rate_.get(), padded_, -std::numeric_limits<double>::infinity());
    std::fill_n(visited_.get(), padded_, 0.0);
    state_.assign(set_.variables(), 0);
    for (std::size_t s = 0; s < states_; ++s) {
      write_state(s, state_);
      rate_[s] = 0;
      for (std::size_t f = 0; f < set_.size(); ++f) {
        const double value = set_.value(set_.features[f], state_);
        rate_[s] += value * moments.values[f];
        if (!start_weights.empty()) visited_[s] -= value * start_weights[f];
        if (value <= 0) continue;
        if (f / 64 < words_ && (set_.complete_order == 0 || set_.features[f].order == 1))
          bits_[f / 64 * padded_ + s] |= std::uint64_t{1} << (f % 64);
      }
    }
    // Before the first step nothing was visited: the best state for w_0 alone.
    for (std::size_t s = 1; s < states_; ++s)
      if (visited_[s] < visited_[next_]) next_ = s;
  }

  void step() override {
    write_state(next_, state_);
    ++visits_[next_];
    ++samples_;
    const TableView view{padded_,     words_,         bits_.get(),
                         rate_.get(), visited_.get(), static_cast<double>(set_.size())};
    const auto t = static_cast<double>(samples_);
    if (set_.coding == FeatureCoding::spins) {
      next_ = HWY_DYNAMIC_DISPATCH(advance_signs)(view, next_, t);
      return;
    }
    next_ = set_.complete_order == 2   ? HWY_DYNAMIC_DISPATCH(advance_pairs)(view, next_, t)
            : set_.complete_order == 3 ? HWY_DYNAMIC_DISPATCH(advance_triples)(view, next_, t)
                                       : HWY_DYNAMIC_DISPATCH(advance_features)(view, next_, t);
  }
  std::span<const Value> state() const override { return state_; }
  void counts(std::span<double> out) const override {
    std::fill(out.begin(), out.end(), 0.0);
    std::vector<Value> x(set_.variables());
    for (std::size_t s = 0; s < states_; ++s) {
      if (visits_[s] == 0) continue;
      write_state(s, x);
      for (std::size_t f = 0; f < set_.size(); ++f)
        out[f] += set_.value(set_.features[f], x) * static_cast<double>(visits_[s]);
    }
  }

  void save(SaveArchive& archive) override { visit(archive); }
  void load(LoadArchive& archive) override { visit(archive); }

 private:
  template <class Archive>
  void visit(Archive& archive) {
    archive(std::span(visited_.get(), padded_));
    archive(visits_);
    archive(state_);
    archive(next_);
    archive(samples_);
  }

  /// The last variable runs fastest.
  void write_state(std::size_t s, std::span<Value> x) const {
    for (std::size_t v = set_.variables(); v-- > 0; s /= set_.cardinalities[v])
      x[v] = static_cast<Value>(s % set_.cardinalities[v]);
  }

  const FeatureSet& set_;
  std::size_t states_;
  std::size_t padded_;
  std::size_t words_;
  hwy::AlignedFreeUniquePtr<std::uint64_t[]> bits_;
  hwy::AlignedFreeUniquePtr<double[]> rate_;
  hwy::AlignedFreeUniquePtr<double[]> visited_;
  std::vector<std::uint64_t> visits_;
  std::vector<Value> state_;
  std::size_t next_ = 0;
  std::uint64_t samples_ = 0;
};

}  // namespace

double state_count(const FeatureSet& set) {
  double states = 1;
  for (std::uint32_t cardinality : set.cardinalities) states *= cardinality;
  return states;
}

double enumeration_words(const FeatureSet& set) {
  return state_count(set) * (set.complete_order > 0 ? 1 : std::ceil(static_cast<double>(set.size()) / 64));
}

std::unique_ptr<HerdEngine> make_enumerating_engine(const Moments& moments,
                                                    std::span<const double> start_weights) {
  return std::make_unique<EnumeratingEngine>(moments, start_weights);
}

}  // namespace drover
#endif
