// Messages per nanosecond of the message-passing kernels, one thread, beside a plain loop; and max-product
// beside MPLP and the linear-programming relaxation. By the thread's own clock: what an undisturbed core
// would do.
#include <fmt/format.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "drover/core/random.hpp"
#include "drover/infer/dense_max_product.hpp"
#include "drover/infer/iterated_modes.hpp"
#include "drover/infer/lane_max_product.hpp"
#include "drover/infer/lp_relaxation.hpp"
#include "drover/infer/mplp.hpp"
#include "drover/infer/spin_messages.hpp"
#include "drover/model/builders.hpp"
#include "drover/model/convolution.hpp"

namespace drover {
namespace {

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// The shortest of several runs.
template <class Run>
double seconds_of(int repeats, Run run) {
  double best = 1e300;
  for (int r = 0; r < repeats; ++r) {
    const double begin = thread_seconds();
    run();
    best = std::min(best, thread_seconds() - begin);
  }
  return best;
}

void show(const std::string& name, double messages, double seconds) {
  fmt::print("{:62} {:8.3f}\n", name, 1e-9 * messages / seconds);
}

std::vector<float> noise(std::size_t count) {
  const Random random(2, Stream::generate);
  std::vector<float> values(count);
  for (std::size_t k = 0; k < count; ++k) {
    const double u = random.uniform(0, k >> 32, static_cast<std::uint32_t>(k)) + 1e-12;
    values[k] = static_cast<float>(std::log(u / (1 - u + 1e-12)));
  }
  return values;
}

/// Message by message over neighbour lists, as one would write it first.
double plain_loop_seconds(const SpinGraph& graph, Semiring semiring, int sweeps) {
  std::vector<std::size_t> reverse(graph.neighbour.size());
  for (std::uint32_t i = 0; i < graph.size(); ++i)
    for (std::size_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e) {
      const auto row = graph.neighbours(graph.neighbour[e]);
      reverse[e] = graph.offsets[graph.neighbour[e]] +
                   static_cast<std::size_t>(std::lower_bound(row.begin(), row.end(), i) - row.begin());
    }
  std::vector<float> in(graph.neighbour.size(), 0.0f), next(in.size());
  const auto softplus = [](float x) { return std::max(0.0f, x) + std::log1p(std::exp(-std::abs(x))); };
  return seconds_of(3, [&] {
    for (int s = 0; s < sweeps; ++s) {
      for (std::size_t i = 0; i < graph.size(); ++i) {
        float sum = graph.bias[i];
        for (std::size_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e) sum += in[e];
        for (std::size_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e) {
          const float P = sum - in[e], w = graph.weight[e];
          const float sent = semiring == Semiring::sum ? softplus(P + w) - softplus(P)
                                                       : std::max(0.0f, P + w) - std::max(0.0f, P);
          next[reverse[e]] = 0.5f * in[reverse[e]] + 0.5f * sent;
        }
      }
      std::swap(in, next);
    }
  });
}

void one_problem(const std::string& name, const Edges& edges) {
  const Graph graph = compile(ising(edges, Draw::normal(0, 1), Draw::normal(0, 1), 1));
  const SpinGraph spins = spin_graph(graph);
  for (const Semiring semiring : {Semiring::maximum, Semiring::sum}) {
    const char* const kind = semiring == Semiring::sum ? "sum-product" : "max-product";
    SpinMessages messages(spins, semiring);
    const double count = 20.0 * static_cast<double>(messages.message_count());
    const double ours = seconds_of(20, [&] {
      for (int s = 0; s < 20; ++s) messages.sweep(0.5f);
    });
    const double plain = plain_loop_seconds(spins, semiring, 20);
    show(fmt::format("{}, {}: plain loop", name, kind), count, plain);
    show(fmt::format("{}, {}", name, kind), count, ours);
    fmt::print("{:62} {:8.1f}\n", "  times the plain loop", plain / ours);
  }
}

template <class Solver>
void batch(const std::string& name, const Solver& solver, std::size_t messages, std::size_t problems,
           std::uint32_t iterations) {
  const std::vector<float> extra = noise(problems * solver.size());
  std::vector<std::uint8_t> states(extra.size());
  const double seconds = seconds_of(5, [&] { solver.solve(extra, problems, {iterations, 0.5f}, states); });
  show(fmt::format("{}, {} problems", name, problems),
       static_cast<double>(messages) * static_cast<double>(problems) * iterations, seconds);
}

void dense(const std::string& name, DenseMaxProduct solver, std::size_t weights) {
  std::vector<float> w = noise(weights);
  for (float& x : w) x *= 0.05f;
  solver.set_weights(w);
  batch(name, solver, 2 * solver.pair_count(), 16, 50);
}

void sparse(const std::string& name, const Edges& edges) {
  const Graph graph = compile(ising(edges, Draw::normal(0, 0.5), Draw::normal(0, 0.1), 1));
  const LaneMaxProduct solver(lane_graph(spin_graph(graph)));
  batch(name, solver, solver.graph().message_count(), 64, 50);
}

void deconvolution() {
  ConvolutionShape shape;
  shape.images = 100;
  const Model model = binary_convolution(shape);
  Evidence evidence;  // images made from a random state of features and locations
  RandomSequence random(3, Stream::generate);
  std::vector<char> on(shape.first_helper(), 0);
  for (VariableId v = 0; v < shape.first_pixel(); ++v)
    on[v] = random.uniform() < (v < shape.first_location() ? shape.feature_prior : shape.location_prior);
  std::vector<char> helper_on(model.variable_count(), 0);
  for (std::size_t g = 0; g < model.gates.size(); ++g) {
    const auto inputs = model.gates.inputs(g);
    if (model.gates.kinds[g] == GateKind::and_gate)
      helper_on[model.gates.child(g)] = on[inputs[0]] && on[inputs[1]];
    else
      evidence.add(model.gates.child(g), std::any_of(inputs.begin(), inputs.end(),
                                                     [&](VariableId v) { return helper_on[v] != 0; }));
  }
  const Graph graph = compile(model, evidence);
  const LaneMaxProduct solver(lane_graph(graph));
  fmt::print("deconvolution, 100 images: {} variables stated, {} free, {} gates, {} messages\n",
             model.variable_count(), graph.size(), graph.gates.size(), solver.graph().message_count());
  batch("deconvolution (OR and AND gates)", solver, solver.graph().message_count(), 16, 20);
}

// One state each of a frustrated and of an attractive model: score reached, bound, seconds.
void solvers(const std::string& name, const Graph& graph) {
  const LaneMaxProduct lanes(lane_graph(spin_graph(graph)));
  const IteratedModes modes(graph);
  std::vector<std::uint8_t> states(graph.size());
  const std::vector<float> none(graph.size(), 0.0f);
  std::vector<Value> x(graph.size());
  double score = 0;
  const double max_product = seconds_of(3, [&] {
    lanes.solve(none, 1, {200, 0.5f}, states);
    x.assign(states.begin(), states.end());
    score = modes.climb(x).log_score;
  });
  MplpResult dual;
  const double mplp_seconds = seconds_of(1, [&] { dual = mplp(graph, {.iterations = 200}); });
  LpResult lp;
  const double lp_seconds = seconds_of(1, [&] { lp = solve_lp_relaxation(graph); });
  fmt::print(
      "{}: max-product {:.4f} in {:.2e} s; mplp {:.4f} <= {:.4f} in {:.2e} s ({:.0f} times); lp {:.4f} "
      "<= {:.4f} in {:.2e} s ({:.0f} times)\n",
      name, score, max_product, dual.log_score, dual.upper, mplp_seconds, mplp_seconds / max_product,
      lp.log_score, lp.upper, lp_seconds, lp_seconds / max_product);
}

}  // namespace
}  // namespace drover

