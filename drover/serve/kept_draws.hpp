// Draws of a run that may go on for ever, in memory that does not grow: an even spread over the run. When it
// is full every second draw goes, and from then on only every second one is kept. Of very large models only
// the first chains are kept.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "drover/core/types.hpp"
#include "drover/io/draws.hpp"

namespace drover {

class KeptDraws {
 public:
  static constexpr std::size_t most_bytes = std::size_t{64} << 20, most_draw_bytes = std::size_t{1} << 20;

  KeptDraws() = default;
  KeptDraws(std::size_t variables, std::uint32_t chains, std::uint32_t most_states);

  bool keeps_next() const { return count_ % every_ == 0; }
  /// Draw t of chains 0, 1, ..., then draw t + 1 and so on.
  void take(std::uint32_t chain, std::span<const Value> x, double log_score);

  std::size_t draws() const { return scores_.empty() ? 0 : scores_.size() / chains_; }  ///< whole ones
  std::uint32_t chains() const { return chains_; }
  std::uint64_t every() const { return every_; }

  /// The file's bytes; `extension` as make_draw_writer() knows it: ".npz", ".csv", ...
  std::string file(const std::string& extension, DrawFileHeader header) const;

 private:
  void halve();

  std::size_t variables_ = 0;
  std::uint32_t chains_ = 0, all_chains_ = 0;
  bool narrow_ = true;  ///< a value takes one byte
  std::uint64_t every_ = 1, count_ = 0;
  std::vector<std::uint8_t> values_;  ///< (draw, chain, variable)
  std::vector<double> scores_;        ///< (draw, chain); of whole draws
  std::vector<double> open_scores_;
};

}  // namespace drover
