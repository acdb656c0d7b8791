#include "drover/infer/projections.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <vector>

namespace drover {
namespace {

constexpr std::size_t small_table = 4096;  // tables up to this size may be stored whole as one union
constexpr std::size_t searched = 16;       // computed marginals looked at as a source for a smaller one

using Scope = std::span<const std::uint32_t>;

struct Union {
  std::vector<std::uint32_t> scope;
  std::vector<std::size_t> members;
};

bool contains(Scope larger, Scope smaller) {
  return std::includes(larger.begin(), larger.end(), smaller.begin(), smaller.end());
}

}  // namespace

void project(std::span<const std::uint32_t> cardinalities, Scope scope, std::span<const Operand> operands,
             double constant, std::span<const Projection> wanted) {
  const std::size_t joint = table_size(cardinalities, scope);
  std::vector<std::size_t> sizes(wanted.size()), order(wanted.size());
  for (std::size_t w = 0; w < wanted.size(); ++w) {
    sizes[w] = table_size(cardinalities, wanted[w].scope);
    order[w] = w;
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });

  std::vector<Operand> computed;  // large marginals, descending in size
  // From the smallest computed marginal that contains the scope, else from the operands.
  const auto compute = [&](Scope target, double* out) {
    for (std::size_t k = std::min(computed.size(), searched); k-- > 0;)
      if (contains(computed[k].scope, target)) {
        const Operand source[1] = {computed[k]};
        return contract(Reduce::sum, cardinalities, computed[k].scope, source, 0.0, target, out);
      }
    contract(Reduce::sum_of_exp, cardinalities, scope, operands, constant, target, out);
  };

  std::vector<Union> unions;
  const std::size_t limit = std::max(small_table, joint / 8);
  for (std::size_t w : order) {
    const Scope target = wanted[w].scope;
    if (joint > small_table && sizes[w] > joint / 16) {
      compute(target, wanted[w].out);
      computed.push_back({target, wanted[w].out});
      continue;
    }
    bool placed = false;
    for (std::size_t k = unions.size() > searched ? unions.size() - searched : 0;
         k < unions.size() && !placed; ++k) {
      std::vector<std::uint32_t> joined;
      std::set_union(unions[k].scope.begin(), unions[k].scope.end(), target.begin(), target.end(),
                     std::back_inserter(joined));
      if (table_size(cardinalities, joined) > limit) continue;
      unions[k].scope = std::move(joined);
      unions[k].members.push_back(w);
      placed = true;
    }
    if (!placed) unions.push_back({{target.begin(), target.end()}, {w}});
  }
  for (const Union& group : unions) {
    if (group.members.size() == 1) {
      compute(group.scope, wanted[group.members[0]].out);
      continue;
    }
    const auto table = std::make_unique_for_overwrite<double[]>(table_size(cardinalities, group.scope));
    compute(group.scope, table.get());
    const Operand source[1] = {{group.scope, table.get()}};
    for (std::size_t w : group.members)
      contract(Reduce::sum, cardinalities, group.scope, source, 0.0, wanted[w].scope, wanted[w].out);
  }
}

void project_table(std::span<const std::uint32_t> cardinalities, Scope scope, const double* table,
                   std::span<const Projection> wanted) {
  const Operand source[1] = {{scope, table}};
  for (const Projection& projection : wanted)
    contract(Reduce::sum, cardinalities, scope, source, 0.0, projection.scope, projection.out);
}

}  // namespace drover
