#include "drover/task/stream.hpp"

#include <fmt/format.h>

#include "drover/compile/graph.hpp"
#include "drover/compile/stoppable.hpp"
#include "drover/core/error.hpp"
#include "drover/core/plural.hpp"
#include "drover/io/evidence.hpp"
#include "drover/run/edit_stream.hpp"

namespace drover {

namespace {

constexpr int patience = 100;  // milliseconds between looks at the control

DynamicModel dynamic_model(const Model& stated, const StreamOptions& options, const std::string& name,
                           const RunControl& control) {
  Observations evidence = options.evidence;
  evidence.add(evidence_of(stated, options.observe));
  const Model weighted = with_likelihoods(stated, evidence.likelihoods);
  compile(weighted, evidence, PairTables::recognised, control);  // says when the evidence cannot be
  // Evidence becomes clamps, which an edit can release; so the graph is compiled without it, but for soft
  // evidence.
  const Graph graph = compile(weighted, {}, PairTables::recognised, control);
  if (graph.size() != graph.model_size())
    throw Error(ErrorKind::misfit, name + ": stream takes no variables of a single state");
  if (const std::string why_not = DynamicModel::why_not(graph); !why_not.empty())
    throw Error(ErrorKind::misfit, name + ": stream cannot run this model: " + why_not);
  DynamicModel model(graph, options.seed, options.half_life, control);
  for (std::size_t e = 0; e < evidence.size(); ++e) model.clamp(evidence.variables[e], evidence.values[e]);
  return model;
}

}  // namespace

void describe(OptionList& list, StreamOptions& options) {
  list.add("seed", "N", "seed of all randomness; same seed, same result", options.seed, {0, 1e15});
  list.add("edits-per-sweep", "N", "sweep after every N edits", options.edits_per_sweep, {1, 1e15},
           "only when asked to");
  list.add("every", "N", "answer with the marginals of all variables after every N sweeps", options.every,
           {1, 1e15}, "only when asked to");
  list.add("half-life", "SWEEPS", "sweeps after which a sweep counts half in the marginals",
           options.half_life, {1e-3, 1e12});
  list.add("live", "sweep on while no edits come in; results then depend on time", options.live);
}

StreamSummary stream(const Model& stated, LineSource& edits, AnswerSink& answers,
                     const StreamOptions& options, const RunControl& control) {
  StreamSummary summary;
  Provenance& provenance = summary.provenance;
  const double start = control.seconds();
  provenance.question = "stream";
  provenance.input = options.input.empty() ? stated.name : options.input;
  provenance.method = "primal-dual";
  provenance.seed = options.seed;
  StreamOptions copy = options;
  OptionList list;
  describe(list, copy);
  provenance.options = option_values(list);

  DynamicModel model = dynamic_model(stated, options, provenance.input, control);
  bool unflushed = false;
  EditStream conversation(model, stated.variable_names,
                          {options.edits_per_sweep.value_or(0), options.every.value_or(0)},
                          [&](std::string_view answer) {
                            answers.take(answer);
                            unflushed = true;
                          });
  conversation.set_should_stop([&] { return control.should_stop(); });
  while (!edits.finished() && !control.should_stop()) {
    if (const auto line = edits.next()) {
      conversation.take(*line);
      continue;
    }
    if (edits.fill(0)) continue;
    if (unflushed) answers.flush();
    unflushed = false;
    if (options.live)
      conversation.sweep();
    else
      edits.fill(patience);
  }
  answers.flush();
  summary.lines = conversation.lines();
  summary.edits = conversation.edits();
  summary.errors = conversation.errors();
  if (summary.errors > 0)
    provenance.warnings.push_back(
        fmt::format("{} of {} not understood and changed nothing", summary.errors,
                    summary.lines == 1 ? "1 line was" : fmt::format("{} lines were", summary.lines)));
  provenance.seconds = control.seconds() - start;
  return summary;
}

Judgement judge(const StreamSummary& summary) {
  return with_warnings({Verdict::good, fmt::format("{} read, {} made.", counted(summary.lines, "line"),
                                                   counted(summary.edits, "edit"))},
                       summary.provenance.warnings);
}

JsonObject to_json(const StreamSummary& summary) {
  JsonObject object = json_of(summary.provenance);
  add_judgement(judge(summary), object);
  object.add("lines", summary.lines);
  object.add("edits", summary.edits);
  object.add("errors", summary.errors);
  object.add("seconds", summary.provenance.seconds);
  return object;
}

}  // namespace drover
