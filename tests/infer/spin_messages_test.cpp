#include "drover/infer/spin_messages.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "drover/model/builders.hpp"

namespace drover {
namespace {

// Flooding message by message in double, and beside every number a bound of how far the kernel's may be from
// it (a running error analysis; the kernel adds in float, u = 2^-24 half a unit in its last place):
//
//   w, b       converted to units of log 2: 2 u of their size
//   B          degree additions, each rounded: degree u (|b| + sum |n|). In P = B - n the error of n itself
//              cancels, as the very same number was added; the subtraction is rounded: u |P|
//   n(P, w)    |dn/dw| <= 1; |dn/dP| = |s(P + w) - s(P)| with s the logistic function (maximum: the step),
//              which falls to either side of P = -w/2, so over P +- its error it is largest at the place
//              nearest to that. P + w and the difference of the maxima are rounded: u |P + w| + u |n|
//   log(..)    the sum's correction, in units of log 2, is (2 / log 2) atanh t, |t| <= 1/3. The exponentials
//   err
//              by 2e-7 (stated in the kernel) and three roundings, 4e-7 together; t by half of both and its
//              own roundings, 4.6e-7; the slope of atanh is 9/8; the series ends 1.5e-8 early, its own
//              roundings are 1.8e-7: in all below 2e-6
//   damping    a mean of errors, and u of the difference and twice u of the result
//
// Terms of u^2 are covered by one per cent. Errors multiply where couplings are strong: |dn/dP| is 1 there,
// and three messages go into one.
struct Beliefs {
  std::vector<double> log_odds, error;
};

Beliefs plain_log_odds(const SpinGraph& graph, Semiring semiring, int sweeps, double damping) {
  constexpr double u = 0x1p-24;
  const double kernel_error = semiring == Semiring::sum ? 2e-6 : 0.0;
  const std::size_t n = graph.size();
  const auto softplus = [](double x) { return std::max(0.0, x) + std::log1p(std::exp(-std::abs(x))); };
  const auto logistic = [&](double x) {
    return semiring == Semiring::sum ? 1 / (1 + std::exp(-x)) : static_cast<double>(x > 0);
  };
  const auto largest_slope = [&](double P, double within, double w) {
    const double steepest = std::clamp(-w / 2, P - within, P + within);
    return std::abs(logistic(steepest + w) - logistic(steepest));
  };
  std::vector<double> message, error;  // at row i, place of j: from j to i
  for (float w : graph.weight) {
    message.push_back(w / 2.0);
    error.push_back(u * std::abs(w));
  }
  const auto place_of = [&](std::size_t i, std::uint32_t j) {
    const auto row = graph.neighbours(i);
    return graph.offsets[i] + static_cast<std::size_t>(std::find(row.begin(), row.end(), j) - row.begin());
  };
  std::vector<double> sum(n), sum_error(n),
      rounding(n);  // rounding: the part of the error that B adds itself
  const auto add_up = [&] {
    for (std::size_t i = 0; i < n; ++i) {
      double size = std::abs(graph.bias[i]), errors = 0;
      sum[i] = graph.bias[i];
      for (std::size_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e) {
        sum[i] += message[e];
        size += std::abs(message[e]);
        errors += error[e];
      }
      rounding[i] = 2 * u * std::abs(graph.bias[i]) + static_cast<double>(graph.degree(i)) * u * size;
      sum_error[i] = errors + rounding[i];
    }
  };
  add_up();
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    std::vector<double> next(message.size()), next_error(message.size());
    for (std::uint32_t i = 0; i < n; ++i)
      for (std::size_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e) {
        const std::uint32_t j = graph.neighbour[e];
        const double P = sum[i] - message[e], w = graph.weight[e];
        const double sent = semiring == Semiring::sum ? softplus(P + w) - softplus(P)
                                                      : std::max(0.0, P + w) - std::max(0.0, P);
        const double P_error = sum_error[i] - error[e] + u * std::abs(P);
        const double sent_error = largest_slope(P, P_error, w) * P_error + 2 * u * std::abs(w) +
                                  u * std::abs(P + w) + u * std::abs(sent) + kernel_error;
        const std::size_t to = place_of(j, i);
        next[to] = damping * message[to] + (1 - damping) * sent;
        next_error[to] = damping * error[to] + (1 - damping) * sent_error + u * std::abs(message[to] - sent) +
                         2 * u * std::abs(next[to]);
      }
    message = next;
    error = next_error;
    add_up();
  }
  for (std::size_t i = 0; i < n; ++i) sum_error[i] = 1.01 * (sum_error[i] + 2 * u * std::abs(sum[i]));
  return {sum, sum_error};
}

void expect_plain(const Edges& edges, bool diagonals, double scale, int sweeps = 12) {
  const Graph graph = compile(ising(edges, Draw::normal(0, scale), Draw::normal(0, 1), 7));
  const SpinGraph spins = spin_graph(graph);
  for (const Semiring semiring : {Semiring::sum, Semiring::maximum})
    for (const float damping : {0.0f, 0.5f}) {
      SpinMessages messages(spins, semiring);
      EXPECT_EQ(messages.uses_diagonals(), diagonals);
      EXPECT_EQ(messages.message_count(), spins.neighbour.size());
      for (int sweep = 0; sweep < sweeps; ++sweep) messages.sweep(damping);
      const Beliefs expected = plain_log_odds(spins, semiring, sweeps, static_cast<double>(damping));
      const std::vector<float> ours = messages.log_odds();
      for (std::size_t i = 0; i < ours.size(); ++i) {
        EXPECT_NEAR(ours[i], expected.log_odds[i], expected.error[i]) << "variable " << i;
        EXPECT_LT(expected.error[i], 1e-3 * std::max(1.0, scale)) << "a bound that says nothing";
      }
    }
}

TEST(SpinMessages, LatticesByDiagonals) {
  expect_plain(grid_edges(23, 17, false), true, 0.5);
  expect_plain(grid_edges(20, 31, true), true, 0.5);
  expect_plain(chain_edges(500), true, 2);
  expect_plain(complete_edges(60), true, 0.02);
}

// Turning every field round turns every belief round, after any number of sweeps.
TEST(SpinMessages, NoValueIsFavoured) {
  for (const Edges& edges : {grid_edges(20, 20, false), regular_edges(300, 5, 3)})
    for (const Semiring semiring : {Semiring::sum, Semiring::maximum}) {
      Graph graph = compile(ising(edges, Draw::normal(1, 0.1), Draw::normal(0, 0.5), 7));
      SpinMessages one(spin_graph(graph), semiring);
      for (double& value : graph.unary) value = -value;
      SpinMessages other(spin_graph(graph), semiring);
      std::size_t ones = 0;
      for (int sweep = 0; sweep < 3; ++sweep) {
        one.sweep(0);
        other.sweep(0);
      }
      const std::vector<float> a = one.log_odds(), b = other.log_odds();
      for (std::size_t i = 0; i < a.size(); ++i) {
        EXPECT_NEAR(a[i], -b[i], 1e-4 * (1 + std::abs(a[i])));
        ones += a[i] > 0;
      }
      EXPECT_GT(ones, a.size() / 4);
      EXPECT_LT(ones, a.size() * 3 / 4);
    }
}

TEST(SpinMessages, AnyGraphByPairs) {
  expect_plain(regular_edges(500, 5, 3), false, 0.5);
  expect_plain(random_edges(300, 0.02, 5), false, 0.3);
}

// Weights of hundreds, after so few sweeps that errors have not trebled too often.
TEST(SpinMessages, LargeWeightsNeitherOverflowNorLoseTheSign) {
  expect_plain(grid_edges(20, 20, false), true, 100, 4);
}

// What sweep() returns is how far the messages are from a fixed point.
TEST(SpinMessages, TheChangeFallsToRounding) {
  const Graph graph = compile(ising(grid_edges(30, 30, false), Draw::normal(0, 0.3), Draw::normal(0, 1), 2));
  SpinMessages messages(spin_graph(graph), Semiring::sum);
  float change = messages.sweep(0.2f);
  EXPECT_GT(change, 1e-2f);
  for (int sweep = 0; sweep < 200; ++sweep) change = messages.sweep(0.2f);
  EXPECT_LT(change, 1e-5f);
}

}  // namespace
}  // namespace drover
