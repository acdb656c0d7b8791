// Edits per second while sampling goes on, on graphs of growing size:
//   1. DynamicModel: a factor removed and another added, in place; its sweep of 64 chains;
//   2. the same as JSON lines, parsed, checked and applied (EditStream), with a sweep after every so many
//      edits;
//   3. beside it a chromatic Gibbs sampler, which colours and lays out the graph anew for an edit.
//   4. the same edits in place among variables of three states: Potts pairs of either sign and tables.
// Thread time, one thread; the figures of one size in one run.
//
//   bench_stream [most edges, default 1000000]
#include <fmt/format.h>
#include <tbb/task_arena.h>

#include <cstdlib>
#include <ctime>
#include <vector>

#include "drover/compile/spin_graph.hpp"
#include "drover/core/random.hpp"
#include "drover/run/edit_stream.hpp"
#include "drover/sample/dual/dynamic_model.hpp"
#include "drover/sample/gibbs/gibbs_spin_chain.hpp"

namespace drover {
namespace {

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class Work>
double seconds_of(const Work& work) {
  const double begin = thread_seconds();
  work();
  return thread_seconds() - begin;
}

DynamicModel random_graph(std::uint32_t variables, std::uint32_t edges) {
  DynamicModel model(1);
  RandomSequence random(1, Stream::generate);
  for (std::uint32_t v = 0; v < variables; ++v) model.add_variable(random.normal());
  for (std::uint32_t e = 0; e < edges; ++e) {
    const std::uint32_t first = random.below(variables);
    model.add_factor(first, (first + 1 + random.below(variables - 1)) % variables, random.normal() / 4);
  }
  return model;
}

void measure(std::uint32_t edges) {
  const std::uint32_t variables = edges / 2, edits = 200'000;
  DynamicModel model = random_graph(variables, edges);
  std::vector<DynamicModel::Id> factors = model.factors();
  RandomSequence random(2, Stream::generate);
  const double edit = seconds_of([&] {
    for (std::uint32_t k = 0; k < edits / 2; ++k) {
      DynamicModel::Id& factor = factors[random.below(edges)];
      model.remove_factor(factor);
      const std::uint32_t first = random.below(variables);
      factor = model.add_factor(first, (first + 1 + random.below(variables - 1)) % variables, 0.2);
    }
  });
  const int sweeps = static_cast<int>(std::max<std::uint32_t>(3, 2'000'000 / edges));
  const double sweep = seconds_of([&] {
                         for (int s = 0; s < sweeps; ++s) model.sweep();
                       }) /
                       sweeps;

  // Lines as a program would send them: named factors come and go, a sweep after every 50,000 edits.
  std::vector<std::string> lines;
  for (std::uint32_t k = 0; k < edits / 2; ++k) {
    const std::uint32_t first = random.below(variables);
    lines.push_back(fmt::format(R"({{"op":"add_factor","variables":[{},{}],"coupling":{:.4f},"name":"f{}"}})",
                                first, (first + 1 + random.below(variables - 1)) % variables,
                                random.normal() / 4, k));
    if (k >= 1000) lines.push_back(fmt::format(R"({{"op":"remove_factor","factor":"f{}"}})", k - 1000));
  }
  EditStream stream(model, {}, {50'000, 0}, [](std::string_view) {});
  const std::uint64_t before = model.sweeps();
  const double streaming = seconds_of([&] {
    for (const std::string& line : lines) stream.take(line);
  });

  const Graph graph = compile(model.model());
  const double rebuild = seconds_of([&] { const GibbsSpinChain kernel(spin_graph(graph)); });
  fmt::print("{:>9} {:>9} {:>12.0f} {:>10.2f} {:>14.0f} {:>7} {:>14.2f} {:>12.0f}\n", variables, edges,
             1e9 * edit / edits, 1e3 * sweep, static_cast<double>(lines.size()) / streaming,
             model.sweeps() - before, 1e3 * rebuild, rebuild / (edit / edits));
}

void measure_three_states(std::uint32_t edges) {
  const std::uint32_t variables = edges / 2, edits = 20'000;
  DynamicModel model(1);
  RandomSequence random(1, Stream::generate);
  const std::vector<double> unary(3, 0.0);
  for (std::uint32_t v = 0; v < variables; ++v) model.add_variable(unary);
  std::vector<double> table(9);
  const auto add = [&] {
    const std::uint32_t first = random.below(variables);
    const std::uint32_t second = (first + 1 + random.below(variables - 1)) % variables;
    if (random.below(2) == 0) return model.add_potts(first, second, random.normal() / 2);
    for (double& value : table) value = random.normal() / 2;
    return model.add_factor(first, second, table);
  };
  std::vector<DynamicModel::Id> factors;
  for (std::uint32_t e = 0; e < edges; ++e) factors.push_back(add());
  const double edit = seconds_of([&] {
    for (std::uint32_t k = 0; k < edits / 2; ++k) {
      DynamicModel::Id& factor = factors[random.below(edges)];
      model.remove_factor(factor);
      factor = add();
    }
  });
  const int sweeps = static_cast<int>(std::max<std::uint32_t>(3, 200'000 / edges));
  const double sweep = seconds_of([&] {
                         for (int s = 0; s < sweeps; ++s) model.sweep();
                       }) /
                       sweeps;
  fmt::print("{:>9} {:>9} {:>12.0f} {:>10.2f}\n", variables, edges, 1e9 * edit / edits, 1e3 * sweep);
}

}  // namespace
}  // namespace drover

int main(int count, char** arguments) {
  const auto most = static_cast<std::uint32_t>(count > 1 ? std::atoi(arguments[1]) : 1'000'000);
  fmt::print("{:>9} {:>9} {:>12} {:>10} {:>14} {:>7} {:>14} {:>12}\n", "variables", "edges", "edit, ns",
             "sweep, ms", "JSON edits/s", "sweeps", "rebuild, ms", "rebuild/edit");
  tbb::task_arena(1).execute([&] {
    for (std::uint32_t edges = 1000; edges <= most; edges *= 10) drover::measure(edges);
    fmt::print("\nthree states\n{:>9} {:>9} {:>12} {:>10}\n", "variables", "edges", "edit, ns", "sweep, ms");
    for (std::uint32_t edges = 1000; edges <= most / 10; edges *= 10) drover::measure_three_states(edges);
  });
}
