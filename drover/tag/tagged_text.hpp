// Sentences of tokens with columns and, where known, a label each: what a tagger learns from and works on.
//
// Flat: the characters of all fields stand in one string, token after token, column after column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace drover {

using LabelId = std::uint32_t;

struct TaggedText {
  std::string name;                      ///< the file, for messages
  std::uint32_t columns = 1;             ///< fields of a token, its label not counted; the first is the word
  std::string characters;                ///< all fields
  std::vector<std::uint64_t> field_end;  ///< in `characters`; `columns` per token
  std::vector<std::uint32_t> line;       ///< of each token in the file
  std::vector<std::uint32_t> sentence_end;  ///< in tokens
  std::vector<std::uint32_t> document_end;  ///< in sentences
  std::vector<std::string> label_names;
  std::vector<LabelId> labels;  ///< per token; empty when the labels are not known

  std::size_t tokens() const { return field_end.size() / columns; }
  std::size_t sentences() const { return sentence_end.size(); }
  std::size_t documents() const { return document_end.size(); }
  bool has_labels() const { return !labels.empty(); }

  std::string_view field(std::size_t token, std::uint32_t column) const {
    const std::size_t at = token * columns + column;
    const std::uint64_t begin = at == 0 ? 0 : field_end[at - 1];
    return {characters.data() + begin, static_cast<std::size_t>(field_end[at] - begin)};
  }
  std::string_view word(std::size_t token) const { return field(token, 0); }
  std::size_t sentence_begin(std::size_t sentence) const {
    return sentence == 0 ? 0 : sentence_end[sentence - 1];
  }
  std::size_t document_begin(std::size_t document) const {
    return document == 0 ? 0 : document_end[document - 1];
  }

  /// The same columns and label names, and no tokens.
  TaggedText without_documents() const {
    TaggedText empty;
    empty.name = name;
    empty.columns = columns;
    empty.label_names = label_names;
    return empty;
  }
  void add_document(const TaggedText& from, std::size_t document) {
    for (std::size_t s = from.document_begin(document); s < from.document_end[document]; ++s) {
      for (std::size_t t = from.sentence_begin(s); t < from.sentence_end[s]; ++t) {
        for (std::uint32_t c = 0; c < from.columns; ++c) add_field(from.field(t, c));
        line.push_back(from.line[t]);
        labels.push_back(from.labels[t]);
      }
      end_sentence();
    }
    end_document();
  }
  void add_field(std::string_view text) {
    characters += text;
    field_end.push_back(characters.size());
  }
  /// Ends the sentence, or the document, unless nothing was added to it.
  void end_sentence() {
    if (tokens() > (sentence_end.empty() ? 0 : sentence_end.back()))
      sentence_end.push_back(static_cast<std::uint32_t>(tokens()));
  }
  void end_document() {
    end_sentence();
    if (sentences() > (document_end.empty() ? 0 : document_end.back()))
      document_end.push_back(static_cast<std::uint32_t>(sentences()));
  }
};

}  // namespace drover
