// Learnt machines, taggers and text models, in files whose checksum is right: what is read can be used.
#include <fmt/format.h>
#include <zlib.h>

#include "drover/io/machine_file.hpp"
#include "drover/tag/crf_file.hpp"
#include "drover/text/text_model_file.hpp"
#include "input_file.hpp"
#include "readers.hpp"
#include "target.hpp"

FUZZ_TARGET(learnt_models, data, size) {
  using namespace drover;
  std::string bytes = "drover model 1\n" + std::string(fuzz::as_text(data, size));
  bytes += fmt::format("crc32 {:08x}\n", crc32(0, reinterpret_cast<const Bytef*>(bytes.data()),
                                               static_cast<uInt>(bytes.size())));
  const std::string file = fuzz::input_folder().write("model.drv", bytes);
  fuzz::attempt([&] { compile(model_of(read_machine(file))); });
  fuzz::attempt([&] { crf_archive(read_crf(file), {}); });
  fuzz::attempt([&] { read_text_model(file); });
  return 0;
}
