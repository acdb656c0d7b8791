#include "drover/sample/dual/swendsen_wang.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>

#include "drover/compile/table_graph.hpp"
#include "drover/core/parallel.hpp"
#include "drover/sample/dual/clusters.hpp"
#include "drover/sample/gibbs/gibbs_table_schedule.hpp"
#include "drover/sample/lane_random.hpp"

namespace drover {

namespace {

/// body(begin, end): pairs or variables that one task takes.
template <class Body>
void in_parallel(std::size_t count, const Body& body) {
  constexpr std::size_t grain = 8192;
  static_assert(grain % LaneRandom::width == 0);
  parallel_blocks(count, grain, body);
}

double to_unit(std::uint32_t word) {
  return (word + 0.5) * 0x1p-32;
}

void add_atomically(std::int64_t& sum, std::int64_t term) {
  std::atomic_ref(sum).fetch_add(term, std::memory_order_relaxed);
}

// A hard zero of a unary: beyond any sum of finite gains, and summed at most 2^14 times without overflow
// (further ones are not added).
constexpr std::int64_t forbidden = -(std::int64_t{1} << 48);

}  // namespace

SwendsenWang::SwendsenWang(const Graph& graph, double share)
    : SingleChainKernel(graph),
      share_(share),
      bonds_(cluster_bonds(graph)),
      conditional_offsets_(conditional_offsets(graph)) {
  assert(graph.tables.size() == 0);
  double total = 1;
  for (const ClusterBond& bond : bonds_) {
    assert(bond.strength > 0);
    laws_.push_back(bond_law(bond.strength, share, graph.cardinalities[bond.first]));
    total += 2 * laws_.back().gain;
  }
  has_fields_ = share < 1;
  for (VariableId v = 0; v < size(); ++v) {
    double largest = 0;
    for (double value : graph.unary_of(v)) {
      has_fields_ = has_fields_ || value != graph.unary_of(v)[0];
      if (value == log_zero)
        has_zeros_ = true;
      else
        largest = std::max(largest, std::abs(value));
    }
    total += largest;
  }
  // Room for every sum at temperatures down to 1/8; finer than 2^-32 is not needed.
  const int room = (has_zeros_ ? 44 : 59) - static_cast<int>(std::ceil(std::log2(total)));
  scale_ = std::ldexp(1.0, std::min(32, room));
}

std::int64_t SwendsenWang::fixed(double gain) const {
  return std::llround(gain * scale_);
}

SwendsenWang::State SwendsenWang::start(std::uint64_t seed, std::uint32_t first_chain) const {
  State state;
  state.seed = seed;
  state.chain = first_chain;
  state.values.resize(size());
  draw_start(*graph_, {}, seed, first_chain, state.values);
  return state;
}

BondLaw SwendsenWang::law_of(std::size_t bond, double inverse_temperature) const {
  if (inverse_temperature == 1) return laws_[bond];
  return bond_law(inverse_temperature * bonds_[bond].strength, share_,
                  graph_->cardinalities[bonds_[bond].first]);
}

// One random number per pair: [0, bond) is a bond, the rest is cut among the duals.
void SwendsenWang::draw_bonds(State& state, std::uint64_t sweep, std::size_t begin, std::size_t end) const {
  const LaneRandom random(state.seed, Stream::sweep);
  LaneRandom::Words words{};
  for (std::size_t b = begin; b < end; ++b) {
    if (b % LaneRandom::width == 0)
      words = random.words(state.chain, sweep, static_cast<std::uint32_t>(b / LaneRandom::width));
    const ClusterBond& bond = bonds_[b];
    const Value x = state.values[bond.first];
    const auto y = static_cast<Value>(state.values[bond.second] ^ bond.flip);
    const bool satisfied = x == y;
    if (!satisfied && share_ == 1) continue;
    const BondLaw law = law_of(b, state.inverse_temperature);
    double u = to_unit(words[b % LaneRandom::width]);
    if (satisfied && u < law.bond) {
      join_clusters(state.parents, bond.first, bond.second);
      if (share_ < 1) state.duals[b] = bonded;
      continue;
    }
    if (share_ == 1) continue;
    if (satisfied) u = (u - law.bond) / (1 - law.bond);
    state.duals[b] = draw_bond_dual(law, x, y, graph_->cardinalities[bond.first], u);
  }
}

// x_v as seen from its cluster: the same for all members, up to opposite spins.
Value SwendsenWang::relative(const State& state, std::size_t variable) const {
  if (graph_->cardinalities[variable] > 2) return 0;
  return static_cast<Value>(state.values[variable] ^ state.values[state.parents[variable]]);
}

void SwendsenWang::gather_unaries(State& state, std::size_t begin, std::size_t end) const {
  for (std::size_t v = begin; v < end; ++v) {
    const auto unary = graph_->unary_of(static_cast<VariableId>(v));
    std::int64_t* sums = state.gains.data() + graph_->unary_offsets[state.parents[v]];
    const Value turn = relative(state, v);
    for (std::size_t k = 0; k < unary.size(); ++k) {
      const std::int64_t gain =
          unary[k] == log_zero ? forbidden : fixed(state.inverse_temperature * unary[k]);
      std::int64_t& sum = sums[k ^ turn];
      if (gain == forbidden && std::atomic_ref(sum).load(std::memory_order_relaxed) < forbidden / 2) continue;
      add_atomically(sum, gain);
    }
  }
}

void SwendsenWang::gather_duals(State& state, std::size_t begin, std::size_t end) const {
  for (std::size_t b = begin; b < end; ++b) {
    const Value dual = state.duals[b];
    if (dual == bonded) continue;
    const std::int64_t gain = fixed(law_of(b, state.inverse_temperature).gain);
    const ClusterBond& bond = bonds_[b];
    const auto add = [&](VariableId v, Value value) {
      add_atomically(state.gains[graph_->unary_offsets[state.parents[v]] + (value ^ relative(state, v))],
                     gain);
    };
    add(bond.first, dual);
    add(bond.second, static_cast<Value>(dual ^ bond.flip));
  }
}

// Draws a value for every cluster whose root lies in begin .. end; moves[root] is what its members take on,
// or, for spins, whether they turn.
void SwendsenWang::draw_clusters(State& state, std::uint64_t sweep, std::size_t begin, std::size_t end,
                                 bool wanted) const {
  const LaneRandom random(state.seed, Stream::sweep);
  const std::size_t first_site = (bonds_.size() + LaneRandom::width - 1) / LaneRandom::width;
  std::size_t site = std::numeric_limits<std::size_t>::max();
  LaneRandom::Words words{};
  std::vector<double> p;
  for (std::size_t v = begin; v < end; ++v) {
    if (state.parents[v] != v) continue;
    if (site != v / LaneRandom::width) {
      site = v / LaneRandom::width;
      words = random.words(state.chain, sweep, static_cast<std::uint32_t>(first_site + site));
    }
    double u = to_unit(words[v % LaneRandom::width]);
    const std::uint32_t states = graph_->cardinalities[v];
    std::uint32_t drawn = 0;
    if (!has_fields_) {
      drawn = std::min(states - 1, static_cast<std::uint32_t>(u * states));
    } else {
      const std::int64_t* gains = state.gains.data() + graph_->unary_offsets[v];
      const std::int64_t highest = *std::max_element(gains, gains + states);
      p.resize(states);
      double total = 0;
      for (std::uint32_t k = 0; k < states; ++k)
        total += p[k] = std::exp(static_cast<double>(gains[k] - highest) / scale_);
      u *= total;
      while (drawn + 1 < states && (u -= p[drawn]) >= 0) ++drawn;
      while (p[drawn] == 0) --drawn;
      for (std::uint32_t k = 0; wanted && k < states; ++k)
        state.probabilities[graph_->unary_offsets[v] + k] = static_cast<float>(p[k] / total);
    }
    state.moves[v] = static_cast<Value>(states == 2 ? drawn ^ state.values[v] : drawn);
  }
}

void SwendsenWang::run(State& state, std::uint64_t sweep, float* sums) const {
  const std::size_t n = size();
  state.parents.resize(n);
  state.moves.resize(n);
  if (share_ < 1) state.duals.resize(bonds_.size());
  if (has_fields_) state.gains.resize(graph_->unary.size());
  if (has_fields_ && sums) state.probabilities.resize(graph_->unary.size());
  in_parallel(n, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) state.parents[v] = static_cast<std::uint32_t>(v);
    if (has_fields_)
      std::fill(state.gains.begin() + static_cast<std::ptrdiff_t>(graph_->unary_offsets[begin]),
                state.gains.begin() + static_cast<std::ptrdiff_t>(graph_->unary_offsets[end]), 0);
  });
  in_parallel(bonds_.size(),
              [&](std::size_t begin, std::size_t end) { draw_bonds(state, sweep, begin, end); });
  in_parallel(n, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      const std::uint32_t root = cluster_root(state.parents, static_cast<std::uint32_t>(v));
      std::atomic_ref(state.parents[v]).store(root, std::memory_order_relaxed);
    }
  });
  if (has_fields_)
    in_parallel(n, [&](std::size_t begin, std::size_t end) { gather_unaries(state, begin, end); });
  if (share_ < 1)
    in_parallel(bonds_.size(), [&](std::size_t begin, std::size_t end) { gather_duals(state, begin, end); });
  in_parallel(n, [&](std::size_t begin, std::size_t end) { draw_clusters(state, sweep, begin, end, sums); });
  if (sums) {
    in_parallel(n, [&](std::size_t begin, std::size_t end) {
      for (std::size_t v = begin; v < end; ++v) {
        const std::uint32_t states = graph_->cardinalities[v];
        const Value turn = relative(state, v);
        float* entry = sums + conditional_offsets_[v];
        for (std::uint32_t k = states == 2 ? 1 : 0; k < states; ++k, ++entry)
          *entry += has_fields_ ? state.probabilities[graph_->unary_offsets[state.parents[v]] + (k ^ turn)]
                                : 1.0F / static_cast<float>(states);
      }
    });
  }
  in_parallel(n, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      const Value move = state.moves[state.parents[v]];
      state.values[v] = graph_->cardinalities[v] == 2 ? state.values[v] ^ move : move;
    }
  });
}

std::size_t SwendsenWang::cluster_count(const State& state) {
  std::size_t count = 0;
  for (std::size_t v = 0; v < state.parents.size(); ++v) count += state.parents[v] == v ? 1 : 0;
  return count;
}

double SwendsenWang::log_cluster_probability(const State& state) const {
  double total = 0;
  for (std::size_t v = 0; v < size(); ++v) {
    if (state.parents[v] != v) continue;
    total += has_fields_ ? std::log(state.probabilities[graph_->unary_offsets[v] + state.values[v]])
                         : -std::log(graph_->cardinalities[v]);
  }
  return total;
}

}  // namespace drover
