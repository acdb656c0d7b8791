// Labels of words in sentences (drover/tag): a tagger is trained on labelled text, and labels other text.
//
//   Tagger tagger = train_tagger({.train = read_conll("train.conll")}, {.held_out = 0.1});
//   write_tagger("names.drv", tagger);
//   Tags tags = tag(read_crf("names.drv"), read_plain_text("letter.txt"));
//   for (const TaggedEntity& found : tags.entities) ...
//
// The control ends training early with the model so far, and labelling with labels for a part; Error
// (stopped, interrupted) is raised when there is nothing yet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drover/core/option_list.hpp"
#include "drover/core/run_control.hpp"
#include "drover/run/inference_options.hpp"
#include "drover/tag/crf_tag.hpp"
#include "drover/tag/crf_train.hpp"
#include "drover/tag/scheme_choice.hpp"
#include "drover/task/provenance.hpp"

namespace drover {

struct TrainTaggerOptions {
  CrfAlgorithm algorithm = CrfAlgorithm::lbfgs;
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> iterations{};  ///< at most
  double l1 = 0;
  std::optional<double> l2{};
  std::uint32_t min_count = 1;  ///< of a feature
  std::optional<LabelScheme>
      scheme{};  ///< that labels are learnt in; unset: bio or iobes by trial, raw for labels without prefixes
  /// Factors between equal capitalised words of a document: always, never, or where the text has documents that
  /// name enough words twice.
  bool skip = false, no_skip = false;
  std::string templates{};                                        ///< a file; empty: a set for named entities
  std::vector<std::pair<std::string, std::string>> gazetteers{};  ///< names of lists, and their files
  double held_out = 0;                                            ///< share of the documents
  std::optional<std::uint32_t>
      patience{};       ///< iterations without a better one on held-out text that end training
  std::string input{};  ///< what the text is called; empty: the file's name
  Checkpointing checkpoint{};
};

void describe(OptionList& list, TrainTaggerOptions& options);

/// What a tagger learns from; all labelled.
struct TaggerTexts {
  TaggedText train;
  TaggedText dev{};   ///< scored after every iteration; may be empty
  TaggedText skip{};  ///< to learn skip factors from, which turns them on; empty: from `train`
};

struct Tagger {
  Provenance provenance;
  Crf crf;
  CrfTrainSummary summary;
  SchemeScores schemes;                                  ///< by which the scheme was chosen, when it was
  std::size_t documents = 0, sentences = 0, tokens = 0;  ///< trained on
  std::size_t held_out_tokens = 0;
  std::size_t skip_pairs = 0;
};

Tagger train_tagger(TaggerTexts texts, const TrainTaggerOptions& options = {},
                    const RunControl& control = no_control());

/// The scheme, and what it was chosen by.
std::string scheme_text(const Tagger& tagger);

/// As drover/tag/crf_file.hpp reads it.
void write_tagger(const std::string& path, const Tagger& tagger);

struct TagOptions {
  std::optional<Decoder> method{};
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> sweeps{};      ///< gibbs, herded-gibbs
  std::optional<std::uint64_t> iterations{};  ///< bp, max-product
  std::string model{};                        ///< what the tagger is called
};

void describe(OptionList& list, TagOptions& options);

struct TaggedEntity {
  std::string text;
  std::string type;
  std::size_t sentence = 0;
  std::size_t begin = 0, end = 0;  ///< tokens of the sentence
  double confidence = 0;           ///< of its least sure token
};

struct Tags {
  Provenance provenance;
  TaggedText text;  ///< that was labelled; its own labels, if any, are the truth
  std::vector<std::string> label_names;
  LabelScheme scheme = LabelScheme::raw;
  LabelScheme written = LabelScheme::raw;  ///< the text's own scheme; bio for text without labels
  TagResult found;
  std::vector<TaggedEntity> entities;
  std::optional<EntityScore> score;  ///< against the truth
  std::size_t unknown_labels = 0;    ///< tokens whose true label the model cannot give; they count as errors
};

Tags tag(const Crf& crf, TaggedText text, const TagOptions& options = {},
         const RunControl& control = no_control());

/// The text in columns, its labels in the scheme tags.written, and how sure each is.
std::string columns_text(const Tags& tags);

Judgement judge(const Tagger& tagger);
Judgement judge(const Tags& tags);
JsonObject to_json(const Tagger& tagger);
JsonObject to_json(const Tags& tags, bool with_entities = true);

}  // namespace drover
