#include "readers.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return drover::fuzz::read_and_compile(data, size, drover::ModelFormat::coo);
}
