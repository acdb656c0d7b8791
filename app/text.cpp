// drover text: classes of documents by Gibbs sampling of naive Bayes; trained models, and labels by them.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "app/commands.hpp"
#include "app/progress.hpp"
#include "app/settings_output.hpp"
#include "app/text_page.hpp"
#include "drover/core/error.hpp"
#include "drover/core/json_text.hpp"
#include "drover/io/atomic_file.hpp"
#include "drover/io/text_source.hpp"
#include "drover/text/demo_corpus.hpp"
#include "drover/text/text_model.hpp"
#include "drover/text/text_model_file.hpp"
#include "drover/text/text_posterior.hpp"

namespace drover::app {

namespace {

CorpusOptions corpus_options(const Settings& settings) {
  CorpusOptions options;
  options.lower_case = !settings.keep_case;
  options.ngrams = static_cast<std::uint32_t>(settings.ngrams);
  options.min_count = static_cast<std::uint32_t>(settings.min_count);
  options.stop_words = settings.stop_words;
  options.encoding = settings.encoding;
  options.format = settings.input_format;
  return options;
}

/// --classes: a number (then the names stay empty) or names.
struct AskedClasses {
  std::size_t count = 0;
  std::vector<std::string> names;

  explicit AskedClasses(const std::string& text) {
    if (text.empty()) return;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (problem != std::errc() || end != text.data() + text.size()) {
      for (std::size_t at = 0; at <= text.size();) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        names.push_back(text.substr(at, comma - at));
        at = comma + 1;
      }
      count = names.size();
    }
    if (count < 2 || count > 65000 || std::find(names.begin(), names.end(), "") != names.end())
      throw Error(
          ErrorKind::usage,
          fmt::format("--classes {}: expected a number of classes from 2 to 65000 or at least two names",
                      text));
  }
};

Corpus read_documents(const Invocation& invocation, const std::vector<std::string>& paths) {
  const AskedClasses asked(invocation.settings.classes);
  CorpusOptions options = corpus_options(invocation.settings);
  options.classes = asked.names;
  Corpus corpus;
  if (invocation.settings.demo) {
    if (!paths.empty()) throw Error(ErrorKind::usage, "--demo makes its own documents; give it no files");
    const std::string text = demo_corpus_tsv(400, static_cast<std::uint64_t>(invocation.settings.seed));
    TextSource source(text, "demo");
    CorpusBuilder builder(options);
    read_tsv_corpus(source, builder);
    corpus = builder.finish();
  } else {
    if (paths.empty()) throw Error(ErrorKind::usage, "drover text needs documents to read (or --demo)");
    corpus = read_corpus(paths, options);
  }
  if (asked.names.empty() && asked.count > 0 && corpus.classes.size() > asked.count)
    throw Error(ErrorKind::bad_data,
                fmt::format("the documents have {} different labels, more than --classes {}",
                            corpus.classes.size(), asked.count));
  const std::size_t wanted = std::max<std::size_t>({asked.count, 2, corpus.classes.size()});
  for (std::size_t k = corpus.classes.size(); k < wanted; ++k)
    corpus.classes.push_back(fmt::format("class {}", k + 1));
  return corpus;
}

/// Work, not seconds: the same command does the same on every machine.
TextRun plan_run(const Settings& settings, std::uint64_t updates_per_sweep) {
  TextRun run;
  constexpr double work = 2e9;
  run.thin = static_cast<std::uint64_t>(settings.thin);
  run.sweeps =
      settings.sweeps > 0
          ? static_cast<std::uint64_t>(settings.sweeps)
          : static_cast<std::uint64_t>(std::clamp(
                work / static_cast<double>(std::max<std::uint64_t>(updates_per_sweep, 1)), 200.0, 1000.0));
  run.burn_in = settings.burn_in >= 0 ? static_cast<std::uint64_t>(settings.burn_in) : run.sweeps / 2;
  if (run.sweeps < run.thin)
    throw Error(ErrorKind::usage, fmt::format("--thin {} keeps none of {} sweeps", run.thin, run.sweeps));
  return run;
}

NaiveBayesOptions sampler_options(const Settings& settings, std::size_t classes) {
  NaiveBayesOptions options;
  if (settings.method != "auto" && settings.method != "gibbs" && settings.method != "collapsed-gibbs")
    throw Error(ErrorKind::usage,
                fmt::format("--method {}: expected gibbs (draws word probabilities), collapsed-gibbs or auto",
                            settings.method));
  options.collapsed = settings.method == "collapsed-gibbs";
  options.classes = static_cast<std::uint32_t>(classes);
  options.chains = settings.chains > 0 ? static_cast<std::uint32_t>(settings.chains) : 4;
  if (options.chains > 65535) throw Error(ErrorKind::usage, "--chains: expected at most 65535");
  options.class_pseudo_count = settings.class_pseudo_count;
  options.word_pseudo_count = settings.word_pseudo_count;
  options.sample_pseudo_counts = settings.sample_pseudo_counts;
  options.swap_classes = !settings.no_swaps;
  options.seed = static_cast<std::uint64_t>(settings.seed);
  return options;
}

std::vector<std::string> find_warnings(const TextResult& result) {
  std::vector<std::string> warnings = result.corpus.warnings;
  const TextPosterior& posterior = result.posterior;
  if (result.open == 0) return warnings;
  const double rhat = posterior.log_joint.rhat;
  if (posterior.chain_agreement < 0.9)
    warnings.push_back(
        fmt::format("the chains disagree: two of them label only {:.0f} % of the documents alike{}",
                    100 * posterior.chain_agreement,
                    posterior.renamed ? " (without labels there are several groupings to find)" : ""));
  if (rhat > 1.01)
    warnings.push_back(fmt::format(
        "the chains have not converged: R-hat of the log joint is {:.3f} (below 1.01 is wanted)", rhat));
  return warnings;
}

nlohmann::ordered_json top_words_json(const TextModel& model, std::size_t count) {
  nlohmann::ordered_json all = nlohmann::ordered_json::object();
  for (std::uint32_t k = 0; k < model.classes.size(); ++k) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const TopWord& word : top_words(model, k, count))
      list.push_back({{"word", word.word},
                      {"log_odds", word.log_odds},
                      {"score", word.score},
                      {"probability", word.probability}});
    all[model.classes[k]] = std::move(list);
  }
  return all;
}

