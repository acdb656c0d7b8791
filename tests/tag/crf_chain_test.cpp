// Forward-backward, Viterbi and the decoders against enumeration of all labellings.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "drover/core/log_math.hpp"
#include "drover/core/random.hpp"
#include "drover/tag/crf_chain_log.hpp"
#include "drover/tag/crf_decode.hpp"

namespace drover {
namespace {

struct Problem {
  ChainTables<float> chain;
  std::vector<float> skip;
  TagField field;

  Problem(std::size_t labels, std::vector<std::uint32_t> sentence_end, std::vector<SkipPair> pairs,
          double spread, std::uint64_t seed) {
    RandomSequence random(seed, Stream::generate);
    const std::size_t stride = label_stride(labels);
    std::vector<double> transitions(labels * stride, 0.0);
    for (std::size_t k = 0; k < labels; ++k)
      for (std::size_t y = 0; y < labels; ++y) transitions[k * stride + y] = spread * random.normal();
    chain.set(labels, transitions);
    field.chain = &chain;
    field.sentence_end = sentence_end;
    field.scores.assign(sentence_end.back() * stride, 0.0F);
    for (std::size_t t = 0; t < sentence_end.back(); ++t)
      for (std::size_t y = 0; y < labels; ++y)
        field.scores[t * stride + y] = static_cast<float>(spread * random.normal());
    skip.resize(labels * labels);
    for (std::size_t a = 0; a < labels; ++a)
      for (std::size_t b = 0; b <= a; ++b)
        skip[a * labels + b] = skip[b * labels + a] = static_cast<float>(spread * random.normal());
    field.skip = skip;
    field.skip_pairs = std::move(pairs);
  }
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;
};

struct Exact {
  double log_z = log_zero;
  double best = log_zero;
  std::vector<LabelId> best_labels;
  std::vector<double> marginals;  ///< tokens x labels

  explicit Exact(const TagField& field) {
    const std::size_t labels = field.labels(), tokens = field.tokens();
    std::vector<LabelId> y(tokens, 0);
    std::vector<double> sums(tokens * labels, log_zero);
    for (;;) {
      const double score = field.score(y);
      log_z = log_add(log_z, score);
      if (score > best) {
        best = score;
        best_labels = y;
      }
      for (std::size_t t = 0; t < tokens; ++t) {
        double& sum = sums[t * labels + y[t]];
        sum = log_add(sum, score);
      }
      std::size_t t = 0;
      while (t < tokens && ++y[t] == labels) y[t++] = 0;
      if (t == tokens) break;
    }
    for (double sum : sums) marginals.push_back(std::exp(sum - log_z));
  }
};

void expect_marginals(const TagField& field, const std::vector<float>& found, const Exact& exact,
                      double bound) {
  for (std::size_t t = 0; t < field.tokens(); ++t)
    for (std::size_t y = 0; y < field.labels(); ++y)
      EXPECT_NEAR(static_cast<double>(found[t * field.stride() + y]), exact.marginals[t * field.labels() + y],
                  bound)
          << t << " " << y;
}

TEST(CrfChain, MarginalsLogZAndViterbiAreThoseOfEnumeration) {
  ChainScratch<float> scratch;
  std::vector<std::uint16_t> back;
  const std::pair<std::size_t, std::uint32_t> sizes[] = {{1, 4}, {2, 1}, {2, 9}, {3, 7},
                                                         {5, 5}, {7, 4}, {17, 3}};
  for (const auto& [labels, tokens] : sizes)
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const Problem problem(labels, {tokens}, {}, 2.0, seed);
      const TagField& field = problem.field;
      const Exact exact(field);
      std::vector<float> marginals(field.scores.size());
      const double log_z =
          chain_marginals(problem.chain, field.scores.data(), tokens, scratch, marginals.data());
      EXPECT_NEAR(log_z, exact.log_z, 1e-5 * tokens);
      expect_marginals(field, marginals, exact, 1e-5);
      std::vector<LabelId> found(tokens);
      EXPECT_NEAR(chain_viterbi(problem.chain, field.scores.data(), tokens, back, found), exact.best, 1e-4);
      EXPECT_EQ(found, exact.best_labels);
    }
}

// Scores so far apart that single precision loses the way: the fallback must take over.
TEST(CrfChain, ExtremeScores) {
  ChainScratch<float> scratch;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Problem problem(3, {6}, {}, 60.0, seed);
    const TagField& field = problem.field;
    const Exact exact(field);
    std::vector<float> marginals(field.scores.size());
    const double log_z =
        chain_marginals(problem.chain, field.scores.data(), field.tokens(), scratch, marginals.data());
    EXPECT_NEAR(log_z, exact.log_z, 1e-5 * std::abs(exact.log_z) + 1e-3);
    expect_marginals(field, marginals, exact, 1e-3);
  }
}

