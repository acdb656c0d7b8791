#include "drover/text/naive_bayes_em.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "drover/core/random.hpp"
#include "drover/text/text_model.hpp"
#include "drover/text/unlabelled_weight.hpp"
#include "tests/text/naive_bayes_support.hpp"

namespace drover {
namespace {

using testing::word_counts;

struct RandomCorpus {
  std::vector<std::uint32_t> dense, labels;
  WordCounts counts;
};

RandomCorpus random_corpus(std::uint64_t seed, std::size_t documents, std::uint32_t vocabulary,
                           std::uint32_t classes) {
  RandomSequence random(seed, Stream::generate);
  RandomCorpus corpus;
  for (std::size_t d = 0; d < documents; ++d) {
    corpus.labels.push_back(d < classes ? static_cast<std::uint32_t>(d) : no_label);
    for (std::uint32_t i = 0; i < vocabulary; ++i) corpus.dense.push_back(random() % 4);
  }
  corpus.counts = word_counts(documents, vocabulary, corpus.dense);
  return corpus;
}

/// What is climbed, from the definition: the log posterior density at a model, unlabelled documents by
/// weight.
double objective_at(const RandomCorpus& corpus, std::span<const double> theta, std::span<const double> pi,
                    std::span<const double> b, double a, double weight) {
  const std::size_t classes = pi.size(), vocabulary = b.size();
  double sum = 0;
  for (std::size_t k = 0; k < classes; ++k) {
    sum += a * std::log(pi[k]);
    for (std::size_t i = 0; i < vocabulary; ++i) sum += b[i] * std::log(theta[i * classes + k]);
  }
  for (std::size_t d = 0; d < corpus.labels.size(); ++d) {
    double all = 0, own = 0;
    for (std::size_t k = 0; k < classes; ++k) {
      double p = pi[k];
      for (std::size_t i = 0; i < vocabulary; ++i)
        p *= std::pow(theta[i * classes + k], corpus.dense[d * vocabulary + i]);
      all += p;
      if (corpus.labels[d] == k) own = p;
    }
    sum += corpus.labels[d] == no_label ? weight * std::log(all) : std::log(own);
  }
  return sum;
}

TEST(NaiveBayesEm, ClimbsToAPlaceWhereNoStepLeadsUp) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::uint32_t classes = 2 + seed % 2, vocabulary = 4;
    const RandomCorpus corpus = random_corpus(seed, 7, vocabulary, classes);
    const std::vector<double> b = frequency_pseudo_counts(corpus.counts, 0.7);
    const double weight = 0.2 + 0.1 * static_cast<double>(seed % 8);
    const TextEm fit = fit_text_em(
        corpus.counts, corpus.labels, b,
        {.classes = classes, .unlabelled_weight = weight, .class_pseudo_count = 0.5, .iterations = 20000});
    ASSERT_TRUE(fit.converged);
    for (std::size_t i = 1; i < fit.objective.size(); ++i)
      EXPECT_GE(fit.objective[i], fit.objective[i - 1] - 1e-9) << seed;
    std::vector<double> theta(fit.word_counts.size()), pi(classes), totals(classes, 0.0);
    for (std::size_t e = 0; e < theta.size(); ++e) totals[e % classes] += fit.word_counts[e] + b[e / classes];
    for (std::size_t e = 0; e < theta.size(); ++e)
      theta[e] = (fit.word_counts[e] + b[e / classes]) / totals[e % classes];
    double documents = 0;
    for (const double c : fit.class_documents) documents += c + 0.5;
    for (std::size_t k = 0; k < classes; ++k) pi[k] = (fit.class_documents[k] + 0.5) / documents;
    const double top = objective_at(corpus, theta, pi, b, 0.5, weight);
    EXPECT_NEAR(fit.objective.back(), top, 1e-9 * std::abs(top)) << seed;
    // Moving mass between two words of a class. The climb ends when labels move by 1e-4, so the slope left is
    // of that size times the words of a document.
    for (std::size_t k = 0; k < classes; ++k)
      for (std::size_t i = 1; i < vocabulary; ++i)
        for (const double step : {1e-3, -1e-3}) {
          std::vector<double> moved = theta;
          moved[i * classes + k] += step;
          moved[k] -= step;
          EXPECT_LT(objective_at(corpus, moved, pi, b, 0.5, weight), top + 1e-2 * std::abs(step)) << seed;
        }
    // And between two classes: all seven labels together move by 7e-4, and no class is less than 0.5 of 8.5.
    for (std::size_t k = 1; k < classes; ++k)
      for (const double step : {1e-3, -1e-3}) {
        std::vector<double> moved = pi;
        moved[k] += step;
        moved[0] -= step;
        EXPECT_LT(objective_at(corpus, theta, moved, b, 0.5, weight), top + 2 * 7e-4 * 17 * std::abs(step))
            << seed;
      }
  }
}