int main() {
  using namespace drover;
  const tbb::global_control one_thread(tbb::global_control::max_allowed_parallelism, 1);
  fmt::print("messages per nanosecond, one thread\n\n-- one problem\n");
  one_problem("grid 200x200", grid_edges(200, 200, false));
  one_problem("random graph of degree 4, 40000 variables", regular_edges(40000, 4, 1));
  fmt::print("\n-- many problems that differ in their unaries (max-product)\n");
  dense("complete, 900 variables", DenseMaxProduct::complete(900), 900 * 900);
  dense("RBM 784x500", DenseMaxProduct::bipartite(784, 500), 784 * 500);
  sparse("torus 25x25", grid_edges(25, 25, true));
  sparse("random graph of degree 4, 200 variables", regular_edges(200, 4, 1));
  sparse("grid 200x200", grid_edges(200, 200, false));
  deconvolution();
  fmt::print("\n-- solvers of one problem, 200 iterations each\n");
  solvers("grid 30x30, random signs",
          compile(ising(grid_edges(30, 30, false), Draw::normal(0, 1), Draw::normal(0, 1), 1)));
  solvers("complete, 40 variables",
          compile(ising(complete_edges(40), Draw::normal(0, 0.5), Draw::normal(0, 1), 1)));
  return 0;
}
