// A program that embeds drover: builds a small Ising model, and prints exact and sampled marginals side by
// side.
#include <cmath>
#include <cstdio>
#include <drover/drover.hpp>

int main() {
  const drover::Model model = drover::grid_ising(4, 4, false, 0.3, 0.1);
  const drover::Marginals exact = drover::marginals(model);
  const drover::Marginals sampled = drover::marginals(model, {.method = "gibbs", .seed = 7});
  for (std::size_t v = 0; v < model.variable_count(); ++v) {
    const double p = exact.probabilities[v][1], q = sampled.probabilities[v][1], error = sampled.mcse[v][1];
    std::printf("%2zu  exact %.5f  sampled %.5f +- %.5f\n", v, p, q, error);
    if (std::abs(p - q) > 5 * error) return 1;
  }
  return 0;
}
