#include "drover/image/image.hpp"

#include <fmt/format.h>

#include <cassert>
#include <cmath>

#include "drover/core/error.hpp"
#include "drover/core/stop_check.hpp"
#include "drover/io/atomic_file.hpp"
#include "drover/io/whole_file.hpp"

namespace drover {

namespace {

constexpr std::string_view png_magic = "\x89PNG\r\n\x1a\n";

// The text parts of PBM and PGM: numbers between white space and comments, with their place.
class PortableReader {
 public:
  PortableReader(std::span<const std::uint8_t> bytes, const std::string& name, const RunControl& control)
      : bytes_(bytes), name_(name), check_(control, "the image", "was read") {}

  GreyImage read() {
    cursor_ = 2;
    const char kind = static_cast<char>(bytes_[1]);
    const bool bitmap = kind == '1' || kind == '4';
    const bool raw = kind == '4' || kind == '5';
    const std::uint64_t width = number("the width"), height = number("the height");
    // The fewest bytes a pixel takes: a bit (P4), a digit (P1), a byte (P5), a digit and a blank (P2).
    io::check_image_size(name_, width, height, bytes_.size() - cursor_ + 1, kind == '4' ? 8 : 1);
    GreyImage image;
    image.width = width;
    image.height = height;
    image.max_value = bitmap ? 1 : static_cast<std::uint32_t>(number("the largest grey level"));
    if (image.max_value < 1 || image.max_value > 65535)
      fail(fmt::format("expected a largest grey level from 1 to 65535, found {}", image.max_value));
    if (raw) {
      if (cursor_ == bytes_.size() || !is_space(bytes_[cursor_]))
        fail("expected one white-space character before the pixels");
      ++cursor_;
      check_raw_length(image);
    }
    image.levels.resize(image.width * image.height);
    if (kind == '1') read_plain_bits(image);
    if (kind == '2') read_plain_levels(image);
    if (kind == '4') read_raw_bits(image);
    if (kind == '5') read_raw_levels(image);
    while (cursor_ < bytes_.size() && is_space(bytes_[cursor_])) ++cursor_;
    if (cursor_ < bytes_.size()) fail("expected the end of the file after the last pixel");
    return image;
  }

