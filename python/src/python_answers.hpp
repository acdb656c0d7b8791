// The answers about a model that Python holds.
#pragma once

#include "answers.hpp"
#include "draws.hpp"
#include "drover/task/inference.hpp"
#include "drover/task/model_info.hpp"

namespace drover::python {

using PythonMarginals = AboutModel<Marginals>;
using PythonBestState = AboutModel<BestState>;
using PythonLogZ = AboutModel<LogZ>;
struct PythonModelInfo : ModelInfo {};

struct Draws : AboutModel<Samples> {
  using AboutModel<Samples>::AboutModel;
  DrawArrays arrays;
  std::string out;  ///< the file that took them instead

  /// Of each chain.
  std::size_t count() const { return chains == 0 ? 0 : arrays.log_scores.size() / chains; }
};

}  // namespace drover::python
