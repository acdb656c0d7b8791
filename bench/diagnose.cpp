// How long the diagnosis of a draws file takes, and writing and reading one.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <vector>

#include "drover/core/random.hpp"
#include "drover/diagnose/summary.hpp"
#include "drover/io/draws.hpp"
#include "drover/io/draws_diagnosis.hpp"

namespace {

using namespace drover;

/// Two-state (or more) chains that stay with probability `stay`, else draw anew.
DrawFile sticky_draws(std::size_t chains, std::size_t draws, std::size_t variables, std::uint32_t states,
                      double stay) {
  DrawFile file;
  file.chains = chains;
  file.draws = draws;
  file.variable_names.assign(variables, "v");
  std::vector<std::uint8_t> values(chains * draws * variables);
  RandomSequence random(1, Stream::generate);
  const std::size_t row = chains * variables;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t word = random();
    const bool keep = i >= row && (word >> 16) < stay * 65536;
    values[i] = keep ? values[i - row] : static_cast<std::uint8_t>((word & 0xffff) % states);
  }
  file.values = std::move(values);
  return file;
}

void diagnose(benchmark::State& state) {
  const auto variables = static_cast<std::size_t>(state.range(0));
  const DrawFile file = sticky_draws(64, 1000, variables, static_cast<std::uint32_t>(state.range(1)),
                                     static_cast<double>(state.range(2)) / 1000);
  for (auto _ : state) benchmark::DoNotOptimize(diagnose_draws(file));
  state.counters["variables/s"] =
      benchmark::Counter(static_cast<double>(variables), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(diagnose)
    ->ArgNames({"variables", "states", "stay/1000"})
    ->Args({10000, 2, 0})
    ->Args({10000, 2, 900})
    ->Args({10000, 2, 999})
    ->Args({1000, 5, 500})
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

void summarise_numbers(benchmark::State& state) {
  RandomSequence random(2, Stream::generate);
  std::vector<double> values(64 * 1000);
  for (double& value : values) value = random.normal();
  for (auto _ : state) benchmark::DoNotOptimize(summarise({values.data(), 64, 1000}));
}
BENCHMARK(summarise_numbers)->Unit(benchmark::kMillisecond);

void write_and_read(benchmark::State& state, const char* extension) {
  const std::size_t chains = 64, draws = 100, variables = 10000;
  const DrawFile file = sticky_draws(chains, draws, variables, 2, 0.5);
  const auto& values = std::get<std::vector<std::uint8_t>>(file.values);
  const std::string path =
      (std::filesystem::temp_directory_path() / ("drover-bench-draws" + std::string(extension))).string();
  for (auto _ : state) {
    DrawFileHeader header;
    header.variable_names = file.variable_names;
    header.chains = chains;
    const auto writer = make_draw_writer(path, header);
    std::vector<Value> x(variables);
    for (std::size_t r = 0; r < chains * draws; ++r) {
      std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(r * variables), variables, x.begin());
      writer->append(r % chains, x, 0.0);
    }
    writer->finish();
    benchmark::DoNotOptimize(read_draws(path));
  }
  state.counters["file bytes/value"] =
      static_cast<double>(std::filesystem::file_size(path)) / static_cast<double>(values.size());
  state.counters["values/s"] =
      benchmark::Counter(static_cast<double>(values.size()), benchmark::Counter::kIsIterationInvariantRate);
  std::filesystem::remove(path);
}
BENCHMARK_CAPTURE(write_and_read, npz, ".npz")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(write_and_read, nc, ".nc")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(write_and_read, csv, ".csv")->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
