#include "drover/diagnose/draws.hpp"

#include <algorithm>
#include <cmath>

#include "drover/diagnose/patience.hpp"

namespace drover {

bool undiagnosable(Draws draws) {
  if (draws.chains == 0 || draws.draws < least_draws) return true;
  bool constant = true;
  for (double value : draws.all()) {
    if (!std::isfinite(value)) return true;
    constant &= value == draws.data[0];
  }
  return constant;
}

DrawsBuffer split_chains(Draws draws, const RunControl& control) {
  StopCheck check = diagnosis_check(control);
  const std::size_t half = draws.draws / 2;
  DrawsBuffer split{{}, 2 * draws.chains, half};
  split.values.reserve(split.chains * half);
  for (std::size_t c = 0; c < draws.chains; ++c) {
    const auto chain = draws.chain(c);
    append_patiently(split.values, chain.first(half), check);
    append_patiently(split.values, chain.last(half), check);
  }
  return split;
}

ChainMoments chain_moments(Draws draws) {
  ChainMoments moments;
  const double chains = static_cast<double>(draws.chains), length = static_cast<double>(draws.draws);
  std::vector<double> means(draws.chains);
  for (std::size_t c = 0; c < draws.chains; ++c) {
    // Shifted by the first value, so that a chain of one value has variance exactly zero.
    const auto chain = draws.chain(c);
    double sum = 0, squares = 0;
    for (double value : chain) sum += value - chain[0];
    const double mean = sum / length;
    for (double value : chain) squares += (value - chain[0] - mean) * (value - chain[0] - mean);
    means[c] = chain[0] + mean;
    moments.within += squares / (length - 1) / chains;
  }
  if (draws.chains > 1) {
    double mean = 0;
    for (double value : means) mean += (value - means[0]) / chains;
    for (double value : means)
      moments.variance_of_means += (value - means[0] - mean) * (value - means[0] - mean) / (chains - 1);
  }
  return moments;
}

}  // namespace drover
