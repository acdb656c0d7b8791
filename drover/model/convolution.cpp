#include "drover/model/convolution.hpp"

#include <cmath>

#include "drover/core/random.hpp"

namespace drover {

Model binary_convolution(const ConvolutionShape& shape) {
  Model model;
  model.cardinalities.assign(shape.first_helper(), 2);
  const double feature[2] = {std::log1p(-shape.feature_prior), std::log(shape.feature_prior)};
  const double location[2] = {std::log1p(-shape.location_prior), std::log(shape.location_prior)};
  for (VariableId v = 0; v < shape.first_pixel(); ++v)
    model.unaries.add(v, v < shape.first_location() ? feature : location);
  std::vector<VariableId> helpers;
  for (std::uint32_t m = 0; m < shape.images; ++m)
    for (std::uint32_t r = 0; r < shape.image_height(); ++r)
      for (std::uint32_t c = 0; c < shape.image_width(); ++c) {
        helpers.clear();
        for (std::uint32_t f = 0; f < shape.features; ++f)
          for (std::uint32_t a = 0; a < shape.feature_height && a <= r; ++a)
            for (std::uint32_t b = 0; b < shape.feature_width && b <= c; ++b) {
              if (r - a >= shape.location_height || c - b >= shape.location_width) continue;
              const auto helper = static_cast<VariableId>(model.cardinalities.size());
              model.cardinalities.push_back(2);
              const VariableId pair[2] = {shape.feature_pixel(f, a, b), shape.location(m, f, r - a, c - b)};
              model.gates.add_and(pair, helper);
              helpers.push_back(helper);
            }
        model.gates.add_or(helpers, shape.pixel(m, r, c));
      }
  return model;
}

std::vector<Value> random_images(const ConvolutionShape& shape, double placed, std::uint64_t seed) {
  RandomSequence random(seed, Stream::generate);
  std::vector<Value> feature(shape.first_location());
  for (Value& pixel : feature) pixel = static_cast<Value>(random.below(2));
  const std::size_t places = std::size_t{shape.features} * shape.location_height * shape.location_width;
  std::vector<Value> images(shape.first_helper() - shape.first_pixel(), 0);
  for (std::uint32_t m = 0; m < shape.images; ++m)
    for (std::uint32_t f = 0; f < shape.features; ++f)
      for (std::uint32_t r = 0; r < shape.location_height; ++r)
        for (std::uint32_t c = 0; c < shape.location_width; ++c) {
          if (random.uniform() * static_cast<double>(places) >= placed) continue;
          for (std::uint32_t a = 0; a < shape.feature_height; ++a)
            for (std::uint32_t b = 0; b < shape.feature_width; ++b)
              images[shape.pixel(m, r + a, c + b) - shape.first_pixel()] |=
                  feature[shape.feature_pixel(f, a, b)];
        }
  return images;
}

}  // namespace drover
