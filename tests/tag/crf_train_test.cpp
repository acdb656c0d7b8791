// The objective against finite differences and a plain computation; training; skip factors.
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <cmath>

#include "drover/core/random.hpp"
#include "drover/tag/crf_chain_log.hpp"
#include "drover/tag/crf_objective.hpp"
#include "drover/tag/crf_tag.hpp"
#include "drover/tag/crf_train.hpp"
#include "drover/tag/feature_templates.hpp"
#include "drover/tag/generate_tagged.hpp"

namespace drover {
namespace {

FeatureTemplates default_set() {
  return default_feature_templates();
}

Crf train(const TaggedText& text, const CrfTrainOptions& options, CrfTrainSummary& summary,
          const TaggedText* held_out = nullptr) {
  return train_crf(text, LabelScheme::bio, held_out, default_set(), {}, options, summary);
}

/// - sum log p of a text under a model, sentence by sentence in log space.
double plain_loss(const Crf& crf, const TaggedText& text) {
  FieldMaker maker(crf);
  TagField field;
  double loss = 0;
  for (std::size_t s = 0; s < text.sentences(); ++s) {
    maker.make(text, s, s + 1, field);
    std::vector<float> marginals(field.scores.size());
    loss += chain_in_log_space(field.tokens(), field.labels(), field.stride(), field.scores.data(),
                               crf.chain.log.data(), marginals.data(), nullptr);
    loss -= field.score(std::span(text.labels).subspan(text.sentence_begin(s), field.tokens()));
  }
  return loss;
}

struct Fixture {
  TaggedText text = generate_tagged_text(12, 3);
  FeatureTemplates templates = default_set();
  Gazetteers none;
  FeatureExtractor extractor{templates, none};
  CrfTrainingData training = collect_features(text, extractor, 1);

