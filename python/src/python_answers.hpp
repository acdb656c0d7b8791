// The answers about a model that Python holds.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "answers.hpp"
#include "draws.hpp"
#include "drover/task/cases.hpp"
#include "drover/task/inference.hpp"
#include "drover/task/model_info.hpp"
#include "drover/task/target.hpp"

namespace drover::python {

using PythonMarginals = AboutModel<Marginals>;
using PythonBestState = AboutModel<BestState>;
using PythonBestValues = AboutModel<BestValues>;
using PythonLogZ = AboutModel<LogZ>;

/// The answer to a question about one set of variables: `joints` has it.
struct PythonJoint : PythonMarginals {
  using PythonMarginals::PythonMarginals;
  explicit PythonJoint(PythonMarginals answer) : PythonMarginals(std::move(answer)) {}
};

/// The answer to a question about several states: `states` has them, also when it is one.
struct PythonBestStates : PythonBestState {
  using PythonBestState::PythonBestState;
  explicit PythonBestStates(PythonBestState answer) : PythonBestState(std::move(answer)) {}
};

/// Marginals for rows of evidence.
struct PythonRows : CaseAnswers {
  std::shared_ptr<const NamedModel> model;
  bool interrupted = false;
  py::object index = py::none();  ///< of the frame that the rows came from
};

struct PythonModelInfo : ModelInfo {
  std::optional<TargetAnswer> about;
};

/// The numbers of states.
Shape shape_of(const Joint& joint, const NamedModel& named);
/// (rank, variable).
py::array ranked_states(const BestState& answer);

struct Draws : AboutModel<Samples> {
  using AboutModel<Samples>::AboutModel;
  std::shared_ptr<DrawArrays> arrays = std::make_shared<DrawArrays>();  ///< nobody changes them
  std::string out;                                                      ///< the file that took them instead

  /// Of each chain.
  std::size_t count() const { return chains == 0 ? 0 : arrays->log_scores.size() / chains; }
};

}  // namespace drover::python
