// Naive Bayes text classes by Gibbs sampling, several chains side by side.
//
// Resnik, Hardisty: Gibbs sampling for the uninitiated; University of Maryland, 2010 (K classes instead of
// two).
//   pi ~ Dirichlet(a, ..., a)        L_j ~ pi            the class of document j
//   theta_k ~ Dirichlet(b, ..., b)   W_j ~ Multinomial(theta_{L_j})
// pi is integrated out. One sweep, with C_k documents and n_ki words i in class k:
//   the paper's sampler   theta_k ~ Dirichlet(n_k1 + b, ..., n_kV + b), as normalised Gammas; then for every
//                         document without a known label, in turn and with its own counts taken out,
//                         P(L_j = k) ~ (C_k + a) prod_i theta_ki^W_ji
//   collapsed             theta is integrated out too (naive_bayes_collapsed.cpp)
// Known labels stay and always count. With sample_pseudo_counts, a and b (prior Exponential(1)) are slice
// sampled first, given the labels, theta integrated out (dirichlet_multinomial.hpp).
//
// Fails slowly: without labels the posterior has K! equal modes and more poor ones, and the sampler that
// draws theta leaves a mode hardly ever once documents are long. R-hat of the log joint shows it.
//
// Layout: chains are lanes. log theta_k - log theta_0 stands word by word for all chains and classes
// together, so one pass over a document scores it for every chain; given theta, documents are scored in
// parallel. What is left to do in turn (C_k changes from document to document) is a few additions each:
// labels are drawn as argmax_k log weight_k + Gumbel noise, and the noise is drawn beforehand, in parallel.
// Word counts are only touched for documents that change class. All draws are functions of (seed, chain,
// sweep, document or word).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/core/random.hpp"
#include "drover/core/types.hpp"
#include "drover/numeric/gamma_draws.hpp"
#include "drover/text/dirichlet_multinomial.hpp"
#include "drover/text/word_counts.hpp"

namespace drover {

struct NaiveBayesOptions {
  std::uint32_t classes = 2;
  std::uint32_t chains = 4;       ///< at most 65535
  double class_pseudo_count = 1;  ///< a; the first value when sampled
  double word_pseudo_count = 1;   ///< b; the first value when sampled
  bool sample_pseudo_counts = false;
  bool collapsed = false;
  bool swap_classes = true;  ///< also try to exchange two classes (naive_bayes_swap.cpp); not in the paper
  std::uint64_t seed = 1;
};

/// What one chain knows about its classes.
struct ClassCounts {
  std::vector<Value> labels;             ///< of every document
  std::vector<std::uint64_t> documents;  ///< by class
  std::vector<std::uint64_t> tokens;     ///< by class
  std::vector<std::uint32_t> words;      ///< (word, class)
  double class_pseudo_count = 1;
  double word_pseudo_count = 1;
  std::vector<double> log_rising;  ///< log G(n + b) - log G(b) for small n, at the pseudo-count below
  double log_rising_at = -1;
  double log_joint = 0;  ///< log P(words, labels | pseudo-counts), theta and pi integrated out

  template <class Archive>
  void visit(Archive& archive) {
    archive(labels);
    archive(documents);
    archive(tokens);
    archive(words);
    archive(class_pseudo_count);
    archive(word_pseudo_count);
    archive(log_rising);
    archive(log_rising_at);
    archive(log_joint);
  }
};

class NaiveBayesGibbs {
 public:
  /// `documents` must outlive the sampler; labels[j] is a class or no_label. The unknown labels start at
  /// random: pi from its prior, then every label from pi.
  NaiveBayesGibbs(const WordCounts& documents, std::span<const std::uint32_t> labels,
                  const NaiveBayesOptions& options);

  /// One sweep of every chain.
  void sweep();

  std::uint64_t sweeps() const { return sweeps_; }
  const NaiveBayesOptions& options() const { return options_; }
  const WordCounts& documents() const { return *documents_; }
  /// The documents whose label is drawn.
  std::span<const std::uint32_t> open() const { return open_; }
  const ClassCounts& chain(std::uint32_t c) const { return chains_[c]; }
  /// Puts a chain elsewhere; known labels must be kept.
  void set_labels(std::uint32_t c, std::span<const Value> labels);
  void set_pseudo_counts(std::uint32_t c, double class_pseudo_count, double word_pseudo_count);

  /// The distribution that the label of open()[o] was last drawn from in chain c, into K numbers.
  void conditional(std::uint32_t c, std::size_t o, std::span<double> probabilities) const;

  /// What the next sweep looks at, for checkpoints.
  template <class Archive>
  void visit(Archive& archive) {
    archive(sweeps_);
    for (ClassCounts& chain : chains_) chain.visit(archive);
  }

  /// Labels drawn times distinct words in them, per sweep of one chain.
  std::uint64_t updates_per_sweep() const { return open_entries_; }

 private:
  void start(std::uint32_t c);
  void count(ClassCounts& chain) const;
  void try_swap(std::uint32_t c);
  void draw_pseudo_counts(std::uint32_t c);
  void draw_words();
  void score_documents();
  void draw_labels(std::uint32_t c);
  void move_documents(std::uint32_t c);
  void sweep_collapsed(std::uint32_t c);
  void update_log_joint(ClassCounts& chain) const;
  double log_rising(const ClassCounts& chain, std::uint32_t n) const;
  void draw_noise(std::uint32_t c, std::uint32_t document, float* noise) const;
  std::size_t lane(std::uint32_t c) const { return std::size_t{c} * (options_.classes - 1); }
  std::size_t lanes() const { return std::size_t{options_.chains} * (options_.classes - 1); }

  const WordCounts* documents_;
  NaiveBayesOptions options_;
  std::vector<Value> known_;  ///< by document; no_value where the label is drawn
  std::vector<std::uint32_t> open_;
  std::vector<std::uint64_t> lengths_;  ///< of open documents, in words
  std::uint64_t open_entries_ = 0;
  ClassCounts known_counts_;  ///< of the documents whose label is known
  std::uint64_t sweeps_ = 0;
  std::vector<ClassCounts> chains_;
  std::vector<float> log_ratios_;   ///< (word, lane): log gamma_k - log gamma_0
  std::vector<double> log_totals_;  ///< by lane: log of the sum of gammas of class k, minus that of class 0
  std::vector<float> log_odds_;     ///< (open document, lane): log weight_k - log weight_0 of the last draw
  std::vector<float> noise_;        ///< (open document, lane): Gumbel noise of class k minus that of class 0
  std::vector<std::vector<std::pair<std::uint32_t, Value>>> moves_;  ///< by chain: document, its old class
  GammaDraws gammas_;
  Random label_random_;
  Random count_random_;
};

}  // namespace drover
