// The recursions, compiled once per instruction set and chosen at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/tag/crf_chain.cpp"
#include <hwy/foreach_target.h>
// foreach_target comes first
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cassert>
#include <cmath>
#include <limits>

#include "drover/tag/crf_chain.hpp"
#include "drover/tag/crf_chain_log.hpp"

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// out = in * matrix for `vectors` vectors of columns; two running sums each, as one would wait for itself.
template <int vectors, class D, class Real>
HWY_INLINE void multiply_columns(D d, const Real* HWY_RESTRICT in, const Real* HWY_RESTRICT matrix,
                                 std::size_t labels, std::size_t stride, Real* HWY_RESTRICT out) {
  const std::size_t N = hn::Lanes(d);
  hn::Vec<D> even[vectors], odd[vectors];
  for (int v = 0; v < vectors; ++v) even[v] = odd[v] = hn::Zero(d);
  std::size_t k = 0;
  for (; k + 2 <= labels; k += 2) {
    const auto first = hn::Set(d, in[k]), second = hn::Set(d, in[k + 1]);
    const Real* HWY_RESTRICT row = matrix + k * stride;
    for (int v = 0; v < vectors; ++v) {
      even[v] = hn::MulAdd(first, hn::LoadU(d, row + static_cast<std::size_t>(v) * N), even[v]);
      odd[v] = hn::MulAdd(second, hn::LoadU(d, row + stride + static_cast<std::size_t>(v) * N), odd[v]);
    }
  }
  if (k < labels)
    for (int v = 0; v < vectors; ++v)
      even[v] = hn::MulAdd(hn::Set(d, in[k]),
                           hn::LoadU(d, matrix + k * stride + static_cast<std::size_t>(v) * N), even[v]);
  for (int v = 0; v < vectors; ++v)
    hn::StoreU(hn::Add(even[v], odd[v]), d, out + static_cast<std::size_t>(v) * N);
}

template <class D, class Real>
HWY_INLINE void multiply(D d, const Real* in, const Real* matrix, std::size_t labels, std::size_t stride,
                         Real* out) {
  const std::size_t N = hn::Lanes(d);
  std::size_t j = 0;
  for (; j + 4 * N <= stride; j += 4 * N) multiply_columns<4>(d, in, matrix + j, labels, stride, out + j);
  switch ((stride - j) / N) {
    case 3:
      return multiply_columns<3>(d, in, matrix + j, labels, stride, out + j);
    case 2:
      return multiply_columns<2>(d, in, matrix + j, labels, stride, out + j);
    case 1:
      return multiply_columns<1>(d, in, matrix + j, labels, stride, out + j);
    default:
      return;
  }
}

/// Divides a row by its sum, which is returned.
template <class D, class Real>
HWY_INLINE Real normalise(D d, std::size_t stride, Real* HWY_RESTRICT row) {
  const std::size_t N = hn::Lanes(d);
  auto sum = hn::LoadU(d, row);
  for (std::size_t j = N; j < stride; j += N) sum = hn::Add(sum, hn::LoadU(d, row + j));
  const auto total = hn::SumOfLanes(d, sum);
  const auto factor = hn::Div(hn::Set(d, Real{1}), total);
  for (std::size_t j = 0; j < stride; j += N) hn::StoreU(hn::Mul(hn::LoadU(d, row + j), factor), d, row + j);
  return hn::GetLane(total);
}

/// Turns a row of scores into exp(score - highest) and returns the highest.
template <class D, class Real>
HWY_INLINE Real exponentiate(D d, std::size_t stride, Real* HWY_RESTRICT row) {
  const std::size_t N = hn::Lanes(d);
  auto high = hn::LoadU(d, row);
  for (std::size_t j = N; j < stride; j += N) high = hn::Max(high, hn::LoadU(d, row + j));
  high = hn::MaxOfLanes(d, high);
  for (std::size_t j = 0; j < stride; j += N)
    hn::StoreU(hn::Exp(d, hn::Sub(hn::LoadU(d, row + j), high)), d, row + j);
  return hn::GetLane(high);
}

