#include "corpora.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return drover::fuzz::read_corpus_bytes(data, size, drover::read_jsonl_corpus);
}
