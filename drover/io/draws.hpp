// Files of draws: written as the run goes, whole or not at all; read back for diagnosis.
//
// The format follows the extension:
//   .npz          NumPy: `draws` (draw, chain, variable) uint8 or uint16, `log_score` (draw, chain) float64,
//                 `variables` names, `evidence_variables`, `evidence_values`, `metadata` (a JSON text, with
//                 the order of dimensions). The draw comes first because draws arrive so:
//                 numpy.load(f)["draws"].transpose(1, 0, 2) has the chain first.
//   .csv, .csv.gz chain, draw, log_score (if there is one), then one column per variable; names of variables
//                 quoted where needed, names of states always, which tells them from numbers. Where the run
//                 had warnings, the last line is a comment: "# drover " and the metadata
//   .nc           NetCDF-4 in ArviZ's InferenceData layout: posterior/x (chain, draw, variable),
//                 sample_stats/lp, observed_data/x
// A run larger than memory works: only one draw of all chains (.nc: a few) is held. The number of draws need
// not be known before finish().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "drover/core/run_control.hpp"
#include "drover/core/types.hpp"

namespace drover {

class TextSource;

struct DrawFileHeader {
  std::vector<std::string> variable_names;
  std::size_t chains = 1;
  std::uint32_t max_cardinality = 2;  ///< of the variables; up to 256 a value takes one byte
  bool log_scores = true;             ///< whether draws have one; if not, the file has no place for it
  std::vector<std::string> evidence_names{};
  std::vector<Value> evidence_values{};
  std::vector<std::vector<std::string>>
      state_names{};            ///< by variable; text files have them in the place of numbers
  std::string metadata = "{}";  ///< a JSON object: how the draws were made
  std::string created_at{};     ///< ISO 8601, left out when empty; algorithms do not read clocks
  int compression = 1;          ///< deflate level 0 .. 9 (.npz, .nc)
};

class DrawWriter {
 public:
  virtual ~DrawWriter() = default;
  DrawWriter(const DrawWriter&) = delete;
  DrawWriter& operator=(const DrawWriter&) = delete;

  /// Draw t of chains 0, 1, ..., then draw t + 1 and so on.
  void append(std::size_t chain, std::span<const Value> x, double log_score = 0);
  /// In the place of the header's; to be called before finish().
  void set_metadata(std::string json) { header_.metadata = std::move(json); }
  /// Completes the file and gives it its name; nothing may follow. Chains of an unfinished last draw are
  /// dropped. A writer destroyed without finish() leaves nothing behind.
  virtual void finish() = 0;
  /// Complete draws so far.
  std::size_t draws() const { return draws_; }

 protected:
  explicit DrawWriter(DrawFileHeader header);
  /// One draw: values (chain, variable) and one log score a chain.
  virtual void write_draw(std::span<const Value> values, std::span<const double> log_scores) = 0;
  const DrawFileHeader& header() const { return header_; }
  std::size_t variables() const { return header_.variable_names.size(); }

 private:
  DrawFileHeader header_;
  std::vector<Value> values_;
  std::vector<double> log_scores_;
  std::size_t next_chain_ = 0;
  std::size_t draws_ = 0;
};

/// Error usage for an unknown extension, cannot_write when the file cannot be created.
std::unique_ptr<DrawWriter> make_draw_writer(const std::string& path, DrawFileHeader header);

/// Draws in memory, in the order (draw, chain, variable): whole numbers 0 .. 65535 in few bytes, else double.
struct DrawFile {
  std::size_t draws = 0;
  std::size_t chains = 0;
  std::vector<std::string> variable_names;
  std::variant<std::vector<std::uint8_t>, std::vector<std::uint16_t>, std::vector<double>> values;
  std::vector<double> log_scores;  ///< (draw, chain), empty when the file has none
  std::string metadata;            ///< empty when the file has none

  std::size_t variables() const { return variable_names.size(); }
};

/// Also reads what others wrote. npz: the array `draws`, else the first with one to three dimensions, as
/// (chain, draw, variable), (draw, variable) or (draw). csv: columns of numbers, or of quoted names
/// of states (numbered as drover's comment says, else in the order of the alphabet), a header or none, columns named
/// chain, draw, log_score (posterior: .chain, .iteration, .draw; CmdStan: lp__) with their meaning, comments
/// after #. nc: all variables of the group posterior (or the root) with dimensions chain, draw, ...
/// Errors: cannot_read for a missing file, bad_data with the place for a malformed one.
DrawFile read_draws(const std::string& path, const RunControl& control = no_control());

/// The readers behind it, also for what is already in memory; `file` is for messages.
DrawFile parse_draws_npz(std::span<const std::uint8_t> bytes, const std::string& file,
                         const RunControl& control = no_control());
DrawFile parse_draws_csv(TextSource& source);

/// Keeps whole numbers 0 .. 65535 in the fewest bytes; any other values stay double.
void set_values(DrawFile& file, std::vector<double> values);

}  // namespace drover
