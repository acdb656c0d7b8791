// Diagnostics without draws: from the means of an indicator (or of its conditional probability) over segments
// of each chain, for models so large that draws cannot be kept.
//
// C chains are cut into S segments of n draws each; y_cs is the mean of a 0/1 variable x over segment s of
// chain c, p the mean of all y. Three figures follow.
//
// R-hat. The means of the two halves of each chain (the middle segment of an odd number belongs to neither)
// are 2C chain means m_h of N = n floor(S / 2) draws. For an indicator the variance within a half chain is
// m_h (1 - m_h) N / (N - 1), so with A = mean of m_h (1 - m_h), W = A N / (N - 1) and V = variance of the m_h
//   R-hat = sqrt((A + V) / W)
// is exactly the split R-hat of the 0/1 draws, which is also the rank-normalised one (binary_draws.hpp).
//
// Standard error of p. Two estimates of Var(p), both unbiased for long segments:
//   between chains   variance of the C chain means / C              C - 1 degrees of freedom
//   batch means      variance of g-segment means around their chain mean, pooled over chains, divided by the
//                    number of such batches, for g = 1, 2, 4, ... while a chain has 8 batches or more
// Chains are independent, so the first is right whatever the autocorrelation, but noisy for few chains. The
// second has many degrees of freedom, but is too small when batches are not long against the autocorrelation
// time. The result is the largest of all of these: with many chains that is right (a few percent too large)
// even when chains hardly move within a segment; with few chains it is right when the longest batches are
// several autocorrelation times long. With few chains and shorter batches no estimate can be right, and the
// figure may be too small: run 16 or more chains, or look at R-hat, before trusting it.
//
// ESS = p (1 - p) / Var(p), at most S log10(S) of the S = C S n draws, as for draws.
//
// Conditionals instead of indicators (Rao-Blackwell): y_cs is then the mean of P(x = 1 | rest), whose mean is
// the same and whose variance is smaller. The standard error is right for that better estimate. R-hat and ESS
// keep p (1 - p), the variance of the indicator: R-hat still tends to 1 and still sees chains that disagree
// (it is a little smaller than the draws' own), and ESS reads "worth so many independent draws".
//
// NaN: fewer than two segments and one chain (error), fewer than two segments (R-hat), all means equal. So a
// variable that never moved has no error estimate rather than the error 0.
#pragma once

#include <cstddef>
#include <vector>

namespace drover {

/// The fewest batches of several segments that a variance is taken from.
inline constexpr std::size_t least_batches = 8;

/// The mean over segment s of chain c is means[c * chain_stride + s * segment_stride]; all finite, in [0, 1].
struct SegmentMeans {
  const double* means = nullptr;
  std::size_t chains = 0;
  std::size_t segments = 0;
  double draws_per_segment = 1;
  std::size_t chain_stride = 0;
  std::size_t segment_stride = 1;

  double at(std::size_t chain, std::size_t segment) const {
    return means[chain * chain_stride + segment * segment_stride];
  }
};

double mean_from_segments(const SegmentMeans& segments);
double rhat_from_segments(const SegmentMeans& segments);
double mcse_from_segments(const SegmentMeans& segments);
double ess_from_segments(const SegmentMeans& segments);

struct SegmentFigures {
  double rhat, ess, mcse;
};

/// All three at once, in few passes over the means; fastest when chain_stride is 1. `scratch` is reused
/// between calls.
SegmentFigures figures_from_segments(const SegmentMeans& segments, std::vector<double>& scratch);

}  // namespace drover
