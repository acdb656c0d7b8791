// A program that embeds drover: builds a small Ising model, and prints exact and sampled marginals side by
// side.
#include <cstdio>

#include "drover/compile/graph.hpp"
#include "drover/methods/method.hpp"
#include "drover/model/builders.hpp"

int main() {
  const drover::Model model = drover::grid_ising(4, 4, false, 0.3, 0.1);
  const drover::Graph graph = drover::compile(model);
  drover::Settings settings;
  settings.method = "gibbs";
  const drover::Problem sampled_problem(graph, settings);
  drover::Settings exact_settings;
  exact_settings.method = "exact";
  const drover::Problem exact_problem(graph, exact_settings);
  const auto sampled = drover::choose_method(sampled_problem, drover::Task::marginals)
                           .method->marginals(sampled_problem, drover::no_control());
  const auto exact = drover::choose_method(exact_problem, drover::Task::marginals)
                         .method->marginals(exact_problem, drover::no_control());
  for (std::size_t v = 0; v < graph.size(); ++v) {
    std::printf("%2zu  exact %.5f  sampled %.5f +- %.5f\n", v, exact.marginals[v][1], sampled.marginals[v][1],
                sampled.mcse[v][1]);
    const double error = exact.marginals[v][1] - sampled.marginals[v][1];
    if (error * error > 25 * sampled.mcse[v][1] * sampled.mcse[v][1]) return 1;
  }
  return 0;
}
