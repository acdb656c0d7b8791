// How far the answers to questions about a model can be relied on.
#include <fmt/format.h>

#include <cmath>

#include "drover/core/figures.hpp"
#include "drover/task/inference.hpp"

namespace drover {

namespace {

Judgement judge_chains(const Diagnostics& diagnostics, bool converged, bool raced = false) {
  if (converged)
    return {Verdict::good,
            fmt::format("The chains agree: the largest R-hat is {} and the smallest effective sample size is "
                        "{}. Trust each probability to within about three of its standard errors{}.",
                        rhat_text(diagnostics.rhat_max), ess_text(diagnostics.ess_min),
                        std::isfinite(diagnostics.mcse_max)
                            ? " (largest: " + error_text(diagnostics.mcse_max) + ")"
                            : "")};
  // R-hat sees only what the chains did, and the method knows better.
  if (is_converged(diagnostics))
    return {Verdict::bad, "Do not rely on this run, though its chains agree: the warnings say why."};
  if (!std::isfinite(diagnostics.rhat_max) || !std::isfinite(diagnostics.ess_min))
    return {Verdict::bad, "The run is too short to say whether it has converged. Run longer."};
  return {diagnostics.rhat_max > 1.1 ? Verdict::bad : Verdict::caution,
          fmt::format("The run has not converged: the largest R-hat is {} (below 1.01 is wanted) and the "
                      "smallest effective sample size is {} (above 400 is wanted). {}",
                      rhat_text(diagnostics.rhat_max), ess_text(diagnostics.ess_min),
                      raced ? "Run longer: every sampler that fits was tried, and this one came furthest."
                            : "Run longer, or try another method.")};
}

/// Nothing is proven of sums that were rounded coarsely.
Judgement but_for_rounding(Judgement judgement, const ModelAnswer& answer) {
  if (answer.rounding == 0) return judgement;
  return with_warnings(std::move(judgement), answer.provenance.warnings);
}

}  // namespace

Judgement judge(const Marginals& answer) {
  if (answer.exact)
    return but_for_rounding({Verdict::good, "These marginals are exact, up to rounding."}, answer);
  // Methods whose chains have an error in common, which none of their figures shows, say so.
  if (answer.chains == 0 || answer.provenance.details.find("approximates") != nullptr)
    return answer.converged
               ? Judgement{Verdict::caution,
                           "The method has converged, but it approximates: how far these marginals are from "
                           "the "
                           "truth is not known."}
               : Judgement{
                     Verdict::bad,
                     "The method has not converged, and it approximates: do not rely on these marginals."};
  return with_warnings(judge_chains(answer.diagnostics, answer.converged, !answer.race.empty()),
                       answer.provenance.warnings);
}

Judgement judge(const BestValues& answer) {
  if (answer.optimal)
    return {Verdict::good, "These values are proven to be the most probable ones together."};
  return {Verdict::caution, fmt::format("These are the best values found: their log probability is at least "
                                        "{}, and no others have one "
                                        "above {}.",
                                        log_text(answer.lower), log_text(answer.upper))};
}

Judgement judge(const BestState& answer) {
  if (!answer.states.empty())
    return answer.optimal
               ? but_for_rounding({Verdict::good, "These are proven to be the most probable states."}, answer)
               : Judgement{Verdict::caution,
                           "These are the best states found; others may be among the best."};
  if (answer.optimal)
    return but_for_rounding({Verdict::good, "This state is proven to be a most probable one."}, answer);
  if (answer.log_score == log_zero)
    return {Verdict::bad,
            "No possible state was found: this one breaks a hard constraint. Run longer, or take another "
            "method."};
  return {Verdict::caution,
          std::isfinite(answer.upper)
              ? "This is the best state found; no state has a log score above " + log_text(answer.upper) + "."
              : "This is the best state found; no proof says that none is better."};
}

Judgement judge(const LogZ& answer) {
  if (answer.exact)
    return {Verdict::good, "log Z = " + log_text(answer.log_z, 12) + ", exact up to rounding."};
  const std::string error =
      std::isfinite(answer.mcse) ? ", with standard error " + error_text(answer.mcse) : "";
  switch (answer.bound) {
    case Bound::lower:
      return {Verdict::caution, fmt::format("log Z is at least {}{}.", log_text(answer.log_z, 8), error)};
    case Bound::upper:
      return {Verdict::caution, fmt::format("log Z is at most {}{}.", log_text(answer.log_z, 8), error)};
    case Bound::none:
      break;
  }
  return {Verdict::caution, fmt::format("log Z is estimated as {}{}.", log_text(answer.log_z, 8), error)};
}

Judgement judge(const Samples& answer) {
  if (answer.independent && !answer.converged)
    return {Verdict::bad, "Do not rely on these draws, independent as they are: the warnings say why."};
  if (answer.independent)
    return answer.exact
               ? but_for_rounding({Verdict::good, "The draws are exact and independent."}, answer)
               : Judgement{Verdict::caution, "The draws are independent, of an approximation of the model."};
  return with_warnings(judge_chains(answer.diagnostics, answer.converged), answer.provenance.warnings);
}

}  // namespace drover
