// The sufficient statistics of a machine: means of x_i, and of x_first x_second over its edges.
#pragma once

#include <vector>

#include "drover/machine/bit_batch.hpp"
#include "drover/model/binary_machine.hpp"

namespace drover {

struct Statistics {
  std::vector<float> biases;
  std::vector<float> weights;
};

/// In a batch of states of all variables.
void measure(const BinaryMachine& machine, const BitBatch& batch, Statistics& statistics);
/// The same of the edges begin .. end alone; the other weights are zero.
void measure(const BinaryMachine& machine, const BitBatch& batch, std::size_t begin, std::size_t end,
             Statistics& statistics);

}  // namespace drover
