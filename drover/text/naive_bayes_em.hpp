// Naive Bayes from labelled and unlabelled documents by expectation maximisation.
//
// Nigam, McCallum, Thrun, Mitchell: Text classification from labeled and unlabeled documents using EM;
// Machine Learning 39, 2000 (EM-lambda, section 5.3.1). It climbs
//   log P(theta, pi) + sum over labelled j of log P(W_j, L_j) + w sum over unlabelled j of log P(W_j)
// with the weight w of a document without label, by turns of
//   r_jk ~ pi_k prod_i theta_ki^W_ji                          for unlabelled j; known labels stay
//   theta_ki ~ b_i + sum_j w_j r_jk W_ji                      w_j = 1 where the label is known, else w
//   pi_k ~ a + sum_j w_j r_jk
// from the model of the labelled documents alone, so that classes keep their names. b_i is the pseudo-count
// of word i: equal for all, or (`frequency_pseudo_counts`) its share in all documents, known or not. The
// second smooths classes towards the language instead of towards every word alike: with few labels and many
// words, equal pseudo-counts pull a class with fewer words much further, and documents follow it.
// w = 0 with equal pseudo-counts is ordinary naive Bayes.
//
// Fails: where documents fall into other groups than the classes (topic instead of sentiment), unlabelled
// ones lead astray; which w is right is a question for labels kept apart (unlabelled_weight.hpp). It finds
// the hill that the labels stand on, not the highest one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/core/run_control.hpp"
#include "drover/text/word_counts.hpp"

namespace drover {

struct TextEmOptions {
  std::uint32_t classes = 2;
  double unlabelled_weight = 1;
  double class_pseudo_count = 1;
  std::uint32_t iterations = 100;  ///< at most; it ends when labels change by less than 1e-4 on average
};

struct TextEm {
  std::vector<double> probabilities;    ///< (document, class); 0 and 1 where the label is known
  std::vector<double> class_documents;  ///< by class, unlabelled ones by their weight
  std::vector<double> word_counts;      ///< (word, class), the same
  std::vector<double> objective;        ///< what is climbed, by iteration
  bool converged = false;
};

/// Every class needs a labelled document. `word_pseudo_counts` has b_i. Ends early with what it has.
TextEm fit_text_em(const WordCounts& documents, std::span<const std::uint32_t> labels,
                   std::span<const double> word_pseudo_counts, const TextEmOptions& options,
                   const RunControl& control = no_control());

/// b_i in proportion to how often word i stands in all documents, of the mean `pseudo_count`.
std::vector<double> frequency_pseudo_counts(const WordCounts& documents, double pseudo_count);

}  // namespace drover
