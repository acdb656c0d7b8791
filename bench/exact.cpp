// Exact inference on a folder of models: width, largest clique, seconds and peak memory of each, and how far
// the answers are from the reference files beside it (.PR, .MAR), where there are any.
// Usage: bench_exact FOLDER|MODEL [threads, default 2] [memory limit in GB, default 12]
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <tbb/global_control.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "drover/core/error.hpp"
#include "drover/infer/junction_tree.hpp"
#include "drover/io/evidence.hpp"
#include "drover/io/model_file.hpp"
#include "drover/io/result_files.hpp"

namespace {

using namespace drover;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Usage {
  double cpu_seconds, peak_megabytes;
};

Usage usage_now() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return {seconds(usage.ru_utime) + seconds(usage.ru_stime), static_cast<double>(usage.ru_maxrss) / 1024};
}

double marginal_error(const Graph& graph, const std::vector<std::vector<double>>& marginals,
                      const std::string& path) {
  const auto reference = read_mar(path);
  double worst = 0;
  for (std::size_t v = 0; v < reference.size(); ++v)
    for (std::size_t k = 0; k < reference[v].size(); ++k) {
      const VariableId free = graph.free_variable[v];
      const double p = free != no_variable ? marginals[free][k] : graph.clamped_value[v] == k ? 1.0 : 0.0;
      worst = std::max(worst, std::abs(p - reference[v][k]));
    }
  return worst;
}

void measure(const std::string& path, std::size_t memory_limit) {
  const std::string base = path.ends_with(".gz") ? path.substr(0, path.size() - 3) : path;
  const std::string name = std::filesystem::path(base).stem().string();
  const Model model = read_model(path);
  const Evidence evidence =
      std::filesystem::exists(base + ".evid") ? read_evidence(model, base + ".evid") : Evidence{};
  const Graph graph = compile(model, evidence);

  ExactOptions options;
  options.memory_limit_bytes = memory_limit;
  const double begin = seconds_now(), cpu_begin = usage_now().cpu_seconds;
  const ExactPlan plan = plan_exact(graph, options);
  fmt::print("{:24} {:5} {:6.1f} {:6.1f}", name, plan.order.treewidth_bound, plan.order.log2_max_clique,
             plan.order.log2_total_table);
  const double planned = seconds_now();
  JunctionTree tree(graph, plan, options);
  const double log_z = tree.log_z();
  const double summed = seconds_now();
  const auto marginals = tree.marginals();
  const double marginalised = seconds_now();
  const ScoredState best = tree.map();
  const double ended = seconds_now();
  const Usage usage = usage_now();
  fmt::print(" {:8.3f} {:8.3f} {:9.3f} {:8.3f} {:8.3f} {:8.0f}", planned - begin, summed - planned,
             marginalised - summed, ended - marginalised, usage.cpu_seconds - cpu_begin,
             usage.peak_megabytes);
  if (std::filesystem::exists(base + ".PR")) fmt::print(" {:9.1e}", std::abs(log_z - read_pr(base + ".PR")));
  if (std::filesystem::exists(base + ".MAR"))
    fmt::print(" {:9.1e}", marginal_error(graph, marginals, base + ".MAR"));
  fmt::print("  MAP {:.6f}\n", best.log_score);
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count < 2) {
    fmt::print("usage: bench_exact FOLDER|MODEL [threads] [memory limit in GB]\n");
    return 0;
  }
  const std::size_t threads = argument_count > 2 ? std::strtoul(arguments[2], nullptr, 10) : 2;
  const double gigabytes = argument_count > 3 ? std::strtod(arguments[3], nullptr) : 12;
  std::vector<std::string> paths;
  if (std::filesystem::is_directory(arguments[1])) {
    for (const auto& entry : std::filesystem::directory_iterator(arguments[1])) {
      const std::string path = entry.path().string();
      if (path.ends_with(".uai.gz") || path.ends_with(".uai") || path.ends_with(".bif.gz") ||
          path.ends_with(".bif"))
        paths.push_back(path);
    }
    std::sort(paths.begin(), paths.end());
  } else {
    paths.push_back(arguments[1]);
  }
  fmt::print("{:24} {:>5} {:>6} {:>6} {:>8} {:>8} {:>9} {:>8} {:>8} {:>8} {:>9} {:>9}\n", "model", "width",
             "clique", "total", "plan s", "log Z s", "margin. s", "MAP s", "CPU s", "peak MB", "d log Z",
             "d margin.");
  for (const std::string& path : paths) {
    std::fflush(stdout);
    // A process per model, so that the peak memory is its own.
    const pid_t child = fork();
    if (child == 0) {
      const tbb::global_control control(tbb::global_control::max_allowed_parallelism, threads);
      try {
        measure(path, static_cast<std::size_t>(gigabytes * 0x1p30));
      } catch (const Error& error) {
        fmt::print("  {}: {}\n", std::filesystem::path(path).filename().string(), error.what());
      }
      std::fflush(stdout);
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }
  return 0;
}
