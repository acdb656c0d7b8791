// What was observed: the value of some variables, and of some only how likely what was seen is in each of
// their states (soft or virtual evidence, Pearl 1988), which multiplies p~.
#pragma once

#include <span>
#include <utility>

#include "drover/model/model.hpp"

namespace drover {

struct Observations : Evidence {
  Unaries likelihoods;  ///< log p(what was seen | state); a variable may have several

  Observations() = default;
  Observations(Evidence evidence) : Evidence(std::move(evidence)) {}

  bool empty() const { return variables.empty() && likelihoods.size() == 0; }
  using Evidence::add;
  void add(const Observations& more);
  /// Not logarithms; they need not sum to one.
  void add_likelihood(VariableId variable, std::span<const double> likelihood);
};

/// The model with the likelihoods as factors. Raises bad_data for likelihoods that are not one number of 0 or
/// more for every state, or all 0.
Model with_likelihoods(Model model, const Unaries& likelihoods);

}  // namespace drover
