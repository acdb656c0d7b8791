// TIFF through libtiff, loaded at the first image: every kind that libtiff turns into colours of 8 bits, and greys
// of 16 bits as they are. Of several pages the first is read.
#include <fmt/format.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>

#include "drover/core/error.hpp"
#include "drover/core/shared_library.hpp"
#include "drover/core/stop_check.hpp"
#include "drover/image/image.hpp"

namespace drover::io {

namespace {

using Complaint = void (*)(const char* module, const char* format, std::va_list);

/// The functions that are called, as tiffio.h has them.
struct LibTiff {
  void* (*open)(const char* name, const char* mode, void* input, std::int64_t (*)(void*, void*, std::int64_t),
                std::int64_t (*)(void*, void*, std::int64_t), std::uint64_t (*)(void*, std::uint64_t, int),
                int (*)(void*), std::uint64_t (*)(void*), int (*)(void*, void**, std::uint64_t*),
                void (*)(void*, void*, std::uint64_t));
  void (*close)(void*);
  int (*field)(void*, std::uint32_t tag, ...);
  int (*is_tiled)(void*);
  std::int64_t (*row_size)(void*);
  int (*row)(void*, void* pixels, std::uint32_t row, std::uint16_t sample);
  int (*colours_fit)(void*, char* message);
  int (*colours)(void*, std::uint32_t width, std::uint32_t height, std::uint32_t* pixels, int orientation,
                 int stop_on_error);
  Complaint (*on_error)(Complaint);
  Complaint (*on_warning)(Complaint);
};

constexpr std::uint32_t width_tag = 256, height_tag = 257, bits_tag = 258, photometric_tag = 262,
                        samples_tag = 277, sample_format_tag = 339;
constexpr int top_left = 1;

thread_local char last_error[200] = "";

void keep_error(const char*, const char* format, std::va_list arguments) {
  std::vsnprintf(last_error, sizeof(last_error), format, arguments);
}

const LibTiff& lib_tiff() {
  static const LibTiff functions = [] {
    const SharedLibrary library(
        {"libtiff.so.6", "libtiff.so.5", "libtiff.so"},
        "TIFF images need the libtiff library, which is not installed (Debian: libtiff6)");
    LibTiff found{};
    library.find("TIFFClientOpen", found.open);
    library.find("TIFFClose", found.close);
    library.find("TIFFGetFieldDefaulted", found.field);
    library.find("TIFFIsTiled", found.is_tiled);
    library.find("TIFFScanlineSize", found.row_size);
    library.find("TIFFReadScanline", found.row);
    library.find("TIFFRGBAImageOK", found.colours_fit);
    library.find("TIFFReadRGBAImageOriented", found.colours);
    library.find("TIFFSetErrorHandler", found.on_error);
    library.find("TIFFSetWarningHandler", found.on_warning);
    found.on_error(keep_error);
    found.on_warning(nullptr);
    return found;
  }();
  return functions;
}

struct TiffInput {
  std::span<const std::uint8_t> bytes;
  std::uint64_t cursor = 0;
};

std::int64_t take_tiff_bytes(void* handle, void* out, std::int64_t size) {
  auto* input = static_cast<TiffInput*>(handle);
  const std::uint64_t left =
      input->bytes.size() - std::min<std::uint64_t>(input->cursor, input->bytes.size());
  const std::uint64_t count = std::min(left, static_cast<std::uint64_t>(std::max<std::int64_t>(size, 0)));
  if (count > 0) std::memcpy(out, input->bytes.data() + input->cursor, count);
  input->cursor += count;
  return static_cast<std::int64_t>(count);
}
std::int64_t give_tiff_bytes(void*, void*, std::int64_t) {
  return 0;
}
std::uint64_t seek(void* handle, std::uint64_t offset, int whence) {
  auto* input = static_cast<TiffInput*>(handle);
  const std::uint64_t from = whence == SEEK_SET   ? 0
                             : whence == SEEK_CUR ? input->cursor
                                                  : input->bytes.size();
  return input->cursor = from + offset;
}
int end_input(void*) {
  return 0;
}
std::uint64_t input_size(void* handle) {
  return static_cast<TiffInput*>(handle)->bytes.size();
}
int map_nothing(void*, void**, std::uint64_t*) {
  return 0;
}
void unmap_nothing(void*, void*, std::uint64_t) {}

template <class Number>
Number field(const LibTiff& library, void* file, std::uint32_t tag) {
  Number value = 0;
  library.field(file, tag, &value);
  return value;
}

}  // namespace

GreyImage parse_tiff(std::span<const std::uint8_t> bytes, const std::string& name,
                     const RunControl& control) {
  const LibTiff& library = lib_tiff();
  last_error[0] = '\0';
  TiffInput input{bytes};
  const std::unique_ptr<void, void (*)(void*)> file(
      library.open(name.c_str(), "rm", &input, take_tiff_bytes, give_tiff_bytes, seek, end_input, input_size,
                   map_nothing, unmap_nothing),
      library.close);
  const auto fail = [&] { fail_at({name}, fmt::format("not a whole TIFF: {}", last_error)); };
  if (!file) fail();
  const auto number = [&](std::uint32_t tag) { return field<std::uint16_t>(library, file.get(), tag); };
  const auto width = field<std::uint32_t>(library, file.get(), width_tag),
             height = field<std::uint32_t>(library, file.get(), height_tag);
  const std::uint16_t bits = number(bits_tag), samples = number(samples_tag);
  // An empty line of a fax is a bit; a byte of deflate yields at most 1032.
  check_image_size(name, width, height, bytes.size(), 8.0 * std::max<double>(1032, width));
  GreyImage image{width, height, bits == 1 && samples == 1 ? 1U : 255U, {}};
  image.levels.reserve(std::size_t{width} * height);
  StopCheck check(control, name, "was read");
  check.ask();

  const std::uint16_t photometric = number(photometric_tag);
  if (bits == 16 && samples == 1 && photometric <= 1 && number(sample_format_tag) == 1 &&
      library.is_tiled(file.get()) == 0 && library.row_size(file.get()) == 2 * std::int64_t{width}) {
    image.max_value = 65535;
    std::vector<std::uint16_t> row(width);
    for (std::uint32_t y = 0; y < height; ++y) {
      if (library.row(file.get(), row.data(), y, 0) != 1) fail();
      for (const std::uint16_t value : row)
        image.levels.push_back((photometric == 0 ? 65535 - value : value) / 65535.0);
      check.step(width);
    }
    return image;
  }
  char why[1024] = "";
  if (library.colours_fit(file.get(), why) == 0)
    fail_at({name}, fmt::format("a kind of TIFF that cannot be read: {}", why));
  std::vector<std::uint32_t> pixels(std::size_t{width} * height);
  if (library.colours(file.get(), width, height, pixels.data(), top_left, 1) == 0) fail();
  for (const std::uint32_t pixel : pixels) {  // transparent ones come darkened, and are laid over white
    check.step();
    const auto channel = [&](int shift) { return (pixel >> shift & 255U) / 255.0; };
    image.levels.push_back(std::min(1.0, luma(channel(0), channel(8), channel(16)) + (1 - channel(24))));
  }
  return image;
}

}  // namespace drover::io
