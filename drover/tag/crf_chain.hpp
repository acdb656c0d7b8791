// Forward-backward on chains of labels, scaled, vectorised over labels.
//
// A sentence x of n tokens with scores u_t(y) and transitions T(y', y) has p(y | x) = exp(sum u + sum T) / Z.
// With e_t = exp(u_t - max u_t), E = exp(T - max T):
//
//   a_1 = e_1 / c_1,   a_t = (a_{t-1} E) * e_t / c_t          c_t makes a_t sum to one; log Z = sum log c_t +
//   ... b_n = 1,           b_{t-1} = E (e_t * b_t / c_t) p(y_t = y) = a_t(y) b_t(y),   p(y_{t-1}, y_t) =
//   a_{t-1}(y') E(y', y) e_t(y) b_t(y) / c_t
//
// Sums over pairs are gathered as outer products and multiplied by E once at the end. Probabilities below the
// range of the type count as zero; where that would matter (a sum that vanishes or overflows) the sentence is
// done again in log space in double precision (crf_chain_log.hpp). Rows of labels are padded to a stride of
// whole vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drover/tag/tagged_text.hpp"

namespace drover {

/// Numbers per row of labels: 4, 8 or a multiple of 16.
std::size_t label_stride(std::size_t labels);

/// The transitions in the forms that the recursions need.
template <class Real>
struct ChainTables {
  std::size_t labels = 0, stride = 0;
  std::vector<Real> log;                      ///< T, labels x stride
  std::vector<Real> exponential, transposed;  ///< E and its transpose, zero in the padding
  Real highest = 0;                           ///< max T
  std::vector<Real> padding;                  ///< one row: 0 for labels, very low beyond

  void set(std::size_t label_count, std::span<const double> transitions);  ///< labels x stride
};

template <class Real>
struct ChainScratch {
  std::vector<Real> e, a, c, b, q, pairs;
  void resize(std::size_t tokens, std::size_t labels, std::size_t stride);
};

/// Sentences whose scores are sums of rows (crf_data.hpp).
template <class Real>
struct ChainJob {
  const ChainTables<Real>* tables = nullptr;
  const Real* rows = nullptr;             ///< one per bundle
  const std::uint32_t* bundle = nullptr;  ///< `groups` per token
  std::size_t groups = 0;
  const LabelId* label = nullptr;
  const std::uint32_t* sentence_end = nullptr;
  Real* difference = nullptr;  ///< out, a row per token: probability less truth
};

/// Returns the sum of -log p(truth) over sentences first .. last - 1 and adds, for pairs of labels, expected
/// less true counts to `pairs` (labels x stride).
template <class Real>
double chain_gradient(const ChainJob<Real>& job, std::size_t first, std::size_t last,
                      ChainScratch<Real>& scratch, double* pairs);

/// log Z and the marginals (tokens x stride) of one sentence with these scores (tokens x stride).
double chain_marginals(const ChainTables<float>& tables, const float* scores, std::size_t tokens,
                       ChainScratch<float>& scratch, float* marginals);

/// The scores themselves: for each token the sum of its bundles' rows.
void chain_scores(const ChainJob<float>& job, std::size_t begin, std::size_t end, float* scores);

/// The labels with the highest score (ties to the lower label), and that score.
double chain_viterbi(const ChainTables<float>& tables, const float* scores, std::size_t tokens,
                     std::vector<std::uint16_t>& back, std::span<LabelId> labels);

}  // namespace drover
