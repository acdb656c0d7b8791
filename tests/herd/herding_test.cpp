// Herding against its own identities, exact maxima and a plain Hopfield form.
#include "drover/herd/herding.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include <fmt/format.h>
#include "drover/core/error.hpp"
#include "drover/core/random.hpp"
#include "drover/herd/consistency.hpp"
#include "drover/io/moments.hpp"
#include "drover/io/text_source.hpp"

namespace drover {
namespace {

/// Rows drawn from a mixture of two products, so that variables depend on each other.
std::vector<Value> random_rows(const std::vector<std::uint32_t>& cardinalities, std::size_t rows,
                               std::uint32_t seed) {
  const Random random(seed, Stream::generate);
  std::vector<Value> values;
  for (std::uint32_t r = 0; r < rows; ++r) {
    const bool second = random.uniform(0, r, 0) < 0.4;
    for (std::uint32_t v = 0; v < cardinalities.size(); ++v) {
      const double tilt = random.uniform(second ? 2 : 1, 0, v) * 2 + 0.3;
      const double u = std::pow(random.uniform(3, r, v), tilt);
      values.push_back(static_cast<Value>(u * cardinalities[v]));
    }
  }
  return values;
}

Moments random_moments(const std::vector<std::uint32_t>& cardinalities, std::uint32_t order, std::size_t rows,
                       std::uint32_t seed, FeatureCoding coding = FeatureCoding::ones) {
  return moments_of(complete_features(cardinalities, order, coding), random_rows(cardinalities, rows, seed));
}

std::vector<std::uint32_t> binary(std::size_t n) {
  return std::vector<std::uint32_t>(n, 2);
}

double score(const FeatureSet& set, std::span<const double> weights, std::span<const Value> x) {
  double sum = 0;
  for (std::size_t f = 0; f < set.size(); ++f) sum += set.value(set.features[f], x) * weights[f];
  return sum;
}

double norm(std::span<const double> x) {
  double sum = 0;
  for (double value : x) sum += value * value;
  return std::sqrt(sum);
}

/// The weights added up as the paper does, beside the engine's own.
void expect_identity(const Moments& moments, HerdingOptions options, std::size_t steps) {
  const std::vector<double> start =
      options.start_weights.empty() ? std::vector<double>(moments.set.size(), 0.0) : options.start_weights;
  Herding herding(moments, options);
  std::vector<double> sum(moments.set.size(), 0.0), added = start;
  for (std::size_t t = 1; t <= steps; ++t) {
    const auto x = herding.step();
    const std::vector<double> weights = herding.weights();
    for (std::size_t f = 0; f < sum.size(); ++f) {
      const double phi = moments.set.value(moments.set.features[f], x);
      sum[f] += phi;
      added[f] += moments.values[f] - phi;
      const double time = static_cast<double>(t);
      ASSERT_NEAR(std::abs(sum[f] / time - moments.values[f]), std::abs(weights[f] - start[f]) / time,
                  1e-14 * time)
          << "feature " << f << " at " << t;
      ASSERT_NEAR(weights[f], added[f], 1e-13 * time) << "feature " << f << " at " << t;
    }
  }
}

// A third that is too often 1 together breaks inclusion and exclusion, and nothing else.
TEST(Consistency, TriplesAreBoundedByInclusionAndExclusion) {
  const auto inconsistencies = [](double triple) {
    TextSource source(
        fmt::format("moments\n2 2 2\n0 0.6\n1 0.6\n2 0.6\n0 1 0.3\n0 2 0.3\n1 2 0.3\n0 1 2 {}\n", triple),
        "moments");
    const Moments moments = parse_moments(source);
    return find_inconsistencies(moments, 1e-9, 20);
  };
  EXPECT_TRUE(inconsistencies(0.09).empty());
  const auto found = inconsistencies(0.15);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NEAR(found[0].excess, 0.05, 1e-12);
  EXPECT_EQ(found[0].features.size(), 7U);
}

TEST(Herding, IdentityHoldsAtEveryStep) {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    for (std::uint32_t order : {2U, 3U}) {
      const Moments moments = random_moments(binary(6 + seed), order, 50, seed);
      for (HerdSearch search : {HerdSearch::enumerate, HerdSearch::local})
        expect_identity(moments, {.search = search}, 300);
    }
    const Moments states = random_moments({2, 3, 4, 2, 3}, 2, 40, seed);
    for (HerdSearch search : {HerdSearch::enumerate, HerdSearch::local, HerdSearch::tree})
      expect_identity(states, {.search = search}, search == HerdSearch::tree ? 50 : 300);
    HerdingOptions started{.search = HerdSearch::local, .start_weights = {}};
    for (std::size_t f = 0; f < states.set.size(); ++f)
      started.start_weights.push_back(std::sin(static_cast<double>(f)));
    expect_identity(states, started, 300);
    started.search = HerdSearch::enumerate;
    expect_identity(states, started, 300);
  }
}

TEST(Herding, EveryCodingHasTheIdentityAndTheMaximum) {
  for (FeatureCoding coding : {FeatureCoding::spins, FeatureCoding::cells})
    for (std::uint32_t order : {1U, 2U, 3U})
      for (std::uint32_t seed = 1; seed <= 3; ++seed) {
        const std::uint32_t n = 4 + seed;
        const std::vector<Value> rows = random_rows(binary(n), 50, seed);
        const Moments moments = moments_of(complete_features(binary(n), order, coding), rows);
        for (std::size_t f = 0; f < moments.set.size(); ++f) {
          double mean = 0;
          for (std::size_t r = 0; r < 50; ++r)
            mean += moments.set.value(moments.set.features[f], std::span(&rows[r * n], n)) / 50;
          ASSERT_NEAR(moments.values[f], mean, 1e-12);
        }
        for (HerdSearch search : {HerdSearch::enumerate, HerdSearch::local, HerdSearch::tree}) {
          expect_identity(moments, {.search = search}, search == HerdSearch::tree ? 50 : 300);
          HerdingOptions started{.search = search, .start_weights = {}};
          for (std::size_t f = 0; f < moments.set.size(); ++f)
            started.start_weights.push_back(std::sin(static_cast<double>(f)));
          expect_identity(moments, started, search == HerdSearch::tree ? 50 : 300);
          Herding herding(moments, {.search = search});
          std::vector<Value> x(n);
          for (int t = 0; t < 60; ++t) {
            const std::vector<double> weights = herding.weights();
            double best = -1e300;
            for (std::uint32_t s = 0; s < 1U << n; ++s) {
              for (std::uint32_t v = 0; v < n; ++v) x[v] = static_cast<Value>(s >> v & 1);
              best = std::max(best, score(moments.set, weights, x));
            }
            const std::span<const Value> state = herding.step();
            x.assign(state.begin(), state.end());
            const double reached = score(moments.set, weights, x);
            if (search != HerdSearch::local) {
              ASSERT_NEAR(reached, best, 1e-10) << "sample " << t;
            }
            for (std::size_t v = 0; v < n; ++v) {
              x[v] = 1 - x[v];
              ASSERT_LE(score(moments.set, weights, x), reached + 1e-9) << "sample " << t;
              x[v] = 1 - x[v];
            }
          }
        }
      }
}

TEST(Herding, EnumerationAndTreeReachTheMaximum) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    const std::vector<std::uint32_t> cardinalities = {2, 3, 2, 4};
    const Moments moments = random_moments(cardinalities, seed % 2 == 0 ? 2 : 3, 30, seed);
    for (HerdSearch search : {HerdSearch::enumerate, HerdSearch::tree}) {
      Herding herding(moments, {.search = search});
      EXPECT_EQ(herding.search(), search);
      for (int t = 0; t < 60; ++t) {
        const std::vector<double> weights = herding.weights();
        double best = -1e300;
        for (Value a = 0; a < 2; ++a)
          for (Value b = 0; b < 3; ++b)
            for (Value c = 0; c < 2; ++c)
              for (Value d = 0; d < 4; ++d)
                best = std::max(best, score(moments.set, weights, std::vector<Value>{a, b, c, d}));
        ASSERT_NEAR(score(moments.set, weights, herding.step()), best, 1e-10) << "sample " << t;
      }
    }
  }
}

