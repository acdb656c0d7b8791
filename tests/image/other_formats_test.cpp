// JPEG and TIFF, which are only read: JPEG made by the library's own encoder, TIFF written here byte by byte.
#include <cmath>
#include <numbers>

#include "drover/core/error.hpp"
#include "drover/core/shared_library.hpp"
#include "drover/image/image.hpp"
#include "tests/support/io_support.hpp"

namespace drover {
namespace {

using namespace drover::testing;

constexpr const char* jpeg_missing = "libturbojpeg is not installed (Debian: libturbojpeg0)";
constexpr const char* tiff_missing = "libtiff is not installed (Debian: libtiff6)";

GreyImage parse_other(const std::string& bytes) {
  return parse_image({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, "picture");
}

/// Smooth, so that JPEG changes little.
double smooth(std::size_t x, std::size_t y) {
  return 0.5 + 0.4 * std::sin(static_cast<double>(x) / 9) * std::cos(static_cast<double>(y) / 7);
}

/// Grey or RGB with red, green and blue at full, half and no strength of the level.
std::string jpeg(int width, int height, bool colours) {
  const SharedLibrary library({"libturbojpeg.so.0", "libturbojpeg.so"}, jpeg_missing);
  void* (*start)() = nullptr;
  int (*end)(void*) = nullptr;
  int (*encode)(void*, const unsigned char*, int, int, int, int, unsigned char**, unsigned long*, int, int,
                int) = nullptr;
  void (*release)(unsigned char*) = nullptr;
  library.find("tjInitCompress", start);
  library.find("tjDestroy", end);
  library.find("tjCompress2", encode);
  library.find("tjFree", release);
  std::vector<unsigned char> pixels;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const double level = 255 * smooth(static_cast<std::size_t>(x), static_cast<std::size_t>(y));
      pixels.push_back(static_cast<unsigned char>(std::lround(level)));
      if (!colours) continue;
      pixels.push_back(static_cast<unsigned char>(std::lround(level / 2)));
      pixels.push_back(0);
    }
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  void* const encoder = start();
  const int format = colours ? 0 : 6, subsampling = colours ? 0 : 3, quality = 100;
  EXPECT_EQ(encode(encoder, pixels.data(), width, 0, height, format, &bytes, &size, subsampling, quality, 0),
            0);
  const std::string result(reinterpret_cast<const char*>(bytes), size);
  release(bytes);
  end(encoder);
  return result;
}

TEST(OtherFormats, JpegInGreyAndColours) {
  for (const bool colours : {false, true}) try {
      const GreyImage image = parse_other(jpeg(53, 34, colours));
      ASSERT_EQ(image.width, 53U);
      ASSERT_EQ(image.height, 34U);
      EXPECT_EQ(image.max_value, 255U);
      const double share = colours ? 0.2126 + 0.5 * 0.7152 : 1;
      for (std::size_t p = 0; p < image.size(); ++p)
        ASSERT_NEAR(image.levels[p], share * smooth(p % 53, p / 53), 4.0 / 255) << p;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::misfit) throw;
      GTEST_SKIP() << error.what();
    }
}

TEST(OtherFormats, CutAndDamagedJpegIsNamed) {
  try {
    const std::string whole = jpeg(40, 40, true);
    for (const std::size_t length : {4UL, 30UL, whole.size() / 2, whole.size() - 40})
      expect_error([&] { parse_other(whole.substr(0, length)); }, ErrorKind::bad_data,
                   {"picture: not a whole JPEG"});
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::misfit) throw;
    GTEST_SKIP() << error.what();
  }
}

void add_number(std::string& text, std::uint64_t value, int bytes, bool big) {
  for (int k = 0; k < bytes; ++k) text += static_cast<char>(value >> (8 * (big ? bytes - 1 - k : k)) & 255);
}

