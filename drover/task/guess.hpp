// Where the time for marginals ends before anything else has a result.
#pragma once

#include "drover/run/inference_options.hpp"

namespace drover {

/// Whether a deadline never leaves marginals() without a result: the last resort is a guess by the nearest factors of
/// each variable (infer/first_round.hpp), which says that it is one. Several ranks would have to agree that it is late.
bool guesses_at_deadline(const InferenceOptions& options, std::uint32_t ranks);

}  // namespace drover
