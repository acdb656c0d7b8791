// Works on blocks of neighbouring variables: the file has them side by side, the diagnostics want one
// variable over time. Values of one byte with no more than two states, the usual case, become bits in one
// pass.
#include "drover/io/draws_diagnosis.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "drover/diagnose/binary_draws.hpp"

namespace drover {

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t block_width = 64;

VariableDiagnosis undiagnosed() {
  VariableDiagnosis result;
  result.mean = result.rhat = result.ess_bulk = result.ess_tail = result.mcse = not_a_number;
  result.autocorrelation = result.autocorrelation_time = not_a_number;
  return result;
}

/// Keeps the worse figures; NaN is no figure.
void take_worse(VariableDiagnosis& worst, const BinaryDiagnosis& one, double counted_draws) {
  worst.rhat = std::fmax(worst.rhat, one.rhat);
  worst.ess_bulk = worst.ess_tail = std::fmin(worst.ess_bulk, one.ess);
  worst.mcse = std::fmax(worst.mcse, one.mcse);
  worst.autocorrelation = std::fmax(worst.autocorrelation, one.autocorrelation);
  worst.autocorrelation_time = std::fmax(worst.autocorrelation_time, counted_draws / one.ess);
}

/// Some variables side by side: value (t, c, v) is data[(t * chains + c) * stride + v].
template <typename Item>
struct Block {
  const Item* data;
  std::size_t draws, chains, stride, width;
  const Item* row(std::size_t t, std::size_t c) const { return data + (t * chains + c) * stride; }
};

template <typename Item>
struct Range {
  std::array<Item, block_width> low, high;
};

template <typename Item>
Range<Item> range_of(const Block<Item>& block) {
  Range<Item> range;
  std::copy_n(block.data, block.width, range.low.begin());
  range.high = range.low;
  for (std::size_t r = 0; r < block.draws * block.chains; ++r) {
    const Item* row = block.data + r * block.stride;
    for (std::size_t v = 0; v < block.width; ++v) {
      range.low[v] = std::min(range.low[v], row[v]);
      range.high[v] = std::max(range.high[v], row[v]);
    }
  }
  return range;
}

/// Packs [x == one[v]] of all variables of a block at once.
template <typename Item>
void pack_block(const Block<Item>& block, const std::array<Item, block_width>& one,
                std::vector<BinaryDraws>& binaries) {
  for (BinaryDraws& binary : binaries) binary.ones = 0;
  const BinaryDraws& shape = binaries[0];
  std::array<std::uint64_t, block_width> bits;
  for (std::size_t c = 0; c < block.chains; ++c) {
    for (std::size_t side = 0; side < 2; ++side) {
      for (std::size_t row = 0; row < shape.row_count(); ++row) {
        const std::size_t first = side * shape.second_start() + 64 * row;
        const std::size_t count = std::min<std::size_t>(64, shape.half - 64 * row);
        bits.fill(0);
        for (std::size_t b = 0; b < count; ++b) {
          const Item* values = block.row(first + b, c);
          for (std::size_t v = 0; v < block.width; ++v)
            bits[v] |= static_cast<std::uint64_t>(values[v] == one[v]) << b;
        }
        for (std::size_t v = 0; v < block.width; ++v) {
          binaries[v].word(row, 2 * c + side) = bits[v];
          binaries[v].ones += static_cast<std::uint64_t>(__builtin_popcountll(bits[v]));
        }
      }
    }
    if (block.draws % 2 == 1)
      for (std::size_t v = 0; v < block.width; ++v)
        binaries[v].ones += block.row(shape.half, c)[v] == one[v] ? 1U : 0U;
  }
}

VariableDiagnosis from_numbers(Draws draws) {
  VariableDiagnosis result = undiagnosed();
  const DrawsSummary summary = summarise(draws);
  const bool constant = std::all_of(draws.all().begin(), draws.all().end(),
                                    [&](double value) { return value == draws.data[0]; });
  result.as = constant ? DiagnosedAs::constant : DiagnosedAs::number;
  result.mean = summary.mean;
  result.rhat = summary.rhat;
  result.ess_bulk = summary.ess_bulk;
  result.ess_tail = summary.ess_tail;
  result.mcse = summary.mcse;
  result.autocorrelation = summary.autocorrelation;
  result.autocorrelation_time = summary.autocorrelation_time;
  return result;
}

/// One variable of a block, chain after chain.
template <typename Item>
DrawsBuffer column_of(const Block<Item>& block, std::size_t v) {
  DrawsBuffer buffer{std::vector<double>(block.draws * block.chains), block.chains, block.draws};
  for (std::size_t t = 0; t < block.draws; ++t)
    for (std::size_t c = 0; c < block.chains; ++c)
      buffer.values[c * block.draws + t] = static_cast<double>(block.row(t, c)[v]);
  return buffer;
}

template <typename Item>
VariableDiagnosis from_categories(const Block<Item>& block, std::size_t v, Item high, BinaryDraws& binary) {
  const DrawsBuffer column = column_of(block, v);
  std::vector<std::uint64_t> counts(std::size_t{high} + 1, 0);
  for (double value : column.values) ++counts[static_cast<std::size_t>(value)];
  const auto values = static_cast<std::size_t>(
      std::count_if(counts.begin(), counts.end(), [](std::uint64_t count) { return count > 0; }));
  if (values > max_categories) return from_numbers(column.view());

  VariableDiagnosis result = undiagnosed();
  result.as = values > 2 ? DiagnosedAs::categories : DiagnosedAs::binary;
  result.values = values;
  result.worst_of_categories = values > 2;
  result.mean = 0;
  double lowest = not_a_number;
  for (std::size_t value = 0; value < counts.size(); ++value) {
    if (counts[value] == 0) continue;
    if (std::isnan(lowest)) lowest = static_cast<double>(value);
    result.mean += static_cast<double>(value) * static_cast<double>(counts[value]) /
                   static_cast<double>(column.values.size());
    if (values == 2 && value != high) continue;
    pack(binary, [&](std::size_t c, std::size_t t) {
      return column.values[c * column.draws + t] == static_cast<double>(value);
    });
    take_worse(result, diagnose_binary(binary), static_cast<double>(2 * binary.half * binary.chains));
  }
  // Two values further apart than 1: the error of the mean grows with their distance.
  if (values == 2) result.mcse *= static_cast<double>(high) - lowest;
  return result;
}

template <typename Item>
void diagnose_block(const Block<Item>& block, VariableDiagnosis* out) {
  const Range<Item> range = range_of(block);
  std::vector<BinaryDraws> binaries(block.width, BinaryDraws(block.chains, block.draws));
  pack_block(block, range.high, binaries);
  for (std::size_t v = 0; v < block.width; ++v) {
    const Item low = range.low[v], high = range.high[v];
    VariableDiagnosis& result = out[v] = undiagnosed();
    if (low == high) {
      result.mean = static_cast<double>(high);
      result.values = 1;
    } else if (high - low == 1) {
      const BinaryDiagnosis binary = diagnose_binary(binaries[v]);
      result.as = DiagnosedAs::binary;
      result.values = 2;
      result.mean = static_cast<double>(low) + binary.mean;
      take_worse(result, binary, static_cast<double>(2 * (block.draws / 2) * block.chains));
    } else {
      result = from_categories(block, v, high, binaries[v]);
    }
  }
}

void diagnose_block(const Block<double>& block, VariableDiagnosis* out) {
  for (std::size_t v = 0; v < block.width; ++v) out[v] = from_numbers(column_of(block, v).view());
}

}  // namespace

