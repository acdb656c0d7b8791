// The makers of the registry's entries, one per file of this folder.
#pragma once

#include <string>

#include "drover/methods/method.hpp"

namespace drover {

Method exact_method();
Method gibbs_method();
Method blocked_gibbs_method();
Method tempering_method();
Method ais_method();
Method annealed_gibbs_method();
Method icm_method();
Method portfolio_method();
Method max_flow_method();
Method herded_gibbs_method();
Method gwg_method();
Method bp_method();
Method max_product_method();
Method pmp_method();
Method trw_method();
Method mplp_method();
Method lp_method();
Method primal_dual_method();
Method tree_primal_dual_method();
Method primal_dual_em_method();
Method primal_dual_mean_field_method();
Method swendsen_wang_method();
Method partial_swendsen_wang_method();
Method generalized_swendsen_wang_method();
Method mean_field_method();
Method race_method();
Method bracket_method();

/// Why exact inference is affordable, for `chosen_because`.
std::string exact_reason(const Problem& problem);

}  // namespace drover
