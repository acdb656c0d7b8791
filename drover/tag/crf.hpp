// A conditional random field for sequences of labels: what training makes and tagging uses.
//
//   log p(y | x) = sum_t [ sum_f w[f][y_t] + T(y_{t-1}, y_t) ] + sum over skip pairs S(y_i, y_j) - log Z
//
// (Lafferty, McCallum, Pereira 2001; skip pairs: Sutton and McCallum 2004, Finkel, Grenager and Manning
// 2005.) Without skip factors sentences are independent chains. A skip pair joins two mentions of the same
// capitalised word in one document, each with the mention before it, so that no token has more than four
// neighbours.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "drover/numeric/hash_index.hpp"
#include "drover/tag/crf_chain.hpp"
#include "drover/tag/crf_features.hpp"
#include "drover/tag/entities.hpp"

namespace drover {

struct Crf {
  std::vector<std::string> labels;
  LabelScheme scheme = LabelScheme::bio;
  std::uint32_t columns = 1;  ///< fields per token that it was trained with
  FeatureTemplates templates;
  Gazetteers gazetteers;
  HashIndex row_of_feature;    ///< feature key -> row of `weights`
  std::vector<float> weights;  ///< rows of label_stride(labels) numbers
  ChainTables<float> chain;    ///< transitions; all zero without label bigrams
  std::vector<float> skip;     ///< labels x labels, symmetric; empty: no skip factors

  std::size_t stride() const { return chain.stride; }
  std::size_t rows() const { return weights.size() / stride(); }
};

using SkipPair = std::pair<std::uint32_t, std::uint32_t>;

/// The skip pairs of one document, its tokens counted from 0, in order of the second token.
std::vector<SkipPair> find_skip_pairs(const TaggedText& text, std::size_t document);

/// One piece of text with everything that its labels depend on: chains that skip pairs may join.
struct TagField {
  const ChainTables<float>* chain = nullptr;
  std::vector<float> scores;                ///< tokens x stride
  std::vector<std::uint32_t> sentence_end;  ///< in tokens
  std::vector<SkipPair> skip_pairs;
  std::span<const float> skip;  ///< labels x labels

  std::size_t labels() const { return chain->labels; }
  std::size_t stride() const { return chain->stride; }
  std::size_t tokens() const { return scores.size() / chain->stride; }
  /// The log of the unnormalised probability.
  double score(std::span<const LabelId> labels) const;
};

/// Turns text into fields; one per thread.
class FieldMaker {
 public:
  explicit FieldMaker(const Crf& crf) : crf_(crf), extractor_(crf.templates, crf.gazetteers) {}

  /// The field of sentences first .. last - 1, without skip pairs.
  void make(const TaggedText& text, std::size_t first, std::size_t last, TagField& field);
  /// The field of a document, with skip pairs when the model has them.
  void make_document(const TaggedText& text, std::size_t document, TagField& field);

 private:
  const Crf& crf_;
  FeatureExtractor extractor_;
  std::vector<std::uint64_t> keys_;
  std::vector<std::uint32_t> rows_;
};

}  // namespace drover