// Sentences of which some leave the range of the type, in any order: loss, differences and the sums over
// pairs are those of enumeration, whatever was gathered before the fallback took over.
template <class Real>
void expect_gradient(double spread, double bound) {
  constexpr std::size_t labels = 3;
  const std::size_t stride = label_stride(labels);
  const std::vector<std::uint32_t> sentence_end = {3, 7, 9, 12, 16, 18, 20};
  const std::vector<bool> extreme = {false, false, true, false, false, true, true};
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    RandomSequence random(seed, Stream::generate);
    std::vector<double> transitions(labels * stride, 0.0);
    for (std::size_t k = 0; k < labels; ++k)
      for (std::size_t y = 0; y < labels; ++y)
        transitions[k * stride + y] = k == y ? 0.3 * random.normal() : -spread / 2;
    ChainTables<Real> tables;
    tables.set(labels, transitions);
    const std::size_t tokens = sentence_end.back();
    std::vector<Real> rows(tokens * stride, Real{0});
    std::vector<std::uint32_t> bundle(tokens);
    std::vector<LabelId> truth(tokens);
    std::size_t sentence = 0;
    for (std::size_t t = 0; t < tokens; ++t) {
      if (t == sentence_end[sentence]) ++sentence;
      bundle[t] = static_cast<std::uint32_t>(t);
      truth[t] = static_cast<LabelId>(random.below(labels));
      // An extreme sentence is driven from label to label against its transitions.
      for (std::size_t y = 0; y < labels; ++y)
        rows[t * stride + y] =
            static_cast<Real>(random.normal() + (extreme[sentence] && y == t % labels ? spread : 0));
    }
    std::vector<Real> difference(tokens * stride);
    const ChainJob<Real> job{&tables,      rows.data(),         bundle.data(),    1,
                             truth.data(), sentence_end.data(), difference.data()};
    ChainScratch<Real> scratch;
    std::vector<double> pairs(labels * stride, 0.0), expected_pairs(labels * stride, 0.0);
    const double loss = chain_gradient(job, 0, sentence_end.size(), scratch, pairs.data());
    double expected_loss = 0;
    for (std::size_t s = 0, begin = 0; s < sentence_end.size(); begin = sentence_end[s++]) {
      const std::size_t count = sentence_end[s] - begin;
      const auto score = [&](std::span<const LabelId> y) {
        double sum = 0;
        for (std::size_t t = 0; t < count; ++t) {
          sum += static_cast<double>(rows[(begin + t) * stride + y[t]]);
          if (t > 0) sum += static_cast<double>(tables.log[y[t - 1] * stride + y[t]]);
        }
        return sum;
      };
      std::vector<std::vector<LabelId>> all(1, std::vector<LabelId>(count, 0));
      for (std::vector<LabelId> y = all[0];;) {
        std::size_t t = 0;
        while (t < count && ++y[t] == labels) y[t++] = 0;
        if (t == count) break;
        all.push_back(y);
      }
      std::vector<double> p;
      for (const auto& y : all) p.push_back(score(y));
      const double log_z = log_sum_exp(p);
      const std::span<const LabelId> own(truth.data() + begin, count);
      expected_loss += log_z - score(own);
      std::vector<double> marginal(count * labels, 0.0);
      const auto add = [&](std::span<const LabelId> y, double weight) {
        for (std::size_t t = 0; t < count; ++t) {
          marginal[t * labels + y[t]] += weight;
          if (t > 0) expected_pairs[y[t - 1] * stride + y[t]] += weight;
        }
      };
      for (std::size_t k = 0; k < all.size(); ++k) add(all[k], std::exp(p[k] - log_z));
      add(own, -1);
      for (std::size_t t = 0; t < count; ++t)
        for (std::size_t y = 0; y < labels; ++y)
          EXPECT_NEAR(static_cast<double>(difference[(begin + t) * stride + y]), marginal[t * labels + y],
                      bound)
              << "sentence " << s;
    }
    EXPECT_NEAR(loss, expected_loss, bound * (1 + std::abs(expected_loss)));
    for (std::size_t k = 0; k < labels; ++k)
      for (std::size_t y = 0; y < labels; ++y)
        EXPECT_NEAR(pairs[k * stride + y], expected_pairs[k * stride + y], 20 * bound) << "seed " << seed;
  }
}

