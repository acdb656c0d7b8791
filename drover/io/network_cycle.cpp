#include "drover/io/network_cycle.hpp"

#include <algorithm>
#include <cstdint>

namespace drover {

std::vector<VariableId> find_cycle(std::span<const std::vector<VariableId>> parents) {
  enum class Mark : std::uint8_t { unseen, on_path, done };
  struct Step {
    VariableId variable;
    std::size_t next = 0;  // the parent to visit after this one
  };
  std::vector<Mark> marks(parents.size(), Mark::unseen);
  for (std::size_t start = 0; start < parents.size(); ++start) {
    if (marks[start] != Mark::unseen) continue;
    std::vector<Step> path{{static_cast<VariableId>(start)}};
    marks[start] = Mark::on_path;
    while (!path.empty()) {
      Step& step = path.back();
      if (step.next == parents[step.variable].size()) {
        marks[step.variable] = Mark::done;
        path.pop_back();
        continue;
      }
      const VariableId parent = parents[step.variable][step.next++];
      if (marks[parent] == Mark::done) continue;
      if (marks[parent] == Mark::unseen) {
        marks[parent] = Mark::on_path;
        path.push_back({parent});
        continue;
      }
      // A walk from child to parents has met itself.
      std::vector<VariableId> cycle{parent};
      const auto begin = std::ranges::find(path, parent, &Step::variable);
      for (auto at = begin + 1; at != path.end(); ++at) cycle.push_back(at->variable);
      cycle.push_back(parent);
      return cycle;
    }
  }
  return {};
}

}  // namespace drover
