// drover tag: trains a tagger, labels text with it, and scores it.
#include "drover/task/tag.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/progress.hpp"
#include "drover/core/error.hpp"
#include "drover/core/plural.hpp"
#include "drover/io/atomic_file.hpp"
#include "drover/report/tag_page.hpp"
#include "drover/report/tagger_page.hpp"
#include "drover/tag/conll.hpp"
#include "drover/tag/crf_file.hpp"

namespace drover::app {

namespace {

enum class TagFileFormat { conll, plain };

}  // namespace

}  // namespace drover::app

namespace drover {

template <>
struct ChoiceNames<app::TagFileFormat> {
  static constexpr std::array names = {std::pair{app::TagFileFormat::conll, std::string_view("conll")},
                                       std::pair{app::TagFileFormat::plain, std::string_view("plain")}};
};

}  // namespace drover

namespace drover::app {

namespace {

struct Tagging {
  TrainTaggerOptions train;
  TagOptions label;
  std::string dev, skip_data;
  std::string rename;
  std::optional<TagFileFormat> format;
  Limits limits;
  Output output;
};

/// Options that both verbs heed, then those of one of them.
constexpr std::string_view shared_options[] = {"seed", "iterations", "rename", "threads", "time",
                                               "out",  "report",     "config", "json",    "quiet"};
constexpr std::string_view label_options[] = {"method", "sweeps", "input-format"};

void refuse_options(const Call& call, bool training) {
  for (const std::string& option : call.given) {
    if (std::ranges::find(shared_options, option) != std::end(shared_options)) continue;
    const bool of_labels = std::ranges::find(label_options, option) != std::end(label_options);
    if (of_labels == training)
      throw Error(ErrorKind::usage,
                  fmt::format("--{} is for {}", option,
                              training ? "labelling, not for drover tag train" : "drover tag train"));
  }
}

bool is_plain_text(const std::string& path, std::optional<TagFileFormat> format) {
  if (format) return *format == TagFileFormat::plain;
  return path.ends_with(".txt") || path.ends_with(".txt.gz") || path.ends_with(".md");
}

/// Words between spaces, entities in the colour of their type.
std::string coloured(const Tags& tags) {
  constexpr int colours[] = {34, 32, 31, 35, 36, 33};
  std::map<std::string, std::size_t> order;
  for (const TaggedEntity& entity : tags.entities) order.try_emplace(entity.type, order.size());
  std::string out;
  auto next = tags.entities.begin();
  for (std::size_t s = 0; s < tags.text.sentences(); ++s) {
    const std::size_t begin = tags.text.sentence_begin(s);
    for (std::size_t t = begin; t < tags.text.sentence_end[s]; ++t) {
      const bool here = next != tags.entities.end() && next->sentence == s;
      if (here && next->begin == t - begin)
        out += fmt::format("\033[1;{}m", colours[order[next->type] % std::size(colours)]);
      out += tags.text.word(t);
      if (here && next->end == t - begin + 1) out += fmt::format("\033[0m\033[2m/{}\033[0m", next++->type);
      out += ' ';
    }
    out += '\n';
  }
  return out;
}

void print_score(const EntityScore& score) {
  TextTable table({"TYPE", "PRECISION", "RECALL", "F1", "TRUTH", "FOUND"});
  const auto row = [&](const std::string& name, const EntityCounts& counts) {
    table.row({name, fmt::format("{:.2f}", 100 * counts.precision()),
               fmt::format("{:.2f}", 100 * counts.recall()), fmt::format("{:.2f}", 100 * counts.f1()),
               std::to_string(counts.truth), std::to_string(counts.found)});
  };
  for (const auto& [type, counts] : score.by_type) row(type, counts);
  row("all", score.all);
  table.print();
  print_text(fmt::format("{} tokens, {:.2f} % with the right label\n", score.tokens, 100 * score.accuracy()));
}

void print_training(const Tagger& tagger, const std::string& out) {
  print_text(
      fmt::format("{} tokens, {} labels ({}), {} features; {}, loss {:.2f}, {:.1f} s\n{}\nwritten to {}\n",
                  tagger.tokens, tagger.crf.labels.size(), choice_name(tagger.crf.scheme),
                  tagger.summary.features, counted(tagger.summary.iterations, "iteration"),
                  tagger.summary.loss, tagger.provenance.seconds, judge(tagger).text, out));
}

int run_train(const Call& call, Tagging& tagging) {
  const Output& output = tagging.output;
  if (call.arguments.size() != 2)
    throw Error(ErrorKind::usage, "drover tag train: expected one file of labelled text");
  if (output.out.empty()) throw Error(ErrorKind::usage, "drover tag train: expected --out MODEL.drv");
  refuse_options(call, true);
  check_outputs(output, {".drv", ".drv.gz"}, "", call.arguments);
  const ProgressBar bar(output.quiet);
  apply(tagging.limits);
  const auto rename = parse_pairs("rename", tagging.rename);
  TaggerTexts texts{.train = read_conll(call.arguments[1], {.rename = rename}, run_control())};
  const ConllOptions alike{.columns = texts.train.columns, .rename = rename};
  if (!tagging.dev.empty()) texts.dev = read_conll(tagging.dev, alike, run_control());
  if (!tagging.skip_data.empty()) texts.skip = read_conll(tagging.skip_data, alike, run_control());
  Tagger tagger = train_tagger(std::move(texts), tagging.train, run_control());
  Details& settings = tagger.provenance.options;
  for (const auto& [name, value] :
       {std::pair{"dev", &tagging.dev}, {"skip-data", &tagging.skip_data}, {"rename", &tagging.rename}})
    if (!value->empty()) settings[name] = *value;
  add_limits(tagging.limits, settings);
  JsonObject object = to_json(tagger);
  object.add("out", output.out);
  const bool wants_text = deliver(
      output, tagger.provenance.warnings, object,
      [&](const std::string& path) { write_tagger(path, tagger); },
      [&](const std::string& json) { return page_of(tagger, json); });
  if (wants_text) print_training(tagger, output.out);
  return 0;
}

int run_labelling(const Call& call, Tagging& tagging, const std::string& model, const std::string& file,
                  bool eval) {
  const Output& output = tagging.output;
  refuse_options(call, false);
  check_outputs(output, {".conll", ".tsv", ".txt", ".conll.gz", ".tsv.gz", ".txt.gz"}, "", call.arguments);
  const ProgressBar bar(output.quiet);
  apply(tagging.limits);
  const Crf crf = read_crf(model);
  const bool plain = !eval && is_plain_text(file, tagging.format);
  TaggedText text = plain
                        ? read_plain_text(file, run_control())
                        : read_conll(file,
                                     {eval ? ConllOptions::Labels::required : ConllOptions::Labels::optional,
                                      crf.columns, parse_pairs("rename", tagging.rename)},
                                     run_control());
  tagging.label.seed = tagging.train.seed;
  if (tagging.train.iterations) tagging.label.iterations = tagging.train.iterations;
  tagging.label.model = model;
  Tags tags = tag(crf, std::move(text), tagging.label, run_control());
  if (!tagging.rename.empty()) tags.provenance.options["rename"] = tagging.rename;
  add_limits(tagging.limits, tags.provenance.options);
  JsonObject object = to_json(tags, !eval);
  if (!output.out.empty()) object.add("out", output.out);
  const bool wants_text = deliver(
      output, tags.provenance.warnings, object,
      [&](const std::string& path) { write_file(path, columns_text(tags)); },
      [&](const std::string&) { return page_of(tags); });
  if (!wants_text) return 0;
  if (eval)
    print_score(*tags.score);
  else if (output.out.empty())
    print_text(isatty(STDOUT_FILENO) != 0 ? coloured(tags) : columns_text(tags));
  return 0;
}

int run(const Call& call, Tagging& tagging) {
  const std::vector<std::string>& words = call.arguments;
  if (words[0] == "train") return run_train(call, tagging);
  if (words[0] == "eval") {
    if (words.size() != 3) throw Error(ErrorKind::usage, "drover tag eval: expected a model and a file");
    return run_labelling(call, tagging, words[1], words[2], true);
  }
  if (words.size() != 2) throw Error(ErrorKind::usage, "drover tag: expected a model and a file");
  return run_labelling(call, tagging, words[0], words[1], false);
}

}  // namespace

Command tag_command() {
  auto tagging = std::make_shared<Tagging>();
  Command command{
      "tag",
      "label sequences by a conditional random field: tag train, tag eval, tag MODEL",
      {{"WHAT", "train, eval, or a model made by drover tag train"},
       {"FILES", "train: TRAIN.conll; eval: MODEL TEST.conll; otherwise the file to label", true}},
      "drover tag train models/names.conll --out model.drv",
      {},
      [tagging](const Call& call) { return run(call, *tagging); }};
  OptionList& list = command.options;
  describe(list, tagging->label);
  list.remove("seed");  // both verbs have these two; they are read into the options of training
  list.remove("iterations");
  describe(list, tagging->train);
  list.explain("iterations",
               "train: iterations at most, or passes of sgd; label: rounds of bp and max-product",
               "200; sgd: 30; rounds: 50");
  list.add("dev", "FILE", "train: labelled text to score after every iteration", tagging->dev);
  list.add("skip-data", "FILE", "train: labelled text to learn skip factors from", tagging->skip_data,
           "the training text, with skip");
  list.add_choice("input-format", "NAME", "label: conll (columns) or plain (text)", tagging->format,
                  "plain for .txt and .md, else conll");
  list.add("rename", "OLD=NEW,...", "entity types to rename; NEW may be O", tagging->rename);
  describe(list, tagging->limits);
  describe(list, tagging->output,
           "train: write the tagger here (.drv, .drv.gz); label: the text with its labels (.conll, .tsv, "
           ".txt, each also .gz)",
           true);
  return command;
}

}  // namespace drover::app