template <class D, class Real>
HWY_INLINE void sum_rows(D d, const ChainJob<Real>& job, std::size_t token, Real* HWY_RESTRICT out) {
  const std::size_t N = hn::Lanes(d), stride = job.tables->stride;
  const std::uint32_t* bundle = job.bundle + token * job.groups;
  for (std::size_t j = 0; j < stride; j += N) {
    auto sum = hn::LoadU(d, job.tables->padding.data() + j);
    for (std::size_t g = 0; g < job.groups; ++g)
      sum = hn::Add(sum, hn::LoadU(d, job.rows + bundle[g] * stride + j));
    hn::StoreU(sum, d, out + j);
  }
}

/// The recursions over scratch.e, which holds the exponentials. Writes marginals, adds outer products to
/// scratch.pairs when asked. Returns the sum of log c_t, or NaN when the range of Real was left.
template <bool with_pairs, class D, class Real>
HWY_INLINE double recurse(D d, const ChainTables<Real>& tables, std::size_t tokens,
                          ChainScratch<Real>& scratch, Real* HWY_RESTRICT marginals) {
  const std::size_t N = hn::Lanes(d), stride = tables.stride, labels = tables.labels;
  const Real* e = scratch.e.data();
  Real* a = scratch.a.data();
  Real* c = scratch.c.data();
  Real* q = scratch.q.data();
  for (std::size_t j = 0; j < stride; ++j) a[j] = e[j];
  c[0] = normalise(d, stride, a);
  for (std::size_t t = 1; t < tokens; ++t) {
    Real* here = a + t * stride;
    multiply(d, here - stride, tables.exponential.data(), labels, stride, here);
    for (std::size_t j = 0; j < stride; j += N)
      hn::StoreU(hn::Mul(hn::LoadU(d, here + j), hn::LoadU(d, e + t * stride + j)), d, here + j);
    c[t] = normalise(d, stride, here);
  }
  Real* b = scratch.b.data();
  for (std::size_t j = 0; j < stride; ++j) b[j] = 1;
  auto total = hn::Zero(d);
  for (std::size_t t = tokens; t-- > 0;) {
    Real* HWY_RESTRICT p = marginals + t * stride;
    for (std::size_t j = 0; j < stride; j += N) {
      const auto product = hn::Mul(hn::LoadU(d, a + t * stride + j), hn::LoadU(d, b + j));
      total = hn::Add(total, product);
      hn::StoreU(product, d, p + j);
    }
    if (t == 0) break;
    const auto factor = hn::Set(d, 1 / c[t]);
    for (std::size_t j = 0; j < stride; j += N)
      hn::StoreU(hn::Mul(hn::Mul(hn::LoadU(d, e + t * stride + j), hn::LoadU(d, b + j)), factor), d, q + j);
    if constexpr (with_pairs) {
      const Real* before = a + (t - 1) * stride;
      for (std::size_t j = 0; j < stride; j += N) {
        const auto column = hn::LoadU(d, q + j);
        Real* HWY_RESTRICT pairs = scratch.pairs.data() + j;
        for (std::size_t k = 0; k < labels; ++k)
          hn::StoreU(hn::MulAdd(hn::Set(d, before[k]), column, hn::LoadU(d, pairs + k * stride)), d,
                     pairs + k * stride);
      }
    }
    multiply(d, q, tables.transposed.data(), labels, stride, b);
  }
  // Every token's marginals sum to one, unless something vanished or overflowed on the way.
  const double mass =
      static_cast<double>(hn::GetLane(hn::SumOfLanes(d, total))) / static_cast<double>(tokens);
  double logs = 0;
  Real lowest = 1;
  for (std::size_t t = 0; t < tokens; ++t) {
    logs += std::log(static_cast<double>(c[t]));
    lowest = c[t] < lowest ? c[t] : lowest;
  }
  constexpr Real limit = sizeof(Real) == 4 ? Real(1e-25) : Real(1e-250);
  if (!(std::abs(mass - 1) < 1e-3) || !(lowest > limit)) return std::numeric_limits<double>::quiet_NaN();
  return logs;
}