DrawDiagnostics diagnose_draws(const DrawFile& file) {
  DrawDiagnostics result;
  result.variables.assign(file.variables(), undiagnosed());
  const bool any = file.draws > 0 && file.chains > 0;
  if (any) {
    std::visit(
        [&](const auto& values) {
          const std::size_t blocks = (file.variables() + block_width - 1) / block_width;
          tbb::parallel_for(tbb::blocked_range<std::size_t>(0, blocks, 1), [&](const auto& range) {
            for (std::size_t b = range.begin(); b < range.end(); ++b) {
              const std::size_t first = b * block_width;
              const std::size_t width = std::min(block_width, file.variables() - first);
              diagnose_block(Block{values.data() + first, file.draws, file.chains, file.variables(), width},
                             result.variables.data() + first);
            }
          });
        },
        file.values);
  }

  const bool scored = any && file.log_scores.size() == file.draws * file.chains;
  const Block<double> scores{file.log_scores.data(), scored ? file.draws : 0, file.chains, 1, 1};
  result.log_score = summarise(column_of(scores, 0).view());

  result.rhat_max = result.ess_min = result.mcse_max = not_a_number;
  for (const VariableDiagnosis& variable : result.variables) {
    if (variable.as == DiagnosedAs::constant) ++result.constant_variables;
    result.rhat_max = std::fmax(result.rhat_max, variable.rhat);
    result.ess_min = std::fmin(result.ess_min, std::fmin(variable.ess_bulk, variable.ess_tail));
    result.mcse_max = std::fmax(result.mcse_max, variable.mcse);
  }
  return result;
}

}  // namespace drover
