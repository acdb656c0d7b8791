#include "drover/core/parallel.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>

#include <algorithm>
#include <functional>

namespace drover::parallel_detail {
namespace {

using Blocks = tbb::blocked_range<std::size_t>;

Blocks blocks_of(const IndexRange& range) {
  return {range.begin(), range.end(), range.grain()};
}

IndexRange range_of(const Blocks& block) {
  return {block.begin(), block.end(), block.grainsize()};
}

}  // namespace

void run(const IndexRange& range, Body<void> body) {
  tbb::parallel_for(blocks_of(range),
                    [body](const Blocks& block) { body.call(body.captured, range_of(block)); });
}

double sum(const IndexRange& range, Body<double> body) {
  return tbb::parallel_deterministic_reduce(
      blocks_of(range), 0.0,
      [body](const Blocks& block, double before) {
        return before + body.call(body.captured, range_of(block));
      },
      std::plus<>());
}

double largest(const IndexRange& range, double least, Body<double> body) {
  return tbb::parallel_reduce(
      blocks_of(range), least,
      [body](const Blocks& block, double before) {
        return std::max(before, body.call(body.captured, range_of(block)));
      },
      [](double a, double b) { return std::max(a, b); });
}

}  // namespace drover::parallel_detail
