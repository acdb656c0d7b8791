// drover tag: trains a tagger, labels text with it, and scores it.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "app/commands.hpp"
#include "app/progress.hpp"
#include "app/settings_output.hpp"
#include "drover/core/error.hpp"
#include "drover/core/random.hpp"
#include "drover/io/atomic_file.hpp"
#include "drover/report/tag_page.hpp"
#include "drover/tag/conll.hpp"
#include "drover/tag/crf_file.hpp"
#include "drover/tag/crf_tag.hpp"
#include "drover/tag/crf_train.hpp"
#include "drover/tag/feature_templates.hpp"

namespace drover::app {

namespace {

using Json = nlohmann::ordered_json;

/// The same invocation with the model's file where every result names its model.
Invocation about_model(const Invocation& invocation, const std::string& model) {
  Invocation named = invocation;
  named.arguments = {model};
  return named;
}

void refuse_options(const Invocation& invocation, std::initializer_list<const char*> options,
                    const char* why) {
  for (const char* option : options)
    if (invocation.was_given(option)) throw Error(ErrorKind::usage, fmt::format("--{} {}", option, why));
}

LabelScheme choose_scheme(const std::string& name, LabelScheme own) {
  if (name == "auto") return own;
  for (LabelScheme scheme : {LabelScheme::raw, LabelScheme::bio, LabelScheme::iob1, LabelScheme::iobes})
    if (scheme_name(scheme) == name) {
      if (own == LabelScheme::raw && scheme != LabelScheme::raw)
        throw Error(ErrorKind::usage,
                    fmt::format("--scheme {}: the labels of the file have no prefixes such as B-", name));
      return scheme;
    }
  throw Error(ErrorKind::usage, fmt::format("--scheme {}: expected auto, bio, iob1, iobes or raw", name));
}

Gazetteers load_gazetteers(const std::string& list) {
  Gazetteers gazetteers;
  for (const auto& [name, path] : list.empty() ? decltype(parse_renaming(list)){} : parse_renaming(list))
    read_gazetteer(path, name, gazetteers);
  if (gazetteers.names.size() > 64) throw Error(ErrorKind::usage, "--gazetteers: expected at most 64 lists");
  return gazetteers;
}

CrfTrainOptions train_options(const Invocation& invocation) {
  const Settings& settings = invocation.settings;
  CrfTrainOptions options;
  if (settings.algorithm == "sgd")
    options.algorithm = CrfAlgorithm::sgd;
  else if (settings.algorithm != "lbfgs")
    throw Error(ErrorKind::usage, fmt::format("--algorithm {}: expected lbfgs or sgd", settings.algorithm));
  options.l1 = settings.l1;
  options.l2 = invocation.was_given("l2") ? settings.l2 : settings.l1 > 0 ? 0 : 1;
  if (options.algorithm == CrfAlgorithm::sgd && (options.l1 > 0 || options.l2 == 0))
    throw Error(ErrorKind::usage, "--algorithm sgd: expected --l1 0 and --l2 above 0");
  options.iterations = settings.iterations > 0 ? static_cast<std::size_t>(settings.iterations)
                       : options.algorithm == CrfAlgorithm::sgd ? 30
                                                                : 200;
  options.min_count = static_cast<std::uint32_t>(settings.min_count);
  options.patience = static_cast<std::size_t>(settings.patience);
  options.seed = static_cast<std::uint64_t>(settings.seed);
  return options;
}

/// A part of the documents, in a random order that the seed fixes, moves to a second text.
TaggedText split_off(TaggedText& text, double share, std::uint64_t seed) {
  std::vector<TaggedText> parts(2);
  RandomSequence random(seed, Stream::order);
  for (TaggedText& part : parts) {
    part.name = text.name;
    part.columns = text.columns;
    part.label_names = text.label_names;
  }
  for (std::size_t d = 0; d < text.documents(); ++d) {
    TaggedText& part = parts[random.uniform() < share ? 1 : 0];
    for (std::size_t s = text.document_begin(d); s < text.document_end[d]; ++s) {
      for (std::size_t t = text.sentence_begin(s); t < text.sentence_end[s]; ++t) {
        for (std::uint32_t c = 0; c < text.columns; ++c) part.add_field(text.field(t, c));
        part.line.push_back(text.line[t]);
        part.labels.push_back(text.labels[t]);
      }
      part.end_sentence();
    }
    part.end_document();
  }
  if (parts[0].tokens() == 0 || parts[1].tokens() == 0)
    throw Error(ErrorKind::usage, fmt::format("--held-out {}: there are too few documents to divide", share));
  text = std::move(parts[0]);
  return std::move(parts[1]);
}

int run_train(const Invocation& invocation) {
  const Settings& settings = invocation.settings;
  if (invocation.arguments.size() != 2)
    throw Error(ErrorKind::usage, "drover tag train: expected one file of labelled text");
  if (settings.out.empty()) throw Error(ErrorKind::usage, "drover tag train: expected --out MODEL.drv");
  refuse_options(invocation, {"method", "sweeps", "report", "input-format"},
                 "is for labelling, not for drover tag train");
  check_outputs(settings, {".drv", ".drv.gz"});
  const CrfTrainOptions options = train_options(invocation);
  const auto rename = parse_renaming(settings.rename);

  TaggedText text = read_conll(invocation.arguments[1], {.rename = rename});
  const LabelScheme own = detect_scheme(text);
  const LabelScheme scheme = choose_scheme(settings.scheme, own);
  convert_labels(text, own, scheme);
  const auto load_more = [&](const std::string& path) {
    TaggedText more = read_conll(path, {.columns = text.columns, .rename = rename});
    match_labels(more, text.label_names, scheme);
    return more;
  };
  TaggedText held_out;
  if (!settings.dev.empty())
    held_out = load_more(settings.dev);
  else if (settings.held_out > 0)
    held_out = split_off(text, settings.held_out, options.seed);
  if (options.patience > 0 && !held_out.has_labels())
    throw Error(ErrorKind::usage, "--patience: expected --dev FILE or --held-out SHARE as well");
  TaggedText skip_text;
  if (!settings.skip_data.empty()) skip_text = load_more(settings.skip_data);
  FeatureTemplates templates;
  if (settings.templates.empty()) {
    TextSource source(default_templates(), "the default templates");
    templates = read_templates(source, text.columns);
  } else {
    templates = read_templates(settings.templates, text.columns);
  }
  const Gazetteers gazetteers = load_gazetteers(settings.gazetteers);

  ProgressBar bar(settings.quiet);
  const RunControl& control = run_control();
  CrfTrainSummary summary;
  Crf crf = train_crf(
      text, scheme, held_out.has_labels() ? &held_out : nullptr, templates, gazetteers, options,
      [&](const CrfProgress& progress) {
        std::string phase = fmt::format("iteration {}, loss {:.1f}", progress.iteration, progress.loss);
        if (!std::isnan(progress.f1)) phase += fmt::format(", held-out F1 {:.2f}", 100 * progress.f1);
        control.report(
            {phase, static_cast<double>(progress.iteration) / static_cast<double>(options.iterations)});
        return !control.should_stop();
      },
      summary);
  std::size_t skip_pairs = 0;
  if (settings.skip || !settings.skip_data.empty())
    skip_pairs = learn_skip_factors(crf, skip_text.has_labels() ? skip_text : text, 1.0);
  bar.clear();

  std::vector<std::string> warnings;
  if (bar.was_interrupted()) warnings.emplace_back("interrupted: this is the model so far");
  if ((settings.skip || !settings.skip_data.empty()) && skip_pairs == 0)
    warnings.emplace_back("no document names a capitalised word twice, so the skip factors are all zero");
  if (!summary.converged && summary.best_iteration == summary.iterations && !bar.was_interrupted())
    warnings.push_back(fmt::format("the training did not converge: {}", summary.ended));
  SettingsObject object = json_envelope(about_model(invocation, settings.out), warnings);
  Json notes = {
      {"algorithm", settings.algorithm}, {"l1", options.l1},     {"l2", options.l2},
      {"tokens", text.tokens()},         {"loss", summary.loss}, {"iterations", summary.iterations}};
  write_crf(settings.out, crf, notes);
  std::vector<double> losses, scores;
  for (const CrfProgress& progress : summary.trace) {
    losses.push_back(progress.loss);
    scores.push_back(progress.f1);
  }
  object.add("kind", "crf");
  object.add("method", settings.algorithm == "sgd" ? "sgd" : options.l1 > 0 ? "owl-qn" : "lbfgs");
  object.add("documents", text.documents());
  object.add("sentences", text.sentences());
  object.add("tokens", text.tokens());
  object.add("labels", crf.labels);
  object.add("scheme", scheme_name(scheme));
  object.add("features", summary.features);
  object.add("distinct_features", summary.rows);
  object.add("iterations", summary.iterations);
  object.add("best_iteration", summary.best_iteration);
  object.add("converged", summary.converged);
  object.add("ended", summary.ended);
  object.add("loss", summary.loss);
  object.add_raw("objective_trace", json_array(losses));
  if (held_out.has_labels()) object.add_raw("f1_trace", json_array(scores));
  object.add("skip_pairs", skip_pairs);
  object.add("out", settings.out);
  object.add("seconds", bar.seconds());
  print_warnings(settings.quiet, warnings);
  if (settings.json) {
    print_json(object);
    return 0;
  }
  print_text(fmt::format("{} tokens, {} labels, {} features; {} iterations, loss {:.2f} ({}), {:.1f} s\n",
                         text.tokens(), crf.labels.size(), summary.features, summary.iterations, summary.loss,
                         summary.ended, bar.seconds()));
  if (held_out.has_labels())
    print_text(fmt::format("held-out F1 {:.2f}\n", 100 * summary.trace[summary.best_iteration - 1].f1));
  print_text(fmt::format("written to {}\n", settings.out));
  return 0;
}

struct ChosenDecoder {
  Decoder decoder;
  std::string because;  ///< when it was left open
};

ChosenDecoder choose_decoder(const Settings& settings, const Crf& crf) {
  if (settings.method == "auto")
    return crf.skip.empty() ? ChosenDecoder{Decoder::viterbi, "the model is a chain, so viterbi is exact"}
                            : ChosenDecoder{Decoder::herded_gibbs, "the model has skip factors"};
  for (Decoder decoder :
       {Decoder::viterbi, Decoder::gibbs, Decoder::herded_gibbs, Decoder::bp, Decoder::max_product}) {
    if (decoder_name(decoder) != settings.method) continue;
    if (!crf.skip.empty() && !FieldDecoder::why_not_skip(decoder).empty())
      throw Error(ErrorKind::misfit, fmt::format("{}; herded-gibbs, gibbs, max-product and bp fit",
                                                 FieldDecoder::why_not_skip(decoder)));
    return {decoder, ""};
  }
  throw Error(ErrorKind::usage,
              fmt::format("--method {}: expected auto, viterbi, gibbs, herded-gibbs, max-product or bp",
                          settings.method));
}

bool is_plain_text(const std::string& path, const std::string& format) {
  if (format == "plain" || format == "conll") return format == "plain";
  if (format != "auto")
    throw Error(ErrorKind::usage, fmt::format("--input-format {}: expected auto, conll or plain", format));
  return ends_with(path, ".txt") || ends_with(path, ".txt.gz") || ends_with(path, ".md");
}

/// Words between spaces, entities in the colour of their type.
std::string coloured(const TaggedText& text, const Crf& crf, const std::vector<LabelId>& labels) {
  constexpr int colours[] = {34, 32, 31, 35, 36, 33};
  std::map<std::string_view, std::size_t> order;
  for (const std::string& label : crf.labels)
    if (LabelParts parts; split_label(label, crf.scheme, parts) && parts.prefix != 'O')
      order.try_emplace(parts.type, order.size());
  std::string out;
  for (std::size_t s = 0; s < text.sentences(); ++s) {
    const std::size_t begin = text.sentence_begin(s), end = text.sentence_end[s];
    const auto entities = read_entities({labels.data() + begin, end - begin}, crf.labels, crf.scheme, begin);
    auto next = entities.begin();
    for (std::size_t t = begin; t < end; ++t) {
      if (next != entities.end() && next->begin == t)
        out += fmt::format("\033[1;{}m", colours[order[next->type] % std::size(colours)]);
      out += text.word(t);
      if (next != entities.end() && next->end == t + 1) {
        out += fmt::format("\033[0m\033[2m/{}\033[0m", next->type);
        ++next;
      }
      out += ' ';
    }
    out += '\n';
  }
  return out;
}

Json entities_json(const TaggedText& text, const Crf& crf, const TagResult& result) {
  Json list = Json::array();
  for (std::size_t s = 0; s < text.sentences(); ++s) {
    const std::size_t begin = text.sentence_begin(s), end = text.sentence_end[s];
    for (const Entity& entity :
         read_entities({result.labels.data() + begin, end - begin}, crf.labels, crf.scheme, begin)) {
      std::string words;
      float sure = 1;
      for (std::size_t t = entity.begin; t < entity.end; ++t) {
        words += (words.empty() ? "" : " ") + std::string(text.word(t));
        sure = std::min(sure, result.confidence[t]);
      }
      list.push_back({{"text", words},
                      {"type", entity.type},
                      {"sentence", s},
                      {"begin", entity.begin - begin},
                      {"end", entity.end - begin},
                      {"confidence", std::round(static_cast<double>(sure) * 1e6) / 1e6}});
    }
  }
  return list;
}

void add_score(SettingsObject& object, const EntityScore& score) {
  object.add("f1", score.all.f1());
  object.add("precision", score.all.precision());
  object.add("recall", score.all.recall());
  object.add("accuracy", score.accuracy());
  Json types = Json::object();
  for (const auto& [type, counts] : score.by_type)
    types[type] = {{"f1", counts.f1()},     {"precision", counts.precision()}, {"recall", counts.recall()},
                   {"truth", counts.truth}, {"found", counts.found},           {"right", counts.right}};
  object.add("types", types);
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

int run_labelling(const Invocation& invocation, const std::string& model, const std::string& file,
                  bool eval) {
  const Settings& settings = invocation.settings;
  refuse_options(invocation,
                 {"algorithm", "templates", "gazetteers", "dev", "scheme", "min-count", "skip", "skip-data",
                  "l1", "l2", "held-out", "patience"},
                 "is for drover tag train");
  check_outputs(settings, {".conll", ".tsv", ".txt", ".conll.gz", ".tsv.gz", ".txt.gz"});
  const Crf crf = read_crf(model);
  const ChosenDecoder chosen = choose_decoder(settings, crf);
  const bool plain = !eval && is_plain_text(file, settings.input_format);
  if (plain && crf.columns > 1)
    throw Error(
        ErrorKind::misfit,
        fmt::format("the model was trained with {} columns, so plain text is not enough", crf.columns));
  TaggedText text;
  if (plain) {
    text = read_plain_text(file);
  } else {
    text = read_conll(file, {eval ? ConllOptions::Labels::required : ConllOptions::Labels::optional,
                             crf.columns, parse_renaming(settings.rename)});
    match_labels(text, crf.labels, crf.scheme);
  }
  DecodeOptions options;
  options.decoder = chosen.decoder;
  options.seed = static_cast<std::uint64_t>(settings.seed);
  if (settings.sweeps > 0) options.sweeps = static_cast<std::size_t>(settings.sweeps);
  if (settings.iterations > 0) options.iterations = static_cast<std::size_t>(settings.iterations);

  ProgressBar bar(settings.quiet);
  const RunControl& control = run_control();
  bool stopped = false;
  const TagResult result = tag_text(crf, text, options, true, [&](double fraction) {
    control.report({"labelling", fraction});
    stopped |= control.should_stop();
    return !stopped;
  });
  bar.clear();
  const double seconds = bar.seconds();
  std::vector<std::string> warnings;
  if (stopped) warnings.emplace_back("stopped early: the rest has no labels");
  if (result.unsettled > 0)
    warnings.push_back(fmt::format(
        "in {} documents the messages did not settle, so their confidences are rough", result.unsettled));

  SettingsObject object = json_envelope(about_model(invocation, model), warnings, chosen.because);
  object.add("file", file);
  object.add("method", decoder_name(chosen.decoder));
  object.add("documents", text.documents());
  object.add("sentences", text.sentences());
  object.add("tokens", text.tokens());
  object.add("skip_pairs", result.skip_pairs);
  object.add("log_score", result.log_score);
  EntityScore score;
  if (text.has_labels()) {
    score = score_labels(crf, text, result.labels);
    add_score(object, score);
  }
  if (!eval) object.add("entities", entities_json(text, crf, result));
  if (!settings.out.empty()) object.add("out", settings.out);
  object.add("seconds", seconds);

  const std::string columns =
      eval && settings.out.empty() ? "" : conll_text(text, crf.labels, result.labels, result.confidence);
  if (!settings.out.empty()) write_file(settings.out, columns);
  if (!settings.report.empty()) {
    TagPage page{"Labels of " + file_name(file), {}, warnings, crf.scheme};
    page.facts = {{"Model", file_name(model)},
                  {"Method", std::string(decoder_name(chosen.decoder))},
                  {"Tokens", std::to_string(text.tokens())}};
    if (text.has_labels()) page.facts.emplace_back("F1", fmt::format("{:.2f}", 100 * score.all.f1()));
    write_file(settings.report, render_tag_page(page, text, crf.labels, result.labels, result.confidence));
  }
  print_warnings(settings.quiet, warnings);
  if (settings.json) {
    print_json(object);
    return 0;
  }
  if (!eval && settings.out.empty())
    print_text(isatty(STDOUT_FILENO) != 0 ? coloured(text, crf, result.labels) : columns);
  if (eval) print_score(score);
  return 0;
}

}  // namespace

int run_tag(const Invocation& invocation) {
  const std::vector<std::string>& words = invocation.arguments;
  if (words[0] == "train") return run_train(invocation);
  if (words[0] == "eval") {
    if (words.size() != 3) throw Error(ErrorKind::usage, "drover tag eval: expected a model and a file");
    return run_labelling(invocation, words[1], words[2], true);
  }
  if (words.size() != 2) throw Error(ErrorKind::usage, "drover tag: expected a model and a file");
  return run_labelling(invocation, words[0], words[1], false);
}

}  // namespace drover::app