nlohmann::ordered_json calibration_json(const std::vector<CalibrationBin>& bins) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const CalibrationBin& bin : bins)
    list.push_back({{"documents", bin.documents},
                    {"mean_probability", bin.mean_probability},
                    {"accuracy", bin.accuracy}});
  return list;
}

std::string probabilities_json(std::span<const double> probabilities, std::size_t classes) {
  std::string text = "[";
  for (std::size_t at = 0; at < probabilities.size(); at += classes)
    text += (at > 0 ? "," : "") + json_array(probabilities.subspan(at, classes));
  return text + "]";
}

/// document, label, and a column of probabilities per class.
void write_label_table(const std::string& path, const Corpus& corpus, std::span<const std::uint32_t> labels,
                       std::span<const double> probabilities) {
  AtomicFile file(path);
  const std::size_t classes = corpus.classes.size();
  file.write("document\tlabel");
  for (const std::string& name : corpus.classes) file.write("\tP(" + name + ")");
  file.write("\n");
  for (std::size_t d = 0; d < labels.size(); ++d) {
    file.write(corpus.names[d] + "\t" + corpus.classes[labels[d]]);
    for (std::size_t k = 0; k < classes; ++k)
      file.write(fmt::format("\t{:.6g}", probabilities[d * classes + k]));
    file.write("\n");
  }
  file.commit();
}

void add_labels(SettingsObject& object, const Corpus& corpus, std::span<const std::uint32_t> labels,
                std::span<const double> probabilities) {
  std::vector<std::string> names;
  for (const std::uint32_t label : labels) names.push_back(corpus.classes[label]);
  object.add("classes", corpus.classes);
  object.add("labels", names);
  object.add_raw("probabilities", probabilities_json(probabilities, corpus.classes.size()));
}

