// Labels a whole text: sentence by sentence, or document by document when the model has skip factors.
#pragma once

#include <vector>

#include "drover/tag/crf_decode.hpp"

namespace drover {

struct TagResult {
  std::vector<LabelId> labels;    ///< per token
  std::vector<float> confidence;  ///< the probability of that label; empty unless asked for
  double log_score = 0;           ///< sum over fields of the log of the unnormalised probability
  std::size_t skip_pairs = 0;
  std::size_t skipped = 0;    ///< fields without labels, because the run was to end
  std::size_t unsettled = 0;  ///< fields whose messages did not settle, when confidences were asked for
};

/// Independent of the number of threads. When the control ends it, the rest has label 0.
TagResult tag_text(const Crf& crf, const TaggedText& text, const DecodeOptions& options, bool with_confidence,
                   const RunControl& control = no_control());

/// How the labels found agree with the text's own.
EntityScore score_labels(const Crf& crf, const TaggedText& text, const std::vector<LabelId>& found);

}  // namespace drover
