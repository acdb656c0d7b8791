#include "drover/image/image.hpp"

#include "drover/core/random.hpp"
#include "tests/support/io_support.hpp"

namespace drover {
namespace {

using namespace drover::testing;

GreyImage parse(const std::string& text) {
  return parse_image({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, "text.img");
}

GreyImage random_image(std::uint64_t seed, std::uint32_t max_value) {
  RandomSequence random(seed, Stream::generate);
  GreyImage image;
  image.width = 1 + random.below(70);
  image.height = 1 + random.below(20);
  image.max_value = max_value;
  for (std::size_t p = 0; p < image.width * image.height; ++p)
    image.levels.push_back(static_cast<double>(random.below(max_value + 1)) / max_value);
  return image;
}

TEST(Image, EveryFormatRoundTrips) {
  std::uint64_t seed = 0;
  for (const std::uint32_t max_value : {1U, 3U, 100U, 255U, 1000U, 65535U})
    for (const ImageFormat format : {ImageFormat::png, ImageFormat::pgm, ImageFormat::pgm_plain,
                                     ImageFormat::pbm, ImageFormat::pbm_plain})
      for (int repeat = 0; repeat < 5; ++repeat) {
        const bool bitmap = format == ImageFormat::pbm || format == ImageFormat::pbm_plain;
        if (bitmap && max_value != 1) continue;
        const GreyImage image = random_image(++seed, max_value);
        const GreyImage again = parse(encode_image(image, format));
        EXPECT_EQ(again.width, image.width);
        EXPECT_EQ(again.height, image.height);
        ASSERT_EQ(again.size(), image.size());
        // PNG has 1, 8 or 16 bits: other depths come back to within half a step of those.
        const bool exact =
            format != ImageFormat::png || max_value == 1 || max_value == 255 || max_value == 65535;
        const double tolerance = exact ? 0 : 0.5 / (max_value > 255 ? 65535 : 255) + 1e-12;
        if (exact) {
          EXPECT_EQ(again.max_value, max_value);
        }
        for (std::size_t p = 0; p < image.size(); ++p)
          ASSERT_NEAR(again.levels[p], image.levels[p], tolerance) << "seed " << seed;
      }
}

TEST(Image, PortableTextAsTheFormatsAllowIt) {
  const GreyImage bits = parse("P1 # a comment\n# another\n3 2\n010\n1 1#\n0\n\n");
  EXPECT_EQ(bits.levels, (std::vector<double>{1, 0, 1, 0, 0, 1}));
  EXPECT_EQ(bits.max_value, 1U);
  const GreyImage grey = parse("P2\n2\t2\n4\n0 1\n2 4");
  EXPECT_EQ(grey.levels, (std::vector<double>{0, 0.25, 0.5, 1}));
  // A raw raster may begin with bytes that look like white space or a comment.
  const GreyImage raw = parse(std::string("P5 2 1 255\n\n#"));
  EXPECT_EQ(raw.levels, (std::vector<double>{10 / 255.0, 35 / 255.0}));
  const GreyImage wide = parse(std::string("P5 1 1 65535\n\x01\x02", 15));
  EXPECT_EQ(wide.levels[0], 258 / 65535.0);
}

// Colour types 0, 2, 3, 4 and 6 at several depths, written by tests/image/make_png.py without libpng.
TEST(Image, PngOfEveryColourType) {
  const std::string folder = std::string(DROVER_SOURCE_DIR) + "/tests/image/png/";
  const auto levels = [&](const std::string& name) { return read_image(folder + name).levels; };
  const auto expect_levels = [&](const std::string& name, std::vector<double> expected, double tolerance) {
    const std::vector<double> found = levels(name);
    ASSERT_EQ(found.size(), expected.size()) << name;
    for (std::size_t p = 0; p < found.size(); ++p) EXPECT_NEAR(found[p], expected[p], tolerance) << name;
  };
  expect_levels("grey1.png", {0, 1, 1, 0}, 0);
  expect_levels("grey2.png", {0, 1 / 3.0, 2 / 3.0, 1}, 1e-12);
  expect_levels("grey4.png", {0, 1 / 15.0, 7 / 15.0, 1}, 1e-12);
  expect_levels("grey8.png", {0, 1 / 255.0, 128 / 255.0, 1}, 0);
  expect_levels("grey16.png", {0, 1 / 65535.0, 0.5 + 0.5 / 65535, 1}, 1e-12);
  expect_levels("rgb8.png", {0.2126, 0.7152, 0.0722, 1}, 1e-12);
  expect_levels("rgb16.png", {0.2126, 0.7152, 0.0722, 1}, 1e-12);
  expect_levels("palette2.png", {0, 1, 0.2126, 1}, 1e-12);
  expect_levels("palette_alpha.png", {0, 1, 0.2126, 1 - 0.2 * 1}, 1e-9);
  expect_levels("grey_alpha8.png", {0, 1, 1 - 128 / 255.0, 1}, 1e-12);
  expect_levels("rgba8.png", {0, 1, 1, 1 - 51 / 255.0 * (1 - 0.0722)}, 1e-12);
  EXPECT_EQ(read_image(folder + "grey2.png").max_value, 3U);
  EXPECT_EQ(read_image(folder + "rgb16.png").max_value, 65535U);
}

TEST(Image, MalformedIsRefusedWithItsPlace) {
  const auto refuses = [](const std::string& text, std::initializer_list<const char*> words) {
    expect_error([&] { parse(text); }, ErrorKind::bad_data, words);
  };
  refuses("", {"text.img:1:1", "PNG, JPEG"});
  refuses("GIF89a", {"not an image"});
  refuses("P6 1 1 255\nabc", {"colour"});
  refuses("P1\n3 x\n", {"text.img:2:3", "the height", "whole number"});
  refuses("P1\n3", {"the height"});
  refuses("P1\n2 2\n01\n0", {"text.img:4:2", "before the last pixel"});
  refuses("P1\n2 2\n01\n02", {"text.img:4:2", "0 or 1"});
  refuses("P1\n2 1\n01\n1", {"text.img:4:1", "end of the file"});
  refuses("P2\n2 1\n9\n3 10", {"at most 9, found 10"});
  refuses("P2\n2 1\n70000\n3 10", {"1 to 65535"});
  refuses("P2\n2 1\n0\n0 0", {"1 to 65535"});
  refuses("P5\n2 2\n255\nabc", {"cut short", "4 bytes", "found 3"});
  refuses("P5\n2 1\n255", {"white-space"});
  refuses("P5\n1 1\n100\nz", {"at most 100"});
  refuses("P4\n9 2\nabc", {"cut short"});
  refuses("P5\n0 5\n255\n", {"0 x 5"});
  refuses("P5\n4000000000 4000000000\n255\na", {"more than drover reads"});
  refuses("P5\n99999999999 1\n255\na", {"whole number"});
  refuses("P5\n10000 10000\n255\na", {"cut short"});
}

TEST(Image, BrokenPngIsRefused) {
  GreyImage image = random_image(3, 255);
  image.width = 40;
  image.height = 30;
  image.levels.assign(1200, 0.25);
  for (std::size_t p = 0; p < 1200; ++p) image.levels[p] = static_cast<double>(p * p % 256) / 255;
  const std::string whole = encode_image(image, ImageFormat::png);
  EXPECT_EQ(parse(whole).levels, image.levels);
  for (std::size_t size = 8; size + 12 < whole.size(); ++size)
    expect_error([&] { parse(whole.substr(0, size)); }, ErrorKind::bad_data, {"text.img", "PNG"});
  std::string absurd = whole;
  absurd[16] = '\x7f';  // the width; the check sum no longer fits either
  expect_error([&] { parse(absurd); }, ErrorKind::bad_data, {"text.img"});
  std::string flipped = whole;
  flipped[60] = static_cast<char>(flipped[60] ^ 0x55);
  expect_error([&] { parse(flipped); }, ErrorKind::bad_data, {"PNG"});
}

TEST(Image, WrittenWholeAndByExtension) {
  TemporaryFolder folder;
  const GreyImage image = random_image(8, 255);
  for (const char* name : {"a.png", "a.pgm", "a.pbm"}) {
    write_image(image, folder.file(name));
    EXPECT_EQ(read_image(folder.file(name)).width, image.width);
  }
  EXPECT_EQ(folder.count(), 3U);
  expect_error([&] { write_image(image, folder.file("a.jpg")); }, ErrorKind::usage, {"a.jpg", ".png"});
  expect_error([&] { write_image(image, "/no-such-folder/a.png"); }, ErrorKind::cannot_write, {"a.png"});
  expect_error([&] { read_image(folder.file("none.png")); }, ErrorKind::cannot_read, {"none.png"});
  EXPECT_EQ(folder.count(), 3U);
}

}  // namespace
}  // namespace drover
