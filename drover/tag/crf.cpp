#include "drover/tag/crf.hpp"

#include <cassert>
#include <string_view>
#include <unordered_map>

namespace drover {

std::vector<SkipPair> find_skip_pairs(const TaggedText& text, std::size_t document) {
  std::vector<SkipPair> pairs;
  const std::size_t first = text.sentence_begin(text.document_begin(document));
  const std::size_t last = text.sentence_end[text.document_end[document] - 1];
  std::unordered_map<std::string_view, std::uint32_t> latest;
  for (std::size_t t = first; t < last; ++t) {
    const std::string_view word = text.word(t);
    if (!is_capitalised(word)) continue;
    const auto here = static_cast<std::uint32_t>(t - first);
    const auto [at, fresh] = latest.try_emplace(word, here);
    if (fresh) continue;
    if (at->second + 1 < here) pairs.emplace_back(at->second, here);  // neighbours have their own factor
    at->second = here;
  }
  return pairs;
}

double TagField::score(std::span<const LabelId> y) const {
  assert(y.size() == tokens());
  double total = 0;
  std::size_t t = 0;
  for (std::uint32_t end : sentence_end)
    for (bool first = true; t < end; ++t, first = false) {
      total += static_cast<double>(scores[t * stride() + y[t]]);
      if (!first) total += static_cast<double>(chain->log[y[t - 1] * stride() + y[t]]);
    }
  for (const auto& [i, j] : skip_pairs) total += static_cast<double>(skip[y[i] * labels() + y[j]]);
  return total;
}

void FieldMaker::make(const TaggedText& text, std::size_t first, std::size_t last, TagField& field) {
  const std::size_t stride = crf_.stride(), begin = text.sentence_begin(first);
  field.chain = &crf_.chain;
  field.sentence_end.clear();
  field.skip_pairs.clear();
  field.scores.assign((text.sentence_end[last - 1] - begin) * stride, 0.0F);
  keys_.resize(extractor_.templates());
  rows_.resize(extractor_.templates());
  for (std::size_t s = first; s < last; ++s) {
    const std::size_t from = text.sentence_begin(s), to = text.sentence_end[s];
    field.sentence_end.push_back(static_cast<std::uint32_t>(to - begin));
    extractor_.start(text, from, to);
    for (std::size_t t = from; t < to; ++t) {
      extractor_.keys(t - from, keys_);
      for (std::uint64_t key : keys_) crf_.row_of_feature.prefetch(key);
      std::size_t found = 0;
      for (std::uint64_t key : keys_) {
        if (key == 0) continue;
        const std::uint32_t row = crf_.row_of_feature.find(key);
        if (row == HashIndex::none) continue;
        __builtin_prefetch(crf_.weights.data() + row * stride);
        rows_[found++] = row;
      }
      float* const out = field.scores.data() + (t - begin) * stride;
      for (std::size_t k = 0; k < found; ++k) {
        const float* const weights = crf_.weights.data() + rows_[k] * stride;
        for (std::size_t y = 0; y < stride; ++y) out[y] += weights[y];
      }
    }
  }
}

void FieldMaker::make_document(const TaggedText& text, std::size_t document, TagField& field) {
  make(text, text.document_begin(document), text.document_end[document], field);
  if (crf_.skip.empty()) return;
  field.skip = crf_.skip;
  field.skip_pairs = find_skip_pairs(text, document);
}

}  // namespace drover
