// How far pseudo-samples are from the data in what nobody asked of them: joint distributions of three variables
// (of two, where there are no more). Moments of single variables and pairs do not fix them.
//
// At most 40 sets of variables, drawn by chance where there are more. The gap of a set is the total variation
// between the two tables. Were the data R rows drawn from the pseudo-samples' distribution, a cell of
// probability p would be off by sqrt(2 / pi p (1 - p) / R) on average: half of the sum is the noise.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/core/types.hpp"

namespace drover {

struct DistributionGap {
  double gap = 0;    ///< total variation
  double noise = 0;  ///< about what chance alone would make of it
};

/// Of R = `rows` rows with the distribution `data` from the distribution `herded`.
DistributionGap distribution_gap(std::span<const double> herded, std::span<const double> data,
                                 std::size_t rows);

struct JointGap : DistributionGap {
  std::vector<VariableId> variables;  ///< empty: there was nothing to compare
};

class UnaskedJoints {
 public:
  UnaskedJoints(std::span<const std::uint32_t> cardinalities, std::uint64_t seed);

  void count(std::span<const Value> x);
  /// The set whose gap is furthest above its noise; `rows` has whole rows of the data.
  JointGap largest(std::span<const Value> rows) const;

 private:
  std::size_t cell(std::size_t set, std::span<const Value> x) const;

  std::vector<std::uint32_t> cardinalities_;
  std::vector<std::vector<VariableId>> sets_;
  std::vector<std::vector<std::uint64_t>> counts_;
  std::uint64_t samples_ = 0;
};

}  // namespace drover
