// log Z from both sides on a folder of models with answers (.PR): is any bound on the wrong side, how far
// apart are they, how far is the estimate?
// Usage: bench_bracket FOLDER|MODEL [seconds per model, default 5]
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "bench/race_models.hpp"
#include "drover/core/error.hpp"
#include "drover/io/result_files.hpp"
#include "drover/task/inference.hpp"

int main(int argc, char** argv) {
  using namespace drover;
  const std::string folder = argc > 1 ? argv[1] : "../shared/data/uai";
  const double seconds = argc > 2 ? std::atof(argv[2]) : 5;
  int models = 0, wrong = 0, narrow = 0, both = 0;
  fmt::print("{:28} {:>14} {:>14} {:>14} {:>14} {:>9} {:>7}\n", "MODEL", "log Z", "lower", "upper",
             "estimate", "mcse", "wall s");
  for (const bench::NamedModel& named : bench::models_of(folder)) {
    const std::string answers =
        (std::filesystem::is_directory(folder) ? folder : std::string(".")) + "/" + named.name + ".uai.PR";
    const double truth = std::filesystem::exists(answers) ? read_pr(answers) : std::nan("");
    InferenceOptions options;
    options.method = "bracket";
    options.evidence = named.evidence;
    RunControl control;
    control.limit_time(seconds);
    try {
      const LogZ answer = log_z(named.model, options, control);
      // Answers are given to some six digits.
      const double slack = 1e-4 * (1 + std::abs(truth));
      const bool bad = answer.lower > truth + slack || answer.upper < truth - slack;
      ++models;
      wrong += bad ? 1 : 0;
      narrow += answer.upper - answer.lower <= 0.1 ? 1 : 0;
      both += std::isfinite(answer.upper - answer.lower) ? 1 : 0;
      fmt::print("{:28} {:14.5f} {:14.5f} {:14.5f} {:14.5f} {:9.2g} {:7.2f} {} {}{}\n", named.name, truth,
                 answer.lower, answer.upper, answer.log_z, answer.mcse, answer.provenance.seconds,
                 answer.exact ? "exact" : "", answer.provenance.details.find("upper_by") ? "" : "no upper",
                 bad ? " WRONG" : "");
    } catch (const Error& error) {
      fmt::print("{:28} {}\n", named.name, error.what());
    }
    std::fflush(stdout);
  }
  fmt::print(
      "\n{} models, {} with a bound on the wrong side; bounds on both sides {}, 0.1 apart or closer {}\n",
      models, wrong, both, narrow);
  return wrong;
}
