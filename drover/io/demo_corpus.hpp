// A small corpus that the program makes itself: short film reviews, good and bad, in plain English.
//
// Every review is a few sentences from templates. Most words say nothing about the class; opinion words are
// drawn mostly, not always, from the reviewer's side, so no single word decides and some reviews stay
// doubtful.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace drover {

struct DemoDocument {
  std::string label;  ///< pos or neg
  std::string text;
};

std::vector<DemoDocument> make_demo_corpus(std::uint64_t documents, std::uint64_t seed);

/// The same as the lines of a TSV file, label<TAB>text.
std::string demo_corpus_tsv(std::uint64_t documents, std::uint64_t seed);

}  // namespace drover
