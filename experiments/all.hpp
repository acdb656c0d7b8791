// The run function of every experiment.
#pragma once

#include "experiments/experiment.hpp"

namespace drover::experiments {

Outcome herding_tipi(const Options& options);
Outcome herding_counts(const Options& options);
Outcome herding_classify(const Options& options);
Outcome herded_two_variable(const Options& options);
Outcome herded_rates(const Options& options);
Outcome duality_grid(const Options& options);
Outcome duality_random(const Options& options);
Outcome duality_complete(const Options& options);
Outcome duality_logz(const Options& options);
Outcome duality_dynamic(const Options& options);
Outcome text_sentiment(const Options& options);
Outcome herded_denoise(const Options& options);

Outcome pmp_toy(const Options& options);
Outcome pmp_logz(const Options& options);
Outcome pmp_zeros(const Options& options);
Outcome pmp_lattice(const Options& options);
Outcome pmp_erdos(const Options& options);
Outcome pmp_rbm_twos(const Options& options);
Outcome pmp_rbm(const Options& options);
Outcome pmp_deconvolution(const Options& options);
Outcome herded_ner(const Options& options);

}  // namespace drover::experiments