TEST(NaiveBayesEm, WithoutWeightItIsOrdinaryNaiveBayes) {
  const RandomCorpus corpus = random_corpus(3, 9, 5, 3);
  const std::vector<double> b(5, 1.0);
  const TextEm fit = fit_text_em(corpus.counts, corpus.labels, b, {.classes = 3, .unlabelled_weight = 0});
  Corpus named;
  named.classes = {"a", "b", "c"};
  named.words = {"1", "2", "3", "4", "5"};
  named.counts = corpus.counts;
  const std::vector<double> expected = predict_classes(count_text_model(named, corpus.labels), corpus.counts);
  for (std::size_t d = 0; d < corpus.labels.size(); ++d)
    for (std::size_t k = 0; k < 3; ++k) {
      if (corpus.labels[d] == no_label)
        EXPECT_NEAR(fit.probabilities[d * 3 + k], expected[d * 3 + k], 1e-12);
      else
        EXPECT_EQ(fit.probabilities[d * 3 + k], corpus.labels[d] == k ? 1 : 0);
    }
}

/// Words of class k lean to its own third of the vocabulary; `follow`: so do those of unlabelled documents.
struct Leaning {
  WordCounts counts;
  std::vector<std::uint32_t> labels, truth;
};

Leaning leaning_corpus(std::uint64_t seed, bool follow) {
  constexpr std::uint32_t documents = 400, vocabulary = 120, length = 30, labelled = 60;
  RandomSequence random(seed, Stream::generate);
  Leaning corpus;
  std::vector<std::uint32_t> dense(documents * vocabulary, 0);
  for (std::uint32_t d = 0; d < documents; ++d) {
    const std::uint32_t truth = d % 2;
    // What sets documents apart most: the class itself, or something else that half of each class has.
    const std::uint32_t strong = follow ? truth : random() % 2;
    corpus.truth.push_back(truth);
    corpus.labels.push_back(d < labelled ? truth : no_label);
    for (std::uint32_t w = 0; w < length; ++w) {
      const double u = random.uniform();
      const std::uint32_t third = u < 0.4 ? 0 : (u < 0.8 ? 1 : 2);
      const std::uint32_t word = random() % 20;
      if (third == 0)
        ++dense[d * vocabulary + 40 * strong + word + 20 * (random() % 2)];
      else if (third == 1 && !follow && random() % 4 == 0)
        ++dense[d * vocabulary + 80 + 20 * truth + word];
      else
        ++dense[d * vocabulary + 80 + random() % 40];
    }
  }
  corpus.counts = word_counts(documents, vocabulary, dense);
  return corpus;
}

double accuracy(const Leaning& corpus, double weight, bool by_frequency) {
  const std::vector<double> b = by_frequency ? frequency_pseudo_counts(corpus.counts, 1)
                                             : std::vector<double>(corpus.counts.vocabulary, 1.0);
  const TextEm fit = fit_text_em(corpus.counts, corpus.labels, b, {.unlabelled_weight = weight});
  double right = 0, open = 0;
  for (std::size_t d = 0; d < corpus.labels.size(); ++d) {
    if (corpus.labels[d] != no_label) continue;
    ++open;
    right += (fit.probabilities[2 * d + 1] > 0.5) == (corpus.truth[d] == 1);
  }
  return right / open;
}

