// JPEG through libjpeg-turbo's plain interface (libturbojpeg, version 2 and later), loaded at the first image.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "drover/core/error.hpp"
#include "drover/core/shared_library.hpp"
#include "drover/core/stop_check.hpp"
#include "drover/image/image.hpp"

namespace drover::io {

namespace {

/// The functions that are called, as turbojpeg.h has them.
struct TurboJpeg {
  void* (*start)();
  int (*end)(void*);
  int (*header)(void*, const unsigned char*, unsigned long, int* width, int* height, int* subsampling,
                int* colours);
  int (*decode)(void*, const unsigned char*, unsigned long, unsigned char* pixels, int width, int pitch,
                int height, int format, int flags);
  char* (*message)(void*);
};

constexpr int grey_colours = 2, most_known_colours = 2;  // RGB, YCbCr, grey; beyond: for printing
constexpr int rgb_format = 0, grey_format = 6;

const TurboJpeg& turbo_jpeg() {
  static const TurboJpeg functions = [] {
    const SharedLibrary library(
        {"libturbojpeg.so.0", "libturbojpeg.so"},
        "JPEG images need the libturbojpeg library, which is not installed (Debian: libturbojpeg0)");
    TurboJpeg found{};
    library.find("tjInitDecompress", found.start);
    library.find("tjDestroy", found.end);
    library.find("tjDecompressHeader3", found.header);
    library.find("tjDecompress2", found.decode);
    library.find("tjGetErrorStr2", found.message);
    return found;
  }();
  return functions;
}

}  // namespace

GreyImage parse_jpeg(std::span<const std::uint8_t> bytes, const std::string& name,
                     const RunControl& control) {
  const TurboJpeg& library = turbo_jpeg();
  const std::unique_ptr<void, int (*)(void*)> decoder(library.start(), library.end);
  if (!decoder) throw Error(ErrorKind::internal, "libturbojpeg cannot be started");
  const auto fail = [&] {
    fail_at({name}, fmt::format("not a whole JPEG: {}", library.message(decoder.get())));
  };
  int width = 0, height = 0, subsampling = 0, colours = 0;
  if (library.header(decoder.get(), bytes.data(), bytes.size(), &width, &height, &subsampling, &colours) != 0)
    fail();
  if (width == 0 || height == 0) fail_at({name}, "not a whole JPEG: it ends before the size of the image");
  if (colours > most_known_colours)
    fail_at({name}, "a JPEG in the colours of printing; expected grey or RGB");
  // A block of 8 x 8 pixels, or of twice as many either way, takes a bit at least.
  check_image_size(name, static_cast<std::uint64_t>(width), static_cast<std::uint64_t>(height), bytes.size(),
                   8.0 * 256);
  const bool grey = colours == grey_colours;
  const std::size_t channels = grey ? 1 : 3, pixels = static_cast<std::size_t>(width) * height;
  std::vector<unsigned char> data(pixels * channels);
  StopCheck check(control, name, "was read");
  check.ask();
  // Stray bytes between segments lose nothing; every other complaint does.
  if (library.decode(decoder.get(), bytes.data(), bytes.size(), data.data(), width,
                     static_cast<int>(width * channels), height, grey ? grey_format : rgb_format, 0) != 0 &&
      std::string_view(library.message(decoder.get())).find("extraneous bytes") == std::string_view::npos)
    fail();
  GreyImage image{static_cast<std::size_t>(width), static_cast<std::size_t>(height), 255, {}};
  image.levels.reserve(pixels);
  for (std::size_t p = 0; p < pixels; ++p) {
    check.step();
    const unsigned char* at = data.data() + p * channels;
    image.levels.push_back(grey ? at[0] / 255.0 : luma(at[0] / 255.0, at[1] / 255.0, at[2] / 255.0));
  }
  return image;
}

}  // namespace drover::io