  std::vector<double> random_point(std::size_t size, double spread) const {
    RandomSequence random(5, Stream::generate);
    std::vector<double> v(size, 0.0);
    for (double& x : v) x = spread * random.normal();
    for (std::size_t k = 0; k < 7; ++k) v[size - 1 - 8 * k] = 0;  // the padding of the transitions
    return v;
  }
};

TEST(CrfObjective, GradientIsThatOfFiniteDifferences) {
  const Fixture fixture;
  for (bool l1_scaling : {false, true}) {
    CrfObjective<double> objective(fixture.training.data, fixture.training.features, 7,
                                   {.l2 = 0.7, .l1_scaling = l1_scaling});
    std::vector<double> v = fixture.random_point(objective.size(), 0.3);
    std::vector<double> gradient(v.size()), ignored(v.size());
    objective.evaluate(v, gradient);
    constexpr double step = 1e-5;
    std::size_t checked = 0;
    for (std::size_t k = 0; k < v.size(); k += k + 60 < v.size() ? 29 : 1) {
      if (k + 56 >= v.size() && (v.size() - 1 - k) % 8 == 0) {
        EXPECT_EQ(gradient[k], 0);
        continue;
      }
      const double old = v[k];
      v[k] = old + step;
      const double above = objective.evaluate(v, ignored);
      v[k] = old - step;
      const double below = objective.evaluate(v, ignored);
      v[k] = old;
      EXPECT_NEAR(gradient[k], (above - below) / (2 * step), 1e-5) << k;
      ++checked;
    }
    EXPECT_GT(checked, 100U);
  }
}

TEST(CrfObjective, SinglePrecisionAgreesWithDouble) {
  const Fixture fixture;
  for (double spread : {0.3, 30.0}) {  // the second goes through the fallback
    CrfObjective<double> exact(fixture.training.data, fixture.training.features, 7, {.l2 = 0.5});
    CrfObjective<float> quick(fixture.training.data, fixture.training.features, 7, {.l2 = 0.5});
    const std::vector<double> v = fixture.random_point(exact.size(), spread);
    std::vector<double> a(v.size()), b(v.size());
    const double loss = exact.evaluate(v, a);
    EXPECT_NEAR(quick.evaluate(v, b), loss, 1e-5 * loss);
    const double bound = spread < 1 ? 1e-4 : 2e-3;
    for (std::size_t k = 0; k < v.size(); ++k) ASSERT_NEAR(a[k], b[k], bound * (1 + std::abs(a[k]))) << k;
  }
}

// Sharing of rows and bundles must not change what is computed: the same loss by way of the plain features,
// with the penalty summed over every feature by itself.
TEST(CrfObjective, SharedRowsAreTheSameModel) {
  const TaggedText text = generate_tagged_text(200, 3);
  CrfTrainSummary summary;
  const Crf crf = train(text, {.iterations = 15, .tolerance = 0}, summary);
  EXPECT_GE(summary.evaluations, summary.iterations);  // each step looks at the gradient once at least
  EXPECT_LT(summary.rows, summary.features);
  double squares = 0;
  crf.row_of_feature.for_each([&](std::uint64_t, std::uint32_t row) {
    for (std::size_t y = 0; y < 7; ++y) {
      const auto w = static_cast<double>(crf.weights[row * crf.stride() + y]);
      squares += w * w;
    }
  });
  for (float w : crf.chain.log) squares += static_cast<double>(w) * static_cast<double>(w);
  EXPECT_NEAR(plain_loss(crf, text) + squares / 2, summary.loss, 1e-4 * summary.loss);
}

TEST(CrfTrain, AlgorithmsMeet) {
  const TaggedText text = generate_tagged_text(150, 1);
  CrfTrainSummary newton, stochastic, sparse;
  train(text, {.iterations = 300, .tolerance = 1e-6}, newton);
  EXPECT_TRUE(newton.converged);
  train(text, {.algorithm = CrfAlgorithm::sgd, .iterations = 60, .tolerance = 0}, stochastic);
  EXPECT_NEAR(stochastic.loss, newton.loss, 0.05 * newton.loss);
  EXPECT_GT(stochastic.loss, newton.loss * 0.97);  // a running loss, not that at the end of the pass
  const Crf crf = train(text, {.l1 = 0.5, .l2 = 0, .iterations = 100}, sparse);
  EXPECT_LT(crf.rows(), sparse.rows / 2);
}

TEST(CrfTrain, ThreadsDoNotMatter) {
  const TaggedText text = generate_tagged_text(300, 2);
  const auto run = [&](std::size_t threads) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    CrfTrainSummary summary;
    return train(text, {.iterations = 12, .tolerance = 0}, summary);
  };
  const Crf one = run(1), four = run(4);
  EXPECT_EQ(one.weights, four.weights);
  EXPECT_EQ(one.chain.log, four.chain.log);
}

TEST(CrfTrain, EarlyStopKeepsTheBest) {
  const TaggedText text = generate_tagged_text(150, 1), held_out = generate_tagged_text(150, 9);
  CrfTrainSummary summary;
  const Crf crf = train(text, {.iterations = 200, .tolerance = 0, .patience = 5}, summary, &held_out);
  EXPECT_EQ(summary.ended, "held-out F1 no longer rises");
  EXPECT_EQ(summary.iterations, summary.best_iteration + 5);
  const TagResult result = tag_text(crf, held_out, {}, false);
  EXPECT_NEAR(score_labels(crf, held_out, result.labels).all.f1(),
              summary.trace[summary.best_iteration - 1].f1, 1e-12);
}

// In the generated text a second mention is clear only from the first: skip factors must help, with every
// decoder that can use them, and confidences must be probabilities.
TEST(CrfSkip, HelpsWhereNamesAreAmbiguous) {
  const TaggedText text = generate_tagged_text(600, 1), more = generate_tagged_text(400, 2),
                   test = generate_tagged_text(400, 3);
  CrfTrainSummary summary;
  Crf crf = train(text, {.iterations = 60}, summary);
  const double chain = score_labels(crf, test, tag_text(crf, test, {}, false).labels).all.f1();
  EXPECT_GT(chain, 0.7);
  EXPECT_GT(learn_skip_factors(crf, more, 1.0), 200U);
  for (std::size_t a = 0; a < 7; ++a)
    for (std::size_t b = 0; b < 7; ++b) EXPECT_EQ(crf.skip[a * 7 + b], crf.skip[b * 7 + a]);
  for (Decoder decoder : {Decoder::gibbs, Decoder::herded_gibbs, Decoder::max_product, Decoder::bp}) {
    const TagResult result = tag_text(crf, test, {.decoder = decoder, .sweeps = 100}, true);
    EXPECT_GT(score_labels(crf, test, result.labels).all.f1(), chain + 0.03) << choice_name(decoder);
    for (float p : result.confidence) ASSERT_TRUE(p >= 0 && p <= 1.00001F);
  }
}

TEST(CrfTag, ThreadsDoNotMatter) {
  const TaggedText text = generate_tagged_text(200, 1);
  CrfTrainSummary summary;
  Crf crf = train(text, {.iterations = 5}, summary);
  learn_skip_factors(crf, text, 1.0);
  const auto run = [&](std::size_t threads) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    return tag_text(crf, text, {.decoder = Decoder::gibbs, .sweeps = 5}, true);
  };
  const TagResult one = run(1), four = run(4);
  EXPECT_EQ(one.labels, four.labels);
  EXPECT_EQ(one.confidence, four.confidence);
  EXPECT_EQ(one.log_score, four.log_score);
}

}  // namespace
}  // namespace drover
