// The text sampler against exact posteriors (enumeration), and Geweke's joint-distribution test.
#include "drover/text/naive_bayes_gibbs.hpp"

#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "drover/diagnose/mcse.hpp"
#include "tests/text/naive_bayes_support.hpp"

namespace drover {
namespace {

using testing::exact_posterior;
using testing::ExactPosterior;
using testing::random_dense;
using testing::word_counts;

// Pearson's statistic against its distribution by the Wilson-Hilferty cube root, as a normal score.
double chi_square_score(std::span<const double> observed, std::span<const double> expected) {
  double statistic = 0, cells = 0, rest_observed = 0, rest_expected = 0;
  const auto add = [&](double o, double e) {
    statistic += (o - e) * (o - e) / e;
    ++cells;
  };
  for (std::size_t s = 0; s < observed.size(); ++s) {
    if (expected[s] >= 8) {
      add(observed[s], expected[s]);
    } else {
      rest_observed += observed[s];
      rest_expected += expected[s];
    }
  }
  if (rest_expected >= 8) add(rest_observed, rest_expected);
  const double freedom = cells - 1;
  const double spread = 2 / (9 * freedom);
  return (std::cbrt(statistic / freedom) - (1 - spread)) / std::sqrt(spread);
}

struct Case {
  std::uint32_t classes;
  bool collapsed;
  std::size_t labelled;
  double a, b;
};

class NaiveBayesExact : public ::testing::TestWithParam<Case> {};

TEST_P(NaiveBayesExact, WholeDistributionAndMarginals) {
  const auto [classes, collapsed, labelled, a, b] = GetParam();
  constexpr std::uint32_t vocabulary = 4;
  const std::size_t open = classes == 2 ? 6 : 4;
  RandomSequence random(classes * 10 + labelled, Stream::generate);
  for (int trial = 0; trial < 3; ++trial) {
    const std::size_t documents = open + labelled;
    const WordCounts counts = word_counts(documents, vocabulary, random_dense(documents, vocabulary, random));
    std::vector<std::uint32_t> known(documents, no_label);
    for (std::size_t d = 0; d < labelled; ++d) known[2 * d] = static_cast<std::uint32_t>(d) % classes;
    const ExactPosterior exact = exact_posterior(counts, known, classes, a, b);

    // Every chain gives one independent draw: its state after enough sweeps to forget where it started.
    constexpr std::uint32_t chains = 4000;
    NaiveBayesGibbs sampler(counts, known,
                            {.classes = classes,
                             .chains = chains,
                             .class_pseudo_count = a,
                             .word_pseudo_count = b,
                             .collapsed = collapsed,
                             .seed = static_cast<std::uint64_t>(trial) + 1});
    for (int t = 0; t < 60; ++t) sampler.sweep();
    std::vector<double> observed(exact.probabilities.size(), 0), expected;
    for (std::uint32_t c = 0; c < chains; ++c) ++observed[exact.index(sampler.chain(c).labels)];
    for (const double p : exact.probabilities) expected.push_back(p * chains);
    EXPECT_LT(std::abs(chi_square_score(observed, expected)), 4) << "trial " << trial;

    // The conditionals average to the marginals; each lies in 0 .. 1, so their spread is at most 1/2.
    std::vector<double> p(classes);
    for (std::size_t o = 0; o < exact.open.size(); ++o) {
      std::vector<double> mean(classes, 0);
      for (std::uint32_t c = 0; c < chains; ++c) {
        sampler.conditional(c, o, p);
        for (std::uint32_t k = 0; k < classes; ++k) mean[k] += p[k] / chains;
      }
      for (std::uint32_t k = 0; k < classes; ++k)
        EXPECT_NEAR(mean[k], exact.marginal(o, static_cast<Value>(k)), 4.5 * 0.5 / std::sqrt(chains));
    }
    // The log joint of the sampler is the definition's.
    for (const std::uint32_t c : {0U, 1U, 2U})
      EXPECT_NEAR(sampler.chain(c).log_joint,
                  testing::log_joint(counts, sampler.chain(c).labels, classes, a, b), 1e-9);
  }
}

INSTANTIATE_TEST_SUITE_P(All, NaiveBayesExact,
                         ::testing::Values(Case{2, false, 0, 1, 1}, Case{2, true, 0, 1, 1},
                                           Case{2, false, 3, 0.7, 0.4}, Case{2, true, 3, 0.7, 0.4},
                                           Case{3, false, 0, 2, 1}, Case{3, true, 0, 2, 1},
                                           Case{3, false, 2, 0.5, 1.5}, Case{3, true, 2, 0.5, 1.5}));

// Geweke: Getting it right; JASA 99, 2004. Draws (labels, words) in two ways: from the prior; and by turns of
// the sampler and of new words given the labels. If the sampler is right both have the same distribution.
class NaiveBayesGeweke : public ::testing::TestWithParam<Case> {};

struct Simulation {
  std::uint32_t classes, vocabulary;
  std::size_t documents;
  std::vector<std::uint32_t> lengths;
  std::mt19937_64 generator{12345};