// Start weights decide the first pseudo-samples of every way to maximise.
TEST(Herding, StartWeightsCountInEveryEngine) {
  const std::vector<std::uint32_t> cardinalities = {2, 3, 2, 2};
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    const Moments moments = random_moments(cardinalities, 2, 30, seed);
    RandomSequence random(seed, Stream::generate);
    std::vector<double> start;
    for (std::size_t f = 0; f < moments.set.size(); ++f) start.push_back(5 * random.normal());
    double best = -1e300;
    std::vector<Value> x(4), best_state;
    for (x[0] = 0; x[0] < 2; ++x[0])
      for (x[1] = 0; x[1] < 3; ++x[1])
        for (x[2] = 0; x[2] < 2; ++x[2])
          for (x[3] = 0; x[3] < 2; ++x[3])
            if (score(moments.set, start, x) > best) {
              best = score(moments.set, start, x);
              best_state = x;
            }
    for (HerdSearch search : {HerdSearch::enumerate, HerdSearch::tree}) {
      Herding herding(moments, {.search = search, .start_weights = start});
      const auto first = herding.step();
      EXPECT_EQ(std::vector<Value>(first.begin(), first.end()), best_state) << "seed " << seed;
    }
  }
}

// A moment beyond what any state can have makes its weight grow by what is missing, at every sample.
TEST(Herding, GrowthRatesAreWhatIsMissing) {
  for (double mu : {1.5, -0.25}) {
    const Moments moments{complete_features({2}, 1), {mu}};
    for (const std::uint64_t stop_at : {std::uint64_t{100000}, std::uint64_t{1000}, std::uint64_t{512}}) {
      Herding herding(moments, {.search = HerdSearch::enumerate});
      RunControl control;
      std::uint64_t taken = 0;
      control.stop_when([&] { return taken >= stop_at; });
      const HerdSummary summary = run_herding(
          herding, 100000, {}, [&](std::span<const Value>) { ++taken; }, control);
      ASSERT_EQ(summary.growing.size(), 1U) << mu << " " << stop_at;
      // Weights are sums of `samples` numbers, rounded each time.
      EXPECT_NEAR(summary.growing[0].rate, mu > 1 ? mu - 1 : mu, 1e-9) << stop_at;
    }
  }
}

