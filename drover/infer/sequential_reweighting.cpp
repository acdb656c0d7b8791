#include "drover/infer/sequential_reweighting.hpp"

#include <algorithm>
#include <cmath>

namespace drover {

namespace {

class Passes {
 public:
  Passes(SoftConsistency& consistency, std::span<const VariableId> order)
      : consistency_(consistency), network_(consistency.network()), order_(order) {
    std::vector<std::uint32_t> rank(network_.size());
    for (std::uint32_t r = 0; r < order.size(); ++r) rank[order[r]] = r;
    has_earlier_.resize(network_.edge_count());
    has_later_.resize(network_.edge_count());
    std::uint32_t most = 1;
    for (std::size_t e = 0; e < network_.edge_count(); ++e) {
      const std::size_t f = network_.factor[e];
      if (consistency.is_done(f)) continue;
      for (VariableId w : network_.scope(f)) {
        if (consistency.live_count(w) == 1) continue;
        has_earlier_[e] |= static_cast<char>(rank[w] < rank[network_.variable[e]]);
        has_later_[e] |= static_cast<char>(rank[w] > rank[network_.variable[e]]);
      }
    }
    for (std::uint32_t states : network_.cardinalities) most = std::max(most, states);
    amount_.resize(most);
  }

  void forward(bool all) {
    for (VariableId v : order_) visit(v, has_earlier_, has_later_, all);
  }
  void backward() {
    for (std::size_t r = order_.size(); r-- > 0;) visit(order_[r], has_later_, has_earlier_, false);
  }

 private:
  void visit(VariableId v, const std::vector<char>& behind, const std::vector<char>& ahead, bool all) {
    if (consistency_.live_count(v) == 1) return;
    std::size_t from = 0, to = 0;
    for (std::uint32_t e : network_.edges_of(v)) {
      from += static_cast<std::size_t>(behind[e]);
      to += static_cast<std::size_t>(ahead[e]);
      if (behind[e] == 0 && (!all || ahead[e] == 0)) continue;
      consistency_.min_marginals(e, amount_);
      consistency_.move(e, amount_);
    }
    if (to == 0) return;
    const double share = 1.0 / static_cast<double>(std::max(from, to));
    for (Value k : consistency_.live(v)) amount_[k] = -share * consistency_.unary(v, k);
    for (std::uint32_t e : network_.edges_of(v))
      if (ahead[e] != 0) consistency_.move(e, amount_);
  }

  SoftConsistency& consistency_;
  const CostNetwork& network_;
  std::span<const VariableId> order_;
  std::vector<char> has_earlier_, has_later_;
  std::vector<double> amount_;
};

}  // namespace

Reweighting reweight_sequentially(SoftConsistency& consistency, std::span<const VariableId> order,
                                  const ReweightingOptions& options, const RunControl& control) {
  Reweighting result;
  result.lower = consistency.lower();
  const std::uint64_t end = consistency.work() + options.work;
  Passes passes(consistency, order);
  double before = -infinite_cost;
  while (result.iterations < options.iterations && consistency.work() < end && !control.should_stop()) {
    passes.forward(result.iterations == 0);
    passes.backward();
    ++result.iterations;
    const double bound = consistency.bound();
    const double gain = bound - before;
    before = bound;
    result.lower = std::max(result.lower, bound);
    const double missing = std::isfinite(options.target) ? options.target - bound : std::abs(bound);
    if (gain <= options.tolerance * std::max(missing, 1.0)) break;
  }
  consistency.settle();
  return result;
}

}  // namespace drover
