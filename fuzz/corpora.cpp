// Any bytes are either a corpus whose parts fit, or bad_data; one target per format.
#include "drover/text/corpus.hpp"

#include <cstdlib>

#include "drover/io/text_source.hpp"
#include "input_file.hpp"
#include "readers.hpp"
#include "target.hpp"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

int read_corpus_bytes(const std::uint8_t* data, std::size_t size,
                      void (*read)(drover::TextSource&, drover::CorpusBuilder&)) {
  using namespace drover;
  try {
    CorpusOptions options;
    options.ngrams = 2;
    CorpusBuilder builder(options);
    TextSource source(fuzz::as_text(data, size), "input", fuzz::chunk);
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

}  // namespace

FUZZ_TARGET(corpus_jsonl, data, size) {
  return read_corpus_bytes(data, size, drover::read_jsonl_corpus);
}
FUZZ_TARGET(corpus_svmlight, data, size) {
  return read_corpus_bytes(data, size, drover::read_svmlight_corpus);
}
FUZZ_TARGET(corpus_tsv, data, size) {
  return read_corpus_bytes(data, size, drover::read_tsv_corpus);
}

FUZZ_TARGET(corpus_zip, data, size) {
  using namespace drover;
  const std::string file = fuzz::input_folder().write("texts.zip", fuzz::as_text(data, size));
  try {
    const Corpus corpus = read_corpus({file}, {});
    require(corpus.labels.size() == corpus.counts.documents());
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_data && error.kind() != ErrorKind::cannot_read) throw;
  }
  return 0;
}
