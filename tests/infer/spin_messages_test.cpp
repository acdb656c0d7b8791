#include "drover/infer/spin_messages.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "drover/model/builders.hpp"

namespace drover {
namespace {

// Flooding message by message in double.
std::vector<double> plain_log_odds(const SpinGraph& graph, Semiring semiring, int sweeps, double damping) {
  const std::size_t n = graph.size();
  std::vector<double> message;  // at row i, place of j: from j to i
  for (float w : graph.weight) message.push_back(w / 2.0);
  const auto place_of = [&](std::size_t i, std::uint32_t j) {
    const auto row = graph.neighbours(i);
    return graph.offsets[i] + static_cast<std::size_t>(std::find(row.begin(), row.end(), j) - row.begin());
  };
  const auto softplus = [](double x) { return std::max(0.0, x) + std::log1p(std::exp(-std::abs(x))); };
  std::vector<double> sum(graph.bias.begin(), graph.bias.end());
  for (std::size_t i = 0; i < n; ++i)
    for (float w : graph.weights(i)) sum[i] += w / 2.0;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    std::vector<double> next(message.size());
    for (std::uint32_t i = 0; i < n; ++i)
      for (std::size_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e) {
        const std::uint32_t j = graph.neighbour[e];
        const double P = sum[i] - message[e], w = graph.weight[e];
        const double sent = semiring == Semiring::sum ? softplus(P + w) - softplus(P)
                                                      : std::max(0.0, P + w) - std::max(0.0, P);
        const std::size_t to = place_of(j, i);
        next[to] = damping * message[to] + (1 - damping) * sent;
      }
    message = next;
    for (std::size_t i = 0; i < n; ++i) {
      sum[i] = graph.bias[i];
      for (std::size_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e) sum[i] += message[e];
    }
  }
  return sum;
}

void expect_plain(const Edges& edges, bool diagonals, double scale) {
  const Graph graph = compile(ising(edges, Draw::normal(0, scale), Draw::normal(0, 1), 7));
  const SpinGraph spins = spin_graph(graph);
  for (const Semiring semiring : {Semiring::sum, Semiring::maximum})
    for (const float damping : {0.0f, 0.5f}) {
      SpinMessages messages(spins, semiring);
      EXPECT_EQ(messages.uses_diagonals(), diagonals);
      EXPECT_EQ(messages.message_count(), spins.neighbour.size());
      for (int sweep = 0; sweep < 12; ++sweep) messages.sweep(damping);
      const std::vector<double> expected = plain_log_odds(spins, semiring, 12, static_cast<double>(damping));
      const std::vector<float> ours = messages.log_odds();
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(ours[i], expected[i], 5e-5 * std::max(1.0, scale) * (1 + std::abs(expected[i])))
            << "variable " << i;
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

TEST(SpinMessages, LargeWeightsNeitherOverflowNorLoseTheSign) {
  expect_plain(grid_edges(20, 20, false), true, 100);
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
