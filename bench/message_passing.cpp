// Messages per nanosecond of message passing, one thread, vector engines beside the code that goes factor by
// factor, with all instructions of the processor and with AVX2 alone; and max-product beside MPLP and the
// linear-programming relaxation. By the thread's own clock: what an undisturbed core would do.
#include <fmt/format.h>
#include <hwy/targets.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "drover/core/random.hpp"
#include "drover/infer/belief_propagation.hpp"
#include "drover/infer/dense_max_product.hpp"
#include "drover/infer/iterated_modes.hpp"
#include "drover/infer/lane_max_product.hpp"
#include "drover/infer/lp_relaxation.hpp"
#include "drover/infer/mplp.hpp"
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

const char* name_of(MessageSchedule schedule) {
  switch (schedule) {
    case MessageSchedule::flooding:
      return "flooding";
    case MessageSchedule::sequential:
      return "sequential";
    case MessageSchedule::residual:
      return "residual";
  }
  return "";
}

/// Runs with the best instructions of this processor, then with AVX2 alone.
template <class Run>
void on_targets(Run run) {
  run("");
  if ((hwy::SupportedTargets() & HWY_AVX2) == 0) return;
  hwy::SetSupportedTargetsForTest(HWY_AVX2);
  run(", AVX2 only");
  hwy::SetSupportedTargetsForTest(0);
}

/// The vector engines beside the code that goes factor by factor: messages, and time to a largest change of
/// 1e-9.
void one_problem(const std::string& name, const Graph& graph, bool maxima) {
  const FactorGraph layout = factor_graph(graph);
  const double messages = static_cast<double>(layout.edge_count());
  for (const Semiring semiring : {Semiring::sum, Semiring::maximum}) {
    if (semiring == Semiring::maximum && !maxima) continue;
    const char* const kind = semiring == Semiring::sum ? "sum-product" : "max-product";
    for (const MessageSchedule schedule :
         {MessageSchedule::flooding, MessageSchedule::sequential, MessageSchedule::residual}) {
      const auto rate = [&](const std::string& what, bool vectors, std::uint64_t iterations, int repeats) {
        const double seconds = seconds_of(repeats, [&] {
          BeliefPropagation beliefs(layout, {.semiring = semiring,
                                             .schedule = schedule,
                                             .iterations = iterations,
                                             .damping = 0.5,
                                             .tolerance = 0,
                                             .vectors = vectors});
          beliefs.run();
        });
        // A residual iteration makes as many new proposals as the factors it updates have neighbours: not
        // counted.
        show(fmt::format("{}, {}, {}{}", name, kind, name_of(schedule), what),
             messages * static_cast<double>(iterations), seconds);
      };
      if (schedule != MessageSchedule::residual) rate(", factor by factor", false, 2, 2);
      on_targets([&](const std::string& target) { rate(target, true, 50, 5); });
    }
  }
  for (const MessageSchedule schedule :
       {MessageSchedule::flooding, MessageSchedule::sequential, MessageSchedule::residual})
    on_targets([&](const std::string& target) {
      std::uint64_t iterations = 0;
      bool converged = false;
      const double damping = schedule == MessageSchedule::residual ? 0.0 : 0.5;
      const double seconds = seconds_of(3, [&] {
        BeliefPropagation beliefs(layout, {.schedule = schedule, .damping = damping, .tolerance = 1e-9});
        beliefs.run();
        iterations = beliefs.iterations();
        converged = beliefs.converged();
      });
      fmt::print("{:62} {:8.3f} s, {} iterations{}\n",
                 fmt::format("{}, {} to 1e-9{}", name, name_of(schedule), target), seconds, iterations,
                 converged ? "" : ", not converged");
    });
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
  const Draw coupling = Draw::uniform(-1, 1), field = Draw::normal(0, 1);
  one_problem("grid 200x200", compile(ising(grid_edges(200, 200, false), coupling, field, 1)), true);
  one_problem("random graph of degree 4, 40000 variables",
              compile(ising(regular_edges(40000, 4, 1), coupling, field, 1)), true);
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
