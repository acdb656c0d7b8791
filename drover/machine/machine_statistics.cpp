#include "drover/machine/machine_statistics.hpp"

#include "drover/core/parallel.hpp"

namespace drover {

void measure(const BinaryMachine& machine, const BitBatch& batch, Statistics& statistics) {
  measure(machine, batch, 0, machine.edges(), statistics);
}

void measure(const BinaryMachine& machine, const BitBatch& batch, std::size_t begin, std::size_t end,
             Statistics& statistics) {
  statistics.biases.resize(machine.variables());
  statistics.weights.assign(machine.edges(), 0.0F);
  const float share = 1.0F / static_cast<float>(batch.rows);
  for (std::size_t i = 0; i < machine.variables(); ++i)
    statistics.biases[i] = share * static_cast<float>(count_ones(batch.column(i)));
  parallel_for(IndexRange(begin, end, 16384), [&](const IndexRange& range) {
    for (std::size_t e = range.begin(); e != range.end(); ++e)
      statistics.weights[e] = share * static_cast<float>(count_both(batch.column(machine.first[e]),
                                                                    batch.column(machine.second[e])));
  });
}

}  // namespace drover
