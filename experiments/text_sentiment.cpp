// Naive Bayes by Gibbs with few labels: how accurate are the labels of the others?
//
// Resnik, Hardisty: Gibbs sampling for the uninitiated; 2010. The paper derives the sampler and prints no
// figures, so only the claims are checked. A share of the labels of each class is shown, the others are
// hidden; the accuracy is that of the most probable class of the hidden ones (with no label shown, classes
// are first matched to the truth). Repeated over choices of the labels shown.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "drover/io/text_source.hpp"
#include "drover/text/corpus.hpp"
#include "drover/text/demo_corpus.hpp"
#include "drover/text/text_model.hpp"
#include "drover/text/text_posterior.hpp"
#include "experiments/all.hpp"

namespace drover::experiments {

namespace {

Corpus load(const Options& options, Outcome& outcome) {
  CorpusOptions words;
  words.min_count = 2;
  if (const auto path = find_data(options, "movie_reviews/movie_reviews.zip"))
    return read_corpus({path->string()}, words);
  outcome.notes.emplace_back(
      "stand-in data: 1000 made-up film reviews (drover generate corpus), not movie_reviews");
  const std::string text = demo_corpus_tsv(1000, 1);
  TextSource source(text, "demo");
  CorpusBuilder builder(words);
  read_tsv_corpus(source, builder);
  return builder.finish();
}

/// Results over repetitions.
struct Cell {
  std::vector<double> accuracy, supervised, rhat, ess, agreement;
};

std::vector<std::uint32_t> hidden_truth(std::span<const std::uint32_t> labels,
                                        std::span<const std::uint32_t> shown) {
  std::vector<std::uint32_t> truth(labels.begin(), labels.end());
  for (std::size_t d = 0; d < truth.size(); ++d)
    if (shown[d] != no_label) truth[d] = no_label;
  return truth;
}

/// Ordinary naive Bayes: trained on the shown documents alone.
double supervised_accuracy(const Corpus& corpus, std::span<const std::uint32_t> shown,
                           std::span<const std::uint32_t> truth) {
  const auto classes = static_cast<std::uint32_t>(corpus.classes.size());
  TextModel model;
  model.classes = corpus.classes;
  model.words = corpus.words;
  model.class_documents.assign(classes, 0.0);
  model.word_counts.assign(corpus.words.size() * classes, 0.0);
  for (std::size_t d = 0; d < shown.size(); ++d) {
    if (shown[d] == no_label) continue;
    ++model.class_documents[shown[d]];
    for (std::size_t e = 0; e < corpus.counts.words_of(d).size(); ++e)
      model.word_counts[corpus.counts.words_of(d)[e] * classes + shown[d]] += corpus.counts.counts_of(d)[e];
  }
  const std::vector<double> probabilities = predict_classes(model, corpus.counts);
  std::vector<std::uint32_t> labels;
  for (std::size_t d = 0; d < shown.size(); ++d)
    labels.push_back(probabilities[d * classes + 1] > probabilities[d * classes] ? 1 : 0);
  return label_accuracy(labels, truth, classes, false);
}

}  // namespace

Outcome text_sentiment(const Options& options) {
  Outcome outcome;
  const Corpus corpus = load(options, outcome);
  const bool real = outcome.notes.empty();
  const auto classes = static_cast<std::uint32_t>(corpus.classes.size());
  const std::vector<double> shares = {0, 0.01, 0.1, 0.5};
  const std::uint64_t repetitions = options.quick ? 2 : 5;
  const TextRun run = options.quick ? TextRun{50, 100, 1} : TextRun{300, 600, 1};
  if (options.quick)
    outcome.notes.emplace_back("quick: 2 repetitions instead of 5, 150 sweeps instead of 900");
  const std::vector<std::pair<std::string, bool>> methods = {{"gibbs", false}, {"collapsed-gibbs", true}};
  const double pieces = static_cast<double>(methods.size() * shares.size() * repetitions);
  double done = 0;
  std::vector<Figure> figures(2);
  figures[0] = {
      .title = "Accuracy on the hidden labels", .x_label = "share of labels shown", .y_label = "accuracy"};
  figures[1] = {.title = "R-hat of the log joint", .x_label = "share of labels shown", .y_label = "R-hat"};
  for (const auto& [method, collapsed] : methods) {
    std::vector<double> mean_accuracy, mean_rhat, mean_supervised, spreads;
    for (const double share : shares) {
      Cell cell;
      for (std::uint64_t r = 0; r < repetitions; ++r) {
        const auto shown = hide_labels(corpus.labels, classes, share, options.seed + r);
        const auto truth = hidden_truth(corpus.labels, shown);
        const TextPosterior posterior = sample_text(
            corpus.counts, shown,
            {.classes = classes, .chains = 4, .collapsed = collapsed, .seed = options.seed + r}, run,
            [&](std::uint64_t sweep, std::uint64_t planned) {
              options.control.report(
                  {fmt::format("{}, {:g} % labelled", method, 100 * share),
                   (done + static_cast<double>(sweep) / static_cast<double>(planned)) / pieces, sweep, 0, 0});
              return !options.control.should_stop();
            });
        if (options.control.should_stop()) {
          outcome.interrupted = true;
          return outcome;
        }
        ++done;
        std::vector<std::uint32_t> labels;
        for (std::size_t d = 0; d < shown.size(); ++d) labels.push_back(posterior.label(d));
        cell.accuracy.push_back(label_accuracy(labels, truth, classes, posterior.renamed));
        if (share > 0) cell.supervised.push_back(supervised_accuracy(corpus, shown, truth));
        cell.rhat.push_back(posterior.log_joint.rhat);
        cell.ess.push_back(posterior.log_joint.ess_bulk);
        cell.agreement.push_back(posterior.chain_agreement);
      }
      const auto row = [&](const std::string& what, const std::vector<double>& values,
                           const std::string& note = "") {
        outcome.rows.push_back({.name = fmt::format("{}, {:g} % labelled: {}", method, 100 * share, what),
                                .ours = mean_of(values),
                                .spread = deviation_of(values),
                                .note = note});
      };
      row("accuracy", cell.accuracy, share == 0 ? "classes matched to the truth" : "");
      row("R-hat of the log joint", cell.rhat);
      row("effective sample size of the log joint", cell.ess);
      row("share labelled alike by the two most different of 4 chains", cell.agreement);
      if (!collapsed && share > 0)
        row("accuracy of naive Bayes on the labelled documents alone", cell.supervised);
      mean_accuracy.push_back(mean_of(cell.accuracy));
      spreads.push_back(deviation_of(cell.accuracy));
      mean_rhat.push_back(mean_of(cell.rhat));
      if (share > 0) mean_supervised.push_back(mean_of(cell.supervised));
    }
    figures[0].curves.push_back({method, shares, mean_accuracy});
    if (!collapsed)
      figures[0].curves.push_back(
          {"labelled documents alone", {shares.begin() + 1, shares.end()}, mean_supervised});
    figures[1].curves.push_back({method, shares, mean_rhat});
    outcome.claims.push_back({fmt::format("{}: more labels help: accuracy with 50 % labelled is above that "
                                          "with 1 %, or within two spreads",
                                          method),
                              mean_accuracy[3] > mean_accuracy[1] - 2 * std::max(spreads[1], spreads[3])});
    if (!collapsed)
      outcome.claims.push_back(
          {real ? "the supervised end, naive Bayes on half of the documents, is near 0.8 (0.75 to 0.85)"
                : "the supervised end, naive Bayes on half of the documents, is above 0.75 (stand-in data)",
           mean_supervised.back() >= 0.75 && (!real || mean_supervised.back() <= 0.85)});
  }
  outcome.figures = std::move(figures);
  return outcome;
}

}  // namespace drover::experiments
