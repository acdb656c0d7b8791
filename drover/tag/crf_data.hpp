// A tagged text as a training problem: which weights every token adds up, with all repetition taken out.
//
// The score of label y at token t is the sum of the weights w[f][y] of its features f. Two things repeat:
//
// Bundles. Templates that look at the same offsets see the same words, so their features come in the same
// sets again and again: all features of the word at offset 0 are known once that word is. A token refers to
// one bundle per group of templates; a bundle's row of scores is added up once per evaluation.
//
// Rows. Features that occur at exactly the same tokens (most of those of a rare word) always have the same
// gradient, hence under an L2 penalty, started at zero, the same weight. The c features of such a class are
// one parameter v: with w = v / sqrt(c) the c squares w^2 add up to v^2 and c w = sqrt(c) v, so minimising
// over v takes exactly the steps that minimising over all w would. For an L1 penalty w = v / c does the same
// with c |w| = |v| (of the many optima with equal features this is one).
//
// Classes are found by hashing: a feature's 128-bit key is the sum of random numbers of its tokens.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/core/run_control.hpp"
#include "drover/numeric/hash_index.hpp"
#include "drover/tag/crf_features.hpp"
#include "drover/tag/tagged_text.hpp"

namespace drover {

/// A compressed list of lists.
struct Lists {
  std::vector<std::uint64_t> begin;  ///< one more than there are lists
  std::vector<std::uint32_t> item;
  std::vector<float> factor;  ///< per item; may stay empty when all are 1

  std::size_t size() const { return begin.size() - 1; }
};

/// Which features there are, and the row of weights of each.
struct FeatureRows {
  HashIndex row_of_feature;            ///< feature key -> row
  std::vector<std::uint32_t> sharing;  ///< per row: how many features share it
  std::uint64_t features = 0;

  std::size_t rows() const { return sharing.size(); }
};

/// One bundle, number 0, is empty: groups without a known feature refer to it.
struct CrfData {
  std::size_t tokens = 0;
  std::size_t groups = 0;
  std::vector<std::uint32_t> bundle;        ///< tokens x groups
  std::vector<std::uint32_t> sentence_end;  ///< in tokens
  std::vector<LabelId> label;               ///< per token; empty when not known
  Lists rows_of_bundle;                     ///< factor: how many of the bundle's features have the row

  std::size_t bundles() const { return rows_of_bundle.size(); }
  std::size_t sentence_begin(std::size_t s) const { return s == 0 ? 0 : sentence_end[s - 1]; }
};

struct TrainingData {
  FeatureRows features;
  CrfData data;
};

/// Collects the features of a text, those that occur at least `min_count` times.
TrainingData collect_features(const TaggedText& text, FeatureExtractor& extractor, std::uint32_t min_count,
                              const RunControl& control = no_control());

/// A further text in terms of known features.
CrfData apply_features(const TaggedText& text, FeatureExtractor& extractor, const FeatureRows& features,
                       const RunControl& control = no_control());

/// For every item the lists that it is in, with the same factors. `items` is one more than the largest item.
Lists invert(const Lists& lists, std::size_t items);

/// For every bundle its tokens.
Lists tokens_of_bundles(const CrfData& data);

}  // namespace drover
