// Seconds to denoise a black and white image of side x side pixels, 30 sweeps, by each method, as `drover
// denoise` runs it (model, compilation and estimates included, files not), all threads; and updates per
// nanosecond of mean field alone beside a plain loop over neighbour lists, one thread.
//
//   bench_denoise [side, default 1000]
#include <fmt/format.h>
#include <tbb/task_arena.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "drover/core/error.hpp"
#include "drover/image/denoising.hpp"
#include "drover/infer/mean_field.hpp"
#include "drover/task/inference.hpp"

namespace drover {
namespace {

double seconds_of(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::vector<double> rings(std::size_t side) {
  std::vector<double> pixels;
  for (std::size_t y = 0; y < side; ++y)
    for (std::size_t x = 0; x < side; ++x) {
      const double dx = static_cast<double>(x) - 500, dy = static_cast<double>(y) - 400;
      pixels.push_back(std::sin(std::sqrt(dx * dx + dy * dy) / 25) > 0 ? 1 : -1);
    }
  return pixels;
}

void measure_methods(std::size_t side, const NoisyImage& noisy, std::span<const double> clean) {
  fmt::print("{} x {} pixels, sigma 2, 30 sweeps, one chain\n{:<26} {:>8} {:>9}\n", side, side, "method",
             "seconds", "error");
  using Share = std::optional<HerdedShare>;
  for (const auto& [name, share] : {std::pair{"herded-gibbs", Share(HerdedShare::dense)},
                                    std::pair{"herded-gibbs", Share(HerdedShare::exact)},
                                    std::pair{"gibbs", Share()}, std::pair{"mean-field", Share()}}) {
    InferenceOptions options;
    options.method = name;
    options.herded.share = share;
    options.chains.count = 1;
    options.chains.sweeps = 30;
    options.chains.burn_in = 0;
    options.messages.iterations = 30;
    options.start = most_likely_states(noisy, 2);
    double error = 0;
    const double seconds = seconds_of([&] {
      const double sigma = estimate_sigma(noisy);
      const Marginals result = marginals(denoising_model(noisy, sigma, 1), options);
      std::vector<double> mean;
      for (std::size_t v = 0; v < result.variables; ++v) mean.push_back(2 * result.probabilities[v][1] - 1);
      error = mean_squared_error(mean, clean);
    });
    fmt::print("{:<26} {:>8.2f} {:>9.5f}\n",
               std::string(name) + (share ? ", " + std::string(choice_name(*share)) : ""), seconds, error);
  }
}

void measure_mean_field(const NoisyImage& noisy) {
  const Graph graph = compile(denoising_model(noisy, 2, 1));
  const MeanField field(graph);
  const SpinGraph spins = spin_graph(graph);
  std::vector<double> q = field.start_at_unaries();
  std::vector<double> p(graph.size(), 0.5);
  double best = 1e30, best_plain = 1e30;
  for (int repetition = 0; repetition < 5; ++repetition) {
    best = std::min(best, seconds_of([&] { field.sweep(q, 1); }));
    best_plain = std::min(best_plain, seconds_of([&] {
                            for (std::size_t v = 0; v < p.size(); ++v) {
                              double sum = spins.bias[v];
                              for (std::size_t e = spins.offsets[v]; e < spins.offsets[v + 1]; ++e)
                                sum += static_cast<double>(spins.weight[e]) * p[spins.neighbour[e]];
                              p[v] = 1 / (1 + std::exp(-sum));
                            }
                          }));
  }
  const auto size = static_cast<double>(graph.size());
  fmt::print("\nmean field, updates per nanosecond, one thread: {:.3f}; plain loop {:.3f}; ratio {:.2f}\n",
             size / best * 1e-9, size / best_plain * 1e-9, best_plain / best);
}

}  // namespace
}  // namespace drover

int main(int count, char** arguments) {
  const auto side = static_cast<std::size_t>(count > 1 ? std::atoi(arguments[1]) : 1000);
  const std::vector<double> clean = drover::rings(side);
  const drover::NoisyImage noisy = drover::add_noise(clean, side, side, 2, 1);
  drover::measure_methods(side, noisy, clean);
  tbb::task_arena(1).execute([&] { drover::measure_mean_field(noisy); });
}
