// Whole runs: probabilities against enumeration, names of classes, models and their words.
#include "drover/text/text_posterior.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "drover/numeric/matching.hpp"
#include "drover/text/text_model.hpp"
#include "tests/text/naive_bayes_support.hpp"

namespace drover {
namespace {

TEST(Matching, BestOfAllPermutations) {
  RandomSequence random(1, Stream::generate);
  for (int trial = 0; trial < 200; ++trial) {
    const std::uint32_t n = 1 + random.below(6);
    std::vector<double> weights(n * n);
    for (double& w : weights) w = trial % 2 == 0 ? random.normal() : random.below(3);
    const auto value = [&](std::span<const std::uint32_t> columns) {
      double sum = 0;
      for (std::uint32_t row = 0; row < n; ++row) sum += weights[row * n + columns[row]];
      return sum;
    };
    std::vector<std::uint32_t> order(n);
    std::iota(order.begin(), order.end(), 0U);
    double best = -1e300;
    do best = std::max(best, value(order));
    while (std::next_permutation(order.begin(), order.end()));
    auto found = best_matching(n, weights);
    EXPECT_NEAR(value(found), best, 1e-12);
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, order);
  }
}

TEST(TextPosterior, ProbabilitiesAreTheExactMarginals) {
  RandomSequence random(5, Stream::generate);
  const WordCounts counts = testing::word_counts(7, 4, testing::random_dense(7, 4, random));
  const std::vector<std::uint32_t> known = {0, no_label, 1, no_label, no_label, no_label, 0};
  const auto exact = testing::exact_posterior(counts, known, 2, 1, 1);
  for (const bool collapsed : {false, true}) {
    const TextPosterior posterior = sample_text(counts, known, {.chains = 8, .collapsed = collapsed},
                                                {.burn_in = 100, .sweeps = 4000, .thin = 2});
    EXPECT_EQ(posterior.draws, 2000U);
    EXPECT_EQ(posterior.trace.front().size(), 4100U);
    EXPECT_FALSE(posterior.renamed);
    EXPECT_LT(posterior.log_joint.rhat, 1.01);
    EXPECT_EQ(posterior.chains_left_out,
              0U);  // all have the same law: their means differ by far less than it spreads
    // Sixteen thousand draws with an autocorrelation time far below 16: an error of at most 4.5 / 2 /
    // sqrt(1000).
    for (std::size_t o = 0; o < exact.open.size(); ++o)
      EXPECT_NEAR(posterior.probabilities[2 * exact.open[o] + 1], exact.marginal(o, 1),
                  4.5 / 2 / std::sqrt(1000.0));
    EXPECT_EQ(posterior.probabilities[0], 1);
    EXPECT_EQ(posterior.probabilities[2 * 2 + 1], 1);
    EXPECT_NEAR(posterior.class_documents[0] + posterior.class_documents[1], 7, 1e-9);
  }
}

/// Documents of three plain themes, no labels.
WordCounts themes(std::size_t documents, std::vector<std::uint32_t>& truth) {
  RandomSequence random(8, Stream::generate);
  std::vector<std::uint32_t> dense(documents * 30, 0);
  for (std::size_t d = 0; d < documents; ++d) {
    truth.push_back(static_cast<std::uint32_t>(d % 3));
    for (int t = 0; t < 40; ++t)
      ++dense[d * 30 + (random.uniform() < 0.7 ? 10 * (d % 3) + random.below(10) : random.below(30))];
  }
  return testing::word_counts(documents, 30, dense);
}

TEST(TextPosterior, ChainsAgreeOnNamesWithoutLabels) {
  std::vector<std::uint32_t> truth;
  const WordCounts counts = themes(90, truth);
  std::vector<std::uint32_t> known(90, no_label);
  const TextPosterior posterior = sample_text(counts, known, {.classes = 3, .chains = 6, .collapsed = true},
                                              {.burn_in = 50, .sweeps = 50, .thin = 1});
  EXPECT_TRUE(posterior.renamed);
  EXPECT_GT(posterior.chain_agreement, 0.95);
  std::vector<std::uint32_t> labels;
  for (std::size_t d = 0; d < 90; ++d) {
    labels.push_back(posterior.label(d));
    EXPECT_GT(posterior.probabilities[3 * d + labels.back()],
              0.9);  // chains with other names would blur this
  }
  EXPECT_GT(label_accuracy(labels, truth, 3, true), 0.95);

  // One labelled class keeps its name; the two others are still free.
  known[1] = 1;
  const TextPosterior one = sample_text(counts, known, {.classes = 3, .chains = 6, .collapsed = true},
                                        {.burn_in = 50, .sweeps = 50, .thin = 1});
  EXPECT_TRUE(one.renamed);
  EXPECT_EQ(one.label(4), 1U);
  EXPECT_GT(one.chain_agreement, 0.95);
}

TEST(TextPosterior, OneLabelPerClassSettlesTheNames) {
  std::vector<std::uint32_t> truth;
  const WordCounts counts = themes(90, truth);
  std::vector<std::uint32_t> known(90, no_label);
  for (std::size_t d = 0; d < 3; ++d) known[d] = truth[d];
  for (const bool collapsed : {false, true}) {
    const TextPosterior posterior =
        sample_text(counts, known, {.classes = 3, .chains = 6, .collapsed = collapsed},
                    {.burn_in = 200, .sweeps = 50, .thin = 1});
    EXPECT_FALSE(posterior.renamed);
    std::vector<std::uint32_t> labels;
    for (std::size_t d = 0; d < 90; ++d) labels.push_back(posterior.label(d));
    EXPECT_GT(label_accuracy(labels, truth, 3, false), 0.95) << collapsed;
    EXPECT_GT(posterior.chain_agreement, 0.95)
        << collapsed;  // without exchanges some chains keep wrong names
  }
}

TEST(TextPosterior, StopsWhenAskedWithWhatThereIs) {
  std::vector<std::uint32_t> truth;
  const WordCounts counts = themes(30, truth);
  const std::vector<std::uint32_t> known(30, no_label);
  const auto stopped_after = [&](std::uint64_t sweeps) {
    RunControl control;
    control.watch([&](const Progress& progress) {
      if (progress.sweeps >= sweeps) control.request_stop();
    });
    return sample_text(counts, known, {}, {.burn_in = 5}, control);
  };
  EXPECT_THROW(stopped_after(5), Error);  // inside burn-in there is no result
  const TextPosterior early = stopped_after(6);
  EXPECT_EQ(early.draws, 1U);
  EXPECT_EQ(early.burn_in, 5U);
  for (std::size_t d = 0; d < 30; ++d)
    EXPECT_NEAR(early.probabilities[2 * d] + early.probabilities[2 * d + 1], 1, 1e-6);
}

TEST(TextPosterior, HidingLabelsKeepsAShareOfEachClass) {
  std::vector<std::uint32_t> labels;
  for (int d = 0; d < 300; ++d) labels.push_back(d < 200 ? 0 : d < 280 ? 1 : no_label);
  const auto shown = hide_labels(labels, 2, 0.1, 3);
  EXPECT_EQ(std::count(shown.begin(), shown.end(), 0U), 20);
  EXPECT_EQ(std::count(shown.begin(), shown.end(), 1U), 8);
  for (std::size_t d = 0; d < labels.size(); ++d) EXPECT_TRUE(shown[d] == no_label || shown[d] == labels[d]);
  EXPECT_NE(shown, hide_labels(labels, 2, 0.1, 4));
  EXPECT_EQ(hide_labels(labels, 2, 1, 3), labels);
}

TEST(TextModel, FullyLabelledIsOrdinaryNaiveBayes) {
  const WordCounts counts = testing::word_counts(3, 2, std::vector<std::uint32_t>{3, 1, 0, 4, 1, 1});
  const TextPosterior posterior =
      sample_text(counts, std::vector<std::uint32_t>{0, 1, 0}, {.chains = 1}, {0, 1, 1});
  const TextModel model = make_text_model({"a", "b"}, {"x", "y"}, posterior);
  EXPECT_EQ(model.word_counts, (std::vector<double>{4, 0, 2, 4}));
  // P(a) = 3/5, P(b) = 2/5; P(x | a) = 5/8, P(x | b) = 1/6; P(y | a) = 3/8, P(y | b) = 5/6.
  const WordCounts other = testing::word_counts(1, 2, std::vector<std::uint32_t>{2, 1});
  const double a = 3.0 / 5 * 25 / 64 * 3 / 8, b = 2.0 / 5 / 36 * 5 / 6;
  EXPECT_NEAR(predict_classes(model, other)[0], a / (a + b), 1e-12);
  const auto words = top_words(model, 0, 5);
  ASSERT_EQ(words.size(), 2U);
  EXPECT_EQ(words[0].word, "x");
  EXPECT_NEAR(words[0].log_odds, std::log(5.0 / 8 / (1.0 / 6)), 1e-12);
  EXPECT_NEAR(words[0].score, words[0].log_odds / std::sqrt(1.0 / 5 + 1), 1e-12);
}

// Odds of a word in a class against all others together, every class with its pseudo-count of the word.
TEST(TextModel, TopWordsOfThreeClasses) {
  const TextModel model{.classes = {"a", "b", "c"},
                        .words = {"x", "y"},
                        .class_documents = {1, 1, 1},
                        .word_counts = {7, 1, 2, 3, 4, 0},
                        .word_pseudo_counts = {0.25, 3}};
  const auto words = top_words(model, 0, 5);
  ASSERT_EQ(words.size(), 2U);
  EXPECT_EQ(words[0].word, "x");
  // Of class a: 7.25 of x and 6 of y; of b and c: 3.5 and 10.
  for (const auto& [k, here, there] : {std::tuple{0, 7.25, 3.5}, {1, 6.0, 10.0}}) {
    const double log_odds = std::log(here / 13.25 / (there / 13.5));
    EXPECT_NEAR(words[k].log_odds, log_odds, 1e-12);
    EXPECT_NEAR(words[k].score, log_odds / std::sqrt(1 / here + 1 / there), 1e-12);
  }
}

}  // namespace
}  // namespace drover
