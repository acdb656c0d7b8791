// Grey images: PNG (by libpng), JPEG (by libturbojpeg) and TIFF (by libtiff), and the portable formats PBM and
// PGM, plain and raw. JPEG and TIFF are only read.
//
// Levels are numbers from 0 (black) to 1 (white). Colours become grey by their luma (Rec. 709); transparent
// pixels are laid over white. What a file says of its size is checked against its length before anything is
// allocated. Every failure to understand is bad_data with the file and, in text, line and column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drover/core/run_control.hpp"

namespace drover {

struct GreyImage {
  std::size_t width = 0, height = 0;
  std::uint32_t max_value = 255;  ///< levels are multiples of 1 / max_value in the file: 1, 255, 65535 ...
  std::vector<double> levels;     ///< row by row, 0 .. 1

  std::size_t size() const { return levels.size(); }
};

enum class ImageFormat { png, pbm, pgm, pbm_plain, pgm_plain };

inline constexpr std::size_t most_pixels = std::size_t{1} << 27;

/// The format is recognised by the content. Raises stopped when the control ends the run first.
GreyImage read_image(const std::string& path, const RunControl& control = no_control());
/// `name` stands for the file in messages.
GreyImage parse_image(std::span<const std::uint8_t> bytes, const std::string& name,
                      const RunControl& control = no_control());

/// By the extension: .png, .pbm, .pgm; raises usage for any other.
ImageFormat image_format(const std::string& path);
/// Levels are rounded to max_value steps (PBM: black below one half); PNG has 1, 8 or 16 bits.
std::string encode_image(const GreyImage& image, ImageFormat format);
/// Whole or not at all.
void write_image(const GreyImage& image, const std::string& path);

namespace io {
/// The parts of the above that speak to a library (drover/image/png.cpp, jpeg.cpp, tiff.cpp).
GreyImage parse_png(std::span<const std::uint8_t> bytes, const std::string& name, const RunControl& control);
GreyImage parse_jpeg(std::span<const std::uint8_t> bytes, const std::string& name, const RunControl& control);
GreyImage parse_tiff(std::span<const std::uint8_t> bytes, const std::string& name, const RunControl& control);
std::string encode_png(const GreyImage& image);
/// How light a colour is (Rec. 709).
inline double luma(double red, double green, double blue) {
  return red == green && green == blue ? red : 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
/// Raises bad_data for an empty or absurd size, or one that `bytes` bytes cannot hold when a byte holds at
/// most `pixels_per_byte` pixels.
void check_image_size(const std::string& name, std::uint64_t width, std::uint64_t height, std::size_t bytes,
                      double pixels_per_byte);
}  // namespace io

}  // namespace drover
