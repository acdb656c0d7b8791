#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "drover/classify/logistic_regression.hpp"
#include "drover/classify/naive_bayes.hpp"
#include "drover/classify/nearest_neighbours.hpp"
#include "drover/classify/online_logistic.hpp"
#include "drover/core/random.hpp"

namespace drover {
namespace {

LabelledRows random_rows(std::vector<std::uint32_t> cardinalities, std::uint32_t classes, std::size_t rows,
                         std::uint64_t seed) {
  RandomSequence random(seed, Stream::generate);
  LabelledRows data{std::move(cardinalities), classes, {}, {}};
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::uint32_t cardinality : data.cardinalities)
      data.inputs.push_back(static_cast<Value>(random.below(cardinality)));
    data.labels.push_back(static_cast<Value>(random.below(classes)));
  }
  return data;
}

std::vector<double> probabilities(const LinearClassifier& classifier, std::span<const Value> x) {
  std::vector<double> scores(classifier.classes);
  classifier.scores(x, scores);
  normalise_scores(scores);
  return scores;
}

TEST(NaiveBayes, IsBayesRuleWithCountedTables) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const LabelledRows data = random_rows({2, 3, 2, 4}, 3, 30, seed);
    const LinearClassifier classifier = naive_bayes(data, 0.5);
    for (std::size_t asked = 0; asked < data.rows(); ++asked) {
      // The rule itself, counted anew for this question.
      std::vector<double> joint(3);
      for (Value k = 0; k < 3; ++k) {
        const auto count = static_cast<double>(std::count(data.labels.begin(), data.labels.end(), k));
        joint[k] = (count + 0.5) / (30 + 1.5);
        for (std::size_t v = 0; v < 4; ++v) {
          double both = 0;
          for (std::size_t r = 0; r < data.rows(); ++r)
            both += data.labels[r] == k && data.row(r)[v] == data.row(asked)[v];
          joint[k] *= (both + 0.5) / (count + 0.5 * data.cardinalities[v]);
        }
      }
      const double sum = std::accumulate(joint.begin(), joint.end(), 0.0);
      const std::vector<double> found = probabilities(classifier, data.row(asked));
      for (std::size_t k = 0; k < 3; ++k) ASSERT_NEAR(found[k], joint[k] / sum, 1e-12) << seed;
    }
  }
}

TEST(NearestNeighbours, AgreesWithCountingDifferences) {
  for (const auto& cardinalities :
       {std::vector<std::uint32_t>(10, 2), std::vector<std::uint32_t>(130, 2),
        std::vector<std::uint32_t>{2, 5, 3, 2, 9, 4, 2}, std::vector<std::uint32_t>(70, 3)}) {
    for (std::size_t neighbours : {std::size_t{1}, std::size_t{5}, std::size_t{200}}) {
      const LabelledRows data = random_rows(cardinalities, 3, 120, cardinalities.size());
      const LabelledRows asked = random_rows(cardinalities, 3, 40, cardinalities.size() + 1);
      const NearestNeighbours classifier(data, neighbours);
      for (std::size_t q = 0; q < asked.rows(); ++q) {
        std::vector<std::pair<std::size_t, std::size_t>> order;  // distance, row
        for (std::size_t r = 0; r < data.rows(); ++r) {
          std::size_t differ = 0;
          for (std::size_t v = 0; v < cardinalities.size(); ++v) differ += data.row(r)[v] != asked.row(q)[v];
          order.emplace_back(differ, r);
        }
        std::sort(order.begin(), order.end());
        std::vector<int> votes(3, 0);
        for (std::size_t k = 0; k < std::min(neighbours, data.rows()); ++k)
          ++votes[data.labels[order[k].second]];
        const auto expected = std::max_element(votes.begin(), votes.end()) - votes.begin();
        ASSERT_EQ(classifier.predict(asked.row(q)), expected) << cardinalities.size() << " " << neighbours;
      }
    }
  }
}

TEST(LogisticRegression, GradientIsThatOfTheValue) {
  for (std::uint32_t classes : {2U, 3U, 5U}) {
    const LabelledRows data = random_rows({2, 3, 2, 4}, classes, 25, classes);
    RandomSequence random(9, Stream::generate);
    std::vector<double> x(classes * (1 + 1 + 2 + 1 + 3)), gradient(x.size()), unused(x.size());
    for (double& one : x) one = random.uniform() * 2 - 1;
    logistic_objective(data, 0.3, x, gradient);
    for (std::size_t p = 0; p < x.size(); ++p) {
      if (classes == 2 && p % 2 == 0) {  // the reference class is not free
        continue;
      }
      const double kept = x[p], step = 1e-5;
      x[p] = kept + step;
      const double above = logistic_objective(data, 0.3, x, unused);
      x[p] = kept - step;
      const double below = logistic_objective(data, 0.3, x, unused);
      x[p] = kept;
      ASSERT_NEAR(gradient[p], (above - below) / (2 * step), 1e-9) << classes << " at " << p;
    }
  }
}

