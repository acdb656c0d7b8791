#include "drover/core/figures.hpp"

#include <fmt/format.h>

#include <cmath>

namespace drover {

namespace {

constexpr double rounding = 1e-12;  ///< what sums of a few thousand numbers near one may leave

}  // namespace

std::string log_text(double value, int digits) {
  if (std::isnan(value)) return "not known";
  if (std::isinf(value)) return value > 0 ? "infinite" : "minus infinity";
  if (std::abs(value) < rounding) return "0";
  return fmt::format("{:.{}g}", value, digits);
}

std::string rhat_text(double rhat) {
  if (std::isnan(rhat)) return "-";
  return rhat < 1000 ? fmt::format("{:.4f}", rhat) : "above 1000";
}

std::string ess_text(double ess) {
  return std::isfinite(ess) ? fmt::format("{:.0f}", ess) : "-";
}

std::string error_text(double error, int digits) {
  if (!std::isfinite(error)) return "-";
  return std::abs(error) < rounding ? "0" : fmt::format("{:.{}g}", error, digits);
}

}  // namespace drover
