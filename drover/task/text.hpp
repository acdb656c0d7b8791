// Classes of documents (drover/text): a model is trained on documents of which some, all or none are
// labelled, and labels others.
//
//   Corpus corpus = read_corpus({"reviews/"}, {.min_count = 2});
//   TextResult result = classify_text(corpus, {.labelled_share = 0.1});     // hides 90 % of the labels
//   write_text_model("reviews.drv", text_model_file(result, {.min_count = 2}));
//   TextModelFile file = read_text_model("reviews.drv");
//   TextLabels labels = label_text(file.model, read_corpus({"new.tsv"}, file.words));
//
// The control ends a run early with the result so far; Error (stopped, interrupted) is raised when there is
// none.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drover/core/option_list.hpp"
#include "drover/core/run_control.hpp"
#include "drover/run/inference_options.hpp"
#include "drover/task/provenance.hpp"
#include "drover/text/corpus.hpp"
#include "drover/text/text_model.hpp"
#include "drover/text/text_posterior.hpp"
#include "drover/text/unlabelled_weight.hpp"

namespace drover {

struct TextModelFile;

enum class TextMethod { automatic, em, gibbs, collapsed_gibbs };

template <>
struct ChoiceNames<TextMethod> {
  static constexpr std::array names = {
      std::pair{TextMethod::automatic, std::string_view("auto")},
      std::pair{TextMethod::em, std::string_view("em")},
      std::pair{TextMethod::gibbs, std::string_view("gibbs")},
      std::pair{TextMethod::collapsed_gibbs, std::string_view("collapsed-gibbs")}};
};

/// Pseudo-counts of words: the same for all, or by their frequency in all documents.
enum class WordPrior { equal, corpus };

template <>
struct ChoiceNames<WordPrior> {
  static constexpr std::array names = {std::pair{WordPrior::equal, std::string_view("equal")},
                                       std::pair{WordPrior::corpus, std::string_view("corpus")}};
};

struct TextOptions {
  TextMethod method = TextMethod::automatic;
  /// What a document without label counts, of one with a label; 0: nothing is learnt from it. For em.
  std::optional<double> unlabelled_weight{};
  std::optional<WordPrior> word_prior{};  ///< for em
  std::uint64_t seed = 1;
  /// Keep this share of the labels of each class and hide the others, to measure the accuracy on them.
  double labelled_share = 1;
  std::optional<std::uint32_t> chains{};
  std::optional<std::uint64_t> sweeps{};  ///< after burn-in
  std::optional<std::uint64_t> burn_in{};
  std::uint64_t thin = 1;
  double class_pseudo_count = 1;
  double word_pseudo_count = 1;
  bool sample_pseudo_counts = false;
  bool no_swaps = false;         ///< the paper's sampler to the letter
  std::uint32_t top_words = 10;  ///< named per class
  std::string input{};           ///< what the documents are called; empty: the corpus's source
  Checkpointing checkpoint{};
};

void describe(OptionList& list, TextOptions& options);

struct LabelTextOptions {
  std::uint32_t top_words = 10;  ///< named per class
  std::string input{};           ///< what the model is called
};

void describe(OptionList& list, LabelTextOptions& options);

/// Documents whose most probable class has a similar probability: how often is it right?
struct CalibrationBin {
  std::uint64_t documents = 0;
  double mean_probability = 0;
  double accuracy = 0;
};

/// What is said of documents, whoever labels them.
struct LabelledDocuments {
  Provenance provenance;
  std::vector<std::string> classes;
  std::vector<std::string> names;     ///< of the documents
  std::vector<std::uint32_t> labels;  ///< the most probable class of every document
  std::vector<double> probabilities;  ///< (document, class)
  std::vector<std::uint32_t> truth;   ///< labels that were known and not used; no_label elsewhere
  double accuracy = std::numeric_limits<double>::quiet_NaN();  ///< where there is truth; NaN without any
  std::vector<CalibrationBin> calibration;  ///< ten equal steps from 1 / classes to 1; empty ones left out
  std::vector<std::vector<TopWord>> top_words;  ///< by class
  std::uint64_t tokens = 0;                     ///< words in all documents that count

  double probability(std::size_t document) const {
    return probabilities[document * classes.size() + labels[document]];
  }
};

struct TextResult : LabelledDocuments {
  std::size_t labelled = 0;  ///< documents whose label was used
  std::vector<double> labelled_by_class;
  std::vector<std::uint32_t> open;  ///< the others
  TextModel model;
  TextPosterior posterior;  ///< of em: one chain, whose sweeps are iterations and whose trace is climbed
  bool by_em = false;
  bool climbed = false;  ///< em reached its end
  double unlabelled_weight = 1;
  WordPrior word_prior = WordPrior::equal;
  WeightChoice weight_choice;  ///< how the two were chosen; without candidates when both were given
  /// Of ordinary naive Bayes, which learns from the labelled documents alone, on the same truth.
  double naive_bayes_accuracy = std::numeric_limits<double>::quiet_NaN();
};

struct TextLabels : LabelledDocuments {
  std::uint64_t unknown_tokens = 0;  ///< words that the model has not met
};

TextResult classify_text(const Corpus& corpus, const TextOptions& options = {},
                         const RunControl& control = no_control());

/// `corpus` must be read with the words and classes of the model (TextModelFile::words). Its labels, if it
/// has any, are the truth to compare with.
TextLabels label_text(const TextModel& model, const Corpus& corpus, const LabelTextOptions& options = {},
                      const RunControl& control = no_control());

/// What a file of the model says (drover/text/text_model_file.hpp); `words` is how the corpus was read.
TextModelFile text_model_file(const TextResult& result, const CorpusOptions& words);

/// A line per document: its name, label, and the probability of every class.
void write_labels(const std::string& path, const LabelledDocuments& documents);

Judgement judge(const TextResult& result);
Judgement judge(const TextLabels& result);
JsonObject to_json(const TextResult& result);
JsonObject to_json(const TextLabels& result);

}  // namespace drover