template <class D, class Real>
double gradient(D d, const ChainJob<Real>& job, std::size_t first, std::size_t last,
                ChainScratch<Real>& scratch, double* pairs) {
  const ChainTables<Real>& tables = *job.tables;
  const std::size_t stride = tables.stride, labels = tables.labels;
  double loss = 0;
  std::size_t unflushed = 0;
  const auto flush = [&] {
    for (std::size_t k = 0; k < labels; ++k)
      for (std::size_t y = 0; y < labels; ++y)
        pairs[k * stride + y] += static_cast<double>(scratch.pairs[k * stride + y]) *
                                 static_cast<double>(tables.exponential[k * stride + y]);
    std::fill(scratch.pairs.begin(), scratch.pairs.end(), Real{0});
    unflushed = 0;
  };
  std::fill(scratch.pairs.begin(), scratch.pairs.end(), Real{0});
  for (std::size_t s = first; s < last; ++s) {
    const std::size_t begin = s == 0 ? 0 : job.sentence_end[s - 1], tokens = job.sentence_end[s] - begin;
    scratch.resize(tokens, labels, stride);
    double truth = 0, offset = static_cast<double>(tables.highest) * static_cast<double>(tokens - 1);
    for (std::size_t t = 0; t < tokens; ++t) {
      Real* row = scratch.e.data() + t * stride;
      sum_rows(d, job, begin + t, row);
      truth += static_cast<double>(row[job.label[begin + t]]);
      offset += static_cast<double>(exponentiate(d, stride, row));
    }
    for (std::size_t t = 1; t < tokens; ++t) {
      const std::size_t pair = job.label[begin + t - 1] * stride + job.label[begin + t];
      truth += static_cast<double>(tables.log[pair]);
      pairs[pair] -= 1;
    }
    Real* difference = job.difference + begin * stride;
    double log_z = recurse<true>(d, tables, tokens, scratch, difference) + offset;
    if (std::isnan(log_z)) {
      // The outer products gathered so far may be spoilt; those of the sentences since the last flush are
      // done again with this one.
      std::fill(scratch.pairs.begin(), scratch.pairs.end(), Real{0});
      for (std::size_t again = s; unflushed > 0; --again) {
        assert(again > first);
        const std::size_t from = again == 1 ? 0 : job.sentence_end[again - 2];
        const std::size_t count = job.sentence_end[again - 1] - from;
        scratch.resize(count, labels, stride);
        for (std::size_t t = 0; t < count; ++t) sum_rows(d, job, from + t, scratch.e.data() + t * stride);
        std::vector<Real> ignored(count * stride);
        chain_in_log_space(count, labels, stride, scratch.e.data(), tables.log.data(), ignored.data(), pairs);
        unflushed -= count;
      }
      scratch.resize(tokens, labels, stride);
      for (std::size_t t = 0; t < tokens; ++t) sum_rows(d, job, begin + t, scratch.e.data() + t * stride);
      std::fill_n(difference, tokens * stride, Real{0});
      log_z =
          chain_in_log_space(tokens, labels, stride, scratch.e.data(), tables.log.data(), difference, pairs);
    } else {
      unflushed += tokens;
      if (unflushed > 512) flush();
    }
    for (std::size_t t = 0; t < tokens; ++t) difference[t * stride + job.label[begin + t]] -= 1;
    loss += log_z - truth;
  }
  if (unflushed > 0) flush();
  return loss;
}

template <class Real, class F>
HWY_INLINE auto with_width(std::size_t stride, F&& f) {
  if (stride == 4) return f(hn::CappedTag<Real, 4>());
  if (stride == 8) return f(hn::CappedTag<Real, 8>());
  return f(hn::CappedTag<Real, 16>());
}

