// Binary convolution: images made by placing small features, where overlaps are OR.
//
// Source: Lazaro-Gredilla, Dedieu and George, Perturb-and-max-product, NeurIPS 2021, section 5.6.
//
//   X[m, r, c] = OR over (f, a, b) of ( W[f, a, b] AND S[m, f, r - a, c - b] )
//
// W: which pixels each feature has; S: where in each image each feature stands; both with independent
// Bernoulli priors. Images are (location + feature - 1) pixels high and wide. Variables are numbered W, then
// S, then X, each row-major, then one helper per AND. Deconvolution: observe X.
#pragma once

#include "drover/model/model.hpp"

namespace drover {

struct ConvolutionShape {
  std::uint32_t features = 5;
  std::uint32_t feature_height = 6, feature_width = 6;
  std::uint32_t images = 1;
  std::uint32_t location_height = 9, location_width = 9;
  double feature_prior = 0.25;   ///< P(W = 1)
  double location_prior = 0.01;  ///< P(S = 1)

  std::uint32_t image_height() const { return location_height + feature_height - 1; }
  std::uint32_t image_width() const { return location_width + feature_width - 1; }
  VariableId feature_pixel(std::uint32_t f, std::uint32_t a, std::uint32_t b) const {
    return (f * feature_height + a) * feature_width + b;
  }
  VariableId location(std::uint32_t m, std::uint32_t f, std::uint32_t r, std::uint32_t c) const {
    return first_location() + ((m * features + f) * location_height + r) * location_width + c;
  }
  VariableId pixel(std::uint32_t m, std::uint32_t r, std::uint32_t c) const {
    return first_pixel() + (m * image_height() + r) * image_width() + c;
  }
  VariableId first_location() const { return features * feature_height * feature_width; }
  VariableId first_pixel() const {
    return first_location() + images * features * location_height * location_width;
  }
  VariableId first_helper() const { return first_pixel() + images * image_height() * image_width(); }
};

Model binary_convolution(const ConvolutionShape& shape);

/// The pixels of all images (image, row, column) that features drawn with P(W = 1) = 1/2 make at places drawn
/// such that an image has `placed` of them on average.
std::vector<Value> random_images(const ConvolutionShape& shape, double placed, std::uint64_t seed);

}  // namespace drover
