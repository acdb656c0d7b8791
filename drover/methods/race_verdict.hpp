// What is said of the winner of a race: how far its answer can be relied on, and why it won.
#pragma once

#include <deque>
#include <string>

#include "drover/methods/contestant.hpp"
#include "drover/run/result.hpp"

namespace drover {

/// Completes the result of the winner's chains: errors that know what was not seen, and `converged` only where groups of chains
/// have forgotten their starts and no other contestant that had come as far disagrees. `more` is what one may allow
/// to come further.
void judge_winner(const Contestant& winner, const std::deque<Contestant>& contestants,
                  const std::string& more, MarginalsResult& result);

/// Compared with the next best; `left_out`: a sampler was, for want of time.
std::string why_it_won(const Contestant& winner, const std::deque<Contestant>& contestants, bool left_out);

}  // namespace drover
