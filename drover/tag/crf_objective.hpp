// The penalised negative log likelihood of a chain CRF and its gradient.
//
//   F(v) = - sum over sentences of log p(y | x) + (l2 / 2) |w|^2
//
// Only differences between labels matter: a weight added to all labels of a feature changes no probability,
// so the gradient of every row of weights sums to zero, and under an L2 penalty, started at zero, so do the
// weights. A row of K weights therefore has K - 1 parameters u, by the reflection that turns (1, ..., 1) into
// the last axis:
//   w_k = u_k - c sum(u)  (k < K),   w_K = -d sum(u),   c = (1 - 1/sqrt K) / (K - 1),   d = 1/sqrt K,
// an isometry, so that again the minimiser takes the same steps. With an L1 penalty a row has its K weights.
//
// Parameters: those of the rows of features (crf_data.hpp), then the transitions (labels x stride). The work
// is four steps, each over rows that are written by one thread in a fixed order: rows of bundles from rows of
// features, forward-backward (fixed blocks of sentences), sums of differences over the tokens of each bundle,
// sums over the bundles of each row. So the result does not depend on the number of threads.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "drover/tag/crf_chain.hpp"
#include "drover/tag/crf_data.hpp"

namespace drover {

/// Weights as features have them.
struct CrfWeights {
  std::vector<float> rows;          ///< rows of features x stride
  std::vector<double> transitions;  ///< labels x stride
};

struct CrfPenalties {
  double l2 = 1;
  bool l1_scaling = false;  ///< equal features share a row as an L1 penalty wants it
  bool transitions = true;  ///< whether there are weights of label pairs
};

template <class Real>
class CrfObjective {
 public:
  CrfObjective(const CrfData& data, const FeatureRows& features, std::size_t labels,
               const CrfPenalties& options);

  std::size_t size() const { return features_.rows() * width_ + labels_ * stride_; }
  /// F and its gradient.
  double evaluate(std::span<const double> v, std::span<double> gradient);
  CrfWeights weights(std::span<const double> v) const;
  /// The factor between a row of parameters and its weights.
  std::span<const float> scale() const { return scale_; }
  std::size_t stride() const { return stride_; }

 private:
  struct Block {
    std::size_t first, last;  ///< sentences
  };
  const CrfData& data_;
  const FeatureRows& features_;
  /// The weights of rows first .. last - 1.
  template <class To>
  void expand(std::span<const double> v, std::size_t first, std::size_t last, To* out) const;
  /// The gradient of those rows from that of their weights; returns the penalty.
  double contract(std::span<const double> v, std::size_t first, std::size_t last, const double* slopes,
                  double* gradient) const;

  std::size_t labels_, stride_;
  std::size_t width_;  ///< parameters per row
  CrfPenalties options_;
  std::vector<float> scale_, penalty_;
  Lists tokens_of_bundle_, bundles_of_row_;
  std::vector<Block> blocks_;
  std::vector<Real> weights_, rows_, difference_;
  ChainTables<Real> tables_;
  std::vector<double> block_pairs_, block_loss_;
};

/// A text in terms of bundles, tagged with changing weights.
class BundleScores {
 public:
  BundleScores(const CrfData& data, std::size_t labels) : data_(data), labels_(labels) {}
  void set(const CrfWeights& weights);
  /// The most probable labels of all tokens.
  void viterbi(std::span<LabelId> labels) const;

 private:
  const CrfData& data_;
  std::size_t labels_;
  std::vector<float> rows_;
  ChainTables<float> tables_;
};

}  // namespace drover
