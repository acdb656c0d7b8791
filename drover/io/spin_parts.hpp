// A model of binary variables and pairs in parts, each in a file of a folder, for ranks that could not hold the
// whole: "part-00000", "part-00001" ...
//
// The graph is laid out in units of 64 variables of one colour, as GibbsSpinChain lays it out; for primal-dual
// sampling the duals of its pairs are laid out too, as a colour of their own. Every part has some units with
// their biases, neighbours and weights, and says which units of other parts it reads and which of its own others
// read. A dual stands in every part that has one of its two variables.
//
// A file: a line that names the part, sizes, lists and rows in the machine's own (little-endian) numbers, a
// checksum at the end.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "drover/compile/spin_graph.hpp"
#include "drover/core/run_control.hpp"
#include "drover/sample/spread/part_spread.hpp"

namespace drover {

/// How the whole is laid out and divided; known without having its couplings.
struct PartsLayout {
  std::uint32_t parts = 1;
  std::uint32_t variables = 0;              ///< without duals, whose numbers follow those of variables
  std::vector<std::uint32_t> colour_begin;  ///< units of colour c: colour_begin[c] .. colour_begin[c + 1]
  std::vector<std::uint8_t> twice;          ///< colours of duals

  std::function<std::uint32_t(std::uint32_t)> part_of;      ///< of a unit of variables
  std::function<std::uint32_t(std::uint32_t)> variable_at;  ///< by position; no_variable behind a unit's last
  std::function<std::uint32_t(std::uint32_t)> position_of;  ///< by variable

  bool is_twice(std::uint32_t unit) const;
};

/// Some rows of the whole: all that a part has, with the variables beside them.
struct PartRows {
  SpinGraph graph;                                    ///< with duals where the layout has them
  std::vector<float> terms;                           ///< with duals: of the log score, as in HeldPart
  std::function<std::uint32_t(std::uint32_t)> whole;  ///< a variable of this graph in the whole
  std::function<std::uint32_t(std::uint32_t)> here;   ///< the opposite
  double log_constant = 0;                            ///< this part's share
};

std::string part_name(const std::string& folder, std::uint32_t part);

/// Writes one part; the folder must be there.
void write_part(const std::string& folder, const PartsLayout& layout, std::uint32_t part,
                const PartRows& rows);

/// What is known of a folder from its first part. Raises cannot_read, bad_data.
struct PartsFolder {
  std::uint32_t parts = 0;
  std::uint32_t variables = 0;
  std::uint32_t colours = 0;
  bool has_duals = false;
};
PartsFolder parts_folder(const std::string& folder);

struct LoadedParts {
  HeldPart held;
  std::vector<std::uint32_t> parts;                   ///< that this rank has
  std::vector<std::vector<std::uint32_t>> variables;  ///< of each, in order
  struct Units {
    std::vector<std::uint32_t> numbers, places;  ///< in the whole, and in held.graph
  };
  std::vector<Units> units;       ///< of each: those that it draws or reads
  std::uint64_t fingerprint = 0;  ///< the sum over all parts of all ranks tells folders apart
  std::size_t kernel_bytes = 0;   ///< that its kernel will take, by the sizes alone
};

/// This rank's parts, neighbouring ones. Collective. Raises cannot_read, bad_data, misfit when there are fewer parts
/// than ranks.
LoadedParts load_parts(const std::string& folder, const RunControl& control);

}  // namespace drover
