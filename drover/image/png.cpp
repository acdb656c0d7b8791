// PNG through libpng. Its errors are long jumps, so the functions that can be jumped out of hold nothing
// that needs a destructor; memory is owned by their callers.
#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstring>

#include "drover/core/error.hpp"
#include "drover/core/stop_check.hpp"
#include "drover/image/image.hpp"

namespace drover::io {

namespace {

struct Failure {
  char message[200] = "";
};

void on_error(png_structp png, png_const_charp message) {
  auto* failure = static_cast<Failure*>(png_get_error_ptr(png));
  std::strncpy(failure->message, message, sizeof(failure->message) - 1);
  png_longjmp(png, 1);
}
void on_warning(png_structp, png_const_charp) {}

struct PngInput {
  std::span<const std::uint8_t> bytes;
  std::size_t cursor = 0;
};

void take_png_bytes(png_structp png, png_bytep out, std::size_t size) {
  auto* input = static_cast<PngInput*>(png_get_io_ptr(png));
  if (size > input->bytes.size() - input->cursor) png_error(png, "the file is cut short");
  std::memcpy(out, input->bytes.data() + input->cursor, size);
  input->cursor += size;
}

struct Reading {
  png_structp png = nullptr;
  png_infop info = nullptr;
  ~Reading() { png_destroy_read_struct(&png, &info, nullptr); }
};

struct Header {
  png_uint_32 width, height;
  int bits, colour;       // as the file says
  int passes;             // over the rows; one when it is not interlaced
  int channels;           // grey, grey + alpha, RGB or RGBA, after the transformations
  std::size_t row_bytes;  // likewise
};

bool read_header(Reading& reading, Header& header) {
  if (setjmp(png_jmpbuf(reading.png)) != 0) return false;
  png_read_info(reading.png, reading.info);
  png_get_IHDR(reading.png, reading.info, &header.width, &header.height, &header.bits, &header.colour,
               nullptr, nullptr, nullptr);
  return true;
}

// Everything becomes 8 or 16 bits per channel, with alpha where the file has transparency.
bool prepare(Reading& reading, Header& header) {
  if (setjmp(png_jmpbuf(reading.png)) != 0) return false;
  png_set_expand(reading.png);
  header.passes = png_set_interlace_handling(reading.png);
  png_read_update_info(reading.png, reading.info);
  header.channels = png_get_channels(reading.png, reading.info);
  header.row_bytes = png_get_rowbytes(reading.png, reading.info);
  return true;
}

bool read_rows(Reading& reading, png_bytepp rows, png_uint_32 count) {
  if (setjmp(png_jmpbuf(reading.png)) != 0) return false;
  png_read_rows(reading.png, rows, nullptr, count);
  return true;
}

bool read_end(Reading& reading) {
  if (setjmp(png_jmpbuf(reading.png)) != 0) return false;
  png_read_end(reading.png, nullptr);
  return true;
}

struct Writing {
  png_structp png = nullptr;
  png_infop info = nullptr;
  ~Writing() { png_destroy_write_struct(&png, &info); }
};

void give_png_bytes(png_structp png, png_bytep bytes, std::size_t size) {
  auto* text = static_cast<std::string*>(png_get_io_ptr(png));
  text->append(reinterpret_cast<const char*>(bytes), size);
}
void flush_nothing(png_structp) {}

bool write_rows(Writing& writing, const GreyImage& image, int bits, png_bytepp rows) {
  if (setjmp(png_jmpbuf(writing.png)) != 0) return false;
  png_set_IHDR(writing.png, writing.info, static_cast<png_uint_32>(image.width),
               static_cast<png_uint_32>(image.height), bits, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_rows(writing.png, writing.info, rows);
  png_write_png(writing.png, writing.info, PNG_TRANSFORM_IDENTITY, nullptr);
  return true;
}

}  // namespace

GreyImage parse_png(std::span<const std::uint8_t> bytes, const std::string& name, const RunControl& control) {
  Failure failure;
  PngInput input{bytes, 0};
  Reading reading;
  const auto fail = [&] { fail_at({name}, fmt::format("not a whole PNG: {}", failure.message)); };
  reading.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &failure, on_error, on_warning);
  if (reading.png != nullptr) reading.info = png_create_info_struct(reading.png);
  if (reading.info == nullptr) throw Error(ErrorKind::internal, "libpng cannot be started");
  png_set_read_fn(reading.png, &input, take_png_bytes);
  png_set_user_limits(reading.png, 0x7fffffff, 0x7fffffff);  // sizes are checked here
  Header header{};
  if (!read_header(reading, header)) fail();
  // A byte of deflate yields at most 1032, of eight pixels each.
  check_image_size(name, header.width, header.height, bytes.size(), 1032.0 * 8 / header.bits);
  if (!prepare(reading, header)) fail();

