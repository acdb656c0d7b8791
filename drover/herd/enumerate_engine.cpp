// Herding with the exact maximum over all joint states.
//
//   <w_t, phi(s)> = <w_0, phi(s)> + t <mu, phi(s)> - sum over tau of <phi(s_tau), phi(s)>
//
// The last term is a table over states; a step adds to it the number of features that hold both in s and in
// the last pseudo-sample: a count of common bits. One pass over the table updates it and finds the maximum;
// ties go to the first state. No score is recomputed from weights, and the sums of counts are exact. Assumes
// few states (2^16 or so): time and memory are proportional to states * features / 64.
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
};

}  // namespace
}  // namespace drover
#endif

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Adds the pseudo-sample `last` to the table and returns the best state at time t.
std::size_t advance(const TableView& view, std::size_t last, double t) {
  const hn::ScalableTag<double> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::RebindToSigned<decltype(d)> di;
  const std::size_t lanes = hn::Lanes(d);
  auto best = hn::Set(d, -std::numeric_limits<double>::infinity());
  auto best_index = hn::Zero(d);
  auto index = hn::Iota(d, 0.0);
  const auto step = hn::Set(d, static_cast<double>(lanes));
  const auto time = hn::Set(d, t);
  for (std::size_t s = 0; s < view.padded_states; s += lanes) {
    auto common = hn::Zero(du);
    for (std::size_t w = 0; w < view.words; ++w) {
      const std::uint64_t* row = view.bits + w * view.padded_states;
      common = hn::Add(common, hn::PopulationCount(hn::And(hn::Load(du, row + s), hn::Set(du, row[last]))));
    }
    const auto visited = hn::Add(hn::Load(d, view.visited + s), hn::ConvertTo(d, hn::BitCast(di, common)));
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

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

HWY_EXPORT(advance);

namespace {

class EnumeratingEngine : public HerdEngine {
 public:
  EnumeratingEngine(const Moments& moments, std::span<const double> start_weights)
      : set_(moments.set),
        states_(static_cast<std::size_t>(state_count(set_))),
        padded_((states_ + 15) / 16 * 16),
        words_((set_.size() + 63) / 64),
        bits_(hwy::AllocateAligned<std::uint64_t>(padded_ * words_)),
        rate_(hwy::AllocateAligned<double>(padded_)),
        visited_(hwy::AllocateAligned<double>(padded_)),
        visits_(states_, 0) {
    std::fill_n(bits_.get(), padded_ * words_, 0);
    std::fill_n(rate_.get(), padded_, -std::numeric_limits<double>::infinity());
    std::fill_n(visited_.get(), padded_, 0.0);
    state_.assign(set_.variables(), 0);
    for (std::size_t s = 0; s < states_; ++s) {
      write_state(s);
      rate_[s] = 0;
      for (std::size_t f = 0; f < set_.size(); ++f) {
        if (!set_.holds(set_.features[f], state_)) continue;
        bits_[f / 64 * padded_ + s] |= std::uint64_t{1} << (f % 64);
        rate_[s] += moments.values[f];
        if (!start_weights.empty()) visited_[s] -= start_weights[f];
      }
    }
    // Before the first step nothing was visited: the best state for w_0 alone.
    for (std::size_t s = 1; s < states_; ++s)
      if (visited_[s] < visited_[next_]) next_ = s;
  }

  void step() override {
    write_state(next_);
    ++visits_[next_];
    ++samples_;
    const TableView view{padded_, words_, bits_.get(), rate_.get(), visited_.get()};
    next_ = HWY_DYNAMIC_DISPATCH(advance)(view, next_, static_cast<double>(samples_));
  }
  std::span<const Value> state() const override { return state_; }
  void counts(std::span<double> out) const override {
    std::fill(out.begin(), out.end(), 0.0);
    for (std::size_t s = 0; s < states_; ++s) {
      if (visits_[s] == 0) continue;
      for (std::size_t f = 0; f < set_.size(); ++f)
        if (bits_[f / 64 * padded_ + s] >> (f % 64) & 1) out[f] += static_cast<double>(visits_[s]);
    }
  }

 private:
  /// The last variable runs fastest.
  void write_state(std::size_t s) {
    for (std::size_t v = set_.variables(); v-- > 0; s /= set_.cardinalities[v])
      state_[v] = static_cast<Value>(s % set_.cardinalities[v]);
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
  return state_count(set) * std::ceil(static_cast<double>(set.size()) / 64);
}

std::unique_ptr<HerdEngine> make_enumerating_engine(const Moments& moments,
                                                    std::span<const double> start_weights) {
  return std::make_unique<EnumeratingEngine>(moments, start_weights);
}

}  // namespace drover
#endif
