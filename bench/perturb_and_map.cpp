// The paper's ratios of time, measured: perturbed maxima by max-product, MPLP and linear programs on the same
// noise; and learning with PMP, Gibbs sampling and Gibbs with gradients until the samples are equally good.
// One thread, processor time.
//
// Equally good: an Ising model is learnt from 2000 samples of a known one (1000 steps of Adam 0.002, 20
// chains reset at every step), with 1, 2, 5, 10, ... sweeps. The first number of sweeps counts for which the
// pair statistics of 2000 samples of the learnt model, made with as many sweeps, are off by at most 1.5 times
// what two sets of samples of the known model differ by. (The paper's MMD will not do: the means of these
// models are all but one half, and a random state has that too.)
#include <fmt/format.h>
#include <tbb/global_control.h>

#include <cmath>

#include "drover/core/random.hpp"
#include "drover/infer/lp_relaxation.hpp"
#include "drover/infer/mplp.hpp"
#include "drover/model/builders.hpp"
#include "drover/sample/gibbs/dense_gibbs_with_gradients.hpp"
#include "drover/sample/gibbs/gibbs_with_gradients.hpp"
#include "drover/sample/pmp/perturb_and_max_product.hpp"
#include "experiments/pmp_ising.hpp"

namespace drover {
namespace {

using namespace experiments;

void maxima(const std::string& name, const Graph& graph, std::size_t draws, std::size_t few) {
  const Random random(1, Stream::perturb);
  const std::size_t n = graph.size();
  std::vector<float> extra;
  std::vector<std::vector<double>> unary;
  for (std::size_t d = 0; d < draws; ++d) {
    unary.emplace_back(graph.unary.begin(), graph.unary.end());
    for (VariableId v = 0; v < n; ++v) {
      const auto words = random.block(0, d, v);
      const double zero = centred_gumbel(Random::to_unit(words[0], words[1])),
                   one = centred_gumbel(Random::to_unit(words[2], words[3]));
      unary[d][graph.unary_offsets[v]] += zero;
      unary[d][graph.unary_offsets[v] + 1] += one;
      extra.push_back(static_cast<float>(one - zero));
    }
  }
  std::vector<std::uint8_t> states(draws * n);
  double begin = processor_seconds();
  batch_max_product(spin_graph(graph))
      ->solve(extra, draws, {.iterations = 200, .damping = 0.5F}, states, nullptr);
  const double pmp = (processor_seconds() - begin) / static_cast<double>(draws);
  // One problem alone, as it would be without a batch.
  begin = processor_seconds();
  batch_max_product(spin_graph(graph))
      ->solve(std::span(extra).first(n), 1, {.iterations = 200, .damping = 0.5F}, std::span(states).first(n),
              nullptr);
  const double alone = processor_seconds() - begin;
  double score = 0, mplp_score = 0, lp_score = 0, mplp_seconds = 0, lp_seconds = 0;
  Graph perturbed = graph;
  for (std::size_t d = 0; d < few; ++d) {
    perturbed.unary = unary[d];
    const std::vector<Value> state(states.begin() + static_cast<std::ptrdiff_t>(d * n),
                                   states.begin() + static_cast<std::ptrdiff_t>(d * n + n));
    score += log_score(perturbed, state) / static_cast<double>(few);
    begin = processor_seconds();
    mplp_score += mplp(perturbed, {.iterations = 50'000}).log_score / static_cast<double>(few);
    mplp_seconds += (processor_seconds() - begin) / static_cast<double>(few);
    begin = processor_seconds();
    lp_score += solve_lp_relaxation(perturbed).log_score / static_cast<double>(few);
    lp_seconds += (processor_seconds() - begin) / static_cast<double>(few);
  }
  fmt::print("{}\n", name);
  fmt::print("  max-product, 200 sweeps, batch of {}: {:.3e} s a problem, mean score {:.3f}\n", draws, pmp,
             score);
  fmt::print("  the same, one problem alone:          {:.3e} s ({:.1f} times)\n", alone, alone / pmp);
  fmt::print("  MPLP until its dual stands still:     {:.3e} s ({:.1f} times), mean score {:.3f}\n",
             mplp_seconds, mplp_seconds / pmp, mplp_score);
  fmt::print("  linear program:                       {:.3e} s ({:.0f} times), mean score {:.3f}\n",
             lp_seconds, lp_seconds / pmp, lp_score);
}

void learning(const std::string& name, const Edges& edges, const Draw& coupling) {
  const std::uint32_t n = edges.variables;
  const Model drawn = ising(edges, coupling, Draw::constant(0), 1);
  SpinModel truth = spin_model(n);
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const std::size_t i = std::min(edges.first[e], edges.second[e]),
                      j = std::max(edges.first[e], edges.second[e]);
    truth.pairs[i * n - i * (i + 1) / 2 + j - i - 1] = static_cast<float>(drawn.spin_pairs.couplings[e]) / 2;
  }
  const std::uint32_t long_run[] = {1000};
  const BinaryMachine machine = spin_machine(truth);
  const std::vector<Value> data = samples_on_the_way(machine, "gibbs", 2000, long_run, 1)[0];
  const std::vector<Value> other = samples_on_the_way(machine, "gibbs", 2000, long_run, 2)[0];
  const double level = 1.5 * pair_distance(other, data, n);
  const SpinMeans means = spin_means(data, n);
  fmt::print("{}: pair statistics to come within {:.4f}\n", name, level);
  double pmp = 0;
  for (const std::string method : {"pmp", "gibbs", "gwg"}) {
    for (const std::uint32_t sweeps : {1U, 2U, 5U, 10U, 20U, 50U}) {
      SpinModel model = spin_model(n);
      const auto sampler =
          named_sampler(method, {.chains = 20, .sweeps = sweeps, .persistent = false, .seed = 1});
      const double seconds = learn_spins(model, means, *sampler, {.iterations = 1000, .rate = 0.002}, {}, "");
      const std::uint32_t last[] = {sweeps};
      const double score =
          pair_distance(samples_on_the_way(spin_machine(model), method, 2000, last, 3)[0], data, n);
      if (score > level && sweeps < 50) continue;
      if (method == "pmp") pmp = seconds;
      fmt::print("  {:6} {:3} sweeps: {:.4f} in {:.3g} s of learning ({:.2f} times PMP){}\n", method, sweeps,
                 score, seconds, seconds / pmp, score > level ? ", level not reached" : "");
      break;
    }
  }
}

/// Gibbs with gradients on a complete graph: the kernel for any graph and the one for dense graphs.
void proposals(std::uint32_t variables) {
  const Graph graph =
      compile(ising(complete_edges(variables), Draw::normal(0, 0.02), Draw::constant(-0.5), 1));
  const SpinGraph spins = spin_graph(graph);
  const GibbsWithGradients any(spins);
  const DenseGibbsWithGradients dense(spins);
  auto state = any.start(1, 0);
  auto dense_state = dense.start(1, 0);
  double begin = processor_seconds();
  for (std::uint64_t sweep = 0; sweep < 3; ++sweep) any.sweep(state, sweep);
  const double any_seconds = (processor_seconds() - begin) / (3.0 * variables);
  begin = processor_seconds();
  for (std::uint64_t sweep = 0; sweep < 60; ++sweep) dense.sweep(dense_state, sweep);
  const double dense_seconds = (processor_seconds() - begin) / (60.0 * variables);
  fmt::print("complete, {} variables: {:.2f} microseconds a proposal, {:.2f} dense ({:.0f} times)\n",
             variables, 1e6 * any_seconds, 1e6 * dense_seconds, any_seconds / dense_seconds);
}

}  // namespace
}  // namespace drover

int main() {
  using namespace drover;
  const tbb::global_control one_thread(tbb::global_control::max_allowed_parallelism, 1);
  fmt::print("-- perturbed maxima\n");
  maxima("torus 15x15, K = -0.2", compile(grid_ising(15, 15, true, -0.2)), 96, 20);
  maxima("complete, 64 variables, J ~ N(0, 0.1^2)",
         compile(ising(complete_edges(64), Draw::normal(0, 0.1), Draw::normal(0, 0.5), 1)), 96, 10);
  maxima("RBM 49x32, W ~ N(0, 1)", compile(rbm(49, 32, Draw::normal(0, 1), Draw::normal(0, 1), 1)), 96, 10);
  fmt::print("\n-- Gibbs with gradients on complete graphs\n");
  for (const std::uint32_t variables : {200U, 625U, 900U}) proposals(variables);
  fmt::print("\n-- learning to equal quality of samples\n");
  learning("torus 10x10, J = -0.2", grid_edges(10, 10, true), Draw::constant(-0.2));
  learning("random graph, 100 variables of degree 4 on average, J ~ N(0, 1)", random_edges(100, 0.04, 1),
           Draw::normal(0, 1));
  return 0;
}