TEST(Herding, EnumerationReachesTheMaximumOfCompleteSets) {
  for (std::uint32_t n : {2U, 3U, 5U, 9U}) {
    for (std::uint32_t order : {2U, 3U}) {
      const Moments moments = random_moments(binary(n), order, 40, n);
      Herding herding(moments, {.search = HerdSearch::enumerate});
      std::vector<Value> x(n);
      for (int t = 0; t < 100; ++t) {
        const std::vector<double> weights = herding.weights();
        double best = -1e300;
        for (std::uint32_t s = 0; s < 1U << n; ++s) {
          for (std::uint32_t v = 0; v < n; ++v) x[v] = static_cast<Value>(s >> v & 1);
          best = std::max(best, score(moments.set, weights, x));
        }
        ASSERT_NEAR(score(moments.set, weights, herding.step()), best, 1e-10) << n << " at " << t;
      }
    }
  }
}

TEST(Herding, LocalSearchEndsWhereNoSingleChangeImproves) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    const std::vector<std::uint32_t> cardinalities = {2, 3, 2, 4, 2, 2, 3, 2, 2, 2};
    const Moments moments =
        random_moments(seed % 2 == 0 ? cardinalities : binary(12), 2 + seed % 2, 60, seed);
    Herding herding(moments, {.search = HerdSearch::local});
    for (int t = 0; t < 2000; ++t) {
      const bool look = t % 100 == 0;
      const std::vector<double> weights = look ? herding.weights() : std::vector<double>();
      const auto state = herding.step();
      if (!look) continue;
      std::vector<Value> x(state.begin(), state.end());
      const double reached = score(moments.set, weights, x);
      for (std::size_t v = 0; v < x.size(); ++v) {
        const Value old = x[v];
        for (x[v] = 0; x[v] < moments.set.cardinalities[v]; ++x[v])
          ASSERT_LE(score(moments.set, weights, x), reached + 1e-9) << "sample " << t << " variable " << v;
        x[v] = old;
      }
    }
  }
}

