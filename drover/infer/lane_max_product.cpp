#include "drover/infer/lane_max_product.hpp"

#include <algorithm>
#include <cassert>
#include <memory>

#include "drover/core/flush_denormals.hpp"
#include "drover/core/parallel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/infer/lane_max_product.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef DROVER_LANE_BATCH
#define DROVER_LANE_BATCH
namespace drover {

// Sixteen problems: numbers of variable i are at 16 i, messages of pair p at 32 p (from first to second, then
// back), those of gate edge e behind all pairs.
struct LaneBatch {
  const LaneGraph* graph;
  float* pair_messages;
  float* gate_messages;
  const float* sums;  // B
  float* new_sums;    // starts as the biases
  float* scratch;     // a number per edge of the largest gate
  float damping;
};

}  // namespace drover
#endif

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t width = LaneMaxProduct::lanes;

template <class D, class V>
HWY_INLINE V pair_message(D d, V incoming, V weight) {
  const auto zero = hn::Zero(d);
  return hn::Sub(hn::Max(zero, hn::Add(incoming, weight)), hn::Max(zero, incoming));
}

template <class D>
HWY_INLINE void update_pairs(D d, const LaneBatch& batch, std::size_t lane) {
  const auto keep = hn::Set(d, batch.damping), take = hn::Set(d, 1 - batch.damping);
  const std::vector<LaneGraph::Pair>& pairs = batch.graph->pairs;
  for (std::size_t p = 0; p < pairs.size();) {
    const std::uint32_t i = pairs[p].first;
    const auto own = hn::LoadU(d, batch.sums + width * i + lane);
    auto total = hn::LoadU(d, batch.new_sums + width * i + lane);
    for (; p < pairs.size() && pairs[p].first == i; ++p) {
      const std::size_t j = width * pairs[p].second + lane;
      const auto w = hn::Set(d, pairs[p].weight);
      float* const out = batch.pair_messages + 2 * width * p + lane;
      float* const in = out + width;
      const auto a = hn::LoadU(d, out), c = hn::LoadU(d, in);
      const auto new_a = hn::MulAdd(take, pair_message(d, hn::Sub(own, c), w), hn::Mul(keep, a));
      const auto new_c =
          hn::MulAdd(take, pair_message(d, hn::Sub(hn::LoadU(d, batch.sums + j), a), w), hn::Mul(keep, c));
      hn::StoreU(new_a, d, out);
      hn::StoreU(new_c, d, in);
      hn::StoreU(hn::Add(hn::LoadU(d, batch.new_sums + j), new_a), d, batch.new_sums + j);
      total = hn::Add(total, new_c);
    }
    hn::StoreU(total, d, batch.new_sums + width * i + lane);
  }
}

template <class D>
HWY_INLINE void update_gates(D d, const LaneBatch& batch, std::size_t lane) {
  const auto keep = hn::Set(d, batch.damping), take = hn::Set(d, 1 - batch.damping);
  const auto zero = hn::Zero(d);
  for (const LaneGraph::Gate& gate : batch.graph->gates) {
    const std::uint32_t* const variables = batch.graph->edge_variable.data();
    const auto sign = hn::Set(d, gate.sign);
    const std::size_t inputs = gate.edge_end - gate.edge_begin - (gate.has_child ? 1 : 0);
    const auto incoming = [&](std::size_t e) {
      return hn::Mul(sign, hn::Sub(hn::LoadU(d, batch.sums + width * variables[e] + lane),
                                   hn::LoadU(d, batch.gate_messages + width * e + lane)));
    };
    const auto store = [&](std::size_t e, auto message) {
      float* const at = batch.gate_messages + width * e + lane;
      const auto next = hn::MulAdd(hn::Mul(take, sign), message, hn::Mul(keep, hn::LoadU(d, at)));
      hn::StoreU(next, d, at);
      float* const sum = batch.new_sums + width * variables[e] + lane;
      hn::StoreU(hn::Add(hn::LoadU(d, sum), next), d, sum);
    };
    // The two largest incoming messages (equal ones count twice) and the sum of the positive parts.
    auto largest = hn::Set(d, -1e30f), second = largest, total = zero;
    for (std::size_t t = 0; t < inputs; ++t) {
      const auto n = incoming(gate.edge_begin + t);
      hn::StoreU(n, d, batch.scratch + width * t + lane);
      second = hn::Max(second, hn::Min(largest, n));
      largest = hn::Max(largest, n);
      total = hn::Add(total, hn::Max(zero, n));
    }
    const auto child =
        gate.has_child ? incoming(gate.edge_end - 1) : hn::Set(d, 1e30f);  // beyond every message
    const auto bound_by_largest = hn::Max(zero, hn::Neg(largest));
    const auto bound_by_second = hn::Max(zero, hn::Neg(second));
    for (std::size_t t = 0; t < inputs; ++t) {
      const auto n = hn::LoadU(d, batch.scratch + width * t + lane);
      const auto bound = hn::IfThenElse(hn::Ge(n, largest), bound_by_second, bound_by_largest);
      store(gate.edge_begin + t, hn::Min(hn::Add(child, hn::Sub(total, hn::Max(zero, n))), bound));
    }
    if (gate.has_child) store(gate.edge_end - 1, hn::Add(hn::Min(zero, largest), total));
  }
}

