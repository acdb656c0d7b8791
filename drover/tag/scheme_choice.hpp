// Which scheme of labels learns best from a text: BIO or IOBES, by F1 on documents that were not learnt from.
//
// IOBES knows where entities end, and has twice as many weights to learn: with some ten thousand tokens BIO is better, with a
// hundred thousand IOBES (docs/tag.md), and where one passes the other depends on the corpus. So both are trained on four
// fifths of the documents and held against the rest, twice, with another fifth apart; all in all they are scored on two fifths
// of the text. Assumes documents (or sentences, where there are none) that are alike. Fails: two fifths of a small corpus
// have few entities, and differences of a point are chance; there little is lost either way.
#pragma once

#include <optional>

#include "drover/tag/crf_train.hpp"
#include "drover/tag/entities.hpp"

namespace drover {

/// A tagger of four fifths of the documents.
struct SchemeTrial {
  Crf crf;
  CrfTrainSummary summary;
};

struct SchemeScores {
  EntityCounts bio, iobes;  ///< on all documents that were held out
  bool tried = false;       ///< false when the control ended it, or there is too little text to tell
  /// What there was when the control ended it.
  std::optional<SchemeTrial> so_far{};

  /// IOBES unless BIO was better.
  LabelScheme best() const { return tried && bio.f1() > iobes.f1() ? LabelScheme::bio : LabelScheme::iobes; }
};

/// The text's labels are in `scheme`, and not raw.
SchemeScores try_schemes(const TaggedText& text, LabelScheme scheme, const FeatureTemplates& templates,
                         const Gazetteers& gazetteers, const CrfTrainOptions& options,
                         const RunControl& control = no_control());

}  // namespace drover