double GradientFloat(const ChainJob<float>& job, std::size_t first, std::size_t last,
                     ChainScratch<float>& scratch, double* pairs) {
  return with_width<float>(job.tables->stride,
                           [&](auto d) { return gradient(d, job, first, last, scratch, pairs); });
}

double GradientDouble(const ChainJob<double>& job, std::size_t first, std::size_t last,
                      ChainScratch<double>& scratch, double* pairs) {
  return with_width<double>(job.tables->stride,
                            [&](auto d) { return gradient(d, job, first, last, scratch, pairs); });
}

double Marginals(const ChainTables<float>& tables, const float* scores, std::size_t tokens,
                 ChainScratch<float>& scratch, float* marginals) {
  const std::size_t stride = tables.stride;
  return with_width<float>(stride, [&](auto d) {
    double offset = static_cast<double>(tables.highest) * static_cast<double>(tokens - 1);
    for (std::size_t t = 0; t < tokens; ++t) {
      float* row = scratch.e.data() + t * stride;
      for (std::size_t j = 0; j < stride; ++j) row[j] = scores[t * stride + j] + tables.padding[j];
      offset += static_cast<double>(exponentiate(d, stride, row));
    }
    return recurse<false>(d, tables, tokens, scratch, marginals) + offset;
  });
}

void Scores(const ChainJob<float>& job, std::size_t begin, std::size_t end, float* scores) {
  with_width<float>(job.tables->stride, [&](auto d) {
    for (std::size_t t = begin; t < end; ++t) sum_rows(d, job, t, scores + (t - begin) * job.tables->stride);
  });
}

/// best(y) = max_k before(k) + T(k, y), and the k; one vector of columns.
template <class D>
HWY_INLINE void best_before(D d, const float* HWY_RESTRICT before, const float* HWY_RESTRICT transitions,
                            std::size_t labels, std::size_t stride, float* HWY_RESTRICT best,
                            std::int32_t* HWY_RESTRICT from) {
  const hn::RebindToSigned<D> di;
  auto high = hn::Add(hn::Set(d, before[0]), hn::LoadU(d, transitions));
  auto arg = hn::Zero(di);
  for (std::size_t k = 1; k < labels; ++k) {
    const auto value = hn::Add(hn::Set(d, before[k]), hn::LoadU(d, transitions + k * stride));
    const auto better = hn::Gt(value, high);
    high = hn::IfThenElse(better, value, high);
    arg = hn::IfThenElse(hn::RebindMask(di, better), hn::Set(di, static_cast<std::int32_t>(k)), arg);
  }
  hn::StoreU(high, d, best);
  hn::StoreU(arg, di, from);
}