/// One input determines everything: the best fit then has the shares of the data.
TEST(LogisticRegression, OneInputGivesTheShares) {
  for (std::uint32_t classes : {2U, 4U}) {
    const LabelledRows data = random_rows({3}, classes, 400, classes + 7);
    const LogisticFit fit = logistic_regression(data, {.l2 = 0, .minimiser = {.gradient_tolerance = 1e-7}});
    EXPECT_TRUE(fit.summary.converged) << fit.summary.ended;
    for (Value a = 0; a < 3; ++a) {
      double rows = 0;
      std::vector<double> shares(classes, 0.0);
      for (std::size_t r = 0; r < data.rows(); ++r) {
        if (data.row(r)[0] != a) continue;
        ++rows;
        ++shares[data.labels[r]];
      }
      const std::vector<double> found = probabilities(fit.classifier, std::vector<Value>{a});
      for (std::size_t k = 0; k < classes; ++k) ASSERT_NEAR(found[k], shares[k] / rows, 1e-5);
    }
  }
}

TEST(LogisticRegression, PenaltyShrinksTheWeightsOnly) {
  const LabelledRows data = random_rows({2, 2, 2}, 2, 300, 3);
  const auto size_of = [](const std::vector<double>& weights) {
    return std::sqrt(std::inner_product(weights.begin(), weights.end(), weights.begin(), 0.0));
  };
  double last = 1e300;
  for (double l2 : {0.0, 1.0, 10.0, 100.0}) {
    const double size = size_of(logistic_regression(data, {.l2 = l2}).classifier.weights);
    EXPECT_LT(size, last);
    last = size;
  }
  // An endless penalty leaves the share of the classes.
  const LinearClassifier flat = logistic_regression(data, {.l2 = 1e9}).classifier;
  const double ones = static_cast<double>(std::count(data.labels.begin(), data.labels.end(), 1));
  EXPECT_NEAR(flat.biases[1], std::log(ones / (300 - ones)), 1e-5);
  EXPECT_EQ(flat.biases[0], 0);
}

/// On a stream from a known logistic model the answer comes near that model: the error of averaged steps
/// falls as 1/sqrt(rows), so with 100,000 rows three standard errors of a probability are below 0.02.
TEST(OnlineLogistic, ApproachesTheModelOfTheStream) {
  for (std::uint32_t classes : {2U, 3U}) {
    LinearClassifier truth(std::vector<std::uint32_t>{2, 2, 3}, classes);
    RandomSequence random(classes, Stream::generate);
    for (double& weight : truth.weights) weight = 3 * random.uniform() - 1.5;
    for (double& bias : truth.biases) bias = 2 * random.uniform() - 1;
    OnlineLogistic online(std::vector<std::uint32_t>{2, 2, 3}, classes);
    for (int r = 0; r < 100000; ++r) {
      const std::vector<Value> x = {static_cast<Value>(random.below(2)), static_cast<Value>(random.below(2)),
                                    static_cast<Value>(random.below(3))};
      const std::vector<double> p = probabilities(truth, x);
      double left = random.uniform();
      Value label = 0;
      while (label + 1U < classes && left >= p[label]) left -= p[label++];
      online.learn(x, label);
    }
    for (Value a = 0; a < 2; ++a)
      for (Value b = 0; b < 2; ++b)
        for (Value c = 0; c < 3; ++c) {
          const std::vector<Value> x = {a, b, c};
          const std::vector<double> expected = probabilities(truth, x),
                                    found = probabilities(online.classifier(), x);
          for (std::size_t k = 0; k < classes; ++k) ASSERT_NEAR(found[k], expected[k], 0.02);
        }
  }
}

/// Ten inputs that are on in one row of fifty. Of 100,000 rows 2000 tell about each weight, whose standard
/// error is then about sqrt(1 / (2000 * 0.15)) = 0.06.
TEST(OnlineLogistic, LearnsRareInputs) {
  const std::vector<std::uint32_t> binary(10, 2);
  OnlineLogistic online(binary, 2);
  RandomSequence random(5, Stream::generate);
  std::vector<Value> x(10);
  const auto weight_of = [](std::size_t v) { return v % 2 == 0 ? 2.0 : -2.0; };
  for (int r = 0; r < 100000; ++r) {
    double field = 0;
    for (std::size_t v = 0; v < 10; ++v) {
      x[v] = random.uniform() < 0.02 ? 1 : 0;
      if (x[v] == 1) field += weight_of(v);
    }
    online.learn(x, random.uniform() < 1 / (1 + std::exp(-field)) ? 1 : 0);
  }
  EXPECT_NEAR(online.classifier().biases[1], 0, 0.05);
  for (std::size_t v = 0; v < 10; ++v)
    EXPECT_NEAR(online.classifier().weights[2 * v + 1], weight_of(v), 0.25) << v;
}

TEST(ErrorRate, CountsWrongAnswers) {
  LabelledRows data{{2}, 2, {0, 1, 1, 0}, {0, 1, 0, 0}};
  LinearClassifier classifier(data.cardinalities, 2);
  classifier.biases[1] = -1;
  classifier.weights[1] = 2;
  EXPECT_EQ(error_rate(classifier, data), 0.25);
}

}  // namespace
}  // namespace drover
