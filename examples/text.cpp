// Classes of documents of which one in ten is labelled: examples/text
#include <cstdio>
#include <drover/drover.hpp>

int main() {
  const drover::Corpus corpus = drover::demo_corpus(400, 1, {.min_count = 2});
  const drover::TextResult result = drover::classify_text(corpus, {.labelled_share = 0.1, .sweeps = 200});
  std::printf("%.1f %% of the hidden labels found; naive Bayes alone: %.1f %%\n", 100 * result.accuracy,
              100 * result.naive_bayes_accuracy);
  return result.accuracy > 0.7 ? 0 : 1;
}
