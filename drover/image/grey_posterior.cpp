#include "drover/image/grey_posterior.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "drover/core/parallel.hpp"

namespace drover {

namespace {

constexpr float share = 0.35F;
constexpr float tiny = 1e-9F;
constexpr std::size_t rows_together = 32;

struct Direction {
  int down, right;
  float factor;
};
constexpr float diagonal = 0.70710678F;
constexpr std::array<Direction, 8> directions = {{{0, 1, 1.0F},
                                                  {0, -1, 1.0F},
                                                  {1, 0, 1.0F},
                                                  {-1, 0, 1.0F},
                                                  {1, 1, diagonal},
                                                  {1, -1, diagonal},
                                                  {-1, 1, diagonal},
                                                  {-1, -1, diagonal}}};

/// What a value that was cut off at 1 was, on average, when it is normal around m: m + sigma phi(a) / Phi(a),
/// a = (m - 1) / sigma.
float mean_beyond_one(float m, float sigma) {
  const float a = (m - 1) / sigma;
  // Far below, where both are too small for float: the first terms of the continued fraction.
  constexpr float far_below = -5;
  if (a < far_below) return m + sigma * (-a - 1 / (a - 2 / a));
  const float density = 0.39894228F * std::exp(-0.5F * a * a), share_above = 0.5F * std::erfc(-diagonal * a);
  return m + sigma * density / share_above;
}

/// A picture with a margin of two pixels that repeats its border, so that no pixel is a special case.
class Framed {
 public:
  static constexpr std::size_t margin = 2;

  Framed(std::size_t width, std::size_t height, float value)
      : width_(width),
        height_(height),
        stride_(width + 2 * margin),
        values_(stride_ * (height + 2 * margin), value) {}

  /// Pixel 0 of a row; rows and columns from -margin are there.
  float* row(std::ptrdiff_t y) {
    return values_.data() + (y + static_cast<std::ptrdiff_t>(margin)) * static_cast<std::ptrdiff_t>(stride_) +
           margin;
  }
  const float* row(std::ptrdiff_t y) const { return const_cast<Framed*>(this)->row(y); }

  void fill_margin() {
    const auto height = static_cast<std::ptrdiff_t>(height_);
    for (std::ptrdiff_t y = 0; y < height; ++y) {
      float* r = row(y);
      for (std::size_t k = 1; k <= margin; ++k) {
        *(r - k) = r[0];
        r[width_ - 1 + k] = r[width_ - 1];
      }
    }
    for (std::ptrdiff_t k = 1; k <= static_cast<std::ptrdiff_t>(margin); ++k) {
      std::copy_n(row(0) - margin, stride_, row(-k) - margin);
      std::copy_n(row(height - 1) - margin, stride_, row(height - 1 + k) - margin);
    }
  }
  void swap(Framed& other) { values_.swap(other.values_); }

 private:
  std::size_t width_, height_, stride_;
  std::vector<float> values_;
};

class MeanField {
 public:
  MeanField(const NoisyImage& image, double sigma)
      : image_(image),
        sigma_(static_cast<float>(sigma)),
        precision_(static_cast<float>(1 / (sigma * sigma))),
        mean_(image.width, image.height, 0),
        variance_(image.width, image.height, static_cast<float>(sigma * sigma / 4)),
        new_mean_(mean_),
        new_variance_(variance_) {
    for (std::size_t y = 0; y < image.height; ++y)
      for (std::size_t x = 0; x < image.width; ++x)
        mean_.row(static_cast<std::ptrdiff_t>(y))[x] = static_cast<float>(image.values[y * image.width + x]);
    mean_.fill_margin();
  }

  void iterate() {
    parallel_for(IndexRange(0, (image_.height + rows_together - 1) / rows_together),
                 [&](const IndexRange& range) {
                   for (std::size_t b = range.begin(); b < range.end(); ++b)
                     rows(b * rows_together, std::min(image_.height, (b + 1) * rows_together));
                 });
    mean_.swap(new_mean_);
    variance_.swap(new_variance_);
    mean_.fill_margin();
    variance_.fill_margin();
  }

