#include "drover/run/chain_run.hpp"

namespace drover {

void ScoreTrace::halve(std::uint32_t chains) {
  std::size_t kept = 0;
  every *= 2;
  for (std::size_t r = 0; r < sweeps.size(); ++r) {
    if (sweeps[r] % every != 0) continue;
    std::copy_n(scores.begin() + static_cast<std::ptrdiff_t>(r * chains), chains,
                scores.begin() + static_cast<std::ptrdiff_t>(kept * chains));
    sweeps[kept++] = sweeps[r];
  }
  sweeps.resize(kept);
  scores.resize(kept * chains);
}

}  // namespace drover
