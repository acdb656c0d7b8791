#include "drover/task/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "drover/core/checksum.hpp"
#include "drover/core/chooser.hpp"
#include "drover/core/error.hpp"
#include "drover/core/figures.hpp"
#include "drover/io/atomic_file.hpp"
#include "drover/run/checkpoint.hpp"
#include "drover/task/run_identity.hpp"
#include "drover/text/naive_bayes_em.hpp"
#include "drover/text/text_model_file.hpp"

namespace drover {

namespace {

constexpr std::uint32_t default_chains = 4;
constexpr double wanted_rhat = 1.01, wanted_agreement = 0.9;

/// Work, not seconds: the same call does the same on every machine.
TextRun plan_run(const TextOptions& options, double updates_per_sweep) {
  constexpr double work = 2e9;
  const double usual = std::clamp(work / std::max(updates_per_sweep, 1.0), 200.0, 1000.0);
  TextRun run;
  run.thin = options.thin;
  run.sweeps = options.sweeps.value_or(static_cast<std::uint64_t>(usual));
  run.burn_in = options.burn_in.value_or(run.sweeps / 2);
  if (run.sweeps < run.thin)
    throw OptionError("thin", std::to_string(run.thin), fmt::format("at most the {} sweeps", run.sweeps));
  return run;
}

NaiveBayesOptions sampler_options(const TextOptions& options, std::size_t classes) {
  return {.classes = static_cast<std::uint32_t>(classes),
          .chains = options.chains.value_or(default_chains),
          .class_pseudo_count = options.class_pseudo_count,
          .word_pseudo_count = options.word_pseudo_count,
          .sample_pseudo_counts = options.sample_pseudo_counts,
          .collapsed = options.method == TextMethod::collapsed_gibbs,
          .swap_classes = !options.no_swaps,
          .seed = options.seed};
}

std::uint64_t checksum_of(const WordCounts& counts, std::span<const std::uint32_t> labels) {
  Checksum sum;
  for (std::size_t d = 0; d < counts.documents(); ++d) {
    sum.add(counts.words_of(d).data(), counts.words_of(d).size_bytes());
    sum.add(counts.counts_of(d).data(), counts.counts_of(d).size_bytes());
  }
  sum.add(labels.data(), labels.size_bytes());
  return sum.value();
}

Details resolved_options(const TextOptions& options, TextMethod method, const TextResult& result,
                         const NaiveBayesOptions& sampler, const TextRun& run) {
  TextOptions copy = options;
  copy.method = method;
  if (method == TextMethod::em) {
    copy.unlabelled_weight = result.unlabelled_weight;
    copy.word_prior = result.word_prior;
  } else {
    copy.chains = sampler.chains;
    copy.sweeps = run.sweeps;
    copy.burn_in = run.burn_in;
  }
  OptionList list;
  describe(list, copy);
  remove_checkpoint_options(list);
  return option_values(list);
}

/// A class is chosen for every document from its probabilities.
std::vector<std::uint32_t> most_probable(std::span<const double> probabilities, std::size_t classes) {
  std::vector<std::uint32_t> labels;
  for (std::size_t at = 0; at < probabilities.size(); at += classes) {
    const auto p = probabilities.subspan(at, classes);
    labels.push_back(static_cast<std::uint32_t>(std::ranges::max_element(p) - p.begin()));
  }
  return labels;
}

std::vector<CalibrationBin> calibration(const LabelledDocuments& result) {
  constexpr std::size_t count = 10;
  const double least = 1.0 / static_cast<double>(result.classes.size());  // of the most probable class
  std::vector<CalibrationBin> bins(count);
  for (std::size_t d = 0; d < result.labels.size(); ++d) {
    if (result.truth[d] == no_label) continue;
    const double p = result.probability(d);
    const auto b = static_cast<std::size_t>(std::clamp((p - least) / (1 - least) * count, 0.0, count - 1.0));
    ++bins[b].documents;
    bins[b].mean_probability += p;
    bins[b].accuracy += result.labels[d] == result.truth[d] ? 1 : 0;
  }
  std::erase_if(bins, [](const CalibrationBin& bin) { return bin.documents == 0; });
  for (CalibrationBin& bin : bins) {
    bin.mean_probability /= static_cast<double>(bin.documents);
    bin.accuracy /= static_cast<double>(bin.documents);
  }
  return bins;
}

void name_words(const TextModel& model, std::size_t count, LabelledDocuments& result) {
  for (std::uint32_t k = 0; k < model.classes.size(); ++k)
    result.top_words.push_back(top_words(model, k, count));
}

bool chains_agree(const TextResult& result) {
  return result.posterior.log_joint.rhat <= wanted_rhat &&
         result.posterior.chain_agreement >= wanted_agreement;
}

void add_em_warnings(const TextResult& result, std::vector<std::string>& warnings) {
  const WeightChoice& choice = result.weight_choice;
  if (!choice.candidates.empty() && choice.tested == 0)
    warnings.push_back(fmt::format(
        "there were too few labels, or too little time, to choose how much unlabelled documents count: "
        "{:g} was taken",
        result.unlabelled_weight));
  if (!result.climbed)
    warnings.emplace_back("learning from the unlabelled documents was ended before labels settled");
}

void add_warnings(const TextResult& result, const RunControl& control, std::vector<std::string>& warnings) {
  const TextPosterior& posterior = result.posterior;
  if (control.stop_requested()) warnings.emplace_back("interrupted: this is the result so far");
  if (result.open.empty()) return;
  if (result.by_em) return add_em_warnings(result, warnings);
  if (posterior.shortened_burn_in)
    warnings.push_back(fmt::format(
        "the time limit cut burn-in to {} sweeps: it would have left none to count", posterior.burn_in));
  if (posterior.chains_left_out > 0)
    warnings.push_back(fmt::format(
        "{} of {} chains stayed in groupings that are far less probable, and were left out of the result",
        posterior.chains_left_out, posterior.trace.size()));
  if (posterior.chain_agreement < wanted_agreement)
    warnings.push_back(
        fmt::format("the chains disagree: two of them label only {:.0f} % of the documents alike{}",
                    100 * posterior.chain_agreement,
                    posterior.renamed ? " (without labels there are several groupings to find)" : ""));
  const double rhat = posterior.log_joint.rhat;
  if (!(rhat <= wanted_rhat))
    warnings.push_back(std::isfinite(rhat)
                           ? fmt::format("the chains have not converged: R-hat of the log joint is {} "
                                         "(below {} is wanted)",
                                         rhat_text(rhat), wanted_rhat)
                           : "the run is too short to say whether it has converged");
}

void measure(const Corpus& corpus, std::span<const std::uint32_t> shown, const TextOptions& options,
             TextResult& result) {
  const auto classes = static_cast<std::uint32_t>(result.classes.size());
  const bool renamed = result.posterior.renamed;
  result.accuracy = label_accuracy(result.labels, result.truth, classes, renamed);
  if (!renamed && std::isfinite(result.accuracy)) {
    result.calibration = calibration(result);
    const TextModel alone =
        count_text_model(corpus, shown, options.class_pseudo_count, options.word_pseudo_count);
    result.naive_bayes_accuracy = label_accuracy(
        most_probable(predict_classes(alone, corpus.counts), classes), result.truth, classes, false);
  }
}

/// Expectation maximisation names its classes by their labels: each must have one.
bool every_class_labelled(std::span<const std::uint32_t> shown, std::size_t classes) {
  std::vector<bool> labelled(classes, false);
  for (const std::uint32_t label : shown)
    if (label != no_label) labelled[label] = true;
  return std::ranges::find(labelled, false) == labelled.end();
}

/// The method that runs, and why.
Chosen<TextMethod> chosen_method(const TextOptions& options, const TextResult& result,
                                 std::span<const std::uint32_t> shown) {
  const bool labelled = every_class_labelled(shown, result.classes.size());
  if (options.method == TextMethod::em && !labelled)
    throw OptionError("method", "em", "gibbs or collapsed-gibbs where a class has no labelled document");
  if (options.method != TextMethod::automatic) return {options.method, ""};
  const bool for_em = options.unlabelled_weight || options.word_prior;
  const bool for_chains = options.chains || options.sweeps || options.burn_in || options.sample_pseudo_counts;
  return choose<TextMethod>(
      {{TextMethod::em, "em",
        "every class has labelled documents, which can say how much the others are to count"},
       {TextMethod::gibbs, "gibbs",
        for_chains ? "options of chains were given, and it costs less per sweep"
                   : "it costs less per sweep"}},
      [&](TextMethod method) -> std::string {
        if (method != TextMethod::em) return "";
        if (result.open.empty()) return "every document is labelled";
        if (!labelled) return "a class has no labelled document";
        return for_chains && !for_em ? "options of chains were given" : "";
      });
}

void choose_weight(const Corpus& corpus, std::span<const std::uint32_t> shown, const TextOptions& options,
                   TextResult& result, const RunControl& control) {
  if (!options.unlabelled_weight || !options.word_prior) {
    // Half of the time at most goes into the choice.
    const RunControl part(
        control, control.has_time_limit() ? std::optional<double>(control.seconds_left() / 2) : std::nullopt);
    result.weight_choice = choose_unlabelled_weight(
        corpus.counts, shown,
        {.classes = static_cast<std::uint32_t>(result.classes.size()),
         .class_pseudo_count = options.class_pseudo_count,
         .word_pseudo_count = options.word_pseudo_count,
         .seed = options.seed,
         .weight = options.unlabelled_weight,
         .by_frequency =
             options.word_prior ? std::optional(*options.word_prior == WordPrior::corpus) : std::nullopt},
        part);
    result.unlabelled_weight = result.weight_choice.best().weight;
    result.word_prior = result.weight_choice.best().by_frequency ? WordPrior::corpus : WordPrior::equal;
  }
  if (options.unlabelled_weight) result.unlabelled_weight = *options.unlabelled_weight;
  if (options.word_prior) result.word_prior = *options.word_prior;
}

/// Expectation maximisation, in the words of a posterior.
TextPosterior climb(const Corpus& corpus, std::span<const std::uint32_t> shown, const TextOptions& options,
                    TextResult& result, const RunControl& control) {
  const auto classes = static_cast<std::uint32_t>(result.classes.size());
  choose_weight(corpus, shown, options, result, control);
  TextPosterior posterior;
  posterior.classes = classes;
  posterior.class_pseudo_count = options.class_pseudo_count;
  posterior.word_pseudo_count = options.word_pseudo_count;
  posterior.word_pseudo_counts = result.word_prior == WordPrior::corpus
                                     ? frequency_pseudo_counts(corpus.counts, options.word_pseudo_count)
                                     : std::vector<double>(corpus.words.size(), options.word_pseudo_count);
  TextEm fit = fit_text_em(corpus.counts, shown, posterior.word_pseudo_counts,
                           {.classes = classes,
                            .unlabelled_weight = result.unlabelled_weight,
                            .class_pseudo_count = options.class_pseudo_count},
                           control);
  result.climbed = fit.converged;
  posterior.class_tokens.assign(classes, 0.0);
  for (std::size_t e = 0; e < fit.word_counts.size(); ++e)
    posterior.class_tokens[e % classes] += fit.word_counts[e];
  posterior.sweeps = fit.objective.size() - 1;
  posterior.log_joint.mean = fit.objective.back();
  posterior.updates = static_cast<double>(corpus.counts.entries() * fit.objective.size());
  posterior.probabilities = std::move(fit.probabilities);
  posterior.class_documents = std::move(fit.class_documents);
  posterior.word_counts = std::move(fit.word_counts);
  posterior.trace.push_back(std::move(fit.objective));
  return posterior;
}

Judgement judge_em(const TextResult& result) {
  const WeightChoice& choice = result.weight_choice;
  std::string text = fmt::format(
      "Naive Bayes, words smoothed {}, a document without label counts {:g} of one with a label",
      result.word_prior == WordPrior::corpus ? "towards the corpus" : "alike", result.unlabelled_weight);
  if (choice.tested == 0) return {Verdict::good, text + "."};
  const auto tested = static_cast<double>(choice.tested);
  const double held_out = static_cast<double>(choice.best().right) / tested;
  text += fmt::format(
      ", as labels kept apart chose: it finds {:.1f} % of them, ordinary naive Bayes {:.1f} % ({} tests).",
      100 * held_out, 100 * static_cast<double>(choice.candidates.front().right) / tested, choice.tested);
  const double commonest = std::ranges::max(result.labelled_by_class) /
                           static_cast<double>(std::max<std::size_t>(result.labelled, 1));
  // One standard error above always naming the commonest class: else the words say nothing.
  const double error = std::sqrt(held_out * (1 - held_out) / static_cast<double>(result.labelled));
  if (held_out - error > commonest) return {Verdict::good, text};
  return {Verdict::caution,
          text + fmt::format(" Always naming the commonest class would find {:.1f} %: label "
                             "more documents before relying on this.",
                             100 * commonest)};
}

void add_em(const TextResult& result, JsonObject& object) {
  object.add("iterations", result.posterior.sweeps);
  object.add("converged", result.climbed);
  object.add("unlabelled_weight", result.unlabelled_weight);
  object.add("word_prior", std::string(choice_name(result.word_prior)));
  const WeightChoice& choice = result.weight_choice;
  if (choice.tested == 0) return;
  std::vector<std::string> candidates;
  for (const WeightCandidate& candidate : choice.candidates) {
    JsonObject one;
    one.add("word_prior",
            std::string(choice_name(candidate.by_frequency ? WordPrior::corpus : WordPrior::equal)));
    one.add("unlabelled_weight", candidate.weight);
    one.add("held_out_accuracy", static_cast<double>(candidate.right) / static_cast<double>(choice.tested));
    candidates.push_back(one.line());
  }
  object.add("held_out", choice.tested);
  object.add_raw("weights_tried", json_list(candidates));
}

void add_chains(const TextPosterior& posterior, JsonObject& object) {
  const DrawsSummary& summary = posterior.log_joint;
  JsonObject diagnostics;
  diagnostics.add("rhat", summary.rhat);
  diagnostics.add("ess_bulk", summary.ess_bulk);
  diagnostics.add("ess_tail", summary.ess_tail);
  object.add("diagnostics", diagnostics);
  object.add("chain_agreement", posterior.chain_agreement);
  object.add("chains_left_out", posterior.chains_left_out);
  object.add("chains", posterior.trace.size());
  object.add("burn_in", posterior.burn_in);
  object.add("sweeps", posterior.sweeps);
  object.add("draws", posterior.draws);
}

void add_labels(const LabelledDocuments& result, JsonObject& object) {
  std::vector<std::string> labels;
  for (const std::uint32_t label : result.labels) labels.push_back(result.classes[label]);
  object.add("classes", result.classes);
  object.add("labels", labels);
  std::string rows = "[";
  const std::span<const double> all = result.probabilities;
  for (std::size_t at = 0; at < all.size(); at += result.classes.size())
    rows += (at > 0 ? "," : "") + json_array(all.subspan(at, result.classes.size()));
  object.add_raw("probabilities", rows + "]");
}

void add_top_words(const LabelledDocuments& result, JsonObject& object) {
  JsonObject by_class;
  for (std::size_t k = 0; k < result.classes.size(); ++k) {
    std::vector<std::string> words;
    for (const TopWord& word : result.top_words[k]) {
      JsonObject one;
      one.add("word", word.word);
      one.add("log_odds", word.log_odds);
      one.add("score", word.score);
      one.add("probability", word.probability);
      words.push_back(one.line());
    }
    by_class.add_raw(result.classes[k], json_list(words));
  }
  object.add("top_words", by_class);
  object.add("top_words_by",
             "log odds of the word against the other classes, divided by its standard deviation");
}

void add_calibration(const LabelledDocuments& result, JsonObject& object) {
  if (result.calibration.empty()) return;
  std::vector<std::string> bins;
  for (const CalibrationBin& bin : result.calibration) {
    JsonObject one;
    one.add("documents", bin.documents);
    one.add("mean_probability", bin.mean_probability);
    one.add("accuracy", bin.accuracy);
    bins.push_back(one.line());
  }
  object.add_raw("calibration", json_list(bins));
}

}  // namespace

namespace {

void describe_top_words(OptionList& list, std::uint32_t& count) {
  list.add("top-words", "N", "how many telling words to name per class", count, {0, 1e6});
}

}  // namespace

void describe(OptionList& list, LabelTextOptions& options) {
  describe_top_words(list, options.top_words);
}

void describe(OptionList& list, TextOptions& options) {
  list.add_choice("method", "NAME",
                  "em climbs to the most probable model; gibbs draws word probabilities and labels, "
                  "collapsed-gibbs labels alone; auto is em when every class has a labelled document",
                  options.method);
  list.add("unlabelled-weight", "X",
           "what a document without label counts, 0 (nothing is learnt from it) to 1 (as much as others); em",
           options.unlabelled_weight, {0, 1}, "chosen on labels that are kept apart");
  list.add_choice("word-prior", "NAME",
                  "pseudo-counts of words: equal, or by their frequency in the whole corpus; em",
                  options.word_prior, "chosen on labels that are kept apart");
  list.add("seed", "N", "seed of all randomness; same seed, same result", options.seed, {0, 1e15});
  list.add("labelled-share", "X",
           "keep this share of the labels of each class and hide the others, to measure the accuracy on them",
           options.labelled_share, {0, 1});
  list.add("chains", "N", "independent chains", options.chains, {1, 65535},
           fmt::format("{}; 1 when every document is labelled", default_chains));
  list.add("sweeps", "N", "sweeps after burn-in", options.sweeps, {1, 1e15},
           "from 200 to 1000, fewer the larger the corpus");
  list.add("burn-in", "N", "sweeps discarded first", options.burn_in, {0, 1e15}, "half of the sweeps");
  list.add("thin", "N", "keep every N-th sweep", options.thin, {1, 1e15});
  list.add("class-pseudo-count", "X", "prior of the classes: Dirichlet(X, ..., X)",
           options.class_pseudo_count, {1e-9, 1e9});
  list.add("word-pseudo-count", "X", "prior of the words of a class: Dirichlet(X, ..., X)",
           options.word_pseudo_count, {1e-9, 1e9});
  list.add("sample-pseudo-counts", "sample both pseudo-counts, with the prior Exponential(1)",
           options.sample_pseudo_counts);
  list.add("no-swaps", "do not try to exchange two classes at once: the paper's sampler to the letter",
           options.no_swaps);
  describe_top_words(list, options.top_words);
  describe(list, options.checkpoint);
}

TextResult classify_text(const Corpus& corpus, const TextOptions& options, const RunControl& control) {
  if (corpus.classes.size() < 2) {  // names for the others
    Corpus named = corpus;
    while (named.classes.size() < 2)
      named.classes.push_back(fmt::format("class {}", named.classes.size() + 1));
    return classify_text(named, options, control);
  }
  const double start = control.seconds();
  TextResult result;
  result.classes = corpus.classes;
  const auto classes = static_cast<std::uint32_t>(result.classes.size());
  const std::vector<std::uint32_t> shown =
      hide_labels(corpus.labels, classes, options.labelled_share, options.seed);
  result.names = corpus.names;
  result.tokens = corpus.tokens;
  result.truth.assign(shown.size(), no_label);
  double updates = 0;
  for (std::uint32_t d = 0; d < shown.size(); ++d) {
    if (shown[d] != no_label) continue;
    result.open.push_back(d);
    result.truth[d] = corpus.labels[d];
    updates += static_cast<double>(corpus.counts.words_of(d).size());
  }
  result.labelled = shown.size() - result.open.size();

  result.labelled_by_class.assign(classes, 0.0);
  for (const std::uint32_t label : shown)
    if (label != no_label) ++result.labelled_by_class[label];

  Provenance& provenance = result.provenance;
  const auto [method, because] = chosen_method(options, result, shown);
  provenance.because = because;
  result.by_em = method == TextMethod::em;
  NaiveBayesOptions sampler = sampler_options(options, classes);
  const bool nothing_to_draw = result.open.empty() && !options.sample_pseudo_counts;
  if (nothing_to_draw) sampler.chains = 1;
  TextRun run =
      nothing_to_draw ? TextRun{0, 1, 1} : plan_run(options, updates * static_cast<double>(sampler.chains));
  provenance.question = "text";
  provenance.input = options.input.empty() ? corpus.source : options.input;
  provenance.method = choice_name(method);
  provenance.seed = options.seed;
  provenance.warnings = corpus.warnings;
  if (result.by_em && !options.checkpoint.file.empty())
    throw OptionError("checkpoint", options.checkpoint.file, "a sampler (method gibbs): em is soon done");
  Provenance named = provenance;
  named.options = resolved_options(options, method, result, sampler, run);
  const auto keeper =
      make_state_keeper(options.checkpoint, run_identity(named, checksum_of(corpus.counts, shown)), control);
  run.keeper = keeper.get();
  with_threads(control, [&] {
    result.posterior = result.by_em ? climb(corpus, shown, options, result, control)
                                    : sample_text(corpus.counts, shown, sampler, run, control);
    if (keeper) keeper->wait();
    result.model = make_text_model(result.classes, corpus.words, result.posterior);
    result.probabilities = result.posterior.probabilities;
    result.labels = most_probable(result.probabilities, classes);
    measure(corpus, shown, options, result);
    name_words(result.model, options.top_words, result);
  });
  provenance.options = resolved_options(options, method, result, sampler, run);
  add_warnings(result, control, provenance.warnings);
  provenance.seconds = control.seconds() - start;
  return result;
}

TextLabels label_text(const TextModel& model, const Corpus& corpus, const LabelTextOptions& options,
                      const RunControl& control) {
  const double start = control.seconds();
  TextLabels result;
  Provenance& provenance = result.provenance;
  provenance.question = "text";
  provenance.input = options.input;
  provenance.warnings = corpus.warnings;
  LabelTextOptions copy = options;
  OptionList list;
  describe(list, copy);
  provenance.options = option_values(list);
  result.classes = model.classes;
  result.names = corpus.names;
  result.truth = corpus.labels;
  result.tokens = corpus.tokens;
  result.unknown_tokens = corpus.unknown_tokens;
  with_threads(control, [&] { result.probabilities = predict_classes(model, corpus.counts); });
  result.labels = most_probable(result.probabilities, result.classes.size());
  result.accuracy =
      label_accuracy(result.labels, result.truth, static_cast<std::uint32_t>(result.classes.size()), false);
  if (std::isfinite(result.accuracy)) result.calibration = calibration(result);
  name_words(model, options.top_words, result);
  if (corpus.unknown_tokens > corpus.tokens)
    provenance.warnings.push_back(fmt::format("the model does not know {} of {} words", corpus.unknown_tokens,
                                              corpus.unknown_tokens + corpus.tokens));
  provenance.seconds = control.seconds() - start;
  return result;
}

TextModelFile text_model_file(const TextResult& result, const CorpusOptions& words) {
  return {result.model, words, result.provenance.options};
}

void write_labels(const std::string& path, const LabelledDocuments& documents) {
  AtomicFile file(path);
  const std::size_t classes = documents.classes.size();
  file.write("document\tlabel");
  for (const std::string& name : documents.classes) file.write("\tP(" + name + ")");
  file.write("\n");
  for (std::size_t d = 0; d < documents.labels.size(); ++d) {
    file.write(documents.names[d] + "\t" + documents.classes[documents.labels[d]]);
    for (std::size_t k = 0; k < classes; ++k)
      file.write(fmt::format("\t{:.6g}", documents.probabilities[d * classes + k]));
    file.write("\n");
  }
  file.commit();
}

Judgement judge(const TextResult& result) {
  const TextPosterior& posterior = result.posterior;
  const double rhat = posterior.log_joint.rhat;
  if (result.open.empty())
    return with_warnings(
        {Verdict::good,
         "Every document is labelled, so the model is ordinary naive Bayes: counts and pseudo-counts."},
        result.provenance.warnings);
  if (result.by_em) return with_warnings(judge_em(result), result.provenance.warnings);
  if (chains_agree(result))
    return with_warnings(
        {Verdict::good, fmt::format("The chains agree: R-hat of the log joint is {}, its effective sample "
                                    "size {}, and any two chains label at least {:.0f} % of the "
                                    "documents alike.",
                                    rhat_text(rhat), ess_text(posterior.log_joint.ess_bulk),
                                    100 * posterior.chain_agreement)},
        result.provenance.warnings);
  if (!std::isfinite(rhat))
    return {Verdict::bad, "The run is too short to say whether it has converged. Run longer."};
  return {
      posterior.chain_agreement < wanted_agreement ? Verdict::bad : Verdict::caution,
      fmt::format("The chains have not converged to one answer: R-hat of the log joint is {} (below "
                  "{} is wanted), and two chains label {}{:.0f} % of the documents alike. Run longer, try "
                  "collapsed-gibbs, or label a few more documents.",
                  rhat_text(rhat), wanted_rhat, posterior.chain_agreement < wanted_agreement ? "only " : "",
                  100 * posterior.chain_agreement)};
}

Judgement judge(const TextLabels& result) {
  if (!std::isfinite(result.accuracy))
    return with_warnings({Verdict::good,
                          "There are no true labels to compare with: naive Bayes is surer of "
                          "its labels than they are right, the more so the longer a document."},
                         result.provenance.warnings);
  return with_warnings(
      {Verdict::good, fmt::format("{:.2f} % of the known labels are found.", 100 * result.accuracy)},
      result.provenance.warnings);
}

JsonObject to_json(const TextResult& result) {
  const TextPosterior& posterior = result.posterior;
  JsonObject object = json_of(result.provenance);
  add_judgement(judge(result), object);
  object.add("documents", result.labels.size());
  object.add("labelled", result.labelled);
  object.add("vocabulary", result.model.words.size());
  object.add("tokens", result.tokens);
  add_labels(result, object);
  add_top_words(result, object);
  if (std::isfinite(result.accuracy)) {
    object.add("accuracy", result.accuracy);
    object.add("accuracy_after_matching", posterior.renamed);
    if (std::isfinite(result.naive_bayes_accuracy))
      object.add("naive_bayes_accuracy", result.naive_bayes_accuracy);
  }
  add_calibration(result, object);
  object.add("log_joint", posterior.log_joint.mean);
  object.add("class_pseudo_count", posterior.class_pseudo_count);
  object.add("word_pseudo_count", posterior.word_pseudo_count);
  if (result.by_em)
    add_em(result, object);
  else
    add_chains(posterior, object);
  object.add("updates", posterior.updates);
  object.add("seconds", result.provenance.seconds);
  return object;
}

JsonObject to_json(const TextLabels& result) {
  JsonObject object = json_of(result.provenance);
  add_judgement(judge(result), object);
  object.add("documents", result.labels.size());
  object.add("names", result.names);
  add_labels(result, object);
  add_top_words(result, object);
  if (std::isfinite(result.accuracy)) object.add("accuracy", result.accuracy);
  add_calibration(result, object);
  object.add("tokens", result.tokens);
  object.add("unknown_words", result.unknown_tokens);
  object.add("seconds", result.provenance.seconds);
  return object;
}

}  // namespace drover
