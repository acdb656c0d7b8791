// Works on blocks of neighbouring variables: the file has them side by side, the diagnostics want one
// variable over time. Values of one byte with no more than two states, the usual case, become bits in one
// pass.
#include "drover/io/draws_diagnosis.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <type_traits>

#include "drover/core/parallel.hpp"
#include "drover/diagnose/binary_draws.hpp"
#include "drover/diagnose/draws.hpp"
#include "drover/diagnose/patience.hpp"

namespace drover {

namespace {

constexpr std::size_t block_width = 256;

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

/// Packs [x == one] of all variables of a block at once, and finds the largest value of each.
template <typename Item>
void pack_block(const Block<Item>& block, Item one, std::vector<BinaryDraws>& binaries,
                std::array<Item, block_width>& high, const RunControl& control) {
  StopCheck check = diagnosis_check(control);
  for (BinaryDraws& binary : binaries) binary.ones = 0;
  const BinaryDraws& shape = binaries[0];
  std::array<std::uint64_t, block_width> words;
  std::array<std::uint8_t, block_width> bits;
  for (std::size_t c = 0; c < block.chains; ++c) {
    for (std::size_t side = 0; side < 2; ++side) {
      for (std::size_t row = 0; row < shape.row_count(); ++row) {
        const std::size_t first = side * shape.second_start() + 64 * row;
        const std::size_t count = std::min<std::size_t>(64, shape.half - 64 * row);
        words.fill(0);
        check.step(count * block.width / 8);
        // Eight draws at a time: bytes give the compiler the longest vectors.
        for (std::size_t start = 0; start < count; start += 8) {
          bits.fill(0);
          for (std::size_t b = start; b < std::min(start + 8, count); ++b) {
            const Item* values = block.row(first + b, c);
            const auto bit = static_cast<std::uint8_t>(1U << (b - start));
            for (std::size_t v = 0; v < block.width; ++v) {
              bits[v] |= values[v] == one ? bit : std::uint8_t{0};
              high[v] = std::max(high[v], values[v]);
            }
          }
          for (std::size_t v = 0; v < block.width; ++v) words[v] |= std::uint64_t{bits[v]} << start;
        }
        for (std::size_t v = 0; v < block.width; ++v) {
          binaries[v].word(row, 2 * c + side) = words[v];
          binaries[v].ones += static_cast<std::uint64_t>(__builtin_popcountll(words[v]));
        }
      }
    }
    if (block.draws % 2 == 0) continue;
    const Item* middle = block.row(shape.half, c);
    for (std::size_t v = 0; v < block.width; ++v) {
      binaries[v].ones += middle[v] == one ? 1U : 0U;
      high[v] = std::max(high[v], middle[v]);
    }
  }
}

VariableDiagnosis from_numbers(Draws draws, const RunControl& control) {
  VariableDiagnosis result = undiagnosed();
  const DrawsSummary summary = summarise(draws, control);
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
DrawsBuffer column_of(const Block<Item>& block, std::size_t v, const RunControl& control) {
  StopCheck check = diagnosis_check(control);
  DrawsBuffer buffer{{}, block.chains, block.draws};
  grow_patiently(buffer.values, block.draws * block.chains, 0.0, check);
  for (std::size_t t = 0; t < block.draws; ++t, check.step(block.chains))
    for (std::size_t c = 0; c < block.chains; ++c)
      buffer.values[c * block.draws + t] = static_cast<double>(block.row(t, c)[v]);
  return buffer;
}

/// Gathers the indicators of the values of one variable.
struct Categories {
  VariableDiagnosis result = undiagnosed();
  std::size_t lowest = 0, highest = 0;

  void add(std::size_t value, const BinaryDraws& indicator, const RunControl& control) {
    if (indicator.ones == 0) return;
    const double draws = static_cast<double>(indicator.chains * indicator.draws);
    const double share = static_cast<double>(value) * static_cast<double>(indicator.ones) / draws;
    result.mean = result.values == 0 ? share : result.mean + share;
    lowest = result.values == 0 ? value : std::min(lowest, value);
    highest = std::max(highest, value);
    ++result.values;
    take_worse(result, diagnose_binary(indicator, control),
               static_cast<double>(2 * indicator.half * indicator.chains));
  }

  VariableDiagnosis finish() {
    result.as = result.values > 2   ? DiagnosedAs::categories
                : result.values > 1 ? DiagnosedAs::binary
                                    : DiagnosedAs::constant;
    result.worst_of_categories = result.values > 2;
    // Two values further apart than 1: the error of the mean grows with their distance.
    if (result.values == 2) result.mcse *= static_cast<double>(highest - lowest);
    return result;
  }
};

/// A variable with large values: few different ones, or many.
template <typename Item>
VariableDiagnosis diagnose_column(const Block<Item>& block, std::size_t v, BinaryDraws& binary,
                                  const RunControl& control) {
  const DrawsBuffer column = column_of(block, v, control);
  const std::set<double> values(column.values.begin(), column.values.end());
  if (values.size() > max_categories) return from_numbers(column.view(), control);
  Categories categories;
  for (double value : values) {
    pack(binary, [&](std::size_t c, std::size_t t) { return column.values[c * column.draws + t] == value; });
    categories.add(static_cast<std::size_t>(value), binary, control);
  }
  return categories.finish();
}

template <typename Item>
void diagnose_block(const Block<Item>& block, VariableDiagnosis* out, const RunControl& control) {
  std::vector<BinaryDraws> binaries(block.width, BinaryDraws(block.chains, block.draws));
  std::vector<Categories> categories(block.width);
  std::array<Item, block_width> high{};
  pack_block(block, Item{1}, binaries, high, control);
  const double draws = static_cast<double>(block.draws * block.chains);
  std::size_t largest = 0;  // of the variables that need a pass for every value
  for (std::size_t v = 0; v < block.width && !control.should_stop(); ++v) {
    categories[v].add(1, binaries[v], control);
    if (high[v] >= 2 && high[v] < max_categories) largest = std::max<std::size_t>(largest, high[v]);
    if (high[v] >= 2) continue;
    // 0 and 1 only: the indicator of 0 would give the same figures.
    VariableDiagnosis& result = categories[v].result;
    result.mean = static_cast<double>(binaries[v].ones) / draws;
    result.values = binaries[v].ones > 0 && binaries[v].ones < block.draws * block.chains ? 2 : 1;
    categories[v].lowest = 0;
    categories[v].highest = 1;
  }
  for (std::size_t value = 0; value <= largest && largest > 0 && !control.should_stop(); ++value) {
    if (value == 1) continue;
    pack_block(block, static_cast<Item>(value), binaries, high, control);
    for (std::size_t v = 0; v < block.width && !control.should_stop(); ++v)
      if (high[v] >= 2 && high[v] < max_categories) categories[v].add(value, binaries[v], control);
  }
  for (std::size_t v = 0; v < block.width && !control.should_stop(); ++v)
    out[v] =
        high[v] < max_categories ? categories[v].finish() : diagnose_column(block, v, binaries[v], control);
}

void diagnose_block(const Block<double>& block, VariableDiagnosis* out, const RunControl& control) {
  for (std::size_t v = 0; v < block.width && !control.should_stop(); ++v)
    out[v] = from_numbers(column_of(block, v, control).view(), control);
}

}  // namespace

DrawDiagnostics diagnose_draws(const DrawFile& file, const RunControl& control) {
  DrawDiagnostics result;
  result.variables.assign(file.variables(), undiagnosed());
  const bool any = file.draws > 0 && file.chains > 0;
  if (any) {
    std::visit(
        [&](const auto& values) {
          using Item = typename std::decay_t<decltype(values)>::value_type;
          // A number takes as long alone as among others: small blocks keep all threads busy.
          constexpr std::size_t block = std::is_same_v<Item, double> ? 4 : block_width;
          const std::size_t blocks = (file.variables() + block - 1) / block;
          parallel_for(IndexRange(0, blocks, 1), [&](const IndexRange& range) {
            for (std::size_t b = range.begin(); b < range.end() && !control.should_stop(); ++b) {
              const std::size_t first = b * block;
              const std::size_t width = std::min(block, file.variables() - first);
              diagnose_block(
                  Block<Item>{values.data() + first, file.draws, file.chains, file.variables(), width},
                  result.variables.data() + first, control);
            }
          });
        },
        file.values);
  }

  fail_if_stopped(control, "the diagnosis");
  const bool scored = any && file.log_scores.size() == file.draws * file.chains;
  const Block<double> scores{file.log_scores.data(), scored ? file.draws : 0, file.chains, 1, 1};
  result.log_score = summarise(column_of(scores, 0, control).view(), control);

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
