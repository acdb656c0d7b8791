// Whether samples come from where the data come from: examples/compare models/garden.csv
#include <cstdio>
#include <drover/drover.hpp>

int main(int, char** arguments) {
  const drover::DataTable rows = drover::read_rows(arguments[1]);
  const drover::CompareResult result = drover::compare(rows, rows);
  std::printf("%s\nsquared MMD %.4g, p %.3f\n", drover::judge(result).text.c_str(), result.squared_mmd,
              result.p_value_mmd);
  return result.p_value_mmd > 0.01 ? 0 : 1;
}