  std::vector<double> dirichlet(std::span<const double> shapes) {
    std::vector<double> p;
    for (const double shape : shapes) p.push_back(std::gamma_distribution<double>(shape)(generator));
    const double sum = std::accumulate(p.begin(), p.end(), 0.0);
    for (double& x : p) x /= sum;
    return p;
  }
  std::vector<Value> draw_labels(double a) {
    const auto pi = dirichlet(std::vector<double>(classes, a));
    std::discrete_distribution<Value> draw(pi.begin(), pi.end());
    std::vector<Value> labels(documents);
    for (Value& label : labels) label = draw(generator);
    return labels;
  }
  /// theta given what is known (nothing: the prior), then words given theta.
  std::vector<std::uint32_t> draw_words(std::span<const Value> labels, double b,
                                        std::span<const std::uint32_t> before) {
    std::vector<double> shapes(classes * vocabulary, b);
    if (!before.empty())
      for (std::size_t d = 0; d < documents; ++d)
        for (std::uint32_t i = 0; i < vocabulary; ++i)
          shapes[labels[d] * vocabulary + i] += before[d * vocabulary + i];
    std::vector<std::vector<double>> theta;
    for (std::uint32_t k = 0; k < classes; ++k)
      theta.push_back(dirichlet(std::span(shapes).subspan(k * vocabulary, vocabulary)));
    std::vector<std::uint32_t> dense(documents * vocabulary, 0);
    for (std::size_t d = 0; d < documents; ++d) {
      std::discrete_distribution<std::uint32_t> word(theta[labels[d]].begin(), theta[labels[d]].end());
      for (std::uint32_t t = 0; t < lengths[d]; ++t) ++dense[d * vocabulary + word(generator)];
    }
    return dense;
  }
  /// Functions of labels, words and pseudo-counts whose means are compared.
  std::vector<double> statistics(std::span<const Value> labels, std::span<const std::uint32_t> dense,
                                 double a, double b) const {
    double ones = 0, first = 0, same = 0, together = 0;
    for (std::size_t d = 0; d < documents; ++d) {
      ones += labels[d] == 1;
      if (labels[d] == 1) first += dense[d * vocabulary];
      for (std::size_t e = 0; e < d; ++e) {
        if (labels[d] != labels[e]) continue;
        ++same;
        for (std::uint32_t i = 0; i < vocabulary; ++i)
          together += dense[d * vocabulary + i] * dense[e * vocabulary + i];
      }
    }
    return {ones, ones * ones, first, first * first, same, together, a, b, std::log(a), std::log(b)};
  }
};

TEST_P(NaiveBayesGeweke, PriorAndSamplerAgree) {
  const auto [classes, collapsed, sampled_counts, a_fixed, b_fixed] = GetParam();
  const bool sample_pseudo_counts = sampled_counts > 0;
  Simulation simulation{classes, 3, 5, {2, 5, 1, 4, 3}};
  const std::vector<std::uint32_t> known(simulation.documents, no_label);
  constexpr std::size_t draws = 20000;
  std::exponential_distribution<double> prior(1);
  std::vector<std::vector<double>> from_prior, from_sampler;
  std::vector<Value> labels;
  std::vector<std::uint32_t> dense;
  double a = a_fixed, b = b_fixed;
  for (std::size_t t = 0; t < draws; ++t) {
    if (sample_pseudo_counts) {
      a = prior(simulation.generator);
      b = prior(simulation.generator);
    }
    labels = simulation.draw_labels(a);
    dense = simulation.draw_words(labels, b, {});
    from_prior.push_back(simulation.statistics(labels, dense, a, b));
  }
  // The chain starts at the last of these, so it is stationary from the first draw.
  for (std::size_t t = 0; t < draws; ++t) {
    const WordCounts counts = word_counts(simulation.documents, simulation.vocabulary, dense);
    NaiveBayesGibbs sampler(counts, known,
                            {.classes = classes,
                             .chains = 1,
                             .sample_pseudo_counts = sample_pseudo_counts,
                             .collapsed = collapsed,
                             .seed = t + 1});
    sampler.set_pseudo_counts(0, a, b);
    sampler.set_labels(0, labels);
    sampler.sweep();
    labels = sampler.chain(0).labels;
    a = sampler.chain(0).class_pseudo_count;
    b = sampler.chain(0).word_pseudo_count;
    dense = simulation.draw_words(labels, b, dense);
    from_sampler.push_back(simulation.statistics(labels, dense, a, b));
  }
  for (std::size_t s = 0; s < from_prior.front().size(); ++s) {
    if (!sample_pseudo_counts && s >= 6) break;
    std::vector<double> x, y;
    for (std::size_t t = 0; t < draws; ++t) {
      x.push_back(from_prior[t][s]);
      y.push_back(from_sampler[t][s]);
    }
    const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / draws;
    const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / draws;
    const double error = std::hypot(mcse_mean({x.data(), 1, draws}), mcse_mean({y.data(), 1, draws}));
    EXPECT_LT(std::abs(mean_x - mean_y), 4 * error) << "statistic " << s << ": " << mean_x << ", " << mean_y;
  }
}

// The third number says whether the pseudo-counts are sampled.
INSTANTIATE_TEST_SUITE_P(All, NaiveBayesGeweke,
                         ::testing::Values(Case{2, false, 0, 1, 1}, Case{2, true, 0, 0.6, 0.5},
                                           Case{3, false, 0, 0.8, 0.7}, Case{3, true, 0, 1, 1},
                                           Case{2, false, 1, 1, 1}, Case{3, true, 1, 1, 1}));

TEST(NaiveBayesGibbs, SameBitsForAnyNumberOfThreads) {
  RandomSequence random(3, Stream::generate);
  constexpr std::size_t documents = 500;
  constexpr std::uint32_t vocabulary = 300;
  const WordCounts counts = word_counts(documents, vocabulary, random_dense(documents, vocabulary, random));
  std::vector<std::uint32_t> known(documents, no_label);
  for (std::size_t d = 0; d < 50; ++d) known[d] = static_cast<std::uint32_t>(d % 3);
  for (const bool collapsed : {false, true}) {
    const auto run = [&](std::size_t threads) {
      const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
      NaiveBayesGibbs sampler(
          counts, known, {.classes = 3, .chains = 5, .sample_pseudo_counts = true, .collapsed = collapsed});
      for (int t = 0; t < 10; ++t) sampler.sweep();
      std::vector<double> state;
      for (std::uint32_t c = 0; c < 5; ++c) {
        state.insert(state.end(), sampler.chain(c).labels.begin(), sampler.chain(c).labels.end());
        state.push_back(sampler.chain(c).log_joint);
        state.push_back(sampler.chain(c).word_pseudo_count);
      }
      return state;
    };
    EXPECT_EQ(run(1), run(4));
  }
}

// One open document: its conditional is its posterior, exactly. Words that stand 64 times and more in a
// document go by log-Gammas, fewer by products; both must give the definition's number. Odds are floats.
TEST(NaiveBayesGibbs, ConditionalsOfFrequentWordsAreTheDefinitions) {
  RandomSequence random(17, Stream::generate);
  double lowest = 1;
  for (int trial = 0; trial < 30; ++trial) {
    const std::uint32_t classes = 2 + trial % 2, documents = 2 * classes + 1, vocabulary = 4;
    std::vector<std::uint32_t> dense;
    for (std::uint32_t k = 0; k < documents * vocabulary; ++k) dense.push_back(50 + random.below(40));
    const WordCounts counts = word_counts(documents, vocabulary, dense);
    std::vector<std::uint32_t> known(documents, no_label);
    for (std::uint32_t d = 1; d < documents; ++d) known[d] = d % classes;
    const ExactPosterior exact = exact_posterior(counts, known, classes, 1.5, 0.7);
    NaiveBayesGibbs sampler(counts, known,
                            {.classes = classes,
                             .chains = 2,
                             .class_pseudo_count = 1.5,
                             .word_pseudo_count = 0.7,
                             .collapsed = true});
    std::vector<double> p(classes);
    for (int sweep = 0; sweep < 6; ++sweep) {  // both with the document in the class and without
      sampler.sweep();
      sampler.conditional(0, 0, p);
      for (std::uint32_t k = 0; k < classes; ++k)
        EXPECT_NEAR(p[k], exact.marginal(0, static_cast<Value>(k)), 1e-5) << "trial " << trial;
    }
    lowest = std::min(lowest, *std::max_element(p.begin(), p.end()));
  }
  EXPECT_LT(lowest, 0.9);  // some are no foregone conclusion
}

TEST(NaiveBayesGibbs, KnownLabelsStayAndLongDocumentsAreSafe) {
  // A word 100,000 times: neither products nor sums may overflow.
  const std::vector<std::uint32_t> dense = {100000, 1, 1, 90000, 50000, 0, 0, 70};
  const WordCounts counts = word_counts(4, 2, dense);
  const std::vector<std::uint32_t> known = {0, 1, no_label, no_label};
  for (const bool collapsed : {false, true}) {
    NaiveBayesGibbs sampler(counts, known, {.collapsed = collapsed});
    for (int t = 0; t < 20; ++t) sampler.sweep();
    for (std::uint32_t c = 0; c < 4; ++c)
      EXPECT_EQ(sampler.chain(c).labels, (std::vector<Value>{0, 1, 0, 1})) << collapsed;
  }
}

}  // namespace
}  // namespace drover