// With exact maxima and moments of a distribution the weights are bounded: the error falls as 1/T.
TEST(Herding, MomentsConvergeAsOneOverT) {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    const Moments moments = random_moments(binary(8), 2 + seed % 2, 100, seed);
    for (HerdSearch search : {HerdSearch::enumerate, HerdSearch::local}) {
      Herding herding(moments, {.search = search});
      double early = 0, late = 0;
      for (int t = 0; t < 40000; ++t) {
        herding.step();
        if (t % 100 == 99)
          (t < 20000 ? early : late) = std::max(t < 20000 ? early : late, norm(herding.weights()));
      }
      // |w|^2 grows by at most |mu - phi|^2 <= F a step and a bound of sqrt(F) times a small number is
      // typical; growth like sqrt(T) would make `late` larger by sqrt(2).
      EXPECT_LT(late, 1.25 * early) << seed;
      EXPECT_LT(late, 4 * std::sqrt(static_cast<double>(moments.set.size()))) << seed;
    }
  }
}

TEST(Herding, OneVariableIsWithinOneOverT) {
  for (double mu : {0.0, 1.0, 0.5, 0.25, 1.0 / 3, 0.1234567, 0.999}) {
    Moments moments{complete_features({2}, 1), {mu}};
    for (HerdSearch search : {HerdSearch::enumerate, HerdSearch::local}) {
      Herding herding(moments, {.search = search});
      double ones = 0;
      for (int t = 1; t <= 1000000; ++t) {
        ones += herding.step()[0];
        if (t < 5000 || t % 997 == 0) {
          ASSERT_LE(std::abs(ones / t - mu), (1 + 1e-9) / t) << mu << " at " << t;
        }
      }
    }
  }
}

/// The paper's equations 11 to 13, word for word.
struct Hopfield {
  std::vector<std::vector<double>> w, p;
  std::vector<double> theta, q;
  std::vector<Value> s;

  void step() {
    const std::size_t n = s.size();
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < n; ++i) {
        double field = theta[i];
        for (std::size_t j = 0; j < n; ++j)
          if (j != i) field += w[i][j] * s[j];
        const Value fired = field > 0 ? 1 : 0;
        changed |= fired != s[i];
        s[i] = fired;
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      theta[i] += q[i] - s[i];
      for (std::size_t j = 0; j < n; ++j)
        if (j != i) w[i][j] += p[i][j] - s[i] * s[j];
    }
  }
};

TEST(Herding, HopfieldFormIsTheSame) {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    const std::size_t n = 5 + 4 * seed;
    // 64 rows: every number is a multiple of 1/64, so no sum is ever rounded and ties are ties.
    const Moments moments = random_moments(binary(n), 2, 64, seed);
    Hopfield plain{std::vector(n, std::vector<double>(n)), std::vector(n, std::vector<double>(n)),
                   std::vector<double>(n), std::vector<double>(n), std::vector<Value>(n)};
    std::size_t f = 0;
    for (std::size_t i = 0; i < n; ++i) plain.q[i] = moments.values[f++];
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i + 1; j < n; ++j) plain.p[i][j] = plain.p[j][i] = moments.values[f++];
    const auto dense = make_dense_engine(moments, {}, false);
    const auto sparse = make_sparse_engine(moments, {}, false);
    for (int t = 0; t < 3000; ++t) {
      plain.step();
      dense->step();
      sparse->step();
      ASSERT_TRUE(std::equal(plain.s.begin(), plain.s.end(), dense->state().begin())) << "dense at " << t;
      ASSERT_TRUE(std::equal(plain.s.begin(), plain.s.end(), sparse->state().begin())) << "sparse at " << t;
    }
  }
}

