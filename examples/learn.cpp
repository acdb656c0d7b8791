// A model learnt from rows, and used: examples/learn models/garden.csv
#include <cstdio>
#include <drover/drover.hpp>

int main(int, char** arguments) {
  const drover::DataTable rows = drover::read_data_table(arguments[1], {.columns = {"rain", "sprinkler"}});
  const drover::LearnResult result = drover::learn(rows, {.kind = drover::MachineKind::ising});
  std::printf("%zu weights from %zu rows\n%s\n", result.machine.edges(), result.rows,
              drover::judge(result).text.c_str());
}
