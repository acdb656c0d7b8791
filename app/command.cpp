#include "app/command.hpp"

#include <tbb/global_control.h>

#include <algorithm>
#include <memory>

#include "app/commands.hpp"
#include "app/progress.hpp"

namespace drover::app {

bool Call::was_given(std::string_view option) const {
  return std::ranges::find(given, option) != given.end();
}

void describe(OptionList& list, Output& output, std::string_view out, bool report) {
  if (!out.empty()) list.add("out", "FILE", out, output.out);
  if (report) list.add("report", "FILE.html", "write a self-contained HTML report", output.report);
  list.add("config", "FILE", "take options from a TOML file or from the settings in an earlier JSON result",
           output.config);
  list.add("json", "print one JSON object and nothing else", output.json);
  list.add("quiet", "no progress and no warnings on stderr", output.quiet);
}

namespace {

std::optional<std::uint32_t> usual_threads;

}  // namespace

void set_usual_threads(std::uint32_t threads) {
  usual_threads = threads;
}

void apply(const Limits& limits) {
  if (limits.time) limit_time(*limits.time);
  const std::optional<std::uint32_t> wanted = limits.threads ? limits.threads : usual_threads;
  if (!wanted) return;
  // Never destroyed: oneTBB would begin workers at the end of the program, for which memory may not reach.
  static auto& threads = *new std::unique_ptr<tbb::global_control>;
  threads = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism,
                                                  static_cast<std::size_t>(*wanted));
}

std::vector<Command>& all_commands() {
  static std::vector<Command> commands = [] {
    std::vector<Command> list;
    list.push_back(info_command());
    list.push_back(marginals_command());
    list.push_back(map_command());
    list.push_back(logz_command());
    list.push_back(sample_command());
    list.push_back(herd_command());
    list.push_back(learn_command());
    list.push_back(learn_score_command());
    list.push_back(tag_train_command());
    list.push_back(tag_command());
    list.push_back(tag_eval_command());
    list.push_back(reproduce_command());
    list.push_back(text_command());
    list.push_back(text_fit_command());
    list.push_back(text_predict_command());
    list.push_back(denoise_command());
    list.push_back(diagnose_command());
    list.push_back(stream_command());
    list.push_back(compare_command());
    list.push_back(generate_command());
    list.push_back(convert_command());
    list.push_back(serve_command());
    list.push_back(methods_command());
    list.push_back(bench_command());
    list.push_back(completion_command());
    list.push_back(man_command());
    return list;
  }();
  return commands;
}

Command* find_command(std::string_view name) {
  const auto found = std::ranges::find(all_commands(), name, &Command::name);
  return found == all_commands().end() ? nullptr : &*found;
}

std::string_view first_word(const Command& command) {
  return std::string_view(command.name).substr(0, command.name.find(' '));
}

}  // namespace drover::app
