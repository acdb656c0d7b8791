// Text and tags through the task layer.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <sstream>

#include "drover/core/error.hpp"
#include "drover/tag/conll.hpp"
#include "drover/tag/generate_tagged.hpp"
#include "drover/task/tag.hpp"
#include "drover/task/text.hpp"
#include "drover/text/demo_corpus.hpp"
#include "drover/text/text_model_file.hpp"
#include "tests/support/command.hpp"

namespace drover {
namespace {

TEST(TextTask, StatesWhatRanAndComparesWithNaiveBayes) {
  const Corpus corpus = demo_corpus(200, 3);
  const TextResult result = classify_text(corpus, {.labelled_share = 0.5, .sweeps = 60, .top_words = 3});
  EXPECT_EQ(result.provenance.method, "gibbs");
  EXPECT_EQ(std::get<std::int64_t>(result.provenance.options.find("burn-in")->value()), 30);
  EXPECT_EQ(std::get<std::int64_t>(result.provenance.options.find("chains")->value()), 4);
  EXPECT_EQ(result.labelled + result.open.size(), 200U);
  EXPECT_EQ(result.top_words[0].size(), 3U);
  // The accuracies by hand: over hidden labels only.
  double right = 0;
  for (const std::uint32_t d : result.open) right += result.labels[d] == corpus.labels[d] ? 1 : 0;
  EXPECT_DOUBLE_EQ(result.accuracy, right / static_cast<double>(result.open.size()));
  std::vector<std::uint32_t> shown = corpus.labels;
  for (const std::uint32_t d : result.open) shown[d] = no_label;
  const auto alone = predict_classes(count_text_model(corpus, shown), corpus.counts);
  right = 0;
  for (const std::uint32_t d : result.open)
    right += (alone[2 * d + 1] > alone[2 * d] ? 1U : 0U) == corpus.labels[d] ? 1 : 0;
  EXPECT_DOUBLE_EQ(result.naive_bayes_accuracy, right / static_cast<double>(result.open.size()));
}

TEST(TextTask, AllLabelledIsNaiveBayesAndFilesLabelAlike) {
  const CorpusOptions words{.min_count = 2};
  const Corpus corpus = demo_corpus(200, 3, words);
  const TextResult result = classify_text(corpus);
  EXPECT_EQ(result.posterior.trace.size(), 1U);  // nothing is left to chance
  EXPECT_EQ(judge(result).verdict, Verdict::good);
  testing::TemporaryFolder folder;
  write_text_model(folder.file("m.drv"), text_model_file(result, words));
  const TextModelFile file = read_text_model(folder.file("m.drv"));
  const Corpus other = demo_corpus(50, 4, file.words);
  const TextLabels labels = label_text(file.model, other);
  EXPECT_EQ(labels.probabilities, predict_classes(count_text_model(corpus, corpus.labels), other.counts));
  EXPECT_GT(labels.accuracy, 0.7);
}

TEST(TextTask, NothingWithoutADraw) {
  RunControl control;
  control.request_stop();
  EXPECT_THROW(classify_text(demo_corpus(50, 1), {.labelled_share = 0.1, .sweeps = 10}, control), Error);
  EXPECT_THROW(classify_text(demo_corpus(50, 1), {.labelled_share = 0.1, .sweeps = 2, .thin = 3}),
               OptionError);
}

TEST(TagTask, TrainsLabelsAndScores) {
  const TaggedText train = generate_tagged_text(200, 1), test = generate_tagged_text(100, 2);
  const Tagger tagger = train_tagger({.train = train}, {.iterations = 50, .no_skip = true, .held_out = 0.2});
  EXPECT_EQ(tagger.crf.scheme, LabelScheme::iobes);
  EXPECT_LT(tagger.documents, train.documents());
  EXPECT_EQ(tagger.tokens + tagger.held_out_tokens, train.tokens());
  EXPECT_FALSE(std::isnan(tagger.summary.trace.back().f1));
  const Tags tags = tag(tagger.crf, test);
  EXPECT_EQ(tags.provenance.method, "viterbi");
  EXPECT_EQ(tags.entities.size(), tags.score->all.found);
  EXPECT_GT(tags.score->all.f1(), 0.6);
  // What is written reads back in the scheme of the text, with the same entities.
  testing::TemporaryFolder folder;
  std::istringstream lines(columns_text(tags));
  std::string columns;
  for (std::string line; std::getline(lines, line);)  // without the last column, the confidence
    columns += line.substr(0, line.empty() ? 0 : line.rfind('\t')) + "\n";
  const TaggedText again = read_conll(folder.write("t.conll", columns));
  EXPECT_EQ(detect_scheme(again).scheme, LabelScheme::bio);
  std::size_t entities = 0;
  for (std::size_t s = 0; s < again.sentences(); ++s)
    entities += read_entities({again.labels.data() + again.sentence_begin(s),
                               again.sentence_end[s] - again.sentence_begin(s)},
                              again.label_names, LabelScheme::bio)
                    .size();
  EXPECT_EQ(entities, tags.entities.size());
}

/// The documents that trial `fold` of a scheme is scored on, or learns from.
TaggedText fifth(const TaggedText& text, std::size_t fold, bool apart) {
  TaggedText part = text.without_documents();
  for (std::size_t d = 0; d < text.documents(); ++d)
    if ((d % 5 == fold) == apart) part.add_document(text, d);
  return part;
}

TEST(TagTask, TakesTheSchemeThatFindsMoreInTextThatItDidNotLearnFrom) {
  std::set<LabelScheme> taken;
  for (const std::uint64_t seed : {3U, 4U}) {
    const TaggedText text = generate_tagged_text(120, seed);
    const Tagger tagger = train_tagger({.train = text}, {.iterations = 30, .no_skip = true});
    ASSERT_TRUE(tagger.schemes.tried);
    for (const LabelScheme scheme : {LabelScheme::bio, LabelScheme::iobes}) {
      EntityCounts sum;
      for (const std::size_t fold : {0U, 1U}) {
        const Tagger trial = train_tagger({.train = fifth(text, fold, false)},
                                          {.iterations = 30, .scheme = scheme, .no_skip = true});
        EXPECT_FALSE(trial.schemes.tried);
        const EntityCounts counts = tag(trial.crf, fifth(text, fold, true)).score->all;
        sum.truth += counts.truth;
        sum.found += counts.found;
        sum.right += counts.right;
      }
      EXPECT_EQ(sum.f1(), (scheme == LabelScheme::bio ? tagger.schemes.bio : tagger.schemes.iobes).f1());
    }
    const bool bio = tagger.schemes.bio.f1() > tagger.schemes.iobes.f1();
    EXPECT_EQ(tagger.crf.scheme, bio ? LabelScheme::bio : LabelScheme::iobes);
    taken.insert(tagger.crf.scheme);
    // What follows is training as if that scheme had been given.
    const Tagger told =
        train_tagger({.train = text}, {.iterations = 30, .scheme = tagger.crf.scheme, .no_skip = true});
    EXPECT_EQ(told.summary.loss, tagger.summary.loss);
    EXPECT_EQ(told.crf.labels, tagger.crf.labels);
  }
  EXPECT_EQ(taken.size(), 2U);  // of these small texts either has one
  const TaggedText few = generate_tagged_text(20, 1);
  ASSERT_LT(few.documents(), 10U);
  EXPECT_EQ(train_tagger({.train = few}, {.iterations = 5}).crf.scheme, LabelScheme::iobes);
  RunControl limited;
  limited.limit_time(1000);
  EXPECT_FALSE(
      train_tagger({.train = generate_tagged_text(60, 1)}, {.iterations = 5}, limited).schemes.tried);
}

TEST(TagTask, WhatWasNotMeasuredIsNoGoodVerdict) {
  const TaggedText text = generate_tagged_text(100, 1);
  const Tagger blind = train_tagger({.train = text});
  EXPECT_EQ(judge(blind).verdict, Verdict::caution) << judge(blind).text;
  const Tagger watched = train_tagger({.train = text}, {.held_out = 0.3});
  EXPECT_EQ(judge(watched).verdict, Verdict::good) << judge(watched).text;
}

TEST(TagTask, StopsWithTheModelSoFar) {
  RunControl control;
  control.watch([&](const Progress& progress) {
    if (progress.sweeps >= 3) control.request_stop();
  });
  const Tagger tagger = train_tagger({.train = generate_tagged_text(100, 1)}, {.skip = true}, control);
  EXPECT_EQ(tagger.summary.iterations, 3U);
  EXPECT_TRUE(tagger.summary.stopped);
  EXPECT_TRUE(tagger.crf.skip.empty());
  EXPECT_EQ(judge(tagger).verdict, Verdict::caution);
  EXPECT_THROW(tag(tagger.crf, generate_tagged_text(100, 2), {}, control), Error);  // not one sentence
}

}  // namespace
}  // namespace drover
