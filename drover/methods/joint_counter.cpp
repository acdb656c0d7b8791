#include "drover/methods/joint_counter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "drover/core/error.hpp"

namespace drover {

JointCounter::JointCounter(const Problem& problem, std::uint32_t chains)
    : graph_(problem.graph()), groups_(std::clamp(chains, 1U, 16U)) {
  if (problem.options().pairs) {
    const Adjacency near = adjacency(graph_);
    for (VariableId i = 0; i < near.size(); ++i)
      for (VariableId j : near.of(i))
        if (i < j) sets_.push_back({i, j});
    pairs_ = sets_.size();
  }
  sets_.insert(sets_.end(), problem.joint().begin(), problem.joint().end());
  double entries = 0;
  for (const auto& set : sets_) {
    double product = 1;
    for (VariableId v : set) product *= graph_.cardinalities[v];
    entries += product;
  }
  const double bytes = sizeof(std::uint64_t) * entries * groups_;
  if (!(bytes <= static_cast<double>(problem.memory_limit_bytes())))
    throw Error(ErrorKind::misfit,
                fmt::format("counting joint states would need {:.3g} GB, the memory limit is {:.3g} GB",
                            bytes / 1e9, static_cast<double>(problem.memory_limit_bytes()) / 1e9));
  offsets_.push_back(0);
  for (const auto& set : sets_) {
    std::size_t product = 1;
    for (VariableId v : set) product *= graph_.cardinalities[v];
    offsets_.push_back(offsets_.back() + product);
  }
  counts_.assign(offsets_.back() * groups_, 0);
  draws_.assign(groups_, 0);
}

void JointCounter::count(std::uint32_t chain, std::span<const Value> x) {
  const std::size_t group = chain % groups_;
  std::uint64_t* counts = counts_.data() + group * offsets_.back();
  for (std::size_t s = 0; s < sets_.size(); ++s) {
    std::size_t at = 0;
    for (VariableId v : sets_[s]) at = at * graph_.cardinalities[v] + x[v];
    ++counts[offsets_[s] + at];
  }
  ++draws_[group];
}

void JointCounter::add_up(const Ranks& ranks) {
  ranks.add_up(counts_);
  ranks.add_up(draws_);
}

std::span<const std::uint64_t> JointCounter::counts(std::size_t group, std::size_t set) const {
  return {counts_.data() + group * offsets_.back() + offsets_[set], offsets_[set + 1] - offsets_[set]};
}

void JointCounter::fill(MarginalsResult& result, double share) const {
  double draws = 0;
  std::vector<std::size_t> groups;  // that have draws
  for (std::size_t g = 0; g < groups_; ++g) {
    draws += static_cast<double>(draws_[g]);
    if (draws_[g] > 0) groups.push_back(g);
  }
  // A run that was ended before it went on counts the states that the chains stood in, with a share of none.
  const double effective = std::max(1.0, std::min(draws, share * result.diagnostics.ess_min));
  // The verdict is about single variables, for which more sweeps may speak.
  constexpr double least_effective = 200;
  if (result.converged && effective < least_effective)
    result.warnings.push_back(fmt::format(
        "joint distributions were counted in an effective {:.0f} draws only: do not rely on them; "
        "take more sweeps",
        effective));
  for (std::size_t s = 0; s < sets_.size(); ++s) {
    const std::size_t entries = offsets_[s + 1] - offsets_[s];
    std::vector<double> joint(entries, not_known), error(entries, not_known);
    for (std::size_t e = 0; e < entries && draws > 0; ++e) {
      double total = 0, squares = 0;
      for (std::size_t g : groups) total += static_cast<double>(counts(g, s)[e]);
      joint[e] = total / draws;
      for (std::size_t g : groups) {
        const double mean = static_cast<double>(counts(g, s)[e]) / static_cast<double>(draws_[g]);
        squares += (mean - joint[e]) * (mean - joint[e]);
      }
      const auto count = static_cast<double>(groups.size());
      if (count > 1) error[e] = std::sqrt(squares / (count * (count - 1)));
      // Few chains agree by chance: no error is smaller than that of as many independent draws as the slowest
      // variable had. A count of one more than was seen keeps states that were not met from being certain.
      const double p = (total + 1) / (draws + 2);
      error[e] = std::fmax(error[e], std::sqrt(p * (1 - p) / effective));
    }
    if (s < pairs_) {
      result.pairs.emplace_back(sets_[s][0], sets_[s][1]);
      result.pair_marginals.push_back(std::move(joint));
    } else {
      result.joints.push_back(std::move(joint));
      result.joint_mcse.push_back(std::move(error));
    }
  }
}

}  // namespace drover
