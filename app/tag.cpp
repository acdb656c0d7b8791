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

struct Training {
  TrainTaggerOptions options;
  std::string dev, skip_data;
  std::string rename;
  Limits limits;
  Output output;
};

struct Labelling {
  TagOptions options;
  std::string rename;
  std::optional<TagFileFormat> format;
  Limits limits;
  Output output;
};

void describe_rename(OptionList& list, std::string& rename) {
  list.add("rename", "OLD=NEW,...", "entity types to rename; NEW may be O", rename);
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

void print_tag_training(const Tagger& tagger, const std::string& out) {
  print_text(
      fmt::format("{} tokens, {} labels ({}), {} features; {}, loss {:.2f}, {:.1f} s\n{}\nwritten to {}\n",
                  tagger.tokens, tagger.crf.labels.size(), scheme_text(tagger), tagger.summary.features,
                  counted(tagger.summary.iterations, "iteration"), tagger.summary.loss,
                  tagger.provenance.seconds, judge(tagger).text, out));
}

int train_tag(const Call& call, Training& training) {
  const Output& output = training.output;
  if (output.out.empty()) throw Error(ErrorKind::usage, "drover tag train: expected --out MODEL.drv");
  check_outputs(output, {".drv", ".drv.gz"}, "", call.arguments);
  const ProgressBar bar(output.quiet);
  apply(training.limits);
  const auto rename = parse_pairs("rename", training.rename);
  TaggerTexts texts{.train = read_conll(call.arguments[0], {.rename = rename}, run_control())};
  const ConllOptions alike{.columns = texts.train.columns, .rename = rename};
  if (!training.dev.empty()) texts.dev = read_conll(training.dev, alike, run_control());
  if (!training.skip_data.empty()) texts.skip = read_conll(training.skip_data, alike, run_control());
  Tagger tagger = train_tagger(std::move(texts), training.options, run_control());
  Details& settings = tagger.provenance.options;
  for (const auto& [name, value] :
       {std::pair{"dev", &training.dev}, {"skip-data", &training.skip_data}, {"rename", &training.rename}})
    if (!value->empty()) settings[name] = *value;
  add_limits(training.limits, settings);
  const bool wants_text = deliver(
      output, tagger.provenance.warnings,
      [&] {
        JsonObject object = to_json(tagger);
        object.add("out", output.out);
        return object;
      },
      [&](const std::string& path) { write_tagger(path, tagger); },
      [&](const std::string& json) { return page_of(tagger, json); });
  if (wants_text) print_tag_training(tagger, output.out);
  return 0;
}

/// `eval`: the text has labels, and the score against them is what is asked for.
int label(const Call& call, Labelling& labelling, bool eval) {
  const Output& output = labelling.output;
  const std::string &model = call.arguments[0], &file = call.arguments[1];
  check_outputs(output, {".conll", ".tsv", ".txt", ".conll.gz", ".tsv.gz", ".txt.gz"}, "", call.arguments);
  const ProgressBar bar(output.quiet);
  apply(labelling.limits);
  const Crf crf = read_crf(model, run_control());
  const bool plain = !eval && is_plain_text(file, labelling.format);
  TaggedText text = plain
                        ? read_plain_text(file, run_control())
                        : read_conll(file,
                                     {eval ? ConllOptions::Labels::required : ConllOptions::Labels::optional,
                                      crf.columns, parse_pairs("rename", labelling.rename)},
                                     run_control());
  labelling.options.model = model;
  Tags tags = tag(crf, std::move(text), labelling.options, run_control());
  if (!labelling.rename.empty()) tags.provenance.options["rename"] = labelling.rename;
  add_limits(labelling.limits, tags.provenance.options);
  const bool wants_text = deliver(
      output, tags.provenance.warnings,
      [&] {
        JsonObject object = to_json(tags, !eval);
        if (!output.out.empty()) object.add("out", output.out);
        return object;
      },
      [&](const std::string& path) { write_file(path, columns_text(tags)); },
      [&](const std::string&) { return page_of(tags); });
  if (!wants_text) return 0;
  if (eval)
    print_score(*tags.score);
  else if (output.out.empty())
    print_text(isatty(STDOUT_FILENO) != 0 ? coloured(tags) : columns_text(tags));
  return 0;
}

/// The command of either name that labels.
Command labelling_command(const std::string& name, const std::string& summary, const Argument& file,
                          const std::string& example, bool eval) {
  auto labelling = std::make_shared<Labelling>();
  Command command{
      name,    summary, {{"MODEL", "a tagger made by drover tag train, .drv or .drv.gz"}, file},
      example, {},      [labelling, eval](const Call& call) { return label(call, *labelling, eval); }};
  OptionList& list = command.options;
  describe(list, labelling->options);
  if (!eval)
    list.add_choice("input-format", "NAME", "of the file: conll (columns) or plain (text)", labelling->format,
                    "plain for .txt and .md, else conll");
  describe_rename(list, labelling->rename);
  describe(list, labelling->limits);
  describe(list, labelling->output, "write the text with its labels here: .conll, .tsv, .txt, each also .gz",
           true);
  return command;
}

}  // namespace

Command tag_command() {
  return labelling_command("tag", "label words in sentences by a conditional random field",
                           {"FILE", "the text to label: CoNLL columns or plain text"},
                           "drover tag model.drv models/names.conll", false);
}

Command tag_eval_command() {
  return labelling_command("tag eval", "score a tagger on labelled text",
                           {"FILE", "labelled text, CoNLL columns"},
                           "drover tag eval model.drv models/names.conll", true);
}

Command tag_train_command() {
  auto training = std::make_shared<Training>();
  Command command{"tag train",
                  "train a tagger on labelled text",
                  {{"TRAIN", "labelled text, CoNLL columns"}},
                  "drover tag train models/names.conll --out model.drv",
                  {},
                  [training](const Call& call) { return train_tag(call, *training); }};
  OptionList& list = command.options;
  describe(list, training->options);
  list.add("dev", "FILE", "labelled text to score after every iteration", training->dev);
  list.add("skip-data", "FILE", "labelled text to learn skip factors from", training->skip_data,
           "the training text, with skip");
  describe_rename(list, training->rename);
  describe(list, training->limits);
  describe(list, training->output, "write the tagger here: .drv or .drv.gz", true);
  return command;
}

}  // namespace drover::app
