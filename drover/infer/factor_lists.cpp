#include "drover/infer/factor_lists.hpp"

namespace drover {

PairLists::PairLists(const Pairs& pairs, std::size_t variables) : offsets(variables + 1, 0) {
  for (std::size_t f = 0; f < pairs.size(); ++f) {
    ++offsets[pairs.first[f] + 1];
    ++offsets[pairs.second[f] + 1];
  }
  for (std::size_t v = 0; v < variables; ++v) offsets[v + 1] += offsets[v];
  neighbours.resize(2 * pairs.size());
  couplings.resize(2 * pairs.size());
  std::vector<std::size_t> cursor(offsets.begin(), offsets.end() - 1);
  const auto put = [&](VariableId from, VariableId to, double coupling) {
    const std::size_t at = cursor[from]++;
    neighbours[at] = to;
    couplings[at] = coupling;
  };
  for (std::size_t f = 0; f < pairs.size(); ++f) {
    put(pairs.first[f], pairs.second[f], pairs.couplings[f]);
    put(pairs.second[f], pairs.first[f], pairs.couplings[f]);
  }
}

TableLists::TableLists(const Tables& tables, std::size_t variables)
    : offsets(variables + 1, 0), factors(tables.scopes.size()) {
  for (VariableId v : tables.scopes) ++offsets[v + 1];
  for (std::size_t v = 0; v < variables; ++v) offsets[v + 1] += offsets[v];
  std::vector<std::size_t> cursor(offsets.begin(), offsets.end() - 1);
  for (std::size_t f = 0; f < tables.size(); ++f)
    for (VariableId v : tables.scope(f)) factors[cursor[v]++] = static_cast<std::uint32_t>(f);
}

}  // namespace drover
