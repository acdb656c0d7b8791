// A model made by rule: examples/generate
#include <cstdio>
#include <drover/drover.hpp>

int main() {
  const drover::Generated grid = drover::generate_model(
      {.kind = drover::GenerateKind::grid, .width = 4, .coupling_sd = 1.0, .field_sd = 0.5});
  const drover::LogZ answer = drover::log_z(grid.model);
  std::printf("%zu variables, %zu factors, log Z %.6f\n", grid.model.variable_count(),
              grid.model.factor_count(), answer.log_z);
  return answer.exact ? 0 : 1;
}