 private:
  static bool is_space(std::uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

  [[noreturn]] void fail(const std::string& message) const {
    Place place{name_, 1, 1};
    for (std::size_t k = 0; k < cursor_ && k < bytes_.size(); ++k) {
      ++place.column;
      if (bytes_[k] == '\n') {
        ++place.line;
        place.column = 1;
      }
    }
    fail_at(place, message);
  }

  void skip_blanks() {
    for (; cursor_ < bytes_.size(); ++cursor_) {
      if (bytes_[cursor_] == '#')
        while (cursor_ < bytes_.size() && bytes_[cursor_] != '\n') ++cursor_;
      if (cursor_ == bytes_.size() || !is_space(bytes_[cursor_])) return;
    }
  }

  std::uint64_t number(const char* what) {
    skip_blanks();
    if (cursor_ == bytes_.size()) fail(fmt::format("the file ends where {} is expected", what));
    std::uint64_t value = 0;
    const std::size_t begin = cursor_;
    while (cursor_ < bytes_.size() && bytes_[cursor_] >= '0' && bytes_[cursor_] <= '9' &&
           cursor_ - begin < 10)
      value = 10 * value + (bytes_[cursor_++] - '0');
    const bool ends = cursor_ == bytes_.size() || is_space(bytes_[cursor_]) || bytes_[cursor_] == '#';
    if (cursor_ == begin || !ends) {
      cursor_ = begin;
      fail(fmt::format("expected {}, a whole number", what));
    }
    return value;
  }

  void check_raw_length(const GreyImage& image) const {
    const std::size_t row =
        image.max_value == 1 && bytes_[1] == '4' ? (image.width + 7) / 8 : image.width * sample_bytes(image);
    const std::size_t left = bytes_.size() - cursor_;
    if (left / row < image.height)
      fail(fmt::format("the file is cut short: {} x {} pixels need {} bytes from here, found {}", image.width,
                       image.height, row * image.height, left));
  }
  static std::size_t sample_bytes(const GreyImage& image) { return image.max_value > 255 ? 2 : 1; }

  void read_plain_bits(GreyImage& image) {
    for (double& level : image.levels) {
      check_.step();
      skip_blanks();
      if (cursor_ == bytes_.size()) fail("the file ends before the last pixel");
      if (bytes_[cursor_] != '0' && bytes_[cursor_] != '1') fail("expected a pixel, 0 or 1");
      level = bytes_[cursor_++] == '1' ? 0 : 1;
    }
  }
  void read_plain_levels(GreyImage& image) {
    for (double& level : image.levels) {
      check_.step();
      const std::uint64_t value = number("a grey level");
      if (value > image.max_value)
        fail(fmt::format("expected a grey level of at most {}, found {}", image.max_value, value));
      level = static_cast<double>(value) / image.max_value;
    }
  }
  void read_raw_bits(GreyImage& image) {
    for (std::size_t y = 0; y < image.height; ++y, cursor_ += (image.width + 7) / 8)
      for (std::size_t x = 0; x < image.width; ++x)
        image.levels[y * image.width + x] = (bytes_[cursor_ + x / 8] >> (7 - x % 8) & 1) != 0 ? 0 : 1;
  }
  void read_raw_levels(GreyImage& image) {
    const std::size_t size = sample_bytes(image);
    for (double& level : image.levels) {
      check_.step();
      const std::uint32_t value =
          size == 1 ? bytes_[cursor_] : (std::uint32_t{bytes_[cursor_]} << 8 | bytes_[cursor_ + 1]);
      if (value > image.max_value)
        fail(fmt::format("expected a grey level of at most {}, found {}", image.max_value, value));
      level = static_cast<double>(value) / image.max_value;
      cursor_ += size;
    }
  }

  std::span<const std::uint8_t> bytes_;
  const std::string& name_;
  StopCheck check_;
  std::size_t cursor_ = 0;
};

std::uint32_t quantised(double level, std::uint32_t max_value) {
  return static_cast<std::uint32_t>(std::lround(std::min(1.0, std::max(0.0, level)) * max_value));
}

std::string encode_portable(const GreyImage& image, ImageFormat format) {
  const bool bitmap = format == ImageFormat::pbm || format == ImageFormat::pbm_plain;
  const bool plain = format == ImageFormat::pbm_plain || format == ImageFormat::pgm_plain;
  const char kind = static_cast<char>((bitmap ? '1' : '2') + (plain ? 0 : 3));
  std::string text = fmt::format("P{}\n{} {}\n", kind, image.width, image.height);
  if (!bitmap) text += fmt::format("{}\n", image.max_value);
  for (std::size_t y = 0; y < image.height; ++y) {
    const double* row = image.levels.data() + y * image.width;
    unsigned bits = 0;
    for (std::size_t x = 0; x < image.width; ++x) {
      if (plain) {
        // The formats ask for lines of at most 70 characters.
        if (x > 0) text += x % (bitmap ? 35 : 11) == 0 ? '\n' : ' ';
        text += bitmap ? std::string(row[x] < 0.5 ? "1" : "0")
                       : std::to_string(quantised(row[x], image.max_value));
      } else if (bitmap) {
        bits = bits << 1 | (row[x] < 0.5 ? 1U : 0U);
        if (x % 8 == 7 || x + 1 == image.width) text += static_cast<char>(bits << (7 - x % 8));
        if (x % 8 == 7) bits = 0;
      } else {
        const std::uint32_t value = quantised(row[x], image.max_value);
        if (image.max_value > 255) text += static_cast<char>(value >> 8);
        text += static_cast<char>(value & 255);
      }
    }
    if (plain) text += '\n';
  }
  return text;
}

}  // namespace

namespace io {

void check_image_size(const std::string& name, std::uint64_t width, std::uint64_t height, std::size_t bytes,
                      double pixels_per_byte) {
  if (width == 0 || height == 0) fail_at({name}, fmt::format("an image of {} x {} pixels", width, height));
  const double pixels = static_cast<double>(width) * static_cast<double>(height);
  if (pixels > static_cast<double>(most_pixels))
    fail_at({name},
            fmt::format("{} x {} pixels are more than drover reads ({})", width, height, most_pixels));
  if (pixels > static_cast<double>(bytes) * pixels_per_byte)
    fail_at({name},
            fmt::format("the file is cut short: {} bytes cannot hold {} x {} pixels", bytes, width, height));
}

}  // namespace io

GreyImage parse_image(std::span<const std::uint8_t> bytes, const std::string& name,
                      const RunControl& control) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.substr(0, png_magic.size()) == png_magic) return io::parse_png(bytes, name, control);
  if (text.starts_with("\xFF\xD8\xFF")) return io::parse_jpeg(bytes, name, control);
  const std::string_view start = text.substr(0, 4);
  using namespace std::string_view_literals;
  if (start == "II*\0"sv || start == "MM\0*"sv || start == "II+\0"sv || start == "MM\0+"sv)
    return io::parse_tiff(bytes, name, control);
  if (text.size() >= 3 && text[0] == 'P' && std::string_view("1245").find(text[1]) != std::string_view::npos)
    return PortableReader(bytes, name, control).read();
  if (text.size() >= 2 && text[0] == 'P' && (text[1] == '3' || text[1] == '6'))
    fail_at({name, 1, 1}, "a colour image (PPM); expected PNG, JPEG, TIFF, PBM or PGM");
  fail_at({name, 1, 1}, "not an image: expected PNG, JPEG, TIFF, PBM (P1, P4) or PGM (P2, P5)");
}

GreyImage read_image(const std::string& path, const RunControl& control) {
  const std::string bytes = read_whole_file(path, control);
  return parse_image({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, path, control);
}

ImageFormat image_format(const std::string& path) {
  const auto ends = [&](std::string_view ending) {
    return path.size() > ending.size() && path.substr(path.size() - ending.size()) == ending;
  };
  if (ends(".png")) return ImageFormat::png;
  if (ends(".pgm")) return ImageFormat::pgm;
  if (ends(".pbm")) return ImageFormat::pbm;
  throw Error(ErrorKind::usage, fmt::format("{}: expected an image name ending in .png, .pgm or .pbm", path));
}

std::string encode_image(const GreyImage& image, ImageFormat format) {
  assert(image.width * image.height == image.levels.size() && image.max_value >= 1 &&
         image.max_value <= 65535);
  return format == ImageFormat::png ? io::encode_png(image) : encode_portable(image, format);
}

void write_image(const GreyImage& image, const std::string& path) {
  write_file(path, encode_image(image, image_format(path)));
}

}  // namespace drover
