// Interventions in a Bayesian network (Pearl 2000): setting a variable from outside cuts the arcs into it.
//
//   p(x | do(x_i = a)) = [x_i = a] * product over j != i of p(x_j | parents of j)
//
// Assumes that the arcs of the network are causal; on that, the answer differs from observing x_i = a
// wherever x_i has parents.
#pragma once

#include "drover/model/observations.hpp"

namespace drover {

/// The network with the own tables of the set variables replaced by point masses. Raises misfit for a model
/// that is no Bayesian network, usage for a variable set to two values or to likelihoods.
Model intervene(const Model& model, const Observations& set);

}  // namespace drover
