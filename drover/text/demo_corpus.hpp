// A small corpus that the program makes itself: short film reviews, good and bad, in plain English.
//
// Every review has the same five sentences with other words in them, so that what varies between documents is
// what they are about and the opinion. Opinion words are drawn mostly, not always, from the reviewer's side:
// no single word decides, and some reviews stay doubtful.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "drover/text/corpus.hpp"

namespace drover {

struct DemoDocument {
  std::string label;  ///< pos or neg
  std::string text;
};

std::vector<DemoDocument> make_demo_corpus(std::uint64_t documents, std::uint64_t seed);

/// The same as the lines of a TSV file, label<TAB>text.
std::string demo_corpus_tsv(std::uint64_t documents, std::uint64_t seed);

/// The same as documents in memory.
Corpus demo_corpus(std::uint64_t documents, std::uint64_t seed, const CorpusOptions& options = {});

}  // namespace drover
