// drover stream: edits of a model come in as JSON lines, marginals go out as JSON lines, chains go on
// between.
#include "drover/task/stream.hpp"

#include <cstdio>
#include <memory>

#include "app/commands.hpp"
#include "app/load.hpp"
#include "app/output.hpp"
#include "app/progress.hpp"
#include "drover/core/error.hpp"

namespace drover::app {

namespace {

struct Stream {
  StreamOptions options;
  Question question;  ///< evidence, limits and output
  std::string edits;
};

class StandardOutput : public AnswerSink {
 public:
  void take(std::string_view answer) override {
    std::fwrite(answer.data(), 1, answer.size(), stdout);
    std::fputc('\n', stdout);
  }
  void flush() override {
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      throw Error(ErrorKind::cannot_write, "standard output: cannot write");
  }
};

int run_stream(const Call& call, Stream& streaming) {
  const bool quiet = streaming.question.output.quiet;
  const ProgressBar bar(quiet);
  const Loaded loaded = load(streaming.question, call.arguments[0]);
  StreamOptions& options = streaming.options;
  options.input = call.arguments[0];
  options.evidence = streaming.question.options.evidence;
  options.observe = streaming.question.options.observe;
  LineSource edits(streaming.edits.empty() ? "-" : streaming.edits);
  StandardOutput answers;
  expect_result();  // every answer is one
  const StreamSummary summary = stream(loaded.model, edits, answers, options, run_control());
  print_warnings(quiet, summary.provenance.warnings);
  return 0;
}

}  // namespace

Command stream_command() {
  auto streaming = std::make_shared<Stream>();
  Command command{"stream",
                  "sample a pairwise model while it changes: JSON lines in, JSON lines out",
                  {model_argument()},
                  "drover stream models/grid-3x3.uai --edits models/edits.jsonl",
                  {},
                  [streaming](const Call& call) { return run_stream(call, *streaming); }};
  describe_evidence(command.options, streaming->question);
  command.options.add("edits", "FILE", "read edits from here", streaming->edits, "the standard input");
  describe(command.options, streaming->options);
  describe(command.options, streaming->question.limits);
  describe(command.options, streaming->question.output, "", false);
  command.options.remove("do");    // a network is no model that stream runs
  command.options.remove("json");  // the answers are JSON as they are
  return command;
}

}  // namespace drover::app
