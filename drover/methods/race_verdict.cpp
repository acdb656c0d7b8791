#include "drover/methods/race_verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "drover/core/figures.hpp"
#include "drover/core/plural.hpp"
#include "drover/methods/chain_results.hpp"

namespace drover {

namespace {

// Of n effective draws none need have met an event of probability 1 / n: no error is smaller than that, be
// the draws ever so much alike. Where a variable never moved this is all that is known.
void widen_errors(MarginalsResult& result) {
  const double unseen = 1 / result.diagnostics.ess_min;
  if (!(unseen > 0) || !std::isfinite(unseen)) return;
  for (std::size_t v = 0; v < result.mcse.size(); ++v)
    for (double& error : result.mcse[v]) {
      error = std::isfinite(error) ? std::hypot(error, unseen) : unseen;
      result.diagnostics.mcse_max = std::fmax(result.diagnostics.mcse_max, error);
    }
}

}  // namespace

void judge_winner(const Contestant& winner, const std::deque<Contestant>& contestants,
                  const std::string& more, MarginalsResult& result) {
  const auto ran = static_cast<std::size_t>(
      std::ranges::count_if(contestants, [](const Contestant& one) { return one.entry.work > 0; }));
  widen_errors(result);
  for (std::string& warning : result.warnings)
    if (const std::size_t at = warning.find(advice_to_change); at != std::string::npos)
      warning.replace(at, advice_to_change.size(),
                      fmt::format("none of {} came further: allow {}", counted(ran, "sampler"), more));
  if (result.converged && !winner.standing.starts_forgotten) {
    result.converged = false;
    result.warnings.emplace_back("the chains still remember where they started: run longer");
  }
  if (result.converged && winner.standing.nested_rhat_max > 1.01) {
    result.converged = false;
    result.warnings.push_back(fmt::format("groups of chains with different starts disagree: nested R-hat {}",
                                          rhat_text(winner.standing.nested_rhat_max)));
  }
  for (const Contestant& other : contestants) {
    if (&other == &winner || !is_converged(other.standing.diagnostics)) continue;
    if (largest_difference(winner.standing, other.standing) <=
        difference_limit(winner.standing, other.standing))
      continue;
    result.converged = false;
    result.warnings.push_back(
        fmt::format("{} and {} disagree by more than their errors: at least one has not seen every mode",
                    winner.name, other.name));
  }
}

std::string why_it_won(const Contestant& winner, const std::deque<Contestant>& contestants, bool left_out) {
  const Contestant* second = nullptr;
  for (const Contestant& one : contestants)
    if (&one != &winner && std::isfinite(one.entry.ess_per_work) &&
        (second == nullptr || one.entry.ess_per_work > second->entry.ess_per_work))
      second = &one;
  if (second == nullptr)
    return left_out ? "a pilot of any other sampler would take too much of the time"
                    : "the only sampler that ran";
  if (!(second->entry.ess_per_work > 0) || !std::isfinite(winner.entry.ess_per_work))
    return fmt::format("its chains moved in a race of {} samplers", contestants.size());
  return fmt::format("it gave {:.2g} times the effective samples per work of {}, the next of {} samplers",
                     winner.entry.ess_per_work / second->entry.ess_per_work, second->name,
                     contestants.size());
}

}  // namespace drover
