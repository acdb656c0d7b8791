#include "drover/tag/crf_decode.hpp"

#include <algorithm>
#include <cassert>

namespace drover {

std::string_view FieldDecoder::why_not_skip(Decoder decoder) {
  return decoder == Decoder::viterbi ? "viterbi needs a chain, and this model has skip factors" : "";
}

double FieldDecoder::decode(const TagField& field, std::uint32_t number, std::span<LabelId> labels) {
  const std::size_t stride = field.stride();
  assert(labels.size() == field.tokens());
  if (options_.decoder == Decoder::viterbi) {
    assert(field.skip_pairs.empty());
    std::size_t begin = 0;
    for (std::uint32_t end : field.sentence_end) {
      chain_viterbi(*field.chain, field.scores.data() + begin * stride, end - begin, back_,
                    labels.subspan(begin, end - begin));
      begin = end;
    }
    return field.score(labels);
  }
  if (options_.decoder == Decoder::bp) {
    std::vector<float> probabilities;
    marginals(field, probabilities);
    for (std::size_t t = 0; t < labels.size(); ++t) {
      const auto row = probabilities.begin() + static_cast<std::ptrdiff_t>(t * stride);
      labels[t] = static_cast<LabelId>(
          std::max_element(row, row + static_cast<std::ptrdiff_t>(field.labels())) - row);
    }
    return field.score(labels);
  }
  if (options_.decoder == Decoder::max_product) {
    std::vector<float> beliefs;
    pass_messages(field, false, options_.iterations, beliefs, labels);
    return field.score(labels);
  }
  // The samplers start where every token has its own best label.
  for (std::size_t t = 0; t < labels.size(); ++t) {
    const auto row = field.scores.begin() + static_cast<std::ptrdiff_t>(t * stride);
    labels[t] =
        static_cast<LabelId>(std::max_element(row, row + static_cast<std::ptrdiff_t>(field.labels())) - row);
  }
  if (options_.decoder == Decoder::gibbs)
    decode_by_gibbs(field, options_.sweeps, options_.seed, number, labels);
  else
    decode_by_herding(field, options_.sweeps, labels);
  return field.score(labels);
}

bool FieldDecoder::marginals(const TagField& field, std::vector<float>& probabilities) {
  probabilities.resize(field.scores.size());
  if (!field.skip_pairs.empty()) {
    std::vector<LabelId> ignored(field.tokens());
    return pass_messages(field, true, options_.iterations, probabilities, ignored);
  }
  const std::size_t stride = field.stride();
  std::size_t begin = 0;
  for (std::uint32_t end : field.sentence_end) {
    chain_marginals(*field.chain, field.scores.data() + begin * stride, end - begin, scratch_,
                    probabilities.data() + begin * stride);
    begin = end;
  }
  return true;
}

}  // namespace drover
