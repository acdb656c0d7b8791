// Skip factors by pseudo-likelihood.
//
//   maximise  sum over tokens i with skip pairs of  log p(y_i | all other labels, x)  -  (l2 / 2) |S|^2
//
// over the symmetric table S(y, y'), the weights of the chain being as they are (Besag 1975). Only tokens
// with a skip pair depend on S, and their conditionals are sums over labels, so this is exact and quick where
// the likelihood is not to be had. Text that the chain was not trained on gives better factors: on its own
// training text the chain is too sure of itself.
#include <cassert>
#include <cmath>

#include "drover/core/log_math.hpp"
#include "drover/numeric/lbfgs.hpp"
#include "drover/tag/crf_decode.hpp"

namespace drover {

std::size_t learn_skip_factors(Crf& crf, const TaggedText& text, double l2, const RunControl& control) {
  assert(text.has_labels());
  const std::size_t labels = crf.labels.size(), stride = crf.stride();
  crf.skip.assign(labels * labels, 0.0F);

  // What each such token sees: its score per label from features and chain, its truth, its mates' truths.
  struct Mention {
    LabelId truth;
    std::vector<LabelId> mates;
    std::vector<double> local;
  };
  std::vector<Mention> mentions;
  std::size_t pairs = 0;
  FieldMaker maker(crf);
  TagField field;
  for (std::size_t d = 0; d < text.documents(); ++d) {
    if (control.should_stop()) break;
    maker.make_document(text, d, field);
    if (field.skip_pairs.empty()) continue;
    pairs += field.skip_pairs.size();
    const LabelId* const y = text.labels.data() + text.sentence_begin(text.document_begin(d));
    std::vector<std::vector<LabelId>> mates(field.tokens());
    for (const auto& [i, j] : field.skip_pairs) {
      mates[i].push_back(y[j]);
      mates[j].push_back(y[i]);
    }
    std::size_t t = 0;
    for (std::uint32_t end : field.sentence_end)
      for (const std::size_t begin = t; t < end; ++t) {
        if (mates[t].empty()) continue;
        Mention mention{y[t], std::move(mates[t]), std::vector<double>(labels)};
        for (std::size_t k = 0; k < labels; ++k) {
          double score = static_cast<double>(field.scores[t * stride + k]);
          if (t > begin) score += static_cast<double>(crf.chain.log[y[t - 1] * stride + k]);
          if (t + 1 < end) score += static_cast<double>(crf.chain.log[k * stride + y[t + 1]]);
          mention.local[k] = score;
        }
        mentions.push_back(std::move(mention));
      }
  }

  const auto place = [&](std::size_t a, std::size_t b) {
    return a >= b ? a * (a + 1) / 2 + b : b * (b + 1) / 2 + a;
  };
  std::vector<double> table(labels * (labels + 1) / 2, 0.0), probability(labels);
  minimise(
      table,
      [&](std::span<const double> s, std::span<double> gradient) {
        double loss = 0;
        for (std::size_t k = 0; k < s.size(); ++k) {
          loss += l2 / 2 * s[k] * s[k];
          gradient[k] = l2 * s[k];
        }
        for (const Mention& mention : mentions) {
          probability = mention.local;
          for (LabelId mate : mention.mates)
            for (std::size_t k = 0; k < labels; ++k) probability[k] += s[place(k, mate)];
          const double truth = probability[mention.truth];
          loss += normalise_logs(probability) - truth;
          probability[mention.truth] -= 1;
          for (LabelId mate : mention.mates)
            for (std::size_t k = 0; k < labels; ++k) gradient[place(k, mate)] += probability[k];
        }
        return loss;
      },
      {.max_iterations = 200, .gradient_tolerance = 1e-5},
      [&](std::size_t, double) { return control.should_stop(); });
  for (std::size_t a = 0; a < labels; ++a)
    for (std::size_t b = 0; b < labels; ++b)
      crf.skip[a * labels + b] = static_cast<float>(table[place(a, b)]);
  return pairs;
}

}  // namespace drover
