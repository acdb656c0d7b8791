// A trained naive Bayes text model: what is kept of a run, to label other documents and to name telling
// words.
//
// Word probabilities are those of the average counts, theta_ki = (n_ki + b_i) / (n_k + sum b), and class
// probabilities (C_k + a) / (N + K a): with every document labelled this is ordinary naive Bayes with
// pseudo-counts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "drover/text/corpus.hpp"
#include "drover/text/text_posterior.hpp"
#include "drover/text/word_counts.hpp"

namespace drover {

struct TextModel {
  std::vector<std::string> classes;
  std::vector<std::string> words;
  std::vector<double> class_documents;  ///< by class
  std::vector<double> word_counts;      ///< (word, class)
  double class_pseudo_count = 1;
  std::vector<double> word_pseudo_counts;  ///< by word
};

TextModel make_text_model(std::vector<std::string> classes, std::vector<std::string> words,
                          const TextPosterior& posterior);

/// Ordinary naive Bayes: from the labelled documents alone.
TextModel count_text_model(const Corpus& corpus, std::span<const std::uint32_t> labels,
                           double class_pseudo_count = 1, double word_pseudo_count = 1);

/// P(class | document) for every document, (document, class).
std::vector<double> predict_classes(const TextModel& model, const WordCounts& documents);

struct TopWord {
  std::string word;
  double log_odds;  ///< log of P(word | class) / P(word | other classes together)
  double score;     ///< log_odds by its standard deviation
  double probability;
};

/// The words that tell a class from the others, by log odds divided by their standard deviation,
/// sqrt(1 / (n_ki + b_i) + 1 / (n_i in the others + b_i)) (Monroe, Colaresi, Quinn: Fightin' words; Political
/// Analysis 16, 2008): neither the most frequent words nor those seen once.
std::vector<TopWord> top_words(const TextModel& model, std::uint32_t class_number, std::size_t count);

}  // namespace drover
