// Numbers as people read them, in tables, reports and messages. JSON and files keep every digit.
#pragma once

#include <string>

namespace drover {

/// Scores, log Z and other logarithms: "0" for what is rounding only, words for what is no number.
std::string log_text(double value, int digits = 10);

/// R-hat: "above 1000" says all there is to say of a larger one; "-" when it is not known.
std::string rhat_text(double rhat);

/// An effective sample size; "-" when it is not known.
std::string ess_text(double ess);

/// A standard error or another distance that is not negative: "0" when it is rounding only, "-" when it is
/// not known.
std::string error_text(double error, int digits = 2);

}  // namespace drover
