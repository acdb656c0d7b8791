// Pseudo-samples with the moments of a table: examples/herd models/garden.csv
#include <cstdio>
#include <drover/drover.hpp>

int main(int, char** arguments) {
  const drover::DataTable rows = drover::read_data_table(arguments[1]);
  const drover::HerdResult result = drover::herd(rows, {.samples = 1000});
  std::printf("largest moment error %.4f after %llu samples\n", result.moment_error_max,
              static_cast<unsigned long long>(result.samples));
  return result.moment_error_max < 0.1 ? 0 : 1;
}
