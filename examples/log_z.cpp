// log Z, exactly and by annealed importance sampling: examples/log_z models/grid-3x3.uai
#include <cmath>
#include <cstdio>
#include <drover/drover.hpp>

int main(int, char** arguments) {
  const drover::Model model = drover::read_model(arguments[1]);
  const drover::LogZ exact = drover::log_z(model, {.method = "exact"});
  const drover::LogZ estimate = drover::log_z(model, {.method = "ais", .chains = {.count = 64}});
  std::printf("exact %.6f, estimated %.6f +- %.6f\n", exact.log_z, estimate.log_z, estimate.mcse);
  return std::abs(exact.log_z - estimate.log_z) < 5 * estimate.mcse ? 0 : 1;
}
