// Any text is either a model, which then compiles, or bad_data; one target per format.
#include "readers.hpp"
#include "target.hpp"

namespace {

int read_and_compile(const std::uint8_t* data, std::size_t size, drover::ModelFormat format) {
  using namespace drover;
  fuzz::attempt([&] {
    TextSource source(fuzz::as_text(data, size), "input", fuzz::chunk);
    compile(read_model(source, format));
  });
  return 0;
}

}  // namespace

FUZZ_TARGET(uai, data, size) {
  return read_and_compile(data, size, drover::ModelFormat::uai);
}
FUZZ_TARGET(bif, data, size) {
  return read_and_compile(data, size, drover::ModelFormat::bif);
}
FUZZ_TARGET(fg, data, size) {
  return read_and_compile(data, size, drover::ModelFormat::fg);
}
FUZZ_TARGET(coo, data, size) {
  return read_and_compile(data, size, drover::ModelFormat::coo);
}
