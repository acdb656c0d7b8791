#include "drover/compile/greedy_order.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <queue>

namespace drover {
namespace {

constexpr std::uint64_t queue_work = 16;  // what an update of the queue costs, in steps

class Greedy {
 public:
  Greedy(const OrderGraph& graph, GreedyScore score, RandomSequence& ties, OrderLimits& limits)
      : graph_(graph),
        kind_(score),
        limits_(limits),
        neighbours_(graph.size()),
        score_(graph.size()),
        tie_(graph.size()),
        bits_(graph.size()),
        stamp_(graph.size(), 0),
        gone_(graph.size(), false),
        inside_(graph.size(), 0) {
    for (std::size_t v = 0; v < graph.size(); ++v) {
      neighbours_[v].assign(graph.of(v).begin(), graph.of(v).end());
      tie_[v] = ties();
      bits_[v] = std::log2(graph.cardinalities[v]);
    }
  }

  GreedyOrder run() {
    for (std::uint32_t v = 0; v < graph_.size(); ++v) {
      score_[v] = score_of(v);
      queue_.push({score_[v], tie_[v], v});
      if (limits_.met()) return std::move(result_);
    }
    while (!queue_.empty()) {
      const Entry entry = queue_.top();
      queue_.pop();
      if (gone_[entry.vertex] || entry.score != score_[entry.vertex]) continue;
      if (!account(entry.vertex)) return std::move(result_);
      eliminate(entry.vertex);
    }
    result_.complete = true;
    return std::move(result_);
  }

 private:
  struct Entry {
    std::uint64_t score;
    std::uint32_t tie;
    std::uint32_t vertex;
    bool operator<(const Entry& other) const {  // the least score is the top of the queue
      if (score != other.score) return score > other.score;
      if (tie != other.tie) return tie > other.tie;
      return vertex > other.vertex;
    }
  };

  double log2_clique(std::uint32_t v) const {
    double bits = bits_[v];
    for (std::uint32_t u : neighbours_[v]) bits += bits_[u];
    return bits;
  }

  bool account(std::uint32_t v) {
    const double bits = log2_clique(v);
    OrderCost& cost = result_.cost;
    cost.width = std::max(cost.width, static_cast<std::uint32_t>(neighbours_[v].size()));
    cost.log2_max_clique = std::max(cost.log2_max_clique, bits);
    cost.total_entries += std::exp2(bits);
    result_.order.push_back(v);
    return bits <= limits_.log2_max_clique && cost.total_entries < limits_.total_entries && !limits_.met();
  }

  void mark(std::uint32_t v) {
    ++now_;
    for (std::uint32_t u : neighbours_[v]) stamp_[u] = now_;
  }

  std::uint64_t edge_weight(std::uint32_t a, std::uint32_t b) const {
    return kind_ == GreedyScore::weighted_fill
               ? std::uint64_t{graph_.cardinalities[a]} * graph_.cardinalities[b]
               : 1;
  }

  std::uint64_t score_of(std::uint32_t v) {
    const auto& around = neighbours_[v];
    if (kind_ == GreedyScore::size) return static_cast<std::uint64_t>(log2_clique(v) * 0x1p20);
    mark(v);
    std::uint64_t present = 0, all = 0;
    if (kind_ == GreedyScore::fill) {
      for (std::uint32_t u : around)
        for (std::uint32_t w : neighbours_[u]) present += stamp_[w] == now_;
      all = std::uint64_t{around.size()} * (around.size() - (around.empty() ? 0 : 1));
    } else {
      std::uint64_t sum = 0, squares = 0;
      for (std::uint32_t u : around) {
        const std::uint64_t states = graph_.cardinalities[u];
        sum += states;
        squares += states * states;
        for (std::uint32_t w : neighbours_[u])
          if (stamp_[w] == now_) present += edge_weight(u, w);
      }
      all = sum * sum - squares;
    }
    for (std::uint32_t u : around) limits_.work += neighbours_[u].size();
    assert(all >= present);
    return (all - present) / 2;
  }

  void set_score(std::uint32_t v, std::uint64_t score) {
    if (score == score_[v]) return;
    score_[v] = score;
    limits_.work += queue_work;
    queue_.push({score, tie_[v], v});
  }

  void eliminate(std::uint32_t v) {
    gone_[v] = true;
    limits_.work += 2 * queue_work;
    const std::vector<std::uint32_t> around = std::move(neighbours_[v]);
    neighbours_[v].clear();
    for (std::uint32_t u : around) {
      auto& list = neighbours_[u];
      const auto at = std::find(list.begin(), list.end(), v);
      *at = list.back();
      list.pop_back();
      limits_.work += list.size();
    }
    const bool joined = kind_ != GreedyScore::size && score_[v] == 0;
    if (!joined) join(around);
    for (std::uint32_t u : around) set_score(u, score_of(u));
  }

  // Joins all pairs; vertices outside `around` that see both ends of a new edge lose that edge from their
  // fill.
  void join(const std::vector<std::uint32_t>& around) {
    for (std::uint32_t u : around) inside_[u] = 1;
    for (std::size_t i = 0; i < around.size(); ++i) {
      const std::uint32_t a = around[i];
      mark(a);
      limits_.work += neighbours_[a].size() + around.size();
      for (std::size_t j = i + 1; j < around.size(); ++j) {
        const std::uint32_t b = around[j];
        if (stamp_[b] == now_) continue;
        if (kind_ != GreedyScore::size) {
          limits_.work += neighbours_[b].size();
          for (std::uint32_t w : neighbours_[b])
            if (stamp_[w] == now_ && !inside_[w]) set_score(w, score_[w] - edge_weight(a, b));
        }
        neighbours_[a].push_back(b);
        neighbours_[b].push_back(a);
      }
    }
    for (std::uint32_t u : around) inside_[u] = 0;
  }

  const OrderGraph& graph_;
  GreedyScore kind_;
  OrderLimits& limits_;
  std::vector<std::vector<std::uint32_t>> neighbours_;
  std::vector<std::uint64_t> score_;
  std::vector<std::uint32_t> tie_;
  std::vector<double> bits_;  // log2 of the number of states
  std::vector<std::uint32_t> stamp_;
  std::uint32_t now_ = 0;
  std::vector<bool> gone_;
  std::vector<char> inside_;
  std::priority_queue<Entry> queue_;
  GreedyOrder result_;
};

}  // namespace

GreedyOrder greedy_order(const OrderGraph& graph, GreedyScore score, RandomSequence& ties,
                         OrderLimits& limits) {
  return Greedy(graph, score, ties, limits).run();
}

}  // namespace drover