TEST(CrfChain, GradientsWithSentencesOutOfRange) {
  expect_gradient<float>(200, 1e-4);    // e^-100 is below float's 1e-38 ...
  expect_gradient<double>(1600, 1e-9);  // ... and e^-800 below double's
}

// A skip pair between two sentences makes no cycle, so that message passing is exact.
TEST(CrfMessages, ExactOnTrees) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Problem problem(3, {3, 7}, {{1, 5}}, 1.0, seed);
    const Exact exact(problem.field);
    std::vector<float> beliefs;
    std::vector<LabelId> labels(7);
    EXPECT_TRUE(pass_messages(problem.field, true, 100, beliefs, labels));
    expect_marginals(problem.field, beliefs, exact, 1e-3);
    EXPECT_TRUE(pass_messages(problem.field, false, 100, beliefs, labels));
    EXPECT_EQ(labels, exact.best_labels);
  }
}

// 3 labels, 7 tokens, a cycle and two joined sentences: the best state is among 2187, and 400 sweeps visit
// it.
TEST(CrfSampling, FindsTheBestStateOfSmallFields) {
  for (Decoder decoder : {Decoder::gibbs, Decoder::herded_gibbs})
    for (std::uint64_t seed = 1; seed <= 25; ++seed) {
      const Problem problem(3, {4, 7}, {{0, 3}, {1, 5}}, 1.0, seed);
      const Exact exact(problem.field);
      FieldDecoder search({.decoder = decoder, .sweeps = 400, .seed = seed});
      std::vector<LabelId> labels(7);
      const double score = search.decode(problem.field, 0, labels);
      EXPECT_NEAR(score, exact.best, 1e-5) << choice_name(decoder) << " " << seed;
      EXPECT_EQ(labels, exact.best_labels);
    }
}

// Without skip pairs every decoder but bp looks for what viterbi finds.
TEST(CrfSampling, AgreesWithViterbiOnChains) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Problem problem(5, {8, 20}, {}, 1.5, seed);
    std::vector<LabelId> truth(20), labels(20);
    const double best = FieldDecoder({}).decode(problem.field, 0, truth);
    for (Decoder decoder : {Decoder::gibbs, Decoder::herded_gibbs, Decoder::max_product}) {
      FieldDecoder search({.decoder = decoder, .sweeps = 1000});
      EXPECT_NEAR(search.decode(problem.field, 0, labels), best, 1e-4) << choice_name(decoder) << " " << seed;
    }
    std::vector<float> marginals;
    FieldDecoder bp({.decoder = Decoder::bp});
    EXPECT_LE(bp.decode(problem.field, 0, labels), best + 1e-4);
  }
}

// Draws are a function of the seed and of the number of the field.
TEST(CrfSampling, GibbsFollowsSeedAndNumber) {
  const Problem problem(4, {30}, {}, 0.3, 1);
  const auto run = [&](std::uint64_t seed, std::uint32_t number) {
    std::vector<LabelId> labels(30);
    FieldDecoder({.decoder = Decoder::gibbs, .sweeps = 3, .seed = seed})
        .decode(problem.field, number, labels);
    return labels;
  };
  EXPECT_EQ(run(1, 0), run(1, 0));
  EXPECT_NE(run(1, 0), run(2, 0));
  EXPECT_NE(run(1, 0), run(1, 1));
}

}  // namespace
}  // namespace drover
