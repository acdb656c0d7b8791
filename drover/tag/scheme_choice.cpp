#include "drover/tag/scheme_choice.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "drover/tag/conll.hpp"
#include "drover/tag/crf_tag.hpp"

namespace drover {

namespace {

constexpr std::size_t folds = 5, folds_tried = 2, enough_documents = 10;

struct Parts {
  TaggedText learnt, apart;
};

Parts parts_of(const TaggedText& text, LabelScheme scheme, LabelScheme candidate, std::size_t fold) {
  Parts parts{text.without_documents(), text.without_documents()};
  for (std::size_t d = 0; d < text.documents(); ++d)
    (d % folds == fold ? parts.apart : parts.learnt).add_document(text, d);
  convert_labels(parts.learnt, scheme, candidate);
  convert_labels(parts.apart, scheme, candidate);
  match_labels(parts.apart, parts.learnt.label_names, candidate, UnknownLabels::kept);
  return parts;
}

}  // namespace

SchemeScores try_schemes(const TaggedText& text, LabelScheme scheme, const FeatureTemplates& templates,
                         const Gazetteers& gazetteers, const CrfTrainOptions& options,
                         const RunControl& control) {
  assert(scheme != LabelScheme::raw);
  SchemeScores scores;
  if (text.documents() < enough_documents) return scores;
  CrfTrainOptions trial = options;
  trial.parts = nullptr;
  trial.patience = 0;
  std::size_t done = 0;
  RunControl watched(control);
  watched.watch([&](const Progress& progress) {
    control.report({"choosing a scheme of labels",
                    (static_cast<double>(done) + std::clamp(progress.fraction, 0.0, 1.0)) / (2 * folds_tried),
                    progress.sweeps, 0, 0});
  });
  for (std::size_t fold = 0; fold < folds_tried; ++fold)
    for (const LabelScheme candidate : {LabelScheme::bio, LabelScheme::iobes}) {
      const bool bio = candidate == LabelScheme::bio;
      const Parts parts = parts_of(text, scheme, candidate, fold);
      SchemeTrial one;
      one.crf =
          train_crf(parts.learnt, candidate, nullptr, templates, gazetteers, trial, one.summary, watched);
      const TagResult found = tag_text(one.crf, parts.apart, {}, false, watched);
      if (control.should_stop()) {
        scores.so_far = std::move(one);
        return scores;
      }
      const EntityCounts counts = score_labels(one.crf, parts.apart, found.labels).all;
      EntityCounts& sum = bio ? scores.bio : scores.iobes;
      sum.truth += counts.truth;
      sum.found += counts.found;
      sum.right += counts.right;
      ++done;
    }
  scores.tried = true;
  return scores;
}

}  // namespace drover
