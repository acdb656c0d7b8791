// How fast model files are read and written: MB/s of each format on generated models, and the memory of a
// large grid. Usage: bench_read_models [million variables of the grid, default 1] [folder for files, default
// /tmp]
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>

#include "drover/io/model_file.hpp"
#include "drover/model/builders.hpp"

namespace {

using namespace drover;

double seconds_of(auto&& action) {
  const std::clock_t begin = std::clock();
  action();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

double peak_gigabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1e6;
}

void measure(const std::string& what, const Model& model, const std::string& path) {
  const double written = seconds_of([&] { write_model(model, path); });
  const double megabytes = static_cast<double>(std::filesystem::file_size(path)) / 1e6;
  std::size_t factors = 0;
  const double read = seconds_of([&] { factors = read_model(path).factor_count(); });
  std::filesystem::remove(path);
  fmt::print("{:34} {:10} {:9.1f} {:9.2f} {:9.1f} {:9.2f} {:9.1f}\n", what, factors, megabytes, read,
             megabytes / read, written, megabytes / written);
  std::fflush(stdout);
}

// Every variable has up to two parents among those before it.
Model random_network(std::uint32_t variables, std::uint32_t states) {
  Model model;
  model.kind = ModelKind::bayes;
  model.cardinalities.assign(variables, states);
  const Draw entry = Draw::uniform(-3, 0);
  const Model tables = random_tables(3, states, variables, 3, entry, 0, 1);
  for (VariableId v = 0; v < variables; ++v) {
    if (v < 2) {
      model.unaries.add(v, tables.tables.values(v).subspan(0, states));
    } else {
      const VariableId scope[3] = {v - 2, v - 1, v};
      model.tables.add(scope, tables.tables.values(v));
    }
  }
  return model;
}

}  // namespace

int main(int count, char** arguments) {
  const double millions = count > 1 ? std::atof(arguments[1]) : 1;
  const std::string folder = (count > 2 ? arguments[2] : "/tmp") + fmt::format("/drover-bench-{}", getpid());
  const auto side = static_cast<std::uint32_t>(std::sqrt(millions * 1e6));
  std::filesystem::create_directory(folder);
  fmt::print("{:34} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "model", "factors", "MB", "read s", "read MB/s",
             "write s", "write MB/s");
  Model grid;
  const double made = seconds_of(
      [&] { grid = ising(grid_edges(side, side, false), Draw::normal(0, 1), Draw::normal(0, 1), 1); });
  const std::string name = fmt::format("grid {0}x{0}", side);
  const double peak_made = peak_gigabytes();
  measure(name + " .uai", grid, folder + "/m.uai");
  const double peak_read = peak_gigabytes();
  measure(name + " .coo", grid, folder + "/m.coo");
  measure(name + " .fg", grid, folder + "/m.fg");
  if (millions <= 2) measure(name + " .uai.gz", grid, folder + "/m.uai.gz");
  measure("the same, equal couplings .uai", grid_ising(side, side, false, 0.3, 0.1), folder + "/m.uai");
  const auto tables = static_cast<std::uint32_t>(millions * 1e5);
  measure("tables of 3 variables, 4 states .uai",
          random_tables(tables, 4, tables, 3, Draw::normal(0, 1), 0.1, 1), folder + "/m.uai");
  measure("network, 3 states .bif", random_network(tables, 3), folder + "/m.bif");
  fmt::print(
      "the grid was made in {:.2f} s; peak memory {:.2f} GB after making, {:.2f} GB after reading .uai\n",
      made, peak_made, peak_read);
  std::filesystem::remove_all(folder);
}
