#include "drover/image/denoising.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "drover/compile/stoppable.hpp"
#include "drover/core/random.hpp"
#include "drover/core/stop_check.hpp"
#include "drover/model/builders.hpp"

namespace drover {

namespace {

constexpr double sqrt_half = 0.70710678118654752440;
constexpr double half_log_two_pi = 0.91893853320467274178;

double phi(double z) {
  return 0.5 * std::erfc(-z * sqrt_half);
}

// log Phi(z), also where Phi(z) is too small for a double.
double log_phi(double z) {
  if (z > -30) return std::log(phi(z));
  return -0.5 * z * z - std::log(-z) - half_log_two_pi;
}

// The maximum of f over log x in [log low, log high]: a grid, then golden sections around its best point.
template <class Function>
double maximise(Function f, double low, double high) {
  constexpr int points = 64;
  const double step = std::log(high / low) / points;
  int best = 0;
  double best_value = f(low);
  for (int k = 1; k <= points; ++k) {
    const double value = f(low * std::exp(k * step));
    if (value > best_value) {
      best = k;
      best_value = value;
    }
  }
  constexpr double golden = 0.61803398874989484820;
  double a = std::log(low) + std::max(0, best - 1) * step;
  double b = std::log(low) + std::min(points, best + 1) * step;
  while (b - a > 1e-6) {
    const double left = b - golden * (b - a), right = a + golden * (b - a);
    if (f(std::exp(left)) > f(std::exp(right)))
      b = right;
    else
      a = left;
  }
  return std::exp((a + b) / 2);
}

// Calls see(i, j) for all pixels i, j that lie `distance` apart in a row or a column.
template <class See>
void for_each_pair(const NoisyImage& image, std::size_t distance, See see) {
  for (std::size_t y = 0; y < image.height; ++y)
    for (std::size_t x = 0; x < image.width; ++x) {
      const std::size_t i = y * image.width + x;
      if (x + distance < image.width) see(i, i + distance);
      if (y + distance < image.height) see(i, i + distance * image.width);
    }
}

// The mean over such pairs of f(y_i, y_j), extrapolated from distances 1 and 2 to 0; NaN for tiny images.
template <class Function>
double at_distance_zero(const NoisyImage& image, Function f) {
  double means[2];
  for (std::size_t distance = 1; distance <= 2; ++distance) {
    double sum = 0, count = 0;
    for_each_pair(image, distance, [&](std::size_t i, std::size_t j) {
      sum += f(image.values[i], image.values[j]);
      ++count;
    });
    means[distance - 1] = sum / count;
  }
  return 2 * means[0] - means[1];
}

constexpr double most_sigma = 100, least_sigma = 0.05, least_sigma_grey = 0.002;

// A share e of the signs is wrong, e = Phi(-1 / sigma); E[y_i y_j] = (1 - 2 e)^2 E[x_i x_j].
double sigma_of_signs(const NoisyImage& image) {
  const double correlation = at_distance_zero(image, [](double a, double b) { return a * b; });
  if (!(correlation < 1)) return least_sigma;
  const double wrong = 0.5 * (1 - std::sqrt(std::max(0.0, correlation)));
  double low = least_sigma, high = most_sigma;
  for (int k = 0; k < 100; ++k) {
    const double middle = 0.5 * (low + high);
    (phi(-1 / middle) < wrong ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

bool is_clipped(const NoisyImage& image, double y) {
  return image.range == PixelRange::clipped && std::abs(y) >= 1;
}

/// The second difference across both directions around a pixel that is not at the border: of noise, it has the
/// variance 36 sigma^2. NaN where it would touch the ends of the range, and where nothing changes: that is a
/// frame or a blank margin.
double second_difference(const NoisyImage& image, std::size_t x, std::size_t y) {
  constexpr double weights[3] = {1, -2, 1};
  const double first = image.values[(y - 1) * image.width + x - 1];
  double sum = 0;
  bool blank = true;
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 3; ++c) {
      const double value = image.values[(y + r - 1) * image.width + x + c - 1];
      if (is_clipped(image, value)) return std::numeric_limits<double>::quiet_NaN();
      blank &= value == first;
      sum += weights[r] * weights[c] * value;
    }
  return blank ? std::numeric_limits<double>::quiet_NaN() : sum;
}

/// sigma^2 by blocks of second differences, in order; without blocks in which one is unknown.
std::vector<double> quiet_blocks(const NoisyImage& image, std::size_t side) {
  std::vector<double> squares;
  for (std::size_t top = 1; top + side < image.height; top += side)
    for (std::size_t left = 1; left + side < image.width; left += side) {
      double sum = 0;
      for (std::size_t y = top; y < top + side; ++y)
        for (std::size_t x = left; x < left + side; ++x) {
          const double difference = second_difference(image, x, y);
          sum += difference * difference;
        }
      if (!std::isnan(sum)) squares.push_back(sum / (36 * static_cast<double>(side * side)));
    }
  std::ranges::sort(squares);
  return squares;
}

/// The lowest twentieth of the mean squares of blocks of noise with sigma = 1: the quantile of a gamma law (Wilson
/// and Hilferty 1931) with the mean 1 and their variance. Second differences near each other are correlated, by
/// (1, -4, 6, -4, 1) / 6 each way.
double noise_at_lowest_twentieth(std::size_t side) {
  constexpr double normal_at_twentieth = -1.6448536269514722;
  const auto b = static_cast<double>(side);
  const double each_way = (b + 2 * (b - 1) * 16 / 36 + 2 * (b - 2) / 36) / b;
  const double variance = 2 * each_way * each_way / (b * b);
  const double root = 1 - variance / 9 + normal_at_twentieth * std::sqrt(variance / 9);
  return root * root * root;
}

/// By the median of second differences, for pictures that are too small or too much clipped for blocks.
double sigma_of_median(const NoisyImage& image) {
  std::vector<double> sizes;
  for (std::size_t y = 1; y + 1 < image.height; ++y)
    for (std::size_t x = 1; x + 1 < image.width; ++x)
      if (const double difference = std::abs(second_difference(image, x, y)); difference >= 0)
        sizes.push_back(difference);
  if (sizes.empty()) return 0;
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
  std::ranges::nth_element(sizes, middle);
  constexpr double normal_per_median = 1.4826;
  return normal_per_median * *middle / 6;
}

Edges pixel_edges(const NoisyImage& image) {
  return grid_edges(static_cast<std::uint32_t>(image.width), static_cast<std::uint32_t>(image.height), false);
}

// Calls see(pixel, state, log likelihood) for all of them in order.
template <class See>
void for_each_likelihood(const NoisyImage& image, double sigma, std::uint32_t states, See see) {
  for (std::size_t i = 0; i < image.values.size(); ++i)
    for (std::uint32_t k = 0; k < states; ++k)
      see(i, k, log_likelihood(image.values[i], level_of_state(k, states), sigma, image.range));
}

void add_pixel_unaries(Model& model, const NoisyImage& image, double sigma, std::uint32_t states) {
  std::vector<double> log_values(states);
  for_each_likelihood(image, sigma, states, [&](std::size_t i, std::uint32_t k, double value) {
    log_values[k] = value;
    if (k + 1 == states) model.unaries.add(static_cast<VariableId>(i), log_values);
  });
}

// The pairs of neighbours, without what is known of each pixel.
Model binary_prior(const NoisyImage& image, double coupling) {
  return ising(pixel_edges(image), Draw::constant(coupling), Draw::constant(0), 0);
}

Model grey_prior(const NoisyImage& image, std::uint32_t levels, double coupling, double truncation) {
  assert(levels >= 2);
  Model model;
  model.cardinalities.assign(image.values.size(), levels);
  std::vector<double> table;
  for (std::uint32_t k = 0; k < levels; ++k)
    for (std::uint32_t l = 0; l < levels; ++l)
      table.push_back(-coupling *
                      std::min(std::abs(level_of_state(k, levels) - level_of_state(l, levels)), truncation));
  const std::uint32_t shared = model.tables.add_table(table);
  const Edges edges = pixel_edges(image);
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const VariableId scope[2] = {edges.first[e], edges.second[e]};
    model.tables.add_factor(scope, shared);
  }
  return model;
}

}  // namespace

NoisyImage add_noise(std::span<const double> clean, std::size_t width, std::size_t height, double sigma,
                     std::uint64_t seed) {
  assert(clean.size() == width * height);
  NoisyImage image{width, height, PixelRange::open, {clean.begin(), clean.end()}};
  const Random random(seed, Stream::generate);
  for (std::size_t i = 0; i < image.values.size(); ++i)
    image.values[i] += sigma * random.normal(0, 0, static_cast<std::uint32_t>(i));
  return image;
}

NoisyImage noisy_image(std::vector<double> values, std::size_t width, std::size_t height) {
  assert(values.size() == width * height);
  std::size_t at_the_ends = 0;
  for (double y : values) at_the_ends += std::abs(y) >= 1 ? 1 : 0;
  const PixelRange range = at_the_ends == values.size() ? PixelRange::two
                           : at_the_ends > 0            ? PixelRange::clipped
                                                        : PixelRange::open;
  return {width, height, range, std::move(values)};
}

double log_likelihood(double y, double x, double sigma, PixelRange range) {
  if (range == PixelRange::two) return log_phi((y > 0 ? x : -x) / sigma);
  if (range == PixelRange::clipped && y >= 1) return log_phi((x - 1) / sigma);
  if (range == PixelRange::clipped && y <= -1) return log_phi((-1 - x) / sigma);
  return -0.5 * (y - x) * (y - x) / (sigma * sigma);
}

double estimate_sigma(const NoisyImage& image) {
  if (image.range == PixelRange::two) return sigma_of_signs(image);
  // |y| in cells; the clipped ones apart.
  constexpr std::size_t cells = 4096;
  double largest = 0, clipped = 0;
  for (double y : image.values) largest = std::max(largest, std::abs(y));
  std::vector<double> counts(cells, 0.0);
  for (double y : image.values) {
    if (image.range == PixelRange::clipped && std::abs(y) >= 1)
      ++clipped;
    else
      ++counts[std::min(cells - 1, static_cast<std::size_t>(std::abs(y) / largest * cells))];
  }
  const auto log_likelihood_of = [&](double sigma) {
    double sum = clipped * std::log(0.5 + phi(-2 / sigma));
    for (std::size_t c = 0; c < cells; ++c) {
      if (counts[c] == 0) continue;
      const double size = (static_cast<double>(c) + 0.5) / cells * largest;
      const double near = (size - 1) / sigma, far = (size + 1) / sigma;
      // log of the two densities' sum, the nearer one taken out
      sum += counts[c] *
             (-0.5 * near * near + std::log1p(std::exp(0.5 * (near * near - far * far))) - std::log(sigma));
    }
    return sum;
  };
  return maximise(log_likelihood_of, least_sigma, most_sigma);
}

double estimate_sigma_grey(const NoisyImage& image) {
  constexpr std::size_t enough_blocks = 20;
  // Texture and edges make each too large, seldom all of them.
  double sigma = sigma_of_median(image);
  for (const std::size_t side : {8U, 16U}) {
    const std::vector<double> squares = quiet_blocks(image, side);
    if (squares.size() >= enough_blocks)
      sigma = std::min(sigma, std::sqrt(squares[squares.size() / 20] / noise_at_lowest_twentieth(side)));
  }
  return std::clamp(sigma, least_sigma_grey, most_sigma);
}

Model denoising_model(const NoisyImage& image, double sigma, double coupling) {
  Model model = binary_prior(image, coupling);
  add_pixel_unaries(model, image, sigma, 2);
  return model;
}

Model grey_denoising_model(const NoisyImage& image, double sigma, std::uint32_t levels, double coupling,
                           double truncation) {
  Model model = grey_prior(image, levels, coupling, truncation);
  add_pixel_unaries(model, image, sigma, levels);
  return model;
}

Graph denoising_graph(const NoisyImage& image, double sigma, std::uint32_t levels, double coupling,
                      double truncation, const RunControl& control) {
  Graph graph =
      compile(levels == 2 ? binary_prior(image, coupling) : grey_prior(image, levels, coupling, truncation),
              {}, PairTables::recognised, control);
  StopCheck check(control, "the image's model", "was made");
  for_each_likelihood(image, sigma, levels, [&](std::size_t i, std::uint32_t k, double value) {
    check.step();
    graph.unary[graph.unary_offsets[i] + k] += value;
  });
  return graph;
}

double level_of_state(std::uint32_t state, std::uint32_t states) {
  return -1 + 2.0 * state / (states - 1);
}

std::vector<Value> most_likely_states(const NoisyImage& image, std::uint32_t states) {
  std::vector<Value> x;
  for (double y : image.values) {
    const double place = 0.5 * (std::clamp(y, -1.0, 1.0) + 1) * (states - 1);
    // Halves go up, so that y = 0 is white, as sign(y) is taken here.
    x.push_back(static_cast<Value>(std::floor(place + 0.5)));
  }
  return x;
}

double mean_squared_error(std::span<const double> estimate, std::span<const double> truth) {
  assert(estimate.size() == truth.size() && !truth.empty());
  double sum = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) sum += (estimate[i] - truth[i]) * (estimate[i] - truth[i]);
  return sum / static_cast<double>(truth.size());
}

double wrong_share(std::span<const double> estimate, std::span<const double> truth) {
  assert(estimate.size() == truth.size() && !truth.empty());
  double wrong = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) wrong += (estimate[i] >= 0) != (truth[i] >= 0) ? 1 : 0;
  return wrong / static_cast<double>(truth.size());
}

}  // namespace drover