TEST(Herding, DenseAndSparseAgreeWithTriplesAndHarderSearch) {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    const Moments moments = random_moments(binary(4 + 5 * seed), 2 + seed % 2, 32, seed);
    std::vector<double> start(moments.set.size());
    for (std::size_t f = 0; f < start.size(); ++f) start[f] = static_cast<double>(f % 13) / 8 - 0.75;
    const auto dense = make_dense_engine(moments, start, true);
    const auto sparse = make_sparse_engine(moments, start, true);
    std::vector<double> a(start.size()), b(start.size());
    for (int t = 0; t < 1500; ++t) {
      dense->step();
      sparse->step();
      ASSERT_TRUE(std::equal(dense->state().begin(), dense->state().end(), sparse->state().begin())) << t;
    }
    dense->counts(a);
    sparse->counts(b);
    EXPECT_EQ(a, b);
  }
}

/// No step falls short, and the weights grow no larger than without. Two searches take two courses, and where each of them is
/// when it ends is a matter of a step, whose length is at most the root of the number of features.
TEST(Herding, AdaptiveSearchKeepsTheWeightsAsSmall) {
  double plain = 0, adaptive = 0, steps = 0;
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    const Moments moments = random_moments(binary(24), 2, 40, seed);
    steps += std::sqrt(static_cast<double>(moments.set.size()));
    for (bool harder : {false, true}) {
      Herding herding(moments, {.search = HerdSearch::local, .adaptive = harder});
      run_herding(herding, 20000, {});
      (harder ? adaptive : plain) += norm(herding.weights());
      if (harder) {
        EXPECT_LT(herding.facts().short_of, 20U);
      }
    }
  }
  EXPECT_LE(adaptive, plain + steps);
}

// A sample falls short when it scores less than the moments do: <w, phi(s)> < <w, mu>, both worked out anew here.
TEST(Herding, CountsTheSamplesThatFallShort) {
  std::uint64_t all = 0;
  for (const FeatureCoding coding : {FeatureCoding::ones, FeatureCoding::spins})
    for (std::uint32_t seed = 1; seed <= 3; ++seed) {
      const std::vector<std::uint32_t> cardinalities =
          coding == FeatureCoding::ones && seed == 3 ? std::vector<std::uint32_t>(12, 3) : binary(20);
      Moments moments = random_moments(cardinalities, 2, 30, seed, coding);
      for (std::size_t f = 0; seed == 2 && f < moments.values.size(); ++f)
        moments.values[f] += 0.2 * std::sin(static_cast<double>(f));  // of no distribution: many fall short
      Herding herding(moments, {.search = HerdSearch::local, .adaptive = true});
      for (int t = 0; t < 300; ++t) {
        const std::vector<double> weights = herding.weights();
        const std::uint64_t before = herding.facts().short_of;
        const std::span<const Value> state = herding.step();
        const bool counted = herding.facts().short_of > before;
        double missing = -score(moments.set, weights, state);
        for (std::size_t f = 0; f < weights.size(); ++f) missing += weights[f] * moments.values[f];
        if (std::abs(missing) > 1e-6) {
          ASSERT_EQ(counted, missing > 0) << "sample " << t << " seed " << seed;
        }
        all += counted;
      }
    }
  EXPECT_GT(all, 0U);
}

