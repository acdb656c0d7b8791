// Which models are pictures: what of a model can be looked at as pixels.
//
//   grid    every variable is a pixel, row by row: factors join a pixel to itself and to its neighbours on
//           the right and below (across the border too)
//   sheet   the first width x height variables are the pixels of one image, whatever the others are (a
//           restricted Boltzmann machine); the chains of a sampler are shown side by side
//
// Found from the scopes of the factors alone, before the model is compiled: a million pixels take 20 ms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "drover/model/model.hpp"

namespace drover {

struct PictureShape {
  bool is_grid = true;
  std::size_t width = 0, height = 0;
  std::uint32_t states = 2;  ///< of every pixel
  /// States are levels from dark to light; otherwise they have no order, and a colour each.
  bool levels = true;

  std::size_t size() const { return width * height; }
};

/// Pixels are shown in at most so many shades.
inline constexpr std::uint32_t most_shades = 128;
/// Up to so many states have a colour each, unless they are known to be levels.
inline constexpr std::uint32_t most_colours = 8;

/// Empty when the model is neither.
std::optional<PictureShape> picture_shape(const Model& model);
/// As a sheet whose images have this size. Raises usage when there are too few variables, or pixels with
/// different numbers of states.
PictureShape sheet_shape(const Model& model, std::size_t width, std::size_t height);

}  // namespace drover
