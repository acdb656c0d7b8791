#include "drover/tag/crf_tag.hpp"

#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "drover/core/parallel.hpp"

namespace drover {

TagResult tag_text(const Crf& crf, const TaggedText& text, const DecodeOptions& options, bool with_confidence,
                   const RunControl& control) {
  struct Worker {
    explicit Worker(const Crf& model, const DecodeOptions& how) : maker(model), decoder(how) {}
    FieldMaker maker;
    FieldDecoder decoder;
    TagField field;
    std::vector<float> probabilities;
  };
  const bool by_document = !crf.skip.empty();
  const std::size_t units = by_document ? text.documents() : text.sentences();
  TagResult result;
  result.labels.assign(text.tokens(), 0);
  if (with_confidence) result.confidence.assign(text.tokens(), 0.0F);
  std::vector<double> scores(units, 0.0);
  std::atomic<std::size_t> done = 0, pairs = 0, unsettled = 0, skipped = 0;
  std::mutex asking;
  tbb::enumerable_thread_specific<Worker> workers([&] { return Worker(crf, options); });
  parallel_for(std::size_t{0}, units, [&](std::size_t unit) {
    if (control.should_stop()) {
      ++skipped;
      return;
    }
    Worker& worker = workers.local();
    TagField& field = worker.field;
    if (by_document)
      worker.maker.make_document(text, unit, field);
    else
      worker.maker.make(text, unit, unit + 1, field);
    const std::size_t begin = text.sentence_begin(by_document ? text.document_begin(unit) : unit);
    const std::span<LabelId> labels = std::span(result.labels).subspan(begin, field.tokens());
    scores[unit] = worker.decoder.decode(field, static_cast<std::uint32_t>(unit), labels);
    pairs += field.skip_pairs.size();
    if (with_confidence) {
      unsettled += worker.decoder.marginals(field, worker.probabilities) ? 0 : 1;
      for (std::size_t t = 0; t < labels.size(); ++t)
        result.confidence[begin + t] = worker.probabilities[t * field.stride() + labels[t]];
    }
    if (++done % 64 != 0) return;
    const std::unique_lock<std::mutex> lock(asking, std::try_to_lock);
    if (lock) control.report({"labelling", static_cast<double>(done) / static_cast<double>(units)});
  });
  for (double score : scores) result.log_score += score;
  result.skip_pairs = pairs;
  result.unsettled = unsettled;
  result.skipped = skipped;
  return result;
}

EntityScore score_labels(const Crf& crf, const TaggedText& text, const std::vector<LabelId>& found) {
  EntityScore score;
  for (std::size_t s = 0; s < text.sentences(); ++s) {
    const std::size_t begin = text.sentence_begin(s), count = text.sentence_end[s] - begin;
    score.add({text.labels.data() + begin, count}, text.label_names, {found.data() + begin, count},
              crf.labels, crf.scheme);
  }
  return score;
}

}  // namespace drover