void print_top_words(const TextModel& model, std::size_t count) {
  if (count == 0) return;
  print_text("\nwords that tell a class from the others (by log odds over their standard deviation)\n");
  for (std::uint32_t k = 0; k < model.classes.size(); ++k) {
    std::string line = fmt::format("  {}:", model.classes[k]);
    for (const TopWord& word : top_words(model, k, count)) line += " " + word.word + ",";
    line.back() = '\n';
    print_text(line);
  }
}

TextResult sample(const Invocation& invocation, Corpus corpus) {
  const Settings& settings = invocation.settings;
  TextResult result;
  result.corpus = std::move(corpus);
  result.shown = hide_labels(result.corpus.labels, static_cast<std::uint32_t>(result.corpus.classes.size()),
                             settings.labelled_share, static_cast<std::uint64_t>(settings.seed));
  std::uint64_t updates = 0;
  for (std::size_t d = 0; d < result.shown.size(); ++d) {
    if (result.shown[d] != no_label) continue;
    ++result.open;
    updates += result.corpus.counts.words_of(d).size();
  }
  result.options = sampler_options(settings, result.corpus.classes.size());
  if (result.open == 0 && !result.options.sample_pseudo_counts) result.options.chains = 1;
  TextRun run = plan_run(settings, updates * result.options.chains);
  if (result.open == 0 && !result.options.sample_pseudo_counts) run = {0, 1, 1};  // nothing is left to chance

  ProgressBar bar(settings.quiet);
  const RunControl& control = run_control();
  result.posterior =
      sample_text(result.corpus.counts, result.shown, result.options, run,
                  [&](std::uint64_t done, std::uint64_t planned) {
                    control.report({done <= run.burn_in ? "burn-in" : "sampling",
                                    static_cast<double>(done) / static_cast<double>(planned), done,
                                    static_cast<double>(done * updates * result.options.chains), 0});
                    return !control.should_stop();
                  });
  bar.clear();
  result.seconds = bar.seconds();
  result.model = make_text_model(result.corpus.classes, result.corpus.words, result.posterior);
  result.labels.reserve(result.shown.size());
  for (std::size_t d = 0; d < result.shown.size(); ++d) result.labels.push_back(result.posterior.label(d));
  // Truth: labels that were there and were hidden.
  std::vector<std::uint32_t> truth(result.shown.size(), no_label);
  for (std::size_t d = 0; d < truth.size(); ++d)
    if (result.shown[d] == no_label) truth[d] = result.corpus.labels[d];
  const auto classes = static_cast<std::uint32_t>(result.corpus.classes.size());
  result.accuracy = label_accuracy(result.labels, truth, classes, result.posterior.renamed);
  if (!result.posterior.renamed)
    result.calibration = calibration(result.posterior.probabilities, result.labels, truth, classes);
  result.warnings = find_warnings(result);
  if (bar.was_interrupted()) result.warnings.emplace_back("interrupted: this is the result so far");
  return result;
}

SettingsObject training_json(const Invocation& invocation, const TextResult& result) {
  const TextPosterior& posterior = result.posterior;
  SettingsObject object = json_envelope(invocation, result.warnings);
  object.add("method", result.options.collapsed ? "collapsed-gibbs" : "gibbs");
  object.add("documents", result.shown.size());
  object.add("labelled", result.shown.size() - result.open);
  object.add("vocabulary", result.corpus.words.size());
  object.add("tokens", result.corpus.tokens);
  add_labels(object, result.corpus, result.labels, posterior.probabilities);
  object.add("top_words",
             top_words_json(result.model, static_cast<std::size_t>(invocation.settings.top_words)));
  object.add("top_words_by",
             "log odds of the word against the other classes, divided by its standard deviation");
  if (std::isfinite(result.accuracy)) {
    object.add("accuracy", result.accuracy);
    object.add("accuracy_after_matching", posterior.renamed);
  }
  if (!result.calibration.empty()) object.add("calibration", calibration_json(result.calibration));
  const DrawsSummary& summary = posterior.log_joint;
  object.add("log_joint", summary.mean);
  object.add("diagnostics",
             {{"rhat", summary.rhat}, {"ess_bulk", summary.ess_bulk}, {"ess_tail", summary.ess_tail}});
  object.add("chain_agreement", posterior.chain_agreement);
  object.add("class_pseudo_count", posterior.class_pseudo_count);
  object.add("word_pseudo_count", posterior.word_pseudo_count);
  object.add("chains", posterior.trace.size());
  object.add("burn_in", posterior.burn_in);
  object.add("sweeps", posterior.sweeps);
  object.add("draws", posterior.draws);
  object.add("updates", posterior.updates);
  object.add("seconds", result.seconds);
  return object;
}

