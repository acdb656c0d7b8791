#include "drover/sample/pmp/perturb_and_max_product.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "drover/core/parallel.hpp"
#include "drover/core/random.hpp"
#include "drover/infer/belief_propagation.hpp"
#include "drover/infer/lane_max_product.hpp"

namespace drover {

namespace {

class DenseBatch : public BatchMaxProduct {
 public:
  explicit DenseBatch(DenseMaxProduct solver) : solver_(std::move(solver)) {}
  void solve(std::span<const float> extra, std::size_t problems, const BatchOptions& options,
             std::span<std::uint8_t> states, BatchMessages* messages) const override {
    solver_.solve(extra, problems, options, states, messages);
  }

 private:
  DenseMaxProduct solver_;
};

class SparseBatch : public BatchMaxProduct {
 public:
  explicit SparseBatch(LaneGraph graph) : solver_(std::move(graph)) {}
  void solve(std::span<const float> extra, std::size_t problems, const BatchOptions& options,
             std::span<std::uint8_t> states, BatchMessages* messages) const override {
    solver_.solve(extra, problems, options, states, messages);
  }

 private:
  LaneMaxProduct solver_;
};

/// The number of leading variables when every one of them is joined to all the others behind them and to
/// nothing else, as in an RBM; else 0.
std::uint32_t layer_size(const SpinGraph& graph) {
  const std::size_t n = graph.size();
  if (n == 0 || graph.degree(0) == 0) return 0;
  const std::size_t visible = graph.neighbours(0)[0];
  for (std::size_t i = 0; i < n; ++i) {
    const auto near = graph.neighbours(i);
    const bool leading = i < visible;
    if (near.size() != (leading ? n - visible : visible) || near.front() != (leading ? visible : 0)) return 0;
    if (near.back() - near.front() + 1 != near.size()) return 0;
  }
  return static_cast<std::uint32_t>(visible);
}

constexpr double dense_share = 0.25;  ///< of all pairs: from here on whole rows beat lists of pairs

bool is_dense(std::size_t variables, std::size_t links) {
  const auto n = static_cast<double>(variables);
  return n >= 2 && static_cast<double>(links) >= dense_share * n * (n - 1);
}

double noise(const Random& random, std::uint64_t sample, VariableId variable, Value value) {
  // Two numbers of 53 bits make a block: values 2k and 2k + 1 share one.
  const Random::Block words = random.block(value / 2U, sample, variable);
  return centred_gumbel(value % 2 == 0 ? Random::to_unit(words[0], words[1])
                                       : Random::to_unit(words[2], words[3]));
}

}  // namespace

std::unique_ptr<BatchMaxProduct> batch_max_product(const SpinGraph& graph) {
  const std::size_t n = graph.size();
  if (const std::uint32_t visible = layer_size(graph); visible > 0 && visible < n) {
    DenseMaxProduct solver = DenseMaxProduct::bipartite(visible, static_cast<std::uint32_t>(n) - visible);
    solver.set_weights(std::span(graph.weight).first(graph.offsets[visible]));
    solver.set_bias(graph.bias);
    return std::make_unique<DenseBatch>(std::move(solver));
  }
  if (is_dense(n, graph.weight.size())) {
    DenseMaxProduct solver = DenseMaxProduct::complete(static_cast<std::uint32_t>(n));
    std::vector<float> matrix(n * n, 0.0F);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < graph.degree(i); ++k)
        matrix[i * n + graph.neighbours(i)[k]] = graph.weights(i)[k];
    solver.set_weights(matrix);
    solver.set_bias(graph.bias);
    return std::make_unique<DenseBatch>(std::move(solver));
  }
  return std::make_unique<SparseBatch>(lane_graph(graph));
}

double centred_gumbel(double uniform) {
  constexpr double euler = 0.57721566490153286;
  // Zero has probability 2^-53; the middle of the first step stands for it.
  return -std::log(-std::log(std::max(uniform, 0x1p-54))) - euler;
}

float logistic_noise(const Random::Block& words) {
  return static_cast<float>(centred_gumbel(Random::to_unit(words[0], words[1])) -
                            centred_gumbel(Random::to_unit(words[2], words[3])));
}

PerturbAndMaxProduct::PerturbAndMaxProduct(const Graph& graph, const BatchOptions& options)
    : graph_(&graph), options_(options) {
  if (graph.is_spin())
    batch_ = batch_max_product(spin_graph(graph));
  else if (why_not_lanes(graph).empty())
    batch_ = std::make_unique<SparseBatch>(lane_graph(graph));
}