TEST(Herding, SummaryCountsWhatItSays) {
  const std::vector<Value> rows = random_rows(binary(6), 200, 3);
  const Moments moments = moments_of(complete_features(binary(6), 3), rows);
  Herding herding(moments);
  std::vector<double> ones(7, 0.0);
  double together = 0;
  const std::vector<HerdQuery> queries = {{{1, 1}, {4, 0}}, {{0, 1}}};
  const HerdSummary summary = run_herding(herding, 5000, queries, [&](std::span<const Value> x) {
    std::size_t k = 0;
    for (Value value : x) k += value;
    ones[k] += 1.0 / 5000;
    together += (x[1] == 1 && x[4] == 0) / 5000.0;
  });
  ASSERT_EQ(summary.count_distribution.size(), 7U);
  for (std::size_t k = 0; k < 7; ++k) EXPECT_NEAR(summary.count_distribution[k], ones[k], 1e-9);
  EXPECT_NEAR(summary.query_probabilities[0], together, 1e-9);
  EXPECT_NEAR(summary.query_probabilities[1], moments.values[0], summary.moment_error_max + 1e-12);
  EXPECT_LT(summary.moment_error_max, 0.01);
  EXPECT_TRUE(summary.growing.empty());
  // p(1,1) - p(11) of a pair is fixed by the moments: P(x1=1, x4=0) = p_1 - p_14.
  const double expected =
      moments.values[1] -
      moments_of(chosen_features(binary(6), std::vector<std::vector<VariableId>>{{1, 4}}), rows).values[0];
  EXPECT_NEAR(together, expected, 2 * summary.moment_error_max + 1e-12);
}

TEST(Herding, RefusesWhatCannotBeEnumerated) {
  const Moments moments = random_moments(binary(30), 2, 20, 1);
  EXPECT_THROW(Herding(moments, {.search = HerdSearch::enumerate}), Error);
  EXPECT_THROW(Herding(random_moments(binary(60), 2, 20, 1), {.search = HerdSearch::tree}), Error);
  EXPECT_EQ(Herding(moments).search(), HerdSearch::local);
  // A chain of 40 has a tree of width 1.
  std::vector<std::vector<VariableId>> groups;
  for (VariableId v = 0; v < 40; ++v) {
    groups.push_back({v});
    if (v > 0) groups.push_back({v - 1, v});
  }
  const Moments chain = moments_of(chosen_features(binary(40), groups), random_rows(binary(40), 50, 2));
  EXPECT_EQ(Herding(chain).search(), HerdSearch::tree);
  Herding exact(chain);
  EXPECT_LT(run_herding(exact, 300, {}).moment_error_max, 0.03);
}

TEST(Herding, MarksShowTheRun) {
  const Moments moments = random_moments(binary(6), 2, 50, 3);
  Herding herding(moments);
  const HerdSummary summary = run_herding(herding, 1000, {});
  ASSERT_FALSE(summary.marks.empty());
  for (std::size_t k = 0; k < summary.marks.size(); ++k) {
    const auto& mark = summary.marks[k];
    if (k > 0) {
      EXPECT_GT(mark.samples, summary.marks[k - 1].samples);
    }
    // The largest error is at most |w| / T, and at least that over the root of the number of features.
    const double norm_error = mark.weight_norm / static_cast<double>(mark.samples);
    EXPECT_LE(mark.moment_error_max, norm_error + 1e-12);
    EXPECT_GE(mark.moment_error_max, norm_error / std::sqrt(static_cast<double>(moments.set.size())) - 1e-12);
  }
  EXPECT_EQ(summary.marks.front().samples, 1U);
  EXPECT_EQ(summary.marks.back().samples, 1000U);
  EXPECT_EQ(summary.marks.back().weight_norm, summary.weight_norm);
  EXPECT_EQ(summary.marks.back().moment_error_max, summary.moment_error_max);
}

}  // namespace
}  // namespace drover
