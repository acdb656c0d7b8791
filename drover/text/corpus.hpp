// Collections of documents, read into word counts.
//
// What is read, recognised by name and content:
//   folder, .zip  a folder per class, a file per document; `unlabelled` (also `unlabeled`, `unsup`): no class
//   TSV           a line per document: label<TAB>text; an empty label or ? means none
//   JSONL         a line per document: {"label": "pos", "text": "..."}; no label or null means none
//   SVMlight      a line per document: label index:count ...; the label ? means none
//   plain text    any other file is one document without label
// Everything may also be gzip. Text must be UTF-8 (or, when asked, Latin-1). What cannot mean anything is
// bad_data with file, line and byte.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/core/error.hpp"
#include "drover/core/option_list.hpp"
#include "drover/core/run_control.hpp"
#include "drover/text/word_counts.hpp"

namespace drover {

class TextSource;

enum class TextEncoding { utf_8, latin_1 };

template <>
struct ChoiceNames<TextEncoding> {
  static constexpr std::array names = {std::pair{TextEncoding::utf_8, std::string_view("utf-8")},
                                       std::pair{TextEncoding::latin_1, std::string_view("latin-1")}};
};

enum class DocumentFormat { tsv, jsonl, svmlight, plain };

template <>
struct ChoiceNames<DocumentFormat> {
  static constexpr std::array names = {std::pair{DocumentFormat::tsv, std::string_view("tsv")},
                                       std::pair{DocumentFormat::jsonl, std::string_view("jsonl")},
                                       std::pair{DocumentFormat::svmlight, std::string_view("svmlight")},
                                       std::pair{DocumentFormat::plain, std::string_view("plain")}};
};

struct CorpusOptions {
  bool keep_case = false;       ///< else letters become lower case
  std::uint32_t ngrams = 1;     ///< runs of up to this many neighbouring words count as words too
  std::uint32_t min_count = 1;  ///< words seen less often in all documents together are left out
  std::string stop_words{};     ///< "": none; "english": a small list; else a file with a word per line
  std::vector<std::string> stop_word_list{};  ///< further stop words
  TextEncoding encoding = TextEncoding::utf_8;
  std::optional<DocumentFormat> format{};  ///< of files; unset: recognised
  /// The only labels there may be; empty: any.
  std::vector<std::string> classes{};
  /// So many classes: names are made up beyond the labels found, and more labels than this are bad_data.
  std::optional<std::uint32_t> class_count{};
  /// The only words that count (a trained model's); empty: any. Then min_count does not apply.
  std::vector<std::string> vocabulary{};
};

/// How words and classes are found in documents.
void describe(OptionList& list, CorpusOptions& options);
/// What is left to say when a trained model (its vocabulary and classes) reads documents: encoding and
/// format.
void describe_files(OptionList& list, CorpusOptions& options);

struct Corpus {
  std::string source;  ///< the files, for messages and answers
  WordCounts counts;
  std::vector<std::string> words;     ///< the most frequent first, then alphabetically
  std::vector<std::string> classes;   ///< of the options, else those found, in alphabetical order
  std::vector<std::uint32_t> labels;  ///< one per document: a class or no_label
  std::vector<std::string> names;     ///< one per document: a path, or file:line
  std::uint64_t tokens = 0;           ///< words kept, counted with repetition
  std::uint64_t unknown_tokens = 0;   ///< words left out because the vocabulary does not have them
  std::vector<std::string> warnings;
};

/// Reads all paths into one corpus; "-" is standard input.
Corpus read_corpus(const std::vector<std::string>& paths, const CorpusOptions& options,
                   const RunControl& control = no_control());

/// Documents one at a time; what the readers fill.
class CorpusBuilder {
 public:
  /// The control must outlive the builder.
  explicit CorpusBuilder(const CorpusOptions& options, const RunControl& control = no_control());
  ~CorpusBuilder();

  /// `place` is where the text starts, for messages; an empty label means none.
  void add_text(std::string_view text, const std::string& label, const Place& place, std::string name);
  /// A document that comes as counts; `word` names one, in any order but once each.
  void begin_counts(const std::string& label, const Place& place, std::string name);
  void add_count(std::string_view word, std::uint64_t count, const Place& place);
  void end_counts();
  void warn(std::string message);

  /// The corpus; raises bad_data when there is no document or no word.
  Corpus finish();

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

/// The readers of one file, for what is already open or in memory.
void read_tsv_corpus(TextSource& source, CorpusBuilder& builder);
void read_jsonl_corpus(TextSource& source, CorpusBuilder& builder);
void read_svmlight_corpus(TextSource& source, CorpusBuilder& builder);

/// The words of a list: a built-in one ("english") or a file with a word per line.
std::vector<std::string> read_stop_words(const std::string& list);

}  // namespace drover
