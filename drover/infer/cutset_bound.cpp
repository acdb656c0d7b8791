#include "drover/infer/cutset_bound.hpp"

#include <algorithm>
#include <cmath>

#include "drover/compile/blocks.hpp"
#include "drover/compile/elimination.hpp"
#include "drover/compile/stoppable.hpp"
#include "drover/infer/mini_bucket.hpp"

namespace drover {

CutsetBound::CutsetBound(const Graph& graph, double log2_entries, const RunControl& control)
    : graph_(graph), log2_entries_(log2_entries) {
  BlockOptions options;
  options.max_entries = std::size_t{1} << static_cast<unsigned>(log2_entries);
  options.max_rounds = 1;
  const Blocks blocks = choose_blocks(graph, options, control);
  std::vector<char> inside(graph.size(), 0);
  const auto largest =
      std::ranges::max_element(blocks.list, {}, [](const Block& block) { return block.order.size(); });
  if (largest != blocks.list.end()) order_ = largest->order;
  for (VariableId v : order_) inside[v] = 1;
  for (VariableId v = 0; v < graph.size(); ++v)
    if (!inside[v]) cutset_.push_back(v);
  model_.cardinalities = graph.cardinalities;
  for (VariableId v = 0; v < graph.size(); ++v) {
    const auto unary = graph.unary_of(v);
    model_.unaries.add(v, std::vector<double>(unary.begin(), unary.end()));
  }
  model_.tables = all_tables(graph);
}

void CutsetBound::add(std::span<const Value> x) {
  std::vector<Value> assignment;
  Evidence evidence;
  for (VariableId v : cutset_) {
    assignment.push_back(x[v]);
    evidence.add(v, x[v]);
  }
  if (!seen_.insert(std::move(assignment)).second) return;
  const Graph rest = compile(model_, evidence);
  std::vector<VariableId> order;
  for (VariableId v : order_)
    if (rest.free_variable[v] != no_variable) order.push_back(rest.free_variable[v]);
  // Tables of the block are within the limit, so nothing is split; should it be, it is no term.
  const MiniBucketBound sum = mini_bucket_bound(rest, order, log2_entries_ + 4);
  if (!sum.exact) return;
  const double term = sum.upper + graph_.log_constant;
  const double larger = std::max(lower_, term), smaller = std::min(lower_, term);
  lower_ = smaller == log_zero ? larger : larger + std::log1p(std::exp(smaller - larger));
}

}  // namespace drover
