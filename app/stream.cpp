// drover stream: edits of a model come in as JSON lines, marginals go out as JSON lines, chains go on
// between.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "app/commands.hpp"
#include "app/progress.hpp"
#include "app/settings_output.hpp"
#include "drover/core/error.hpp"
#include "drover/io/evidence.hpp"
#include "drover/io/model_file.hpp"
#include "drover/run/edit_stream.hpp"

namespace drover::app {

namespace {

// Lines of a file or pipe, without waiting for those that have not come yet.
class LineSource {
 public:
  explicit LineSource(const std::string& path) : path_(path) {
    descriptor_ = path.empty() || path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0)
      throw Error(ErrorKind::cannot_read, fmt::format("{}: {}", path, std::strerror(errno)));
  }
  ~LineSource() {
    if (descriptor_ != STDIN_FILENO) close(descriptor_);
  }
  LineSource(const LineSource&) = delete;
  LineSource& operator=(const LineSource&) = delete;

  /// A line that has come in whole (the last one may lack its line end); valid until the next call.
  std::optional<std::string_view> next() {
    const std::size_t end = buffer_.find('\n', searched_);
    if (end == std::string::npos) {
      searched_ = buffer_.size();
      if (!ended_ || begin_ == buffer_.size()) return std::nullopt;
      return cut(buffer_.size(), buffer_.size());
    }
    return cut(end, end + 1);
  }
  bool finished() const { return ended_ && begin_ == buffer_.size(); }

  /// Reads what is there; waits for up to `milliseconds` if nothing is. Whether there was something, if only
  /// the end.
  bool fill(int milliseconds) {
    if (ended_) return false;
    pollfd waiting{descriptor_, POLLIN, 0};
    if (poll(&waiting, 1, milliseconds) <= 0) return false;
    buffer_.erase(0, begin_);
    searched_ -= begin_;
    begin_ = 0;
    const std::size_t had = buffer_.size();
    buffer_.resize(had + chunk);
    const ssize_t count = read(descriptor_, buffer_.data() + had, chunk);
    buffer_.resize(had + static_cast<std::size_t>(count > 0 ? count : 0));
    if (count < 0 && errno != EINTR && errno != EAGAIN)
      throw Error(ErrorKind::cannot_read,
                  fmt::format("{}: {}", path_.empty() ? "standard input" : path_, std::strerror(errno)));
    ended_ = count == 0;
    return true;
  }

 private:
  static constexpr std::size_t chunk = std::size_t{1} << 16;

  std::string_view cut(std::size_t end, std::size_t next) {
    const std::string_view line(buffer_.data() + begin_, end - begin_);
    begin_ = searched_ = next;
    return line;
  }

  std::string path_;
  int descriptor_;
  std::string buffer_;
  std::size_t begin_ = 0, searched_ = 0;
  bool ended_ = false;
};

DynamicModel dynamic_model(const std::string& path, const Evidence& evidence, const Graph& graph,
                           const Settings& settings) {
  if (graph.size() != graph.model_size())
    throw Error(ErrorKind::misfit, path + ": stream takes no variables of a single state");
  const std::string why_not = DynamicModel::why_not(graph);
  if (!why_not.empty()) throw Error(ErrorKind::misfit, path + ": stream cannot run this model: " + why_not);
  DynamicModel model(graph, static_cast<std::uint64_t>(settings.seed), settings.half_life);
  for (std::size_t e = 0; e < evidence.size(); ++e) model.clamp(evidence.variables[e], evidence.values[e]);
  return model;
}

}  // namespace

int run_stream(const Invocation& invocation) {
  const Settings& settings = invocation.settings;
  const Model stated = read_model(invocation.arguments.at(0));
  Observations evidence;
  if (!settings.evidence.empty()) evidence = read_evidence(stated, settings.evidence);
  evidence.add(parse_observations(stated, settings.observe));
  compile(with_likelihoods(stated, evidence.likelihoods), evidence);  // says when the evidence cannot be
  // Evidence becomes clamps, which an edit can release; so the graph is compiled without it, but for soft
  // evidence.
  DynamicModel model = dynamic_model(invocation.arguments.at(0), evidence,
                                     compile(with_likelihoods(stated, evidence.likelihoods)), settings);
  LineSource source(settings.edits);
  const ProgressBar progress(settings.quiet);
  const RunControl& control = run_control();

  bool unflushed = false;
  EditStream stream(
      model, stated.variable_names,
      {static_cast<std::uint64_t>(settings.edits_per_sweep), static_cast<std::uint64_t>(settings.every)},
      [&](std::string_view answer) {
        std::fwrite(answer.data(), 1, answer.size(), stdout);
        std::fputc('\n', stdout);
        unflushed = true;
      });
  stream.set_should_stop([&] { return control.should_stop(); });
  constexpr int patience = 100;  // milliseconds between looks at Ctrl-C and the time limit
  while (!source.finished() && !control.should_stop()) {
    if (const auto line = source.next()) {
      stream.take(*line);
      continue;
    }
    if (source.fill(0)) continue;
    if (unflushed && std::fflush(stdout) != 0) break;
    unflushed = false;
    if (settings.live)
      stream.sweep();
    else
      source.fill(patience);
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw Error(ErrorKind::cannot_write, "standard output: cannot write");
  if (!settings.quiet && stream.errors() > 0)
    fmt::print(stderr, "drover: warning: {} of {} lines were not understood and changed nothing\n",
               stream.errors(), stream.lines());
  return 0;
}

}  // namespace drover::app
