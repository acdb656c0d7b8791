// Marginals of a model that changes: edits and questions come in as JSON lines, answers go out as JSON lines,
// chains go on between (drover/run/edit_stream.hpp, docs/stream.md).
//
//   LineSource edits("-");
//   StreamSummary summary = stream(read_model("grid.uai"), edits, sink);
//
// It ends with the lines, or when the control ends it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "drover/core/option_list.hpp"
#include "drover/core/run_control.hpp"
#include "drover/io/line_source.hpp"
#include "drover/model/model.hpp"
#include "drover/task/provenance.hpp"

namespace drover {

struct StreamOptions {
  /// Variables whose value is known at first; an edit can release them.
  std::vector<std::pair<std::string, std::string>> observe{};
  Evidence evidence{};
  std::uint64_t seed = 1;
  double half_life = 100;  ///< sweeps after which a sweep counts half in the marginals
  std::optional<std::uint64_t> edits_per_sweep{};  ///< a sweep after so many edits
  std::optional<std::uint64_t> every{};            ///< marginals of all variables after so many sweeps
  bool live = false;  ///< sweep on while no edits come in; results then depend on time
  std::string input{};
};

/// Observations are left to the caller, who knows their syntax.
void describe(OptionList& list, StreamOptions& options);

class AnswerSink {
 public:
  virtual ~AnswerSink() = default;
  /// A JSON object without its line end.
  virtual void take(std::string_view answer) = 0;
  /// Nothing more is to be said for now.
  virtual void flush() {}
};

struct StreamSummary {
  Provenance provenance;
  std::uint64_t lines = 0, edits = 0, errors = 0;
};

/// Raises misfit for a model that the primal-dual sampler cannot run.
StreamSummary stream(const Model& model, LineSource& edits, AnswerSink& answers,
                     const StreamOptions& options = {}, const RunControl& control = no_control());

Judgement judge(const StreamSummary& summary);
JsonObject to_json(const StreamSummary& summary);

}  // namespace drover