double PerturbAndMaxProduct::bytes_in_batches(const Graph& graph, std::size_t samples, std::size_t threads) {
  if (!graph.is_spin() && !why_not_lanes(graph).empty()) return 0;
  constexpr std::size_t lanes = LaneMaxProduct::lanes;
  const auto n = static_cast<double>(graph.size()), pairs = static_cast<double>(graph.spin_pairs.size());
  double gate_edges = 0;
  for (std::size_t g = 0; g < graph.gates.size(); ++g)
    gate_edges += static_cast<double>(graph.gates.scope(g).size());
  const bool dense = is_dense(graph.size(), 2 * graph.spin_pairs.size());
  const double layout = 2 * pairs * (sizeof(float) + sizeof(std::uint32_t)) +
                        (dense ? 1.5 * sizeof(float) * n * n : sizeof(LaneGraph::Pair) * pairs);
  const double messages = dense ? n * n : lanes * (2 * pairs + gate_edges),
               sums = dense ? 3 * n : lanes * 3 * n;
  const double noise_and_states = lanes * n * (sizeof(float) + sizeof(std::uint8_t));
  const auto workers = static_cast<double>(std::min(threads, (samples + lanes - 1) / lanes));
  return layout + workers * (noise_and_states + sizeof(float) * (messages + sums));
}

void PerturbAndMaxProduct::draw_pairs(std::uint64_t seed, std::uint64_t first, std::size_t count,
                                      std::span<Value> states) const {
  const std::size_t n = graph_->size();
  const Random random(seed, Stream::perturb);
  // Full lanes at a time: what is held grows with the threads, not with the samples.
  constexpr std::size_t group = LaneMaxProduct::lanes;
  parallel_for(std::size_t{0}, (count + group - 1) / group, [&](std::size_t g) {
    const std::size_t begin = g * group, some = std::min(group, count - begin);
    std::vector<float> extra(some * n);
    std::vector<std::uint8_t> bits(some * n);
    for (std::size_t s = 0; s < some; ++s) {
      if (options_.control->should_stop()) return;
      for (VariableId i = 0; i < n; ++i)
        extra[s * n + i] = static_cast<float>(noise(random, first + begin + s, i, 1) -
                                              noise(random, first + begin + s, i, 0));
    }
    batch_->solve(extra, some, options_, bits, nullptr);
    std::ranges::copy(bits, states.begin() + static_cast<std::ptrdiff_t>(begin * n));
  });
}

void PerturbAndMaxProduct::draw_general(std::uint64_t seed, std::uint64_t first, std::size_t count,
                                        std::span<Value> states) const {
  const FactorGraph layout = factor_graph(*graph_);
  const Random random(seed, Stream::perturb);
  BeliefOptions options;
  options.semiring = Semiring::maximum;
  options.schedule = MessageSchedule::flooding;
  options.iterations = options_.iterations;
  options.damping = options_.damping;
  const std::size_t n = graph_->size();
  parallel_for(std::size_t{0}, count, [&](std::size_t s) {
    if (options_.control->should_stop()) return;
    std::vector<double> unary(graph_->unary.begin(), graph_->unary.end());
    for (VariableId v = 0; v < n; ++v)
      for (std::uint32_t k = 0; k < graph_->cardinalities[v]; ++k)
        unary[graph_->unary_offsets[v] + k] += noise(random, first + s, v, static_cast<Value>(k));
    BeliefPropagation beliefs(layout, options);
    beliefs.set_unary(unary);
    const auto go_on = [&] { return !options_.control->should_stop(); };
    beliefs.run([&](std::uint64_t, double) { return go_on(); }, go_on);
    std::ranges::copy(beliefs.decode(), states.begin() + static_cast<std::ptrdiff_t>(s * n));
  });
}

void PerturbAndMaxProduct::draw(std::uint64_t seed, std::uint64_t first, std::size_t count,
                                std::span<Value> states, std::span<double> maxima) const {
  const std::size_t n = graph_->size();
  assert(states.size() == count * n && maxima.size() == count);
  if (batch_)
    draw_pairs(seed, first, count, states);
  else
    draw_general(seed, first, count, states);
  const Random random(seed, Stream::perturb);
  parallel_for(std::size_t{0}, count, [&](std::size_t s) {
    if (options_.control->should_stop()) return;
    const std::span<const Value> x = states.subspan(s * n, n);
    double maximum = log_score(*graph_, x);
    for (VariableId v = 0; v < n; ++v) maximum += noise(random, first + s, v, x[v]);
    maxima[s] = maximum;
  });
}

}  // namespace drover
