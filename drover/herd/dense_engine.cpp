// Herding by coordinate ascent for binary variables with all pairs, or all pairs and triples: the Hopfield
// form of Welling 2009, section 5,
//   f_i = w_i + sum_j w_ij s_j + sum_{j<k} w_ijk s_j s_k,
//   fire s_i = [f_i > 0] in turn until nothing changes, then w += mu - phi(s),
// over full symmetric arrays of mu and of the counts n - w_0, with w = t mu - (n - w_0) formed where it is
// read. So an update of the weights touches only features that hold, and a change of s_j adds contiguous rows
// to the fields f and rates (the same sums of mu). Fields are summed anew every refresh_interval samples.
// Memory: 16 n^2 bytes for pairs, 16 n^3 for triples.
#include <algorithm>
#include <cassert>

#include "drover/herd/local_search.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/herd/dense_engine.cpp"
#include <hwy/aligned_allocator.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef DROVER_HERD_DENSE_ENGINE
#define DROVER_HERD_DENSE_ENGINE
namespace drover {
namespace {

/// Rows have `stride` entries, a multiple of 8, zero beyond n; so are those of equal indices.
struct DenseView {
  std::size_t n;
  std::size_t stride;
  bool triples;
  double t;
  const double* pair_mu;  ///< (j, i)
  double* pair_count;
  const double* triple_mu;  ///< (j, k, i)
  double* triple_count;
  double* field;
  double* rate;
  double* on;  ///< the state, 0.0 or 1.0
  Value* values;
  std::uint32_t* active;  ///< the variables that are on
  std::size_t active_count;
  double score;     ///< <w, phi(s)>
  double mu_score;  ///< <mu, phi(s)>
};

}  // namespace
}  // namespace drover
#endif

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::CappedTag<double, 8>;

/// field += sign (t mu - count), rate += sign mu.
HWY_INLINE void add_row(const DenseView& view, const double* HWY_RESTRICT mu,
                        const double* HWY_RESTRICT count, double sign) {
  const Tag d;
  const auto s = hn::Set(d, sign), t = hn::Set(d, view.t);
  double* HWY_RESTRICT field = view.field;
  double* HWY_RESTRICT rate = view.rate;
  for (std::size_t i = 0; i < view.stride; i += hn::Lanes(d)) {
    const auto m = hn::Load(d, mu + i);
    const auto w = hn::MulSub(t, m, hn::Load(d, count + i));
    hn::Store(hn::MulAdd(s, w, hn::Load(d, field + i)), d, field + i);
    hn::Store(hn::MulAdd(s, m, hn::Load(d, rate + i)), d, rate + i);
  }
}

void flip(DenseView& view, std::size_t j) {
  const bool on = view.on[j] == 0;
  const double sign = on ? 1 : -1;
  view.score += sign * view.field[j];
  view.mu_score += sign * view.rate[j];
  if (!on) {
    std::uint32_t* end = view.active + view.active_count--;
    *std::find(view.active, end, static_cast<std::uint32_t>(j)) = end[-1];
  }
  add_row(view, view.pair_mu + j * view.stride, view.pair_count + j * view.stride, sign);
  for (std::size_t a = 0; view.triples && a < view.active_count; ++a) {
    const std::size_t row = (j * view.n + view.active[a]) * view.stride;
    add_row(view, view.triple_mu + row, view.triple_count + row, sign);
  }
  if (on) view.active[view.active_count++] = static_cast<std::uint32_t>(j);
  view.on[j] = on ? 1 : 0;
  view.values[j] = on ? 1 : 0;
}

/// The first variable from `from` on whose state is not [field > 0]; stride when there is none.
HWY_INLINE std::size_t next_violation(const DenseView& view, std::size_t from) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t block = from / lanes * lanes; block < view.stride; block += lanes) {
    const auto wanted = hn::Gt(hn::Load(d, view.field + block), hn::Zero(d));
    const auto present = hn::Gt(hn::Load(d, view.on + block), hn::Zero(d));
    std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(d, hn::Xor(wanted, present), bytes);
    std::uint32_t bits = bytes[0];
    if (block < from) bits &= ~0U << (from - block);
    if (bits != 0) return block + static_cast<std::size_t>(__builtin_ctz(bits));
  }
  return view.stride;
}

/// Fires in turn until a whole turn changes nothing.
std::uint64_t ascend(DenseView& view, std::uint64_t most_changes) {
  std::uint64_t changes = 0;
  for (;;) {
    const std::uint64_t before = changes;
    for (std::size_t i = next_violation(view, 0); i < view.stride; i = next_violation(view, i + 1)) {
      flip(view, i);
      ++changes;
    }
    if (changes == before || changes > most_changes) return changes;
  }
}

