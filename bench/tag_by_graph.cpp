// The decoders of drover/tag beside the same algorithms on a Graph with tied tables: milliseconds for a document of
// 20 sentences, one thread, the best of several.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "drover/core/random.hpp"
#include "drover/core/run_control.hpp"
#include "drover/tag/crf_decode.hpp"
#include "drover/task/inference.hpp"

namespace {

using namespace drover;

/// Random scores; with `skip_every`, tokens that far apart like to agree. The field and the model are the same.
struct Document {
  ChainTables<float> chain;
  std::vector<float> skip;
  TagField field;
  Model model;

  Document(std::size_t labels, std::size_t skip_every) : skip(labels * labels, 0.0F) {
    constexpr std::size_t sentences = 20, length = 25, tokens = sentences * length;
    RandomSequence random(1, Stream::generate);
    const std::size_t stride = label_stride(labels);
    std::vector<double> transitions(labels * stride, 0.0), table, agreement;
    for (std::size_t a = 0; a < labels; ++a)
      for (std::size_t b = 0; b < labels; ++b) {
        table.push_back(random.normal());
        transitions[a * stride + b] = table.back();
        agreement.push_back(a == b ? 1 : 0);
        skip[a * labels + b] = static_cast<float>(agreement.back());
      }
    chain.set(labels, transitions);
    field.chain = &chain;
    field.skip = skip;
    field.scores.assign(tokens * stride, 0.0F);
    model.cardinalities.assign(tokens, static_cast<std::uint32_t>(labels));
    const std::uint32_t transition = model.tables.add_table(table), equal = model.tables.add_table(agreement);
    for (VariableId t = 0; t < tokens; ++t) {
      std::vector<double> scores;
      for (std::size_t y = 0; y < labels; ++y) {
        field.scores[t * stride + y] = static_cast<float>(2 * random.normal());
        scores.push_back(field.scores[t * stride + y]);
      }
      model.unaries.add(t, scores);
      const bool ends = (t + 1) % length == 0;
      if (ends) field.sentence_end.push_back(t + 1);
      const VariableId neighbours[2] = {t, t + 1};
      if (!ends) model.tables.add_factor(neighbours, transition);
    }
    for (std::size_t t = skip_every; skip_every > 0 && t + skip_every < tokens; t += skip_every) {
      const VariableId pair[2] = {static_cast<VariableId>(t), static_cast<VariableId>(t + skip_every)};
      field.skip_pairs.emplace_back(pair[0], pair[1]);
      model.tables.add_factor(pair, equal);
    }
  }
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;
};

template <class Work>
double best_milliseconds(const Work& work) {
  double best = 1e9;
  for (int time = 0; time < 5; ++time) {
    const auto start = std::chrono::steady_clock::now();
    work();
    best = std::min(
        best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

struct Pair {
  Decoder decoder;
  const char* method;
};

void show(const Document& document, std::size_t labels, const Pair& pair, const RunControl& control) {
  constexpr std::uint64_t sweeps = 400, iterations = 50;
  FieldDecoder own({.decoder = pair.decoder, .sweeps = sweeps, .iterations = iterations});
  std::vector<LabelId> found(document.field.tokens());
  std::vector<float> probabilities;
  const bool sums = pair.decoder == Decoder::bp;
  double own_score = 0, graph_score = 0;
  const double own_time = best_milliseconds([&] {
    if (sums)
      own.marginals(document.field, probabilities);
    else
      own_score = own.decode(document.field, 0, found);
  });
  InferenceOptions options;
  options.method = pair.method;
  options.chains.count = 1;
  options.chains.sweeps = sweeps;
  options.chains.burn_in = 0;
  options.messages = {.iterations = iterations, .schedule = MessageSchedule::sequential};
  const double graph_time = best_milliseconds([&] {
    if (sums)
      marginals(document.model, options, control);
    else
      graph_score = best_state(document.model, options, control).log_score;
  });
  fmt::print(
      "{:2} labels, {} skip pairs, {:14} own {:8.3f} ms (score {:.2f}), graph {:8.3f} ms (score {:.2f}), "
      "{:.1f} times\n",
      labels, document.field.skip_pairs.size(), pair.method, own_time, own_score, graph_time, graph_score,
      graph_time / own_time);
}

}  // namespace

int main() {
  RunControl control;
  control.limit_threads(1);
  with_threads(control, [&] {
    for (const std::size_t labels : {9, 17})
      for (const std::size_t skip_every : {0, 12}) {
        const Document document(labels, skip_every);
        for (const Pair& pair : {Pair{Decoder::viterbi, "exact"},
                                 {Decoder::bp, "bp"},
                                 {Decoder::max_product, "max-product"},
                                 {Decoder::gibbs, "annealed-gibbs"},
                                 {Decoder::herded_gibbs, "herded-gibbs"}})
          if (skip_every == 0 || pair.decoder != Decoder::viterbi) show(document, labels, pair, control);
      }
  });
}
