#include "drover/cluster/metis.hpp"

#include <metis.h>

namespace drover {

std::vector<std::uint32_t> metis_parts(const WorkGraph& graph, std::uint32_t parts) {
  const std::size_t units = graph.work.size();
  if (parts > 1 && units >= 2 * std::size_t{parts}) {
    const auto copy = [](const auto& from) { return std::vector<idx_t>(from.begin(), from.end()); };
    std::vector<idx_t> offsets = copy(graph.offsets), neighbours = copy(graph.neighbours),
                       work = copy(graph.work), shared = copy(graph.shared), found(units);
    auto count = static_cast<idx_t>(units), constraints = idx_t{1}, wanted = static_cast<idx_t>(parts),
         cut = idx_t{0};
    idx_t options[METIS_NOPTIONS];
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = 1;
    options[METIS_OPTION_UFACTOR] = 10;  // at most one per cent more work than the average
    if (offsets.size() == units + 1 &&
        METIS_PartGraphKway(&count, &constraints, offsets.data(), neighbours.data(), work.data(), nullptr,
                            shared.data(), &wanted, nullptr, nullptr, options, &cut,
                            found.data()) == METIS_OK)
      return {found.begin(), found.end()};
  }
  std::vector<std::uint32_t> stretches(units, 0);
  for (std::uint32_t part = 0; part < parts; ++part)
    for (std::size_t u = part_begin(units, part, parts); u < part_begin(units, part + 1, parts); ++u)
      stretches[u] = part;
  return stretches;
}

}  // namespace drover