/// An uncompressed TIFF of one strip; `data` has the pixels.
std::string tiff(std::uint32_t width, std::uint32_t height, std::uint32_t bits, std::uint32_t samples,
                 std::uint32_t photometric, const std::string& data, bool big = false) {
  std::string text = big ? std::string("MM\0*", 4) : std::string("II*\0", 4);
  const auto data_size = static_cast<std::uint32_t>(data.size());
  const std::uint32_t bits_at = 8 + data_size + data_size % 2, directory = bits_at + 8;
  add_number(text, directory, 4, big);
  text += data + std::string(data_size % 2, '\0');
  for (int k = 0; k < 4; ++k) add_number(text, bits, 2, big);
  const std::vector<std::array<std::uint32_t, 4>> entries = {
      {256, 4, 1, width},   {257, 4, 1, height},      {258, 3, samples, samples > 2 ? bits_at : bits},
      {259, 3, 1, 1},       {262, 3, 1, photometric}, {273, 4, 1, 8},
      {277, 3, 1, samples}, {278, 4, 1, height},      {279, 4, 1, data_size}};
  add_number(text, entries.size(), 2, big);
  for (const auto& [tag, type, count, value] : entries) {
    add_number(text, tag, 2, big);
    add_number(text, type, 2, big);
    add_number(text, count, 4, big);
    const bool is_short = type == 3 && count == 1;
    add_number(text, value, is_short ? 2 : 4, big);
    if (is_short) add_number(text, 0, 2, big);
  }
  add_number(text, 0, 4, big);
  return text;
}

void expect_levels(const std::string& bytes, std::uint32_t max_value, const std::vector<double>& levels) {
  const GreyImage image = parse_other(bytes);
  EXPECT_EQ(image.max_value, max_value);
  ASSERT_EQ(image.size(), levels.size());
  for (std::size_t p = 0; p < levels.size(); ++p) EXPECT_NEAR(image.levels[p], levels[p], 1e-9) << p;
}

TEST(OtherFormats, TiffOfEveryDepthAndOrderOfBytes) {
  try {
    for (const bool big : {false, true}) {
      expect_levels(tiff(3, 1, 8, 1, 1, std::string("\x00\x80\xff", 3), big), 255, {0, 128 / 255.0, 1});
      expect_levels(tiff(3, 1, 8, 1, 0, std::string("\x00\x80\xff", 3), big), 255, {1, 127 / 255.0, 0});
      expect_levels(tiff(3, 2, 1, 1, 1, std::string("\xa0\x40", 2), big), 1, {1, 0, 1, 0, 1, 0});
      expect_levels(tiff(2, 1, 8, 3, 2, std::string("\xff\x00\x00\x33\x33\x33", 6), big), 255,
                    {0.2126, 51 / 255.0});
      std::string wide;
      for (const std::uint32_t value : {0U, 1U, 40000U, 65535U}) add_number(wide, value, 2, big);
      expect_levels(tiff(2, 2, 16, 1, 1, wide, big), 65535, {0, 1 / 65535.0, 40000 / 65535.0, 1});
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::misfit) throw;
    GTEST_SKIP() << tiff_missing;
  }
}

TEST(OtherFormats, CutAndAbsurdTiffIsNamed) {
  try {
    const std::string whole = tiff(40, 40, 8, 1, 1, std::string(1600, '\x55'));
    parse_other(whole);
    for (const std::size_t length : {5UL, 900UL, whole.size() - 30})
      expect_error([&] { parse_other(whole.substr(0, length)); }, ErrorKind::bad_data,
                   {"picture: not a whole TIFF"});
    std::string missing = tiff(40, 40, 8, 1, 1, std::string(800, '\x55'));  // half of the pixels
    expect_error([&] { parse_other(missing); }, ErrorKind::bad_data, {"picture: not a whole TIFF"});
    expect_error([&] { parse_other(tiff(1U << 20, 1U << 20, 8, 1, 1, "abc")); }, ErrorKind::bad_data,
                 {"pixels"});
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::misfit) throw;
    GTEST_SKIP() << tiff_missing;
  }
}

}  // namespace
}  // namespace drover
