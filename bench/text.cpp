// Speed of the text sampler: word types (distinct words of a document) updated per second, one thread, whole
// sweeps (word probabilities, scores, labels, counts, log joint) against the number of documents; and a plain
// loop.
#include <fmt/format.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <random>

#include "drover/core/random.hpp"
#include "drover/text/demo_corpus.hpp"
#include "drover/text/naive_bayes_gibbs.hpp"
#include "drover/text/tokeniser.hpp"

namespace drover {
namespace {

/// Processor time, which other work on the machine disturbs less than the clock; there is one thread.
double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

double seconds_since(double begin) {
  return processor_seconds() - begin;
}

/// Documents of two classes with words that follow Zipf's law; classes differ in the order of ranks.
WordCounts zipf_documents(std::uint32_t documents, std::uint32_t distinct, std::uint32_t vocabulary) {
  RandomSequence random(1, Stream::generate);
  WordCounts counts;
  counts.vocabulary = vocabulary;
  std::vector<std::uint32_t> words;
  for (std::uint32_t d = 0; d < documents; ++d) {
    words.clear();
    while (words.size() < distinct) {
      for (std::size_t missing = distinct - words.size(); missing > 0; --missing) {
        // Ranks r with probability about 1 / r.
        auto rank =
            static_cast<std::uint32_t>(std::pow(static_cast<double>(vocabulary), random.uniform())) - 1;
        if (d % 2 == 1) rank = rank ^ 1U;
        words.push_back(std::min(rank, vocabulary - 1));
      }
      std::sort(words.begin(), words.end());
      words.erase(std::unique(words.begin(), words.end()), words.end());
    }
    for (const std::uint32_t word : words) {
      counts.words.push_back(word);
      counts.counts.push_back(1 + (random() % 4 == 0 ? 1 : 0));
    }
    counts.offsets.push_back(counts.words.size());
  }
  return counts;
}

double sweeps_per_second(const WordCounts& documents, bool collapsed, std::uint32_t chains,
                         bool settled = true) {
  const std::vector<std::uint32_t> known = [&] {
    std::vector<std::uint32_t> labels(documents.documents(), no_label);
    for (std::size_t d = 0; d < labels.size(); d += 10) labels[d] = d / 10 % 2;
    return labels;
  }();
  NaiveBayesGibbs sampler(documents, known, {.chains = chains, .collapsed = collapsed});
  if (settled)
    for (int t = 0; t < 3; ++t) sampler.sweep();
  const double begin = processor_seconds();
  int sweeps = 0;
  while (sweeps < 3 || (seconds_since(begin) < 1 && sweeps < 1000)) {
    sampler.sweep();
    ++sweeps;
  }
  return sweeps / seconds_since(begin);
}

/// The paper's pseudo-code written down: one chain, a table of log theta per class, std::log and std::gamma.
double plain_sweeps_per_second(const WordCounts& documents) {
  std::mt19937_64 generator(1);
  std::uniform_real_distribution<double> uniform;
  const std::uint32_t vocabulary = documents.vocabulary;
  std::vector<double> log_theta[2], counts[2];
  double in_class[2] = {0, 0};
  std::vector<int> labels(documents.documents());
  for (int k : {0, 1}) {
    log_theta[k].assign(vocabulary, 0);
    counts[k].assign(vocabulary, 0);
  }
  const auto move = [&](std::size_t d, int k, double sign) {
    in_class[k] += sign;
    for (std::size_t e = 0; e < documents.words_of(d).size(); ++e)
      counts[k][documents.words_of(d)[e]] += sign * documents.counts_of(d)[e];
  };
  for (std::size_t d = 0; d < labels.size(); ++d) move(d, labels[d] = static_cast<int>(d % 2), 1);
  const double begin = processor_seconds();
  int sweeps = 0;
  while (sweeps < 2 || seconds_since(begin) < 1) {
    for (int k : {0, 1}) {
      double total = 0;
      for (std::uint32_t i = 0; i < vocabulary; ++i)
        total += log_theta[k][i] = std::gamma_distribution<double>(counts[k][i] + 1)(generator);
      for (double& x : log_theta[k]) x = std::log(x / total);
    }
    for (std::size_t d = 0; d < labels.size(); ++d) {
      move(d, labels[d], -1);
      double weight[2];
      for (int k : {0, 1}) {
        weight[k] = std::log(in_class[k] + 1);
        for (std::size_t e = 0; e < documents.words_of(d).size(); ++e)
          weight[k] += documents.counts_of(d)[e] * log_theta[k][documents.words_of(d)[e]];
      }
      move(d, labels[d] = uniform(generator) < 1 / (1 + std::exp(weight[0] - weight[1])) ? 1 : 0, 1);
    }
    ++sweeps;
  }
  return sweeps / seconds_since(begin);
}

void measure(std::uint32_t documents, std::uint32_t distinct, std::uint32_t vocabulary) {
  const WordCounts counts = zipf_documents(documents, distinct, vocabulary);
  const double open = 0.9 * static_cast<double>(counts.entries());
  const double plain = plain_sweeps_per_second(counts) * static_cast<double>(counts.entries());
  fmt::print("{:>8} documents of {:>3} distinct words, {:>6} words: million word types per second:",
             documents, distinct, vocabulary);
  for (const bool collapsed : {false, true})
    for (const std::uint32_t chains : {1U, 4U, 8U})
      fmt::print("  {} x{}: {:.0f}", collapsed ? "collapsed" : "gibbs", chains,
                 sweeps_per_second(counts, collapsed, chains) * open * chains / 1e6);
  fmt::print("  plain loop: {:.0f}\n", plain / 1e6);
  std::fflush(stdout);
}

void measure_tokeniser() {
  std::string text;
  for (const DemoDocument& document : make_demo_corpus(20000, 1)) text += document.text + " ";
  for (const bool shortcut : {true, false}) {
    Tokeniser tokeniser({.punctuation = false, .ascii_shortcut = shortcut});
    std::vector<Token> tokens;
    const double begin = processor_seconds();
    tokeniser.tokenise(text, tokens);
    fmt::print("tokeniser, {}: {:.0f} MB/s, {:.1f} million words/s\n", shortcut ? "ASCII" : "ICU",
               static_cast<double>(text.size()) / 1e6 / seconds_since(begin),
               static_cast<double>(tokens.size()) / 1e6 / seconds_since(begin));
  }
}

}  // namespace
}  // namespace drover

int main(int argc, char** argv) {
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  drover::measure_tokeniser();
  const std::uint32_t most = argc > 1 ? static_cast<std::uint32_t>(std::atoi(argv[1])) : 1000000;
  drover::measure(2000, 350, 20000);
  for (std::uint32_t documents = 1000; documents <= most; documents *= 10)
    drover::measure(documents, 60, 50000);
}
