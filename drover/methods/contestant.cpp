#include "drover/methods/contestant.hpp"

#include <algorithm>
#include <cmath>

#include "drover/run/result.hpp"

namespace drover {

namespace {

// R-hat of fewer draws says little, however many chains there are.
constexpr std::uint64_t draws_for_rhat = 256;

}  // namespace

bool Targets::are_met(const Contestant& one) const {
  const Standing& standing = one.standing;
  const Diagnostics& worst = standing.diagnostics;
  return one.chains->draws() >= draws_for_rhat && has_enough_draws(worst) && worst.rhat_max <= rhat &&
         standing.starts_forgotten && !(standing.nested_rhat_max > rhat) &&
         (mcse == 0 || worst.mcse_max <= mcse);
}

double Targets::work_factor(const Contestant& one) const {
  const Diagnostics& worst = one.standing.diagnostics;
  if (!std::isfinite(worst.rhat_max) || !(worst.ess_min > 0)) return 100;
  const auto excess = [](double value) { return value * value - 1; };
  double factor = std::max(excess(worst.rhat_max) / excess(rhat), 400 / worst.ess_min);
  if (mcse > 0) factor = std::max(factor, std::pow(worst.mcse_max / mcse, 2));
  if (one.standing.nested_rhat_max > rhat)
    factor = std::max(factor, excess(one.standing.nested_rhat_max) / excess(rhat));
  if (!one.standing.starts_forgotten) factor = std::max(factor, 2.0);
  return factor;
}

double Targets::work_left(const Contestant& one) const {
  if (are_met(one)) return 0;
  const double draws =
      static_cast<double>(draws_for_rhat) / static_cast<double>(std::max<std::uint64_t>(1, one.chains->draws()));
  return std::max({0.1, work_factor(one) - 1, draws - 1}) * static_cast<double>(one.chains->sweeps_done()) *
         one.sweep_work;
}

}  // namespace drover
