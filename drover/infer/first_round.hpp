// Marginals by one round of belief propagation: each variable hears its own factors, whose other variables are
// taken to follow their unaries alone.
//
//   p(x_v) ~ u_v(x_v) prod_f sum_{x_f without v} f(x_f) prod_{w in f, w != v} q_w(x_w),    q_w ~ u_w
//
// Source: J. Pearl, Probabilistic Reasoning in Intelligent Systems (1988), with the first messages of every factor.
// It is a pass over the factors as they are stored: nothing is laid out first, so that it is there when there was
// no time for anything else.
//
// Exact for a variable whose neighbours have no other neighbours. When it fails: everywhere else, by as much as
// what is further away matters; no figure says how far off it is. Gates are not looked at.
#pragma once

#include <vector>

#include "drover/compile/graph.hpp"

namespace drover {

/// Of every free variable and state, as Graph::unary.
std::vector<double> first_round(const Graph& graph);

}  // namespace drover
