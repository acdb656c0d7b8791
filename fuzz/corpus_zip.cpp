// A collection of documents as a .zip, damaged in any way.
#include "corpora.hpp"
#include "input_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace drover;
  const std::string file = fuzz::input_folder().write("texts.zip", fuzz::as_text(data, size));
  try {
    const Corpus corpus = read_corpus({file}, {});
    fuzz::require(corpus.labels.size() == corpus.counts.documents());
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_data && error.kind() != ErrorKind::cannot_read) throw;
  }
  return 0;
}
