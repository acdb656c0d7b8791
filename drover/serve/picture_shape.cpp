#include "drover/serve/picture_shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "drover/core/error.hpp"

namespace drover {

namespace {

bool alike(const Model& model, std::size_t count) {
  const auto begin = model.cardinalities.begin();
  return std::all_of(begin, begin + static_cast<std::ptrdiff_t>(count),
                     [&](std::uint32_t states) { return states == model.cardinalities[0]; });
}

/// Calls use(i, j), i < j, for the scope of every factor of two variables, until one returns false. False
/// also for a factor of more.
template <class Use>
bool for_each_pair(const Model& model, Use use) {
  const auto all = [&](const Pairs& pairs) {
    for (std::size_t p = 0; p < pairs.size(); ++p)
      if (!use(std::min(pairs.first[p], pairs.second[p]), std::max(pairs.first[p], pairs.second[p])))
        return false;
    return true;
  };
  if (!all(model.spin_pairs) || !all(model.potts_pairs)) return false;
  for (std::size_t f = 0; f < model.tables.size(); ++f) {
    const auto scope = model.tables.scope(f);
    if (scope.size() == 1) continue;
    if (scope.size() > 2) return false;
    if (!use(std::min(scope[0], scope[1]), std::max(scope[0], scope[1]))) return false;
  }
  return true;
}

bool is_grid_of(const Model& model, std::size_t width) {
  const std::size_t size = model.variable_count();
  if (width < 3 || size % width != 0 || size / width < 3) return false;
  return for_each_pair(model, [&](std::size_t i, std::size_t j) {
    const std::size_t step = j - i;
    return (step == 1 && j % width != 0) || step == width || (step == width - 1 && i % width == 0) ||
           (step == size - width && i < width);
  });
}

/// Many states are taken for levels; a few need have no order.
bool are_levels(const Model& model) {
  return model.cardinalities[0] == 2 || model.cardinalities[0] > most_colours;
}

std::optional<PictureShape> grid_shape(const Model& model) {
  const std::size_t size = model.variable_count();
  if (size < 9 || model.gates.size() > 0 || !model.dense_layers.empty()) return std::nullopt;
  // The least step beyond 1 is the width, or on a torus one less.
  std::size_t step = size;
  const bool pairwise = for_each_pair(model, [&](std::size_t i, std::size_t j) {
    if (j - i > 1) step = std::min(step, j - i);
    return true;
  });
  if (!pairwise || step == size) return std::nullopt;
  for (std::size_t width : {step, step + 1})
    if (is_grid_of(model, width))
      return PictureShape{true, width, size / width, model.cardinalities[0], are_levels(model)};
  return std::nullopt;
}

/// The visible variables of a restricted Boltzmann machine: pairs join the first variables, all of them, to
/// the rest.
std::size_t visible_count(const Model& model) {
  if (model.dense_layers.size() == 1 && model.dense_layers[0].first_visible == 0)
    return model.dense_layers[0].visible_count;
  std::size_t visible = model.variable_count();
  std::size_t pairs = 0;
  VariableId last = 0;
  const bool pairwise = for_each_pair(model, [&](VariableId i, VariableId j) {
    visible = std::min<std::size_t>(visible, j);
    last = std::max(last, i);
    ++pairs;
    return true;
  });
  const std::size_t hidden = model.variable_count() - visible;
  const bool complete = pairwise && hidden > 0 && last < visible && pairs == visible * hidden;
  return complete && model.gates.size() == 0 ? visible : 0;
}

}  // namespace

std::optional<PictureShape> picture_shape(const Model& model) {
  const std::size_t size = model.variable_count();
  if (size == 0 || !alike(model, size) || model.cardinalities[0] < 2 || model.cardinalities[0] > most_shades)
    return std::nullopt;
  if (const auto grid = grid_shape(model)) return grid;
  const std::size_t visible = visible_count(model);
  if (visible < 16) return std::nullopt;
  auto height = static_cast<std::size_t>(std::sqrt(static_cast<double>(visible)));
  while (visible % height != 0) --height;
  if (visible / height > 4 * height) return std::nullopt;  // no image
  return PictureShape{false, visible / height, height, 2};
}

PictureShape sheet_shape(const Model& model, std::size_t width, std::size_t height) {
  if (width == 0 || height == 0 || width > model.variable_count() || height > model.variable_count() ||
      width * height > model.variable_count())
    throw Error(ErrorKind::usage,
                fmt::format("a picture of {} x {} pixels needs as many variables, but there are {}", width,
                            height, model.variable_count()));
  if (!alike(model, width * height) || model.cardinalities[0] > most_shades || model.cardinalities[0] < 2)
    throw Error(ErrorKind::usage,
                fmt::format("pixels need the same number of states, 2 to {}, all of them", most_shades));
  return {false, width, height, model.cardinalities[0], are_levels(model)};
}

}  // namespace drover
