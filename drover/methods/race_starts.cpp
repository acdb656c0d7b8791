#include "drover/methods/race_starts.hpp"

#include <algorithm>

#include "drover/core/random.hpp"
#include "drover/infer/iterated_modes.hpp"
#include "drover/infer/support.hpp"

namespace drover {

namespace {

std::vector<std::vector<Value>> random_states(const Problem& problem, std::size_t count) {
  const Graph& graph = problem.graph();
  if (!graph.is_strictly_positive())
    return find_supported_states(graph, problem.options().seed, std::max<std::size_t>(1, count),
                                 problem.control());
  std::vector<std::vector<Value>> states(count, std::vector<Value>(graph.size()));
  RandomSequence random(problem.options().seed, Stream::start);
  for (auto& state : states)
    for (std::size_t v = 0; v < graph.size(); ++v)
      state[v] = static_cast<Value>(random.below(graph.cardinalities[v]));
  return states;
}

// Best first, without repetitions.
std::vector<std::vector<Value>> climbs(const Problem& problem, std::vector<std::vector<Value>> from) {
  const IteratedModes modes(problem.graph());
  std::vector<std::pair<double, std::vector<Value>>> found;
  for (auto& state : from) {
    if (!found.empty() && problem.control().should_stop()) break;
    const double score = modes.climb(state).log_score;
    if (score > log_zero) found.emplace_back(score, std::move(state));
  }
  std::ranges::stable_sort(found, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::vector<Value>> states;
  for (auto& [score, state] : found)
    if (states.empty() || state != states.back()) states.push_back(std::move(state));
  return states;
}

}  // namespace

std::uint32_t chains_per_start(std::uint32_t chains) {
  return chains >= 64 ? 8 : chains >= 16 ? 4 : 1;
}

std::vector<std::vector<Value>> race_starts(const Problem& problem, std::size_t count) {
  const Graph& graph = problem.graph();
  // To climb takes as long as some sweeps: not where a large model was hardly read in the time that is given.
  const bool hurries = problem.control().time_fraction() > 0.25;
  const std::size_t tries = graph.size() <= 100'000 ? 16 : hurries ? 0 : 2;
  std::vector<std::vector<Value>> random = random_states(problem, count + tries);
  std::vector<std::vector<Value>> likely =
      climbs(problem,
             {random.begin(), random.begin() + static_cast<std::ptrdiff_t>(std::min(tries, random.size()))});
  std::vector<std::vector<Value>> extreme(2, std::vector<Value>(graph.size(), 0));
  for (std::size_t v = 0; v < graph.size(); ++v)
    extreme[1][v] = static_cast<Value>(graph.cardinalities[v] - 1);
  std::erase_if(extreme, [&](const auto& state) { return !in_support(graph, state); });

  std::vector<std::vector<Value>> starts;
  std::size_t next_random = 0, next_likely = 0;
  for (std::size_t k = 0; starts.size() < count; ++k) {
    if (k % 4 == 0 && next_likely < likely.size())
      starts.push_back(likely[next_likely++]);
    else if ((k == 1 || k == 2) && k - 1 < extreme.size())
      starts.push_back(extreme[k - 1]);
    else
      starts.push_back(random[next_random++ % random.size()]);
  }
  return starts;
}

}  // namespace drover