int train(const Invocation& invocation, const std::vector<std::string>& paths) {
  const Settings& settings = invocation.settings;
  check_outputs(settings, {".drv", ".drv.gz", ".json", ".tsv", ".tsv.gz"});
  const TextResult result = sample(invocation, read_documents(invocation, paths));
  const SettingsObject object = training_json(invocation, result);
  if (ends_with(settings.out, ".json")) {
    write_file(settings.out, object.text());
  } else if (ends_with(settings.out, ".drv") || ends_with(settings.out, ".drv.gz")) {
    const nlohmann::json whole = nlohmann::json::parse(json_envelope(invocation, {}).text());
    write_text_model(settings.out, {result.model, corpus_options(settings)}, json_text(whole["settings"]));
  } else if (!settings.out.empty()) {
    write_label_table(settings.out, result.corpus, result.labels, result.posterior.probabilities);
  }
  if (!settings.report.empty()) write_file(settings.report, text_page(invocation, result, object.text()));
  print_warnings(settings.quiet, result.warnings);
  if (settings.json) {
    print_json(object);
    return 0;
  }
  const TextPosterior& posterior = result.posterior;
  print_text(fmt::format("{} documents, {} labelled; {} different words, {} in all; {} classes\n",
                         result.shown.size(), result.shown.size() - result.open, result.corpus.words.size(),
                         result.corpus.tokens, result.corpus.classes.size()));
  if (result.open > 0)
    print_text(fmt::format(
        "{} chains of {} sweeps after {} of burn-in, {:.2f} s; log joint {:.1f}: R-hat {:.3f}, ESS {:.0f}\n",
        posterior.trace.size(), posterior.sweeps, posterior.burn_in, result.seconds, posterior.log_joint.mean,
        posterior.log_joint.rhat, posterior.log_joint.ess_bulk));
  if (std::isfinite(result.accuracy))
    print_text(fmt::format("accuracy on the hidden labels: {:.4f}{}\n", result.accuracy,
                           posterior.renamed ? " (classes matched to the truth)" : ""));
  print_text("\n");
  TextTable table({"CLASS", "DOCUMENTS", "WORDS"});
  for (std::size_t k = 0; k < result.corpus.classes.size(); ++k)
    table.row({result.corpus.classes[k], fmt::format("{:.1f}", posterior.class_documents[k]),
               fmt::format("{:.0f}", posterior.class_tokens[k])});
  table.print();
  print_top_words(result.model, static_cast<std::size_t>(settings.top_words));
  return 0;
}

