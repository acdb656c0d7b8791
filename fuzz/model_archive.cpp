// Any bytes are either a model file, which is then written again byte for byte alike, or bad_data. Half of
// the inputs get a right checksum, so that what lies behind it is reached.
#include "drover/io/model_archive.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <cstdlib>

#include "drover/core/error.hpp"
#include "target.hpp"

FUZZ_TARGET(model_archive, data, size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (size % 2 == 0) {
    bytes = "drover model 1\n" + bytes;
    bytes += fmt::format("crc32 {:08x}\n", crc32(0, reinterpret_cast<const Bytef*>(bytes.data()),
                                                 static_cast<uInt>(bytes.size())));
  }
  try {
    const drover::ModelArchive archive = drover::parse_model_archive(bytes, "input");
    const std::string written = drover::model_archive_bytes(archive);
    const drover::ModelArchive again = drover::parse_model_archive(written, "written");
    if (drover::model_archive_bytes(again) != written) std::abort();
  } catch (const drover::Error& error) {
    if (error.kind() != drover::ErrorKind::bad_data) throw;
  }
  return 0;
}