TEST(UnlabelledWeight, LabelsDecideWhetherUnlabelledDocumentsHelp) {
  // Seen as averages over corpora: one choice may go wrong.
  double gain_when_they_follow = 0, loss_when_they_lead_astray = 0, blind_loss = 0;
  constexpr int corpora = 8;
  for (std::uint64_t seed = 0; seed < corpora; ++seed) {
    for (const bool follow : {true, false}) {
      const Leaning corpus = leaning_corpus(seed, follow);
      const WeightChoice choice = choose_unlabelled_weight(corpus.counts, corpus.labels, {});
      ASSERT_EQ(choice.candidates.size(), 6U);
      EXPECT_EQ(choice.tested, 240U);  // four rounds of the sixty labels
      const double plain = accuracy(corpus, 0, false);
      const double chosen = accuracy(corpus, choice.best().weight, choice.best().by_frequency);
      if (follow)
        gain_when_they_follow += (chosen - plain) / corpora;
      else {
        loss_when_they_lead_astray += (plain - chosen) / corpora;
        blind_loss += (plain - accuracy(corpus, 1, false)) / corpora;
      }
    }
  }
  EXPECT_GE(gain_when_they_follow, 0);
  EXPECT_GT(blind_loss, 0.03);
  EXPECT_LT(loss_when_they_lead_astray, blind_loss / 2);
}

TEST(UnlabelledWeight, WordsThatFewLabelledDocumentsHaveAreLearntFromOthers) {
  // Short documents of a large vocabulary: labelled ones have met half of its words, all together tell the rest.
  constexpr std::uint32_t documents = 800, words_of_class = 150, length = 6, labelled = 60;
  RandomSequence random(3, Stream::generate);
  Leaning corpus;
  std::vector<std::uint32_t> dense(documents * 2 * words_of_class, 0);
  for (std::uint32_t d = 0; d < documents; ++d) {
    corpus.truth.push_back(d % 2);
    corpus.labels.push_back(d < labelled ? d % 2 : no_label);
    for (std::uint32_t w = 0; w < length; ++w) {
      const std::uint32_t side = random.uniform() < 0.85 ? d % 2 : 1 - d % 2;
      ++dense[(2 * d + side) * words_of_class + random() % words_of_class];
    }
  }
  corpus.counts = word_counts(documents, 2 * words_of_class, dense);
  const WeightChoice choice = choose_unlabelled_weight(corpus.counts, corpus.labels, {});
  EXPECT_GT(choice.best().weight, 0);
  EXPECT_GT(accuracy(corpus, choice.best().weight, choice.best().by_frequency),
            accuracy(corpus, 0, false) + 0.05);
}

TEST(UnlabelledWeight, LuckyLabelsDoNotOutvoteNaiveBayes) {
  // Labels that have nothing to do with the words: any candidate that finds more of them was lucky.
  int others = 0;
  constexpr int corpora = 20;
  for (std::uint64_t seed = 0; seed < corpora; ++seed) {
    Leaning corpus = leaning_corpus(seed, true);
    RandomSequence random(seed, Stream::resample);
    for (std::uint32_t& label : corpus.labels)
      if (label != no_label) label = random() % 2;
    const WeightChoice choice = choose_unlabelled_weight(corpus.counts, corpus.labels, {});
    const WeightCandidate &best = choice.best(), &plain = choice.candidates.front();
    others += choice.chosen != 0;
    if (choice.chosen == 0) continue;
    // By more than a standard error, of the labels that one of the two finds, in each of four rounds.
    const double gain = (static_cast<double>(best.right) - static_cast<double>(plain.right)) / 4;
    EXPECT_GT(gain, std::sqrt(static_cast<double>(best.unlike_naive_bayes) / 4));
  }
  // A gain of a standard error comes up once in six times, and there are five candidates, much alike.
  EXPECT_LE(others, 9);
}

TEST(UnlabelledWeight, AClassWithOneLabelIsNeverTestedAndTheFirstPreferenceIsTaken) {
  const RandomCorpus corpus = random_corpus(1, 8, 6, 2);  // one label each
  const WeightChoice choice = choose_unlabelled_weight(corpus.counts, corpus.labels, {});
  EXPECT_EQ(choice.tested, 0U);
  EXPECT_EQ(choice.best().weight, 0.1);
  EXPECT_TRUE(choice.best().by_frequency);
  const WeightChoice given =
      choose_unlabelled_weight(corpus.counts, corpus.labels, {.weight = 0.5, .by_frequency = false});
  EXPECT_EQ(given.best().weight, 0.5);
  EXPECT_FALSE(given.best().by_frequency);
}

}  // namespace
}  // namespace drover
