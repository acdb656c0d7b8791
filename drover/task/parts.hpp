// Models that no rank could hold as a whole: in a folder of parts (drover/io/spin_parts.hpp), of which every rank
// reads its own.
//
//   write_parts(model, "parts", {.parts = 64}, control);   // by whoever can hold it once
//   generate_parts({.kind = GenerateKind::grid, .width = 30000}, "parts", {.parts = 64}, control);   // by nobody
//   PartsAnswer answer = marginals_of_parts("parts", "marginals", options, control);
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "drover/core/option_list.hpp"
#include "drover/core/run_control.hpp"
#include "drover/model/model.hpp"
#include "drover/run/inference_options.hpp"
#include "drover/run/result.hpp"
#include "drover/task/generate.hpp"
#include "drover/task/provenance.hpp"

namespace drover {

struct PartsOptions {
  std::uint32_t parts = 16;  ///< as many ranks can share the model, or fewer
  bool duals = false;        ///< for primal-dual sampling instead of Gibbs sampling
};

void describe(OptionList& list, PartsOptions& options);

/// Whether this names a folder: it ends with a slash, or is one.
bool is_parts_folder(const std::string& path);

/// The part of every unit, of so many: about equal work, little to tell one another.
using Divide = std::function<std::vector<std::uint32_t>(const WorkGraph&, std::uint32_t parts)>;
/// Stretches of equal work of the units in the order in which they are reached from the first.
std::vector<std::uint32_t> divide_by_reach(const WorkGraph& graph, std::uint32_t parts);

/// Lays the model out, divides it (lattices into bands of rows, others by `divide`) and writes the parts.
/// Raises misfit when it has more than two states, or factors that are no positive pairs.
void write_parts(const Model& model, const std::string& folder, const PartsOptions& options,
                 const RunControl& control, const Divide& divide = divide_by_reach);

/// The parts of a grid, each made by itself; the control's ranks share them. Raises usage for other kinds.
void generate_parts(const GenerateModelOptions& model, const std::string& folder, const PartsOptions& options,
                    const RunControl& control);

/// What a run on parts says, on rank 0; the marginals themselves are in files.
struct PartsAnswer {
  Provenance provenance;
  std::size_t variables = 0;
  std::uint32_t parts = 0, ranks = 0, colours = 0;
  std::uint32_t chains = 0;
  std::uint64_t sweeps = 0, burn_in = 0;
  double updates = 0;
  double sampling_seconds = 0;  ///< without reading and writing
  Diagnostics diagnostics;
  bool converged = false;
  double mean_log_score = 0;  ///< of the sweeps that counted
  double last_log_score = 0;
  double exchanges_per_sweep = 0;
  double most_bytes_per_sweep = 0;               ///< that leave a rank
  double predicted_memory = 0, peak_memory = 0;  ///< of the rank that takes most; bytes
};

/// Samples by the method that the folder is laid out for and writes, where `out` is not empty, a table of
/// each part's marginals: out/part-00000.csv. Options that need a whole state are refused. The tables do not
/// depend on the number of ranks.
PartsAnswer marginals_of_parts(const std::string& folder, const std::string& out,
                               const InferenceOptions& options, const RunControl& control);

JsonObject to_json(const PartsAnswer& answer);
Judgement judge(const PartsAnswer& answer);

}  // namespace drover
