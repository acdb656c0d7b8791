// Draws in a file, and how far they can be relied on: examples/diagnose models/grid-3x3.uai
#include <cstdio>
#include <drover/drover.hpp>

int main(int, char** arguments) {
  const std::string file = "diagnose-example.npz";
  drover::DrawFileSink sink(file);
  drover::Samples samples =
      drover::sample(drover::read_model(arguments[1]), {.method = "gibbs", .samples = 4000}, sink);
  sink.finish(samples);
  const drover::DiagnoseResult result = drover::diagnose(drover::read_draws(file), file);
  std::remove(file.c_str());
  std::printf("%zu draws of %zu chains: %s\n", result.draws, result.chains,
              drover::judge(result).text.c_str());
  return result.chains > 1 ? 0 : 1;
}
