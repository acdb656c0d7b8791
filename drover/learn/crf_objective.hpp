// The penalised negative log likelihood of a chain CRF and its gradient.
//
//   F(v) = - sum over sentences of log p(y | x) + (l2 / 2) |w|^2
//
// Parameters v: a row of label_stride numbers per row of features (crf_data.hpp), then the transitions. Four
// steps, each over rows that are written by one thread in a fixed order: rows of bundles from parameters,
// forward-backward (fixed blocks of sentences), sums of differences over the tokens of each bundle, sums over
// the bundles of each row. So the result does not depend on the number of threads.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "drover/learn/crf_chain.hpp"
#include "drover/learn/crf_data.hpp"

namespace drover {

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

  std::size_t size() const { return (features_.rows() + labels_) * stride_; }
  /// F and its gradient.
  double evaluate(std::span<const double> v, std::span<double> gradient);
  /// The factor that turns a row of parameters into weights.
  std::span<const float> scale() const { return scale_; }
  std::size_t stride() const { return stride_; }

 private:
  struct Block {
    std::size_t first, last;  ///< sentences
  };
  const CrfData& data_;
  const FeatureRows& features_;
  std::size_t labels_, stride_;
  CrfPenalties options_;
  std::vector<float> scale_, penalty_;
  Lists tokens_of_bundle_, bundles_of_row_;
  std::vector<Block> blocks_;
  std::vector<Real> rows_, difference_;
  ChainTables<Real> tables_;
  std::vector<double> block_pairs_, block_loss_;
};

/// Weights that make tagging fast to try out: the scores of a text in terms of bundles.
class BundleScores {
 public:
  BundleScores(const CrfData& data, std::size_t labels) : data_(data), labels_(labels) {}
  void set(std::span<const double> v, std::span<const float> scale, std::size_t rows);
  /// The most probable labels of all tokens.
  void viterbi(std::span<LabelId> labels) const;
  const ChainTables<float>& tables() const { return tables_; }
  /// Scores of tokens begin .. end - 1.
  void scores(std::size_t begin, std::size_t end, float* out) const;

 private:
  ChainJob<float> job() const;
  const CrfData& data_;
  std::size_t labels_;
  std::vector<float> rows_;
  ChainTables<float> tables_;
};

}  // namespace drover