  std::vector<png_byte> data(header.row_bytes * header.height);
  std::vector<png_bytep> rows(header.height);
  for (std::size_t y = 0; y < rows.size(); ++y) rows[y] = data.data() + y * header.row_bytes;
  StopCheck check(control, name, "was read");
  constexpr std::size_t rows_at_once = 64;
  for (int pass = 0; pass < header.passes; ++pass)
    for (std::size_t y = 0; y < rows.size(); y += rows_at_once) {
      check.ask();
      const std::size_t count = std::min(rows_at_once, rows.size() - y);
      if (!read_rows(reading, rows.data() + y, static_cast<png_uint_32>(count))) fail();
    }
  if (!read_end(reading)) fail();

  GreyImage image;
  image.width = header.width;
  image.height = header.height;
  const bool grey = (header.colour & PNG_COLOR_MASK_COLOR) == 0;
  image.max_value = header.bits == 16 ? 65535U : grey ? (1U << header.bits) - 1 : 255U;
  image.levels.resize(image.width * image.height);
  const bool wide = header.bits == 16;
  const int channels = header.channels;
  const bool has_alpha = channels == 2 || channels == 4;
  for (std::size_t p = 0; p < image.levels.size(); ++p) {
    check.step();
    const png_byte* at =
        rows[p / image.width] + (p % image.width) * static_cast<std::size_t>(channels) * (wide ? 2 : 1);
    double c[4];
    for (int k = 0; k < channels; ++k)
      c[k] = wide ? (at[2 * k] * 256 + at[2 * k + 1]) / 65535.0 : at[k] / 255.0;
    const double level = channels >= 3 ? luma(c[0], c[1], c[2]) : c[0];
    const double alpha = has_alpha ? c[channels - 1] : 1;
    image.levels[p] = alpha * level + (1 - alpha);
  }
  return image;
}

std::string encode_png(const GreyImage& image) {
  const int bits = image.max_value == 1 ? 1 : image.max_value <= 255 ? 8 : 16;
  const auto top = static_cast<double>((1U << bits) - 1);
  const std::size_t row_bytes = (image.width * static_cast<std::size_t>(bits) + 7) / 8;
  std::vector<png_byte> data(row_bytes * image.height, 0);
  std::vector<png_bytep> rows(image.height);
  for (std::size_t y = 0; y < image.height; ++y) {
    rows[y] = data.data() + y * row_bytes;
    for (std::size_t x = 0; x < image.width; ++x) {
      const double level = std::min(1.0, std::max(0.0, image.levels[y * image.width + x]));
      const auto value = static_cast<unsigned>(std::lround(level * top));
      if (bits == 1)
        rows[y][x / 8] = static_cast<png_byte>(rows[y][x / 8] | value << (7 - x % 8));
      else if (bits == 8)
        rows[y][x] = static_cast<png_byte>(value);
      else {
        rows[y][2 * x] = static_cast<png_byte>(value >> 8);
        rows[y][2 * x + 1] = static_cast<png_byte>(value & 255);
      }
    }
  }
  Failure failure;
  std::string text;
  Writing writing;
  writing.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &failure, on_error, on_warning);
  if (writing.png != nullptr) writing.info = png_create_info_struct(writing.png);
  if (writing.info == nullptr) throw Error(ErrorKind::internal, "libpng cannot be started");
  png_set_write_fn(writing.png, &text, give_png_bytes, flush_nothing);
  if (!write_rows(writing, image, bits, rows.data()))
    throw Error(ErrorKind::cannot_write, fmt::format("PNG: {}", failure.message));
  return text;
}

}  // namespace drover::io
