#include "drover/task/tag.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "drover/core/checksum.hpp"
#include "drover/core/chooser.hpp"
#include "drover/core/error.hpp"
#include "drover/core/plural.hpp"
#include "drover/numeric/hold_out.hpp"
#include "drover/run/part_log.hpp"
#include "drover/tag/conll.hpp"
#include "drover/tag/crf_file.hpp"
#include "drover/tag/feature_templates.hpp"
#include "drover/task/run_identity.hpp"

namespace drover {

namespace {

constexpr std::size_t lbfgs_iterations = 200, sgd_iterations = 30;
constexpr double skip_penalty = 1;
constexpr std::size_t most_tokens_for_trials = 100'000;
constexpr std::size_t enough_skip_pairs = 100;  // to learn their factors from without being told

CrfTrainOptions train_options(const TrainTaggerOptions& options) {
  CrfTrainOptions result;
  result.algorithm = options.algorithm;
  result.l1 = options.l1;
  result.l2 = options.l2.value_or(options.l1 > 0 ? 0 : 1);
  const bool sgd = options.algorithm == CrfAlgorithm::sgd;
  if (sgd && options.l1 > 0)
    throw OptionError("l1", fmt::format("{}", options.l1), "0 with the algorithm sgd");
  if (sgd && result.l2 == 0) throw OptionError("l2", "0", "more than 0 with the algorithm sgd");
  result.iterations = options.iterations.value_or(sgd ? sgd_iterations : lbfgs_iterations);
  result.min_count = options.min_count;
  result.patience = options.patience.value_or(0);
  result.seed = options.seed;
  return result;
}

/// A share of the documents moves to a second text.
TaggedText split_off(TaggedText& text, double share, std::uint64_t seed) {
  const auto apart = static_cast<std::size_t>(std::llround(share * static_cast<double>(text.documents())));
  if (apart == 0 || apart == text.documents())
    throw OptionError("held-out", fmt::format("{}", share), "a share that leaves documents on either side");
  HoldOut parts = hold_out(text.documents(), apart, seed);
  std::ranges::sort(parts.apart);
  TaggedText kept = text.without_documents(), held_out = text.without_documents();
  for (const std::uint32_t d : parts.kept) kept.add_document(text, d);
  for (const std::uint32_t d : parts.apart) held_out.add_document(text, d);
  text = std::move(kept);
  return held_out;
}

Gazetteers load_gazetteers(const std::vector<std::pair<std::string, std::string>>& lists) {
  constexpr std::size_t most = 64;
  if (lists.size() > most) throw OptionError("gazetteers", pairs_text(lists), "at most 64 lists");
  Gazetteers gazetteers;
  for (const auto& [name, path] : lists) read_gazetteer(path, name, gazetteers);
  return gazetteers;
}

std::string strays_warning(const DetectedScheme& own, const std::string& file) {
  return fmt::format("{}: {} not as in the scheme {} of the others; read as the beginning of an entity", file,
                     own.strays == 1 ? "one label is" : fmt::format("{} labels are", own.strays),
                     choice_name(own.scheme));
}

void add_part(const TemplatePart& part, Checksum& sum) {
  const std::int64_t numbers[] = {static_cast<std::int64_t>(part.attribute.kind), part.attribute.size,
                                  part.offset};
  sum.add(numbers, sizeof(numbers));
}

/// Of all that is learnt from: the files that options name may have changed since.
std::uint64_t checksum_of(const TaggedText& text, const TaggedText& held_out,
                          const FeatureTemplates& templates, const Gazetteers& gazetteers) {
  Checksum sum;
  const auto add_text = [&](const std::string& one) { sum.add(one.c_str(), one.size() + 1); };
  for (const auto& parts : templates.templates) {
    const std::size_t count = parts.size();
    sum.add(&count, sizeof(count));
    for (const TemplatePart& part : parts) add_part(part, sum);
  }
  sum.add(&templates.label_bigrams, sizeof(templates.label_bigrams));
  for (const std::string& name : gazetteers.names) add_text(name);
  for (const std::string& entry : gazetteers.entries) add_text(entry);
  sum.add(gazetteers.lists.data(), gazetteers.lists.size() * sizeof(std::uint32_t));
  for (const TaggedText* one : {&text, &held_out}) {
    sum.add(one->characters.data(), one->characters.size());
    sum.add(one->field_end.data(), one->field_end.size() * sizeof(std::uint64_t));
    sum.add(one->labels.data(), one->labels.size() * sizeof(LabelId));
    sum.add(one->sentence_end.data(), one->sentence_end.size() * sizeof(std::uint32_t));
  }
  return sum.value();
}

/// By trial where that costs little; longer texts are learnt in IOBES, and so is what is to end at a given time.
SchemeScores choose_scheme(const TaggerTexts& texts, const TrainTaggerOptions& options,
                           const FeatureTemplates& templates, const Gazetteers& gazetteers,
                           const CrfTrainOptions& training, const RunControl& control) {
  SchemeScores scores;
  if (texts.train.tokens() > most_tokens_for_trials || control.has_time_limit()) return scores;
  TaggedText text = texts.train;
  settle_scheme(text, LabelScheme::iobes);
  if (!texts.dev.has_labels() && options.held_out > 0) split_off(text, options.held_out, options.seed);
  with_threads(control, [&] {
    scores = try_schemes(text, LabelScheme::iobes, templates, gazetteers, training, control);
  });
  return scores;
}

Details resolved_options(const TrainTaggerOptions& options, const CrfTrainOptions& train, LabelScheme scheme,
                         bool skip) {
  TrainTaggerOptions copy = options;
  copy.skip = skip;
  copy.iterations = train.iterations;
  copy.l2 = train.l2;
  copy.scheme = scheme;
  OptionList list;
  describe(list, copy);
  remove_checkpoint_options(list);
  return option_values(list);
}

std::vector<TaggedEntity> find_entities(const Tags& tags) {
  std::vector<TaggedEntity> entities;
  const TaggedText& text = tags.text;
  for (std::size_t s = 0; s < text.sentences(); ++s) {
    const std::size_t begin = text.sentence_begin(s), end = text.sentence_end[s];
    for (const Entity& entity : read_entities({tags.found.labels.data() + begin, end - begin},
                                              tags.label_names, tags.scheme, begin)) {
      TaggedEntity found{"", std::string(entity.type), s, entity.begin - begin, entity.end - begin, 1};
      for (std::size_t t = entity.begin; t < entity.end; ++t) {
        found.text += (found.text.empty() ? "" : " ") + std::string(text.word(t));
        found.confidence = std::min(found.confidence, static_cast<double>(tags.found.confidence[t]));
      }
      entities.push_back(std::move(found));
    }
  }
  return entities;
}

std::string to_json(const EntityCounts& counts) {
  JsonObject object;
  object.add("f1", counts.f1());
  object.add("precision", counts.precision());
  object.add("recall", counts.recall());
  object.add("truth", counts.truth);
  object.add("found", counts.found);
  object.add("right", counts.right);
  return object.line();
}

std::string to_json(const TaggedEntity& entity) {
  JsonObject object;
  object.add("text", entity.text);
  object.add("type", entity.type);
  object.add("sentence", entity.sentence);
  object.add("begin", entity.begin);
  object.add("end", entity.end);
  object.add("confidence", std::round(entity.confidence * 1e6) / 1e6);
  return object.line();
}

void add_pairs_option(OptionList& list, std::string_view name, std::string_view value_name,
                      std::string_view help, std::vector<std::pair<std::string, std::string>>& pairs) {
  list.add_syntax(
      name, value_name, help,
      {[&pairs, option = std::string(name)](std::string_view text) { pairs = parse_pairs(option, text); },
       [&pairs] { return pairs_text(pairs); }});
}

}  // namespace

void describe(OptionList& list, TrainTaggerOptions& options) {
  list.add_choice("algorithm", "NAME", "how weights are found: lbfgs (with an l1 penalty: OWL-QN) or sgd",
                  options.algorithm);
  list.add("seed", "N", "seed of all randomness; same seed, same result", options.seed, {0, 1e15});
  list.add("iterations", "N", "iterations at most, or passes of sgd", options.iterations, {1, 1e9},
           fmt::format("{}; sgd: {}", lbfgs_iterations, sgd_iterations));
  list.add("l1", "X", "weight of the absolute values of the weights", options.l1, {0, 1e6});
  list.add("l2", "X", "half the weight of the squares of the weights", options.l2, {0, 1e6},
           "1; 0 with an l1 penalty");
  list.add("min-count", "N", "leave out features that occur less often", options.min_count, {1, 1e9});
  list.add_choice(
      "scheme", "NAME", "learn labels as bio, iob1, iobes or raw", options.scheme,
      fmt::format(
          "bio or iobes by F1 on two fifths of the documents; iobes with more than {} tokens or a time "
          "limit; raw for labels without prefixes",
          most_tokens_for_trials));
  list.add("skip",
           "factors between equal capitalised words of a document, however few there are; without being "
           "told, where "
           "the text has documents that name a hundred words again",
           options.skip);
  list.add("no-skip", "no such factors: a chain", options.no_skip);
  list.add("templates", "FILE", "feature templates", options.templates, "a set for named entities");
  add_pairs_option(list, "gazetteers", "NAME=FILE,...", "lists of names, one entry a line",
                   options.gazetteers);
  list.add("held-out", "X", "share of the documents kept aside for checks", options.held_out, {0, 0.9});
  list.add("patience", "N", "stop after so many iterations without a better one on held-out text",
           options.patience, {1, 1e6}, "never");
  describe(list, options.checkpoint);
}

Tagger train_tagger(TaggerTexts texts, const TrainTaggerOptions& options, const RunControl& control) {
  const double start = control.seconds();
  CrfTrainOptions training = train_options(options);
  Tagger tagger;
  Provenance& provenance = tagger.provenance;
  TaggedText& text = texts.train;
  if (!text.has_labels()) throw Error(ErrorKind::bad_data, text.name + ": expected labels to learn from");
  if (options.patience && !texts.dev.has_labels() && options.held_out == 0)
    throw OptionError("patience", std::to_string(*options.patience),
                      "text to score as well: held out, or dev");
  const bool told = options.skip || texts.skip.has_labels();
  if (told && options.no_skip) throw OptionError("no-skip", "true", "no word of skip factors beside it");
  const DetectedScheme own = detect_scheme(text);
  LabelScheme scheme =
      options.scheme.value_or(own.scheme == LabelScheme::raw ? LabelScheme::raw : LabelScheme::iobes);
  const FeatureTemplates templates = options.templates.empty()
                                         ? default_feature_templates()
                                         : read_templates(options.templates, text.columns);
  const Gazetteers gazetteers = load_gazetteers(options.gazetteers);
  if (!options.scheme && scheme != LabelScheme::raw) {
    tagger.schemes = choose_scheme(texts, options, templates, gazetteers, training, control);
    if (tagger.schemes.tried) scheme = tagger.schemes.best();
  }
  settle_scheme(text, scheme);
  if (own.strays > 0) provenance.warnings.push_back(strays_warning(own, text.name));
  TaggedText held_out = std::move(texts.dev);
  if (!held_out.has_labels() && options.held_out > 0)
    held_out = split_off(text, options.held_out, options.seed);
  if (const std::size_t unknown = match_labels(held_out, text.label_names, scheme, UnknownLabels::kept))
    provenance.warnings.push_back(fmt::format("{}: {} with a label that the training text does not have",
                                              held_out.name, counted(unknown, "token")));
  match_labels(texts.skip, text.label_names, scheme);
  const bool skip = told || (!options.no_skip && text.documents() > 1);

  provenance.question = "tag";
  provenance.input = options.input.empty() ? text.name : options.input;
  provenance.method = options.algorithm == CrfAlgorithm::lbfgs && options.l1 > 0
                          ? "owl-qn"
                          : std::string(choice_name(options.algorithm));
  provenance.seed = options.seed;
  provenance.options = resolved_options(options, training, scheme, skip);
  tagger.documents = text.documents();
  tagger.sentences = text.sentences();
  tagger.tokens = text.tokens();
  tagger.held_out_tokens = held_out.tokens();
  const auto parts =
      make_part_log(options.checkpoint,
                    run_identity(provenance, checksum_of(text, held_out, templates, gazetteers)), control);
  training.parts = parts.get();
  if (tagger.schemes.so_far) {
    tagger.crf = std::move(tagger.schemes.so_far->crf);
    tagger.summary = std::move(tagger.schemes.so_far->summary);
    tagger.summary.stopped = true;
  }
  with_threads(control, [&] {
    if (tagger.schemes.so_far) return;
    tagger.crf = train_crf(text, scheme, held_out.has_labels() ? &held_out : nullptr, templates, gazetteers,
                           training, tagger.summary, control);
    if (skip && !control.should_stop())
      tagger.skip_pairs =
          learn_skip_factors(tagger.crf, texts.skip.has_labels() ? texts.skip : text, skip_penalty, control);
    if (!told && tagger.skip_pairs < enough_skip_pairs) {  // a chain after all, whose best labels are exact
      tagger.crf.skip.clear();
      tagger.skip_pairs = 0;
    }
  });

  std::vector<std::string>& warnings = provenance.warnings;
  const CrfTrainSummary& summary = tagger.summary;
  if (summary.stopped)
    warnings.push_back(fmt::format("{} after {}: this is the model so far{}", summary.ended,
                                   counted(summary.iterations, "iteration"),
                                   told ? ", without skip factors" : ""));
  else if (!summary.converged && summary.best_iteration == summary.iterations)
    warnings.push_back(fmt::format("the training did not converge: {}", summary.ended));
  if (tagger.schemes.so_far)
    warnings.emplace_back(
        "schemes of labels were still being tried: the model knows four fifths of the documents");
  if (told && !summary.stopped && tagger.skip_pairs == 0)
    warnings.emplace_back("no document names a capitalised word twice, so the skip factors are all zero");
  provenance.seconds = control.seconds() - start;
  return tagger;
}

void write_tagger(const std::string& path, const Tagger& tagger) {
  nlohmann::ordered_json notes = nlohmann::ordered_json::parse(json_text(tagger.provenance.options));
  notes["tokens"] = tagger.tokens;
  notes["loss"] = tagger.summary.loss;
  notes["iterations"] = tagger.summary.iterations;
  write_crf(path, tagger.crf, notes);
}

void describe(OptionList& list, TagOptions& options) {
  list.add_choice("method", "NAME",
                  "how labels are found: viterbi (chains only), herded-gibbs, gibbs, max-product or bp",
                  options.method, "viterbi; max-product for a model with skip factors");
  list.add("seed", "N", "seed of all randomness; same seed, same result", options.seed, {0, 1e15});
  list.add("sweeps", "N", "sweeps of gibbs and herded-gibbs", options.sweeps, {1, 1e9},
           std::to_string(DecodeOptions().sweeps));
  list.add("iterations", "N", "rounds of bp and max-product at most", options.iterations, {1, 1e9},
           std::to_string(DecodeOptions().iterations));
}

Tags tag(const Crf& crf, TaggedText text, const TagOptions& options, const RunControl& control) {
  const double start = control.seconds();
  if (text.columns < crf.columns && uses_columns(crf.templates))
    throw Error(ErrorKind::misfit,
                fmt::format("the tagger looks at {} columns and the text has {}", crf.columns, text.columns));
  const bool chain = crf.skip.empty();
  const auto why_not = [&](Decoder decoder) {
    return chain ? std::string() : std::string(FieldDecoder::why_not_skip(decoder));
  };
  const Chosen<Decoder> chosen =
      options.method
          ? Chosen<Decoder>{*options.method, ""}
          : choose<Decoder>({{Decoder::viterbi, "viterbi", "the model is a chain, so viterbi is exact"},
                             {Decoder::max_product, "max-product", "the model has skip factors"}},
                            why_not);
  const Decoder decoder = chosen.choice;
  if (const std::string why = why_not(decoder); !why.empty())
    throw Error(ErrorKind::misfit, fmt::format("{}; herded-gibbs, gibbs, max-product and bp fit", why));
  DecodeOptions how{.decoder = decoder, .seed = options.seed};
  if (options.sweeps) how.sweeps = *options.sweeps;
  if (options.iterations) how.iterations = *options.iterations;

  Tags tags;
  tags.written = crf.scheme == LabelScheme::raw ? LabelScheme::raw
                 : text.has_labels()            ? detect_scheme(text).scheme
                                                : LabelScheme::bio;
  tags.unknown_labels = match_labels(text, crf.labels, crf.scheme, UnknownLabels::kept);
  tags.text = std::move(text);
  tags.label_names = crf.labels;
  tags.scheme = crf.scheme;
  Provenance& provenance = tags.provenance;
  provenance.question = "tag";
  provenance.input = options.model;
  provenance.method = choice_name(decoder);
  provenance.because = chosen.because;
  provenance.seed = options.seed;
  TagOptions resolved = options;
  resolved.method = decoder;
  if (decoder == Decoder::gibbs || decoder == Decoder::herded_gibbs) resolved.sweeps = how.sweeps;
  if (decoder == Decoder::bp || decoder == Decoder::max_product) resolved.iterations = how.iterations;
  OptionList list;
  describe(list, resolved);
  provenance.options = option_values(list);
  with_threads(control, [&] { tags.found = tag_text(crf, tags.text, how, true, control); });
  const std::size_t fields = chain ? tags.text.sentences() : tags.text.documents();
  if (tags.found.skipped == fields) fail_stopped(control, "labelling");
  tags.entities = find_entities(tags);
  if (tags.text.has_labels()) tags.score = score_labels(crf, tags.text, tags.found.labels);

  std::vector<std::string>& warnings = provenance.warnings;
  if (tags.found.skipped > 0)
    warnings.push_back(fmt::format("stopped early: {} of {} have no labels", tags.found.skipped,
                                   counted(fields, chain ? "sentence" : "document")));
  if (tags.found.unsettled > 0)
    warnings.push_back(fmt::format("in {} the messages did not settle, so their confidences are rough",
                                   counted(tags.found.unsettled, chain ? "sentence" : "document")));
  if (tags.unknown_labels > 0)
    warnings.push_back(fmt::format(
        "{} a label that the model does not know; they count as errors",
        tags.unknown_labels == 1 ? "one token has" : fmt::format("{} tokens have", tags.unknown_labels)));
  provenance.seconds = control.seconds() - start;
  return tags;
}

std::string columns_text(const Tags& tags) {
  TaggedText labelled = tags.text;
  labelled.label_names = tags.label_names;
  labelled.labels = tags.found.labels;
  if (tags.written != tags.scheme && tags.written != LabelScheme::raw)
    convert_labels(labelled, tags.scheme, tags.written);
  return conll_text(labelled, labelled.label_names, labelled.labels, tags.found.confidence);
}

Judgement judge(const Tagger& tagger) {
  const CrfTrainSummary& summary = tagger.summary;
  std::string text = fmt::format("Training ended: {}.", summary.ended);
  if (tagger.held_out_tokens > 0)
    text += fmt::format(" F1 on text that was held out: {:.2f} %.",
                        100 * summary.trace[summary.best_iteration - 1].f1);
  else
    text += " No text was held out, so how well it labels is not known.";
  const bool done =
      tagger.held_out_tokens > 0 && (summary.converged || summary.best_iteration < summary.iterations);
  return with_warnings({done ? Verdict::good : Verdict::caution, text}, tagger.provenance.warnings);
}

Judgement judge(const Tags& tags) {
  if (tags.found.skipped > 0)
    return {Verdict::bad, "Labelling was stopped early; figures are of all the text, labelled or not."};
  // Where most entities are missed or made up, no label is to be relied on.
  constexpr double least_f1 = 0.5;
  if (tags.score)
    return with_warnings(
        {tags.score->all.f1() >= least_f1 ? Verdict::good : Verdict::caution,
         fmt::format("F1 {:.2f} %, precision {:.2f} %, recall {:.2f} %.", 100 * tags.score->all.f1(),
                     100 * tags.score->all.precision(), 100 * tags.score->all.recall())},
        tags.provenance.warnings);
  return with_warnings(
      {Verdict::caution, "There are no true labels to compare with; the confidences are the model's own."},
      tags.provenance.warnings);
}

std::string scheme_text(const Tagger& tagger) {
  const SchemeScores& schemes = tagger.schemes;
  if (!schemes.tried) return std::string(choice_name(tagger.crf.scheme));
  return fmt::format("{}; F1 in trials: bio {:.1f} %, iobes {:.1f} %", choice_name(tagger.crf.scheme),
                     100 * schemes.bio.f1(), 100 * schemes.iobes.f1());
}

JsonObject to_json(const Tagger& tagger) {
  const CrfTrainSummary& summary = tagger.summary;
  JsonObject object = json_of(tagger.provenance);
  add_judgement(judge(tagger), object);
  object.add("kind", "crf");
  object.add("documents", tagger.documents);
  object.add("sentences", tagger.sentences);
  object.add("tokens", tagger.tokens);
  object.add("held_out_tokens", tagger.held_out_tokens);
  object.add("labels", tagger.crf.labels);
  object.add("scheme", choice_name(tagger.crf.scheme));
  if (tagger.schemes.tried) {
    JsonObject scores;
    scores.add("bio", tagger.schemes.bio.f1());
    scores.add("iobes", tagger.schemes.iobes.f1());
    object.add("scheme_f1", scores);
  }
  object.add("features", summary.features);
  object.add("distinct_features", summary.rows);
  object.add("iterations", summary.iterations);
  object.add("best_iteration", summary.best_iteration);
  object.add("converged", summary.converged);
  object.add("ended", summary.ended);
  object.add("loss", summary.loss);
  std::vector<double> losses, scores;
  for (const CrfProgress& progress : summary.trace) {
    losses.push_back(progress.loss);
    scores.push_back(progress.f1);
  }
  object.add("objective_trace", losses);
  if (tagger.held_out_tokens > 0) object.add("f1_trace", scores);
  object.add("skip_pairs", tagger.skip_pairs);
  object.add("seconds", tagger.provenance.seconds);
  return object;
}

JsonObject to_json(const Tags& tags, bool with_entities) {
  JsonObject object = json_of(tags.provenance);
  add_judgement(judge(tags), object);
  object.add("file", tags.text.name);
  object.add("documents", tags.text.documents());
  object.add("sentences", tags.text.sentences());
  object.add("tokens", tags.text.tokens());
  object.add("skip_pairs", tags.found.skip_pairs);
  object.add("log_score", tags.found.log_score);
  if (tags.score) {
    object.add("f1", tags.score->all.f1());
    object.add("precision", tags.score->all.precision());
    object.add("recall", tags.score->all.recall());
    object.add("accuracy", tags.score->accuracy());
    object.add("unknown_labels", tags.unknown_labels);
    JsonObject types;
    for (const auto& [type, counts] : tags.score->by_type) types.add_raw(type, to_json(counts));
    object.add("types", types);
  }
  if (with_entities) {
    std::vector<std::string> entities;
    for (const TaggedEntity& entity : tags.entities) entities.push_back(to_json(entity));
    object.add_raw("entities", json_list(entities));
  }
  object.add("seconds", tags.provenance.seconds);
  return object;
}

}  // namespace drover
