#include "drover/sample/spread/part_spread.hpp"

namespace drover {

PartSpread::PartSpread(HeldPart part, const Ranks& ranks)
    : ranks_(ranks),
      part_(std::move(part)),
      kernel_(std::move(part_.graph)),
      exchanges_(unit_exchanges(ranks, part_.plan, 1)) {}

WholeSum PartSpread::score_of(const State& state) const {
  if (part_.terms.empty()) return kernel_.score_of(state, part_.plan.own);
  const auto bit = [&](std::size_t position) { return state.words[position / 64] >> position % 64 & 1; };
  WholeSum total;
  for (std::uint32_t unit : part_.plan.own)
    for (std::size_t p = std::size_t{64} * unit; p < std::size_t{64} * (unit + 1); ++p)
      if (bit(p) == 1) total.add(part_.terms[p]);
  for (std::size_t c = 0; c < part_.twice.size(); ++c)
    for (std::uint32_t unit : part_.plan.shares[c].inner) {
      if (!part_.twice[c]) break;
      for (std::size_t lane = 0; lane < 64; ++lane) {
        if ((part_.counted[unit] >> lane & 1) == 0) continue;
        const auto [first, second] = kernel_.two_neighbours(unit, lane);
        const float coupling = part_.terms[std::size_t{64} * unit + lane];
        total.add(bit(first) == bit(second) ? coupling : -coupling);
      }
    }
  return total;
}

void PartSpread::log_scores(const State& state, std::span<double> scores) const {
  WholeSum::Parts parts = score_of(state).parts();
  ranks_.add_up(parts);
  scores[0] = kernel_.log_constant() + WholeSum::of(parts).value();
}

}  // namespace drover