int predict(const Invocation& invocation) {
  const Settings& settings = invocation.settings;
  for (const char* option :
       {"classes", "labelled-share", "min-count", "ngrams", "stop-words", "keep-case", "demo",
        "class-pseudo-count", "word-pseudo-count", "sample-pseudo-counts", "no-swaps", "report"})
    if (invocation.was_given(option))
      throw Error(ErrorKind::usage,
                  fmt::format("--{} is for training; drover text predict takes it from the model", option));
  if (invocation.arguments.size() < 3)
    throw Error(ErrorKind::usage, "expected drover text predict MODEL.drv FILE...");
  check_outputs(settings, {".json", ".tsv", ".tsv.gz"});
  TextModelFile file = read_text_model(invocation.arguments[1]);
  file.words.encoding = settings.encoding;
  file.words.format = settings.input_format;
  const ProgressBar bar(settings.quiet);
  const Corpus corpus =
      read_corpus({invocation.arguments.begin() + 2, invocation.arguments.end()}, file.words);
  const std::vector<double> probabilities = predict_classes(file.model, corpus.counts);
  const auto classes = static_cast<std::uint32_t>(corpus.classes.size());
  std::vector<std::uint32_t> labels;
  for (std::size_t at = 0; at < probabilities.size(); at += classes) {
    const auto* begin = probabilities.data() + at;
    labels.push_back(static_cast<std::uint32_t>(std::max_element(begin, begin + classes) - begin));
  }
  const double accuracy = label_accuracy(labels, corpus.labels, classes, false);
  std::vector<std::string> warnings = corpus.warnings;
  if (corpus.unknown_tokens > corpus.tokens)
    warnings.push_back(fmt::format("the model does not know {} of {} words", corpus.unknown_tokens,
                                   corpus.unknown_tokens + corpus.tokens));

  SettingsObject object = json_envelope(invocation, warnings);
  object.add("documents", labels.size());
  object.add("names", corpus.names);
  add_labels(object, corpus, labels, probabilities);
  object.add("top_words", top_words_json(file.model, static_cast<std::size_t>(settings.top_words)));
  if (std::isfinite(accuracy)) {
    object.add("accuracy", accuracy);
    object.add("calibration", calibration_json(calibration(probabilities, labels, corpus.labels, classes)));
  }
  object.add("unknown_words", corpus.unknown_tokens);
  object.add("seconds", bar.seconds());
  if (ends_with(settings.out, ".json"))
    write_file(settings.out, object.text());
  else if (!settings.out.empty())
    write_label_table(settings.out, corpus, labels, probabilities);
  print_warnings(settings.quiet, warnings);
  if (settings.json) {
    print_json(object);
    return 0;
  }
  constexpr std::size_t shown = 50;
  TextTable table({"DOCUMENT", "LABEL", "PROBABILITY"});
  for (std::size_t d = 0; d < std::min(labels.size(), shown); ++d)
    table.row({file_name(corpus.names[d]), corpus.classes[labels[d]],
               fmt::format("{:.4f}", probabilities[d * classes + labels[d]])});
  table.print();
  if (labels.size() > shown)
    print_text(fmt::format("... and {} more (--out FILE.tsv or --json has all)\n", labels.size() - shown));
  if (std::isfinite(accuracy)) print_text(fmt::format("\naccuracy: {:.4f}\n", accuracy));
  return 0;
}

}  // namespace

std::vector<CalibrationBin> calibration(std::span<const double> probabilities,
                                        std::span<const std::uint32_t> labels,
                                        std::span<const std::uint32_t> truth, std::uint32_t classes) {
  constexpr std::size_t count = 10;
  // The most probable class has at least 1 / classes.
  const double least = 1.0 / classes;
  std::vector<CalibrationBin> bins(count);
  for (std::size_t d = 0; d < labels.size(); ++d) {
    if (truth[d] == no_label) continue;
    const double p = probabilities[d * classes + labels[d]];
    const auto b = static_cast<std::size_t>(std::clamp((p - least) / (1 - least) * count, 0.0, count - 1.0));
    ++bins[b].documents;
    bins[b].mean_probability += p;
    bins[b].accuracy += labels[d] == truth[d] ? 1 : 0;
  }
  std::erase_if(bins, [](const CalibrationBin& bin) { return bin.documents == 0; });
  for (CalibrationBin& bin : bins) {
    bin.mean_probability /= static_cast<double>(bin.documents);
    bin.accuracy /= static_cast<double>(bin.documents);
  }
  return bins;
}

int run_text(const Invocation& invocation) {
  const std::vector<std::string>& arguments = invocation.arguments;
  const std::string verb = arguments.empty() ? "" : arguments.front();
  if (verb == "predict") return predict(invocation);
  if (verb != "fit") return train(invocation, arguments);
  const std::string& out = invocation.settings.out;
  if (!ends_with(out, ".drv") && !ends_with(out, ".drv.gz"))
    throw Error(ErrorKind::usage, "drover text fit needs --out MODEL.drv");
  return train(invocation, {arguments.begin() + 1, arguments.end()});
}

}  // namespace drover::app