/// row += on, except at the two given places.
HWY_INLINE void count_row(const DenseView& view, double* HWY_RESTRICT row, std::size_t i, std::size_t j) {
  const Tag d;
  const double at_i = row[i], at_j = row[j];
  for (std::size_t k = 0; k < view.stride; k += hn::Lanes(d))
    hn::Store(hn::Add(hn::Load(d, row + k), hn::Load(d, view.on + k)), d, row + k);
  row[i] = at_i;
  row[j] = at_j;
}

/// Everything of w += mu - phi(s) but the singles: counts of the features that hold, and fields.
void learn(DenseView& view) {
  const Tag d;
  const std::size_t k = view.active_count;
  for (std::size_t a = 0; a < k; ++a) {
    const std::size_t i = view.active[a];
    count_row(view, view.pair_count + i * view.stride, i, i);
    if (!view.triples) continue;
    if (8 * k < view.stride) {  // few are on: one by one
      for (std::size_t b = 0; b < k; ++b)
        for (std::size_t c = 0; c < k; ++c)
          if (a != b && a != c && b != c)
            view.triple_count[(i * view.n + view.active[b]) * view.stride + view.active[c]] += 1;
    } else {
      for (std::size_t b = 0; b < k; ++b)
        if (a != b)
          count_row(view, view.triple_count + (i * view.n + view.active[b]) * view.stride, i, view.active[b]);
    }
  }
  // What holds with i on: the single, pairs with the k - 1 others, triples with two of them.
  const double others = static_cast<double>(k) - 1;
  const double held = 1 + others + (view.triples ? others * (others - 1) / 2 : 0);
  const auto minus_held = hn::Set(d, -held);
  for (std::size_t i = 0; i < view.stride; i += hn::Lanes(d)) {
    const auto up = hn::Add(hn::Load(d, view.field + i), hn::Load(d, view.rate + i));
    hn::Store(hn::MulAdd(minus_held, hn::Load(d, view.on + i), up), d, view.field + i);
  }
  const double all =
      static_cast<double>(k) * (1 + others / 2 + (view.triples ? others * (others - 1) / 6 : 0));
  view.score += view.mu_score - all;
  view.t += 1;
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

HWY_EXPORT(flip);
HWY_EXPORT(ascend);
HWY_EXPORT(learn);

namespace {

hwy::AlignedFreeUniquePtr<double[]> zeros(std::size_t size) {
  auto array = hwy::AllocateAligned<double>(size);
  if (!array) throw std::bad_alloc();
  std::fill_n(array.get(), size, 0.0);
  return array;
}

class DenseCore {
 public:
  DenseCore(const Moments& moments, std::span<const double> start_weights)
      : mu_(moments.values),
        start_(start_weights.begin(), start_weights.end()),
        n_(moments.set.variables()),
        stride_((n_ + 7) / 8 * 8),
        triples_(moments.set.complete_order == 3),
        single_count_(n_, 0.0),
        values_(n_, 0),
        active_(n_),
        field_(zeros(stride_)),
        rate_(zeros(stride_)),
        on_(zeros(stride_)),
        pair_mu_(zeros(n_ * stride_)),
        pair_count_(zeros(n_ * stride_)),
        triple_mu_(zeros(triples_ ? n_ * n_ * stride_ : 1)),
        triple_count_(zeros(triples_ ? n_ * n_ * stride_ : 1)),
        view_{n_,
              stride_,
              triples_,
              0,
              pair_mu_.get(),
              pair_count_.get(),
              triple_mu_.get(),
              triple_count_.get(),
              field_.get(),
              rate_.get(),
              on_.get(),
              values_.data(),
              active_.data(),
              0,
              0,
              0} {
    assert(moments.set.complete_order >= 2);
    start_.resize(mu_.size(), 0.0);
    for (double mu : mu_) mu_square_ += mu * mu;
    for_each_feature([&](std::size_t f, std::size_t i, std::size_t j, std::size_t k) {
      for (auto [a, b, c] : orders(i, j, k)) {
        (k < n_ ? triple_mu_ : pair_mu_)[place(a, b, c)] = mu_[f];
        (k < n_ ? triple_count_ : pair_count_)[place(a, b, c)] = -start_[f];
      }
    });
    refresh();
  }
  DenseCore(const DenseCore&) = delete;  // the view points into this object
  DenseCore& operator=(const DenseCore&) = delete;

  std::uint64_t ascend() { return HWY_DYNAMIC_DISPATCH(ascend)(view_, most_passes * n_); }
  std::span<const Value> values() const { return values_; }
  double score() const { return view_.score; }
  double target() const { return target_; }
  double gain(std::size_t v, Value value) const { return value != 0 ? field_[v] : -field_[v]; }
  void change(std::size_t v, Value value) {
    assert(values_[v] != value);
    (void)value;
    HWY_DYNAMIC_DISPATCH(flip)(view_, v);
  }

  void learn() {
    target_ += mu_square_ - view_.mu_score;
    for (std::size_t a = 0; a < view_.active_count; ++a) single_count_[active_[a]] += 1;
    HWY_DYNAMIC_DISPATCH(learn)(view_);
    if (++samples_ % refresh_interval == 0) refresh();
  }

  void counts(std::span<double> out) const {
    std::copy(single_count_.begin(), single_count_.end(), out.begin());
    for_each_feature([&](std::size_t f, std::size_t i, std::size_t j, std::size_t k) {
      out[f] = (k < n_ ? triple_count_ : pair_count_)[place(i, j, k)] + start_[f];
    });
  }

  template <class Archive>
  void visit(Archive& archive) {
    archive(single_count_);
    archive(std::span(values_));  // the view points at these two
    archive(std::span(active_));
    for (double* row : {field_.get(), rate_.get(), on_.get()}) archive(std::span(row, stride_));
    archive(std::span(pair_count_.get(), n_ * stride_));
    if (triples_) archive(std::span(triple_count_.get(), n_ * n_ * stride_));
    archive(view_.t);
    archive(view_.active_count);
    archive(view_.score);
    archive(view_.mu_score);
    archive(target_);
    archive(samples_);
  }

 private:
  static constexpr std::uint64_t most_passes = 1000;
  static constexpr std::uint64_t refresh_interval = 1024;

  /// `call(f, i, j, k)` for every pair (with k = n) and triple, in the order of the features.
  template <class Call>
  void for_each_feature(Call call) const {
    std::size_t f = n_;
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t j = i + 1; j < n_; ++j) call(f++, i, j, n_);
    if (!triples_) return;
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t j = i + 1; j < n_; ++j)
        for (std::size_t k = j + 1; k < n_; ++k) call(f++, i, j, k);
  }
  /// All orders of two (k = n) or three indices; orders of a pair are repeated.
  std::array<std::array<std::size_t, 3>, 6> orders(std::size_t i, std::size_t j, std::size_t k) const {
    if (k == n_) return {{{i, j, k}, {j, i, k}, {i, j, k}, {j, i, k}, {i, j, k}, {j, i, k}}};
    return {{{i, j, k}, {i, k, j}, {j, i, k}, {j, k, i}, {k, i, j}, {k, j, i}}};
  }
  std::size_t place(std::size_t i, std::size_t j, std::size_t k) const {
    return k == n_ ? i * stride_ + j : (i * n_ + j) * stride_ + k;
  }

  void refresh() {
    const std::vector<std::uint32_t> on(active_.begin(),
                                        active_.begin() + static_cast<std::ptrdiff_t>(view_.active_count));
    std::fill_n(field_.get(), stride_, 0.0);
    std::fill_n(rate_.get(), stride_, 0.0);
    std::fill_n(on_.get(), stride_, 0.0);
    view_.active_count = 0;
    view_.score = view_.mu_score = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      field_[i] = start_[i] + (view_.t * mu_[i] - single_count_[i]);
      rate_[i] = mu_[i];
    }
    for (std::uint32_t i : on) HWY_DYNAMIC_DISPATCH(flip)(view_, i);
    std::vector<double> count(mu_.size());
    counts(count);
    target_ = 0;
    for (std::size_t f = 0; f < mu_.size(); ++f)
      target_ += (start_[f] + (view_.t * mu_[f] - count[f])) * mu_[f];
  }

  std::span<const double> mu_;
  std::vector<double> start_;
  std::size_t n_;
  std::size_t stride_;
  bool triples_;
  std::vector<double> single_count_;
  std::vector<Value> values_;
  std::vector<std::uint32_t> active_;
  hwy::AlignedFreeUniquePtr<double[]> field_, rate_, on_;
  hwy::AlignedFreeUniquePtr<double[]> pair_mu_, pair_count_, triple_mu_, triple_count_;
  DenseView view_;
  double mu_square_ = 0;
  double target_ = 0;  ///< <w, mu>
  std::uint64_t samples_ = 0;
};

}  // namespace

std::unique_ptr<HerdEngine> make_dense_engine(const Moments& moments, std::span<const double> start_weights,
                                              bool adaptive) {
  return std::make_unique<LocalEngine<DenseCore>>(moments, start_weights, adaptive);
}

}  // namespace drover
#endif