void SweepLanes(const LaneBatch& batch) {
  const hn::CappedTag<float, LaneMaxProduct::lanes> d;
  for (std::size_t lane = 0; lane < width; lane += hn::Lanes(d)) {
    update_pairs(d, batch, lane);
    update_gates(d, batch, lane);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

HWY_EXPORT(SweepLanes);

LaneGraph lane_graph(const SpinGraph& graph) {
  LaneGraph result;
  result.bias.assign(graph.bias.begin(), graph.bias.end());
  for (std::uint32_t i = 0; i < graph.size(); ++i)
    for (std::size_t k = 0; k < graph.degree(i); ++k)
      if (graph.neighbours(i)[k] > i)
        result.pairs.push_back({i, graph.neighbours(i)[k], graph.weights(i)[k]});
  return result;
}

namespace {

bool is_at_least_one(const Gates& gates, std::size_t gate) {
  return gates.low[gate] == 1 && gates.high[gate] >= gates.scope(gate).size();
}
bool is_not_all(const Gates& gates, std::size_t gate) {
  return gates.low[gate] == 0 && gates.high[gate] + 1 == gates.scope(gate).size();
}

}  // namespace

std::string why_not_lanes(const Graph& graph) {
  if (!graph.is_binary()) return "some variable has more than two states";
  if (std::any_of(graph.unary.begin(), graph.unary.end(), [](double u) { return u == log_zero; }))
    return "some unary has a hard zero";
  if (graph.tables.size() > 0) return "some factor is a table";
  for (std::size_t g = 0; g < graph.gates.size(); ++g) {
    const GateKind kind = graph.gates.kinds[g];
    if (kind == GateKind::noisy_or || kind == GateKind::noisy_or_on) return "some factor is a noisy-OR";
    if (kind == GateKind::count && !is_at_least_one(graph.gates, g) && !is_not_all(graph.gates, g))
      return "some factor is a count other than at least one or not all";
  }
  return "";
}

LaneGraph lane_graph(const Graph& graph) {
  assert(why_not_lanes(graph).empty());
  Graph pairs_only = graph;
  pairs_only.gates = {};
  LaneGraph result = lane_graph(spin_graph(pairs_only));
  const Gates& gates = graph.gates;
  for (std::size_t g = 0; g < gates.size(); ++g) {
    const bool is_or = gates.kinds[g] == GateKind::or_gate ||
                       (gates.kinds[g] == GateKind::count && is_at_least_one(gates, g));
    const auto begin = static_cast<std::uint32_t>(result.edge_variable.size());
    const auto scope = gates.scope(g);
    result.edge_variable.insert(result.edge_variable.end(), scope.begin(), scope.end());
    result.gates.push_back(
        {begin, static_cast<std::uint32_t>(begin + scope.size()), gates.has_child(g), is_or ? 1.0f : -1.0f});
  }
  return result;
}

void LaneMaxProduct::solve(std::span<const float> extra, std::size_t problems, const BatchOptions& options,
                           std::span<std::uint8_t> states, BatchMessages* messages) const {
  const std::size_t n = size();
  assert(extra.size() == problems * n && states.size() == problems * n);
  const std::size_t batches = (problems + lanes - 1) / lanes;
  const std::size_t per_batch = lanes * graph_.message_count();
  if (messages && messages->problems != problems) {
    assert(messages->problems == 0);
    messages->problems = problems;
    messages->values.assign(batches * per_batch, 0.0f);
  }
  std::size_t largest_gate = 0;
  for (const LaneGraph::Gate& gate : graph_.gates)
    largest_gate = std::max<std::size_t>(largest_gate, gate.edge_end - gate.edge_begin);
  parallel_for(std::size_t{0}, batches, [&](std::size_t b) {
    const FlushDenormals flush;
    const std::size_t first = b * lanes, count = std::min(lanes, problems - first);
    // glibc before 2.38 does not use again what was freed of aligned memory, and here it comes and goes by megabytes: so the
    // line is found in memory that is not.
    std::vector<float> room(lanes * (3 * n + largest_gate + 1) + (messages ? 0 : per_batch), 0.0F);
    void* line = room.data();
    std::size_t space = room.size() * sizeof(float);
    float* const fields = static_cast<float*>(std::align(64, space - 64, line, space));
    float *sums = fields + n * lanes, *new_sums = sums + n * lanes;
    float* const scratch = new_sums + n * lanes;
    float* const values = messages ? messages->values.data() + b * per_batch : scratch + largest_gate * lanes;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t l = 0; l < count; ++l)
        fields[i * lanes + l] = graph_.bias[i] + extra[(first + l) * n + i];
    std::copy_n(fields, n * lanes, sums);
    float* const gate_values = values + 2 * lanes * graph_.pairs.size();
    // Messages that are there already, for a warm start.
    const auto add = [&](std::uint32_t variable, const float* message) {
      for (std::size_t l = 0; l < lanes; ++l) sums[lanes * variable + l] += message[l];
    };
    if (messages) {
      for (std::size_t p = 0; p < graph_.pairs.size(); ++p) {
        add(graph_.pairs[p].second, values + 2 * lanes * p);
        add(graph_.pairs[p].first, values + 2 * lanes * p + lanes);
      }
      for (std::size_t e = 0; e < graph_.edge_variable.size(); ++e)
        add(graph_.edge_variable[e], gate_values + lanes * e);
    }
    for (std::uint32_t iteration = 0; iteration < options.iterations && !options.control->should_stop();
         ++iteration) {
      std::copy_n(fields, n * lanes, new_sums);
      HWY_DYNAMIC_DISPATCH(SweepLanes)
      ({&graph_, values, gate_values, sums, new_sums, scratch, options.damping});
      std::swap(sums, new_sums);
    }
    for (std::size_t l = 0; l < count; ++l)
      for (std::size_t i = 0; i < n; ++i) states[(first + l) * n + i] = sums[lanes * i + l] >= 0;
  });
}

}  // namespace drover
#endif