  void read(GreyPosterior& result) const {
    result.mean.reserve(image_.values.size());
    for (std::size_t y = 0; y < image_.height; ++y) {
      const float* m = mean_.row(static_cast<std::ptrdiff_t>(y));
      const float* v = variance_.row(static_cast<std::ptrdiff_t>(y));
      result.mean.insert(result.mean.end(), m, m + image_.width);
      result.variance.insert(result.variance.end(), v, v + image_.width);
    }
  }

 private:
  /// E (x_i - x_j)^2 along a direction for the pixels -1 .. width of a row, into width + 2 numbers.
  void squares(std::ptrdiff_t y, const Direction& direction, float* out) const {
    const float *m = mean_.row(y) - 1, *v = variance_.row(y) - 1;
    const float *mj = mean_.row(y + direction.down) - 1 + direction.right,
                *vj = variance_.row(y + direction.down) - 1 + direction.right;
    for (std::size_t x = 0; x < image_.width + 2; ++x) {
      const float d = m[x] - mj[x];
      out[x] = d * d + v[x] + vj[x];
    }
  }

  /// A pixel as it was seen, or as it was before the end of the range cut it off.
  float before_the_cut(double seen, float mean) const {
    const auto y = static_cast<float>(seen);
    if (image_.range != PixelRange::clipped || std::abs(y) < 1) return y;
    return y > 0 ? mean_beyond_one(mean, sigma_) : -mean_beyond_one(-mean, sigma_);
  }

  void rows(std::size_t begin, std::size_t end) {
    const std::size_t width = image_.width, padded = width + 2;
    // The squares of three rows of every direction, the oldest overwritten by the next.
    std::vector<float> ring(directions.size() * 3 * padded), numerator(width), denominator(width),
        column(padded);
    const auto ring_row = [&](std::size_t k, std::ptrdiff_t y) {
      return ring.data() + (k * 3 + static_cast<std::size_t>(y + 3) % 3) * padded;
    };
    const auto first = static_cast<std::ptrdiff_t>(begin);
    for (std::size_t k = 0; k < directions.size(); ++k)
      for (std::ptrdiff_t y = first - 1; y <= first; ++y) squares(y, directions[k], ring_row(k, y));
    for (std::ptrdiff_t y = first; y < static_cast<std::ptrdiff_t>(end); ++y) {
      const double* seen = image_.values.data() + static_cast<std::size_t>(y) * width;
      const float* mean = mean_.row(y);
      for (std::size_t x = 0; x < width; ++x) {
        numerator[x] = precision_ * before_the_cut(seen[x], mean[x]);
        denominator[x] = precision_;
      }
      for (std::size_t k = 0; k < directions.size(); ++k) {
        const Direction& direction = directions[k];
        squares(y + 1, direction, ring_row(k, y + 1));
        const float *above = ring_row(k, y - 1), *here = ring_row(k, y), *below = ring_row(k, y + 1);
        for (std::size_t x = 0; x < padded; ++x) column[x] = above[x] + here[x] + below[x];
        const float* neighbour = mean_.row(y + direction.down) + direction.right;
        const float scale = 9 * share * direction.factor;
        for (std::size_t x = 0; x < width; ++x) {
          const float w = scale / (column[x] + column[x + 1] + column[x + 2] + tiny);
          numerator[x] += w * neighbour[x];
          denominator[x] += w;
        }
      }
      float *m = new_mean_.row(y), *v = new_variance_.row(y);
      for (std::size_t x = 0; x < width; ++x) {
        v[x] = 1 / denominator[x];
        m[x] = numerator[x] * v[x];
      }
    }
  }

  const NoisyImage& image_;
  float sigma_, precision_;
  Framed mean_, variance_, new_mean_, new_variance_;
};

}  // namespace

GreyPosterior grey_posterior(const NoisyImage& image, double sigma, std::uint32_t iterations,
                             const RunControl& control) {
  assert(image.width > 0 && image.height > 0 && sigma > 0);
  MeanField field(image, sigma);
  GreyPosterior result;
  for (; result.iterations < iterations && !control.should_stop(); ++result.iterations) {
    field.iterate();
    control.report({"denoising", static_cast<double>(result.iterations + 1) / iterations,
                    result.iterations + 1, static_cast<double>(image.values.size()) * (result.iterations + 1),
                    0});
  }
  field.read(result);
  return result;
}

}  // namespace drover
