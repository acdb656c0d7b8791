// Naive Bayes by Gibbs with few labels: how accurate are the labels of the others?
//
// Resnik, Hardisty: Gibbs sampling for the uninitiated; 2010. The paper derives the sampler and prints no
// figures, so only the claims are checked. A share of the labels of each class is shown, the others are
// hidden; the accuracy is that of the most probable class of the hidden ones (with no label shown, classes
// are first matched to the truth). Repeated over choices of the labels shown.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "drover/task/text.hpp"
#include "drover/text/demo_corpus.hpp"
#include "experiments/all.hpp"

namespace drover::experiments {

namespace {

Corpus load_reviews(const Options& options, Outcome& outcome) {
  CorpusOptions words;
  words.min_count = 2;
  if (const auto path = find_data(options, "movie_reviews/movie_reviews.zip"))
    return read_corpus({path->string()}, words);
  outcome.notes.emplace_back(
      "stand-in data: 1000 made-up film reviews (drover generate corpus), not movie_reviews");
  return demo_corpus(1000, 1, words);
}

/// Results over repetitions.
struct Cell {
  std::vector<double> accuracy, supervised, rhat, ess, agreement;
};

}  // namespace

Outcome text_sentiment(const Options& options) {
  Outcome outcome;
  const Corpus corpus = load_reviews(options, outcome);
  const bool real = outcome.notes.empty();
  const std::vector<double> shares = {0, 0.01, 0.1, 0.5};
  const std::uint64_t repetitions = options.quick ? 2 : 5;
  const std::uint64_t burn_in = options.quick ? 50 : 300, sweeps = 2 * burn_in;
  if (options.quick)
    outcome.notes.emplace_back("quick: 2 repetitions instead of 5, 150 sweeps instead of 900");
  const std::vector<TextMethod> methods = {TextMethod::gibbs, TextMethod::collapsed_gibbs};
  const double pieces = static_cast<double>(methods.size() * shares.size() * repetitions);
  double done = 0;
  std::vector<Figure> figures(2);
  figures[0] = {
      .title = "Accuracy on the hidden labels", .x_label = "share of labels shown", .y_label = "accuracy"};
  figures[1] = {.title = "R-hat of the log joint", .x_label = "share of labels shown", .y_label = "R-hat"};
  for (const TextMethod method : methods) {
    const bool collapsed = method == TextMethod::collapsed_gibbs;
    std::vector<double> mean_accuracy, mean_rhat, mean_supervised, spreads;
    for (const double share : shares) {
      Cell cell;
      for (std::uint64_t r = 0; r < repetitions; ++r) {
        RunControl watched(options.control);
        watched.watch([&](const Progress& progress) {
          options.control.report({fmt::format("{}, {:g} % labelled", choice_name(method), 100 * share),
                                  (done + progress.fraction) / pieces, progress.sweeps, 0, 0});
        });
        const TextResult result = classify_text(corpus,
                                                {.method = method,
                                                 .seed = options.seed + r,
                                                 .labelled_share = share,
                                                 .sweeps = sweeps,
                                                 .burn_in = burn_in,
                                                 .top_words = 0},
                                                watched);
        if (options.control.should_stop()) {
          outcome.interrupted = true;
          return outcome;
        }
        ++done;
        const TextPosterior& posterior = result.posterior;
        cell.accuracy.push_back(result.accuracy);
        if (share > 0) cell.supervised.push_back(result.naive_bayes_accuracy);
        cell.rhat.push_back(posterior.log_joint.rhat);
        cell.ess.push_back(posterior.log_joint.ess_bulk);
        cell.agreement.push_back(posterior.chain_agreement);
      }
      const auto row = [&](const std::string& what, const std::vector<double>& values,
                           const std::string& note = "") {
        outcome.rows.push_back(
            {.name = fmt::format("{}, {:g} % labelled: {}", choice_name(method), 100 * share, what),
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
    figures[0].curves.push_back({std::string(choice_name(method)), shares, mean_accuracy});
    if (!collapsed)
      figures[0].curves.push_back(
          {"labelled documents alone", {shares.begin() + 1, shares.end()}, mean_supervised});
    figures[1].curves.push_back({std::string(choice_name(method)), shares, mean_rhat});
    outcome.claims.push_back({fmt::format("{}: more labels help: accuracy with 50 % labelled is above that "
                                          "with 1 %, or within two spreads",
                                          choice_name(method)),
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
