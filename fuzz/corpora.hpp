// What the fuzz targets of corpus readers do: any bytes are either a corpus whose parts fit, or bad_data.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "drover/io/text_source.hpp"
#include "drover/text/corpus.hpp"
#include "readers.hpp"

namespace drover::fuzz {

inline void require(bool condition) {
  if (!condition) std::abort();
}

inline int read_corpus_bytes(const std::uint8_t* data, std::size_t size,
                             void (*read)(TextSource&, CorpusBuilder&)) {
  try {
    CorpusOptions options;
    options.ngrams = 2;
    CorpusBuilder builder(options);
    TextSource source(as_text(data, size), "input", chunk);
    read(source, builder);
    const Corpus corpus = builder.finish();
    const WordCounts& counts = corpus.counts;
    require(corpus.words.size() == counts.vocabulary && corpus.labels.size() == counts.documents() &&
            corpus.names.size() == counts.documents() && counts.offsets.back() == counts.entries() &&
            counts.counts.size() == counts.entries());
    for (const std::uint32_t word : counts.words) require(word < counts.vocabulary);
    for (const std::uint32_t label : corpus.labels)
      require(label == no_label || label < corpus.classes.size());
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_data) throw;
  }
  return 0;
}

}  // namespace drover::fuzz