void ViterbiForward(const ChainTables<float>& tables, const float* scores, std::size_t tokens,
                    std::uint16_t* back, float* rows, std::int32_t* from) {
  const std::size_t stride = tables.stride;
  with_width<float>(stride, [&](auto d) {
    const std::size_t N = hn::Lanes(d);
    float* before = rows;
    float* here = rows + stride;
    for (std::size_t j = 0; j < stride; ++j) before[j] = scores[j];
    for (std::size_t t = 1; t < tokens; ++t) {
      for (std::size_t j = 0; j < stride; j += N)
        best_before(d, before, tables.log.data() + j, tables.labels, stride, here + j, from + j);
      for (std::size_t j = 0; j < stride; ++j) {
        here[j] += scores[t * stride + j];
        back[t * stride + j] = static_cast<std::uint16_t>(from[j]);
      }
      float* const old = before;
      before = here;
      here = old;
    }
    if (before != rows)
      for (std::size_t j = 0; j < stride; ++j) rows[j] = before[j];
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

HWY_EXPORT(GradientFloat);
HWY_EXPORT(GradientDouble);
HWY_EXPORT(Marginals);
HWY_EXPORT(Scores);
HWY_EXPORT(ViterbiForward);

std::size_t label_stride(std::size_t labels) {
  return labels <= 4 ? 4 : labels <= 8 ? 8 : (labels + 15) / 16 * 16;
}

template <class Real>
void ChainTables<Real>::set(std::size_t label_count, std::span<const double> transitions) {
  labels = label_count;
  stride = label_stride(labels);
  assert(transitions.size() == labels * stride);
  log.assign(labels * stride, Real{0});
  exponential.assign(labels * stride, Real{0});
  transposed.assign(labels * stride, Real{0});
  padding.assign(stride, Real(-1e30));
  std::fill_n(padding.begin(), labels, Real{0});
  double high = transitions[0];
  for (std::size_t k = 0; k < labels; ++k)
    for (std::size_t y = 0; y < labels; ++y) high = std::max(high, transitions[k * stride + y]);
  highest = static_cast<Real>(high);
  for (std::size_t k = 0; k < labels; ++k)
    for (std::size_t y = 0; y < labels; ++y) {
      const double value = transitions[k * stride + y];
      log[k * stride + y] = static_cast<Real>(value);
      const auto power = static_cast<Real>(std::exp(value - static_cast<double>(highest)));
      exponential[k * stride + y] = power;
      transposed[y * stride + k] = power;
    }
}

template <class Real>
void ChainScratch<Real>::resize(std::size_t tokens, std::size_t labels, std::size_t stride) {
  if (e.size() < tokens * stride) {
    e.resize(tokens * stride);
    a.resize(tokens * stride);
    c.resize(tokens);
  }
  b.resize(stride);
  q.resize(stride);
  pairs.resize(labels * stride);
}

template struct ChainTables<float>;
template struct ChainTables<double>;
template struct ChainScratch<float>;
template struct ChainScratch<double>;

template <>
double chain_gradient(const ChainJob<float>& job, std::size_t first, std::size_t last,
                      ChainScratch<float>& scratch, double* pairs) {
  scratch.resize(1, job.tables->labels, job.tables->stride);
  return HWY_DYNAMIC_DISPATCH(GradientFloat)(job, first, last, scratch, pairs);
}

template <>
double chain_gradient(const ChainJob<double>& job, std::size_t first, std::size_t last,
                      ChainScratch<double>& scratch, double* pairs) {
  scratch.resize(1, job.tables->labels, job.tables->stride);
  return HWY_DYNAMIC_DISPATCH(GradientDouble)(job, first, last, scratch, pairs);
}

double chain_marginals(const ChainTables<float>& tables, const float* scores, std::size_t tokens,
                       ChainScratch<float>& scratch, float* marginals) {
  scratch.resize(tokens, tables.labels, tables.stride);
  const double log_z = HWY_DYNAMIC_DISPATCH(Marginals)(tables, scores, tokens, scratch, marginals);
  if (!std::isnan(log_z)) return log_z;
  std::fill_n(marginals, tokens * tables.stride, 0.0F);
  return chain_in_log_space(tokens, tables.labels, tables.stride, scores, tables.log.data(), marginals,
                            nullptr);
}

void chain_scores(const ChainJob<float>& job, std::size_t begin, std::size_t end, float* scores) {
  HWY_DYNAMIC_DISPATCH(Scores)(job, begin, end, scores);
}

double chain_viterbi(const ChainTables<float>& tables, const float* scores, std::size_t tokens,
                     std::vector<std::uint16_t>& back, std::span<LabelId> labels) {
  assert(tokens > 0 && labels.size() == tokens && tables.labels <= 65535);
  const std::size_t stride = tables.stride;
  std::vector<float> rows(2 * stride);
  std::vector<std::int32_t> from(stride);
  back.resize(tokens * stride);
  HWY_DYNAMIC_DISPATCH(ViterbiForward)(tables, scores, tokens, back.data(), rows.data(), from.data());
  std::size_t best = 0;
  for (std::size_t y = 1; y < tables.labels; ++y)
    if (rows[y] > rows[best]) best = y;
  const auto score = static_cast<double>(rows[best]);
  for (std::size_t t = tokens; t-- > 0;) {
    labels[t] = static_cast<LabelId>(best);
    best = back[t * stride + best];
  }
  return score;
}

}  // namespace drover
#endif  // HWY_ONCE
