// drover text: classes of documents by Gibbs sampling of naive Bayes; trained models, and labels by them.
#include "drover/task/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/progress.hpp"
#include "drover/core/error.hpp"
#include "drover/core/plural.hpp"
#include "drover/report/text_page.hpp"
#include "drover/text/demo_corpus.hpp"
#include "drover/text/text_model_file.hpp"

namespace drover::app {

namespace {

struct Text {
  TextOptions options;
  CorpusOptions corpus;
  bool demo = false;
  Limits limits;
  Output output;
};

struct TextLabelling {
  LabelTextOptions options;
  CorpusOptions files;  ///< how they are read; the rest the model says
  Limits limits;
  Output output;
};

bool is_model_name(const std::string& path) {
  return path.ends_with(".drv") || path.ends_with(".drv.gz");
}

void print_text_training(const TextResult& result) {
  const TextPosterior& posterior = result.posterior;
  print_text(fmt::format("{}, {} labelled; {}, {} in all; {} classes\n",
                         counted(result.labels.size(), "document"), result.labelled,
                         counted(result.model.words.size(), "different word"), result.tokens,
                         result.classes.size()));
  if (result.by_em)
    print_text(fmt::format("{} of em, {:.2f} s\n", counted(posterior.sweeps, "iteration"),
                           result.provenance.seconds));
  else if (!result.open.empty())
    print_text(fmt::format("{} of {} after {} of burn-in, {:.2f} s; log joint {:.1f}\n",
                           counted(posterior.trace.size(), "chain"), counted(posterior.sweeps, "sweep"),
                           posterior.burn_in, result.provenance.seconds, posterior.log_joint.mean));
  print_text(judge(result).text + "\n");
  if (std::isfinite(result.accuracy))
    print_text(fmt::format("accuracy on the hidden labels: {:.4f}{}\n", result.accuracy,
                           posterior.renamed ? " (classes matched to the truth)" : ""));
  if (std::isfinite(result.naive_bayes_accuracy))
    print_text(
        fmt::format("naive Bayes on the labelled documents alone: {:.4f}\n", result.naive_bayes_accuracy));
  print_text("\n");
  TextTable table({"CLASS", "DOCUMENTS", "WORDS"});
  for (std::size_t k = 0; k < result.classes.size(); ++k)
    table.row({result.classes[k], fmt::format("{:.1f}", posterior.class_documents[k]),
               fmt::format("{:.0f}", posterior.class_tokens[k])});
  table.print();
  if (result.top_words.front().empty()) return;
  print_text("\nwords that tell a class from the others (by log odds over their standard deviation)\n");
  for (std::size_t k = 0; k < result.classes.size(); ++k) {
    std::vector<std::string> words;
    for (const TopWord& word : result.top_words[k]) words.push_back(word.word);
    print_text(fmt::format("  {}: {}\n", result.classes[k], fmt::join(words, ", ")));
  }
}

void print_labels(const TextLabels& result) {
  constexpr std::size_t most_shown = 50;
  TextTable table({"DOCUMENT", "LABEL", "PROBABILITY"});
  for (std::size_t d = 0; d < std::min(result.labels.size(), most_shown); ++d)
    table.row({result.names[d].substr(result.names[d].find_last_of('/') + 1),
               result.classes[result.labels[d]], fmt::format("{:.4f}", result.probability(d))});
  table.print();
  if (result.labels.size() > most_shown)
    print_text(fmt::format("... and {} more (--out FILE.tsv or --json has all)\n",
                           result.labels.size() - most_shown));
  if (std::isfinite(result.accuracy)) print_text(fmt::format("\naccuracy: {:.4f}\n", result.accuracy));
}

int train_text(const Call& call, Text& text) {
  const std::vector<std::string>& paths = call.arguments;
  const Output& output = text.output;
  check_outputs(output, {".drv", ".drv.gz", ".json", ".tsv", ".tsv.gz"}, "", paths);
  if (text.demo && !paths.empty())
    throw Error(ErrorKind::usage, "--demo makes its own documents; give it no files");
  if (!text.demo && paths.empty())
    throw Error(ErrorKind::usage, fmt::format("drover {} needs documents to read (or --demo)", call.command));
  const ProgressBar bar(output.quiet);
  apply(text.limits);
  constexpr std::uint64_t demo_documents = 400;
  const Corpus corpus = text.demo ? demo_corpus(demo_documents, text.options.seed, text.corpus)
                                  : read_corpus(paths, text.corpus, run_control());
  TextResult result = classify_text(corpus, text.options, run_control());
  OptionList corpus_options;
  describe(corpus_options, text.corpus);
  add_options(corpus_options, result.provenance.options);
  if (text.demo) result.provenance.options["demo"] = true;
  add_limits(text.limits, result.provenance.options);
  const bool wants_text = deliver(
      output, result.provenance.warnings, [&] { return to_json(result); },
      [&](const std::string& path) {
        if (is_model_name(path))
          write_text_model(path, text_model_file(result, text.corpus));
        else
          write_labels(path, result);
      },
      [&](const std::string& json) { return page_of(result, json); });
  if (wants_text) print_text_training(result);
  return 0;
}

int fit(const Call& call, Text& text) {
  if (!is_model_name(text.output.out)) throw Error(ErrorKind::usage, "drover text fit needs --out MODEL.drv");
  return train_text(call, text);
}

int predict(const Call& call, TextLabelling& text) {
  const Output& output = text.output;
  const std::string& model = call.arguments[0];
  const std::vector<std::string> files(call.arguments.begin() + 1, call.arguments.end());
  check_outputs(output, {".json", ".tsv", ".tsv.gz"}, "", call.arguments);
  const ProgressBar bar(output.quiet);
  apply(text.limits);
  TextModelFile file = read_text_model(model, run_control());
  file.words.encoding = text.files.encoding;
  file.words.format = text.files.format;
  const Corpus corpus = read_corpus(files, file.words, run_control());
  text.options.input = model;
  TextLabels result = label_text(file.model, corpus, text.options, run_control());
  OptionList file_options;
  describe_files(file_options, text.files);
  add_options(file_options, result.provenance.options);
  add_limits(text.limits, result.provenance.options);
  const bool wants_text = deliver(
      output, result.provenance.warnings,
      [&] {
        JsonObject object = to_json(result);
        object.add("files", files);
        return object;
      },
      [&](const std::string& path) { write_labels(path, result); },
      [&](const std::string& json) { return page_of(result, json); });
  if (wants_text) print_labels(result);
  return 0;
}

/// The command of either name that trains; they differ in what they write.
Command training_command(const std::string& name, const std::string& summary, const std::string& example,
                         std::string_view out, int (*run)(const Call&, Text&)) {
  auto text = std::make_shared<Text>();
  Command command{name,
                  summary,
                  {{"TRAIN", "documents: a folder per class, .zip, TSV, JSONL, SVMlight counts", true, true}},
                  example,
                  {},
                  [text, run](const Call& call) { return run(call, *text); }};
  describe(command.options, text->options);
  describe(command.options, text->corpus);
  command.options.add("demo", "read a small corpus that the program makes itself", text->demo);
  describe(command.options, text->limits);
  describe(command.options, text->output, out, true);
  return command;
}

}  // namespace

Command text_command() {
  return training_command(
      "text",
      "classes of documents by naive Bayes that learns from unlabelled ones too; few labels or none will do",
      "drover text --demo --labelled-share 0.1",
      "write the model here (.drv, .drv.gz), the labels (.tsv, .tsv.gz) or the result (.json)", train_text);
}

Command text_fit_command() {
  return training_command(
      "text fit", "train a model of classes of documents, to label others with",
      "drover generate corpus --out documents.tsv && drover text fit documents.tsv --out topics.drv",
      "write the model here: .drv or .drv.gz", fit);
}

Command text_predict_command() {
  auto text = std::make_shared<TextLabelling>();
  Command command{"text predict",
                  "label documents with a model made by drover text fit",
                  {{"MODEL", "a model made by drover text fit, .drv or .drv.gz"},
                   {"FILES", "documents: a folder, .zip, TSV, JSONL, SVMlight counts, plain text", true}},
                  "drover text predict topics.drv documents.tsv",
                  {},
                  [text](const Call& call) { return predict(call, *text); }};
  describe(command.options, text->options);
  describe_files(command.options, text->files);
  describe(command.options, text->limits);
  describe(command.options, text->output, "write the labels here (.tsv, .tsv.gz) or the result (.json)",
           true);
  return command;
}

}  // namespace drover::app
