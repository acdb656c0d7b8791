#include "drover/image/binary_posterior.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "drover/core/parallel.hpp"
#include "drover/core/random.hpp"

namespace drover {

namespace {

constexpr std::size_t terms = 7;  // 1, x, u, v, u^2, u v, v^2
constexpr double most_coupling = 2;

/// Part of the image that is looked at by itself.
struct Window {
  std::size_t left, top, width, height;
};

std::vector<Window> windows_of(const NoisyImage& image) {
  constexpr std::size_t side = 128, across = 4;
  if (image.values.size() <= side * side * across * across) return {{0, 0, image.width, image.height}};
  std::vector<Window> windows;
  const std::size_t width = std::min(side, image.width), height = std::min(side, image.height);
  for (std::size_t r = 0; r < across; ++r)
    for (std::size_t c = 0; c < across; ++c)
      windows.push_back({(image.width - width) * c / (across - 1), (image.height - height) * r / (across - 1),
                         width, height});
  return windows;
}

double unit_place(std::size_t at, std::size_t size) {
  return size > 1 ? 2 * static_cast<double>(at) / static_cast<double>(size - 1) - 1 : 0;
}

std::array<double, terms> basis(double x, double u, double v) {
  return {1, x, u, v, u * u, u * v, v * v};
}

/// Solves the normal equations of the chosen terms by elimination; the others are zero.
std::array<double, terms> least_squares(std::array<std::array<double, terms>, terms> a,
                                        std::array<double, terms> b, std::size_t used) {
  for (std::size_t i = 0; i < used; ++i) a[i][i] *= 1 + 1e-12;
  for (std::size_t i = 0; i < used; ++i)
    for (std::size_t r = i + 1; r < used; ++r) {
      if (a[i][i] == 0) continue;
      const double f = a[r][i] / a[i][i];
      for (std::size_t c = i; c < used; ++c) a[r][c] -= f * a[i][c];
      b[r] -= f * b[i];
    }
  std::array<double, terms> x{};
  for (std::size_t i = used; i-- > 0;) {
    double sum = b[i];
    for (std::size_t c = i + 1; c < used; ++c) sum -= a[i][c] * x[c];
    x[i] = a[i][i] > 0 ? sum / a[i][i] : 0;
  }
  return x;
}

/// argmax over J in [0, most] of sum_s count_s log sigma(2 J s), s = x_i times the sum of its neighbours.
double coupling_of(const std::array<double, 9>& counts) {
  double low = 0, high = most_coupling;
  const auto slope = [&](double j) {
    double sum = 0;
    for (int s = -4; s <= 4; ++s)
      sum += counts[static_cast<std::size_t>(s + 4)] * 2 * s / (1 + std::exp(2 * j * s));
    return sum;
  };
  for (int k = 0; k < 40; ++k) {  // the slope falls: concave
    const double middle = 0.5 * (low + high);
    (slope(middle) > 0 ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

constexpr std::size_t context_pixels = 12, patterns = std::size_t{1} << context_pixels;
constexpr std::size_t margin = 2;
// The nearest first: across and down, then the corners, then two away.
constexpr int context_places[context_pixels][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}, {-1, -1}, {1, -1},
                                                   {-1, 1}, {1, 1}, {-2, 0}, {2, 0}, {0, -2},  {0, 2}};
// No two pixels of one colour, (x + 2 y) mod 5, are in each other's context.
constexpr std::size_t context_colours = 5;

/// Places in an image with margins, from a pixel.
std::array<std::ptrdiff_t, context_pixels> context_steps(std::size_t stride) {
  std::array<std::ptrdiff_t, context_pixels> steps{};
  for (std::size_t k = 0; k < context_pixels; ++k)
    steps[k] = context_places[k][0] + context_places[k][1] * static_cast<std::ptrdiff_t>(stride);
  return steps;
}

std::size_t pattern_at(const signed char* pixel, const std::array<std::ptrdiff_t, context_pixels>& steps) {
  std::size_t pattern = 0;
  for (std::size_t k = 0; k < context_pixels; ++k)
    pattern |= static_cast<std::size_t>(pixel[steps[k]] > 0) << k;
  return pattern;
}

/// What stands beyond the border.
void fill_margin(std::vector<signed char>& spins, std::size_t width, std::size_t height, signed char spin) {
  const std::size_t stride = width + 2 * margin;
  for (std::size_t y = 0; y < height + 2 * margin; ++y) {
    signed char* row = spins.data() + y * stride;
    const bool outside = y < margin || y >= height + margin;
    std::fill_n(row, outside ? stride : margin, spin);
    if (!outside) std::fill_n(row + margin + width, margin, spin);
  }
}

/// How often a pixel was black and white beside each pattern.
using PatternCounts = std::vector<std::array<double, 2>>;

/// Patterns seen rarely count as their nearer part does; see the header.
std::vector<float> log_odds(const PatternCounts& counts) {
  constexpr double strength = 4;
  std::vector<double> share = {0.5};
  for (std::size_t pixels = 0; pixels <= context_pixels; pixels += 4) {
    const std::size_t known = std::size_t{1} << pixels;
    std::vector<std::array<double, 2>> seen(known);
    for (std::size_t p = 0; p < patterns; ++p)
      for (std::size_t side = 0; side < 2; ++side) seen[p % known][side] += counts[p][side];
    std::vector<double> finer(known);
    for (std::size_t p = 0; p < known; ++p)
      finer[p] = (seen[p][1] + strength * share[p % share.size()]) / (seen[p][0] + seen[p][1] + strength);
    share = std::move(finer);
  }
  std::vector<float> odds;
  odds.reserve(patterns);
  for (const double p : share) {
    const double sure = std::clamp(p, 1e-6, 1 - 1e-6);
    odds.push_back(static_cast<float>(std::log(sure / (1 - sure))));
  }
  return odds;
}

/// e = Phi(-1 / sigma).
double sigma_of_flips(double share) {
  double low = 0.3, high = 30;
  for (int k = 0; k < 60; ++k) {
    const double middle = 0.5 * (low + high);
    (0.5 * std::erfc(0.70710678118654752440 / middle) < share ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

/// One turn after another; see the header.
class StochasticEm {
 public:
  StochasticEm(const NoisyImage& image, std::optional<double> coupling, std::optional<double> sigma,
               std::uint64_t seed)
      : image_(image), coupling_(coupling), windows_(windows_of(image)), random_(seed, Stream::start) {
    std::size_t at_ends = 0;
    for (const double y : image.values) at_ends += std::abs(y) >= 1;
    count_flips_ = !sigma && image.range == PixelRange::two;
    fixed_levels_ = sigma || static_cast<double>(at_ends) > 0.05 * static_cast<double>(image.values.size());
    if (coupling) model_.coupling = *coupling;
    model_.sigma = sigma ? *sigma : estimate_sigma(image);
    if (!fixed_levels_) start_levels();
    for (const Window& w : windows_) {
      std::vector<signed char> spins(stride_of(w) * (w.height + 2 * margin), 0);
      for (std::size_t y = 0; y < w.height; ++y)
        for (std::size_t x = 0; x < w.width; ++x)
          spins[spin_at(w, x, y)] =
              value(w, x, y) - light_at(w, x, y) >= 0.5 * (model_.black + model_.white) ? 1 : -1;
      spins_.push_back(std::move(spins));
    }
  }

  BinaryImageModel run(const RunControl& control) {
    take_turns(control, 0);
    if (!coupling_) {
      const double coupling = model_.coupling;
      model_.frame = most_spins();
      for (std::size_t k = 0; k < windows_.size(); ++k)
        fill_margin(spins_[k], windows_[k].width, windows_[k].height, model_.frame);
      model_.patterns = log_odds(count_patterns());
      if (!take_turns(control, 1)) model_.patterns.clear();
      model_.coupling = coupling;  // which is that of an image that knows nothing else
    }
    model_.even_light = std::ranges::all_of(model_.light, [](double c) { return c == 0; });
    return model_;
  }

 private:
  /// Estimates of the second half are averaged; false when it was not reached.
  bool take_turns(const RunControl& control, int round) {
    constexpr int turns = 24, sweeps = 2;
    BinaryImageModel sum;
    sum.coupling = sum.sigma = sum.black = sum.white = 0;
    PatternCounts seen(patterns);
    double counted = 0;
    for (int t = 0; t < turns && !control.should_stop(); ++t) {
      for (int s = 0; s < sweeps; ++s)
        for (std::size_t k = 0; k < windows_.size(); ++k)
          round == 0 ? sweep(windows_[k], spins_[k]) : sweep_patterns(windows_[k], spins_[k]);
      maximise();
      PatternCounts now;
      if (round > 0) model_.patterns = log_odds(now = count_patterns());
      control.report({"looking at the noise", (round + static_cast<double>(t + 1) / turns) / 2,
                      static_cast<std::uint64_t>(round * turns + t + 1), 0, 0});
      if (t < turns / 2) continue;
      ++counted;
      for (std::size_t p = 0; p < now.size(); ++p)
        for (std::size_t side = 0; side < 2; ++side) seen[p][side] += now[p][side];
      sum.coupling += model_.coupling;
      sum.sigma += model_.sigma;
      sum.black += model_.black;
      sum.white += model_.white;
      for (std::size_t k = 0; k < 5; ++k) sum.light[k] += model_.light[k];
    }
    if (counted == 0) return false;
    if (!coupling_) model_.coupling = sum.coupling / counted;
    if (!fixed_levels_ || count_flips_) model_.sigma = sum.sigma / counted;
    model_.black = sum.black / counted;
    model_.white = sum.white / counted;
    for (std::size_t k = 0; k < 5; ++k) model_.light[k] = sum.light[k] / counted;
    if (round > 0) {
      for (auto& sides : seen)
        for (double& count : sides) count /= counted;
      model_.patterns = log_odds(seen);
    }
    return true;
  }

  static std::size_t stride_of(const Window& w) { return w.width + 2 * margin; }
  static std::size_t spin_at(const Window& w, std::size_t x, std::size_t y) {
    return (y + margin) * stride_of(w) + x + margin;
  }

  double value(const Window& w, std::size_t x, std::size_t y) const {
    return image_.values[(w.top + y) * image_.width + w.left + x];
  }
  std::array<double, 2> place(const Window& w, std::size_t x, std::size_t y) const {
    return {unit_place(w.left + x, image_.width), unit_place(w.top + y, image_.height)};
  }
  double light_at(const Window& w, std::size_t x, std::size_t y) const {
    const auto [u, v] = place(w, x, y);
    const auto& c = model_.light;
    return c[0] * u + c[1] * v + c[2] * u * u + c[3] * u * v + c[4] * v * v;
  }

  /// Two levels that split the pixels best (Otsu 1979), on 256 steps.
  void start_levels() {
    std::array<double, 256> count{};
    for (const double y : image_.values)
      ++count[static_cast<std::size_t>(std::clamp(127.5 * (y + 1), 0.0, 255.0))];
    double all = 0, total = 0, below = 0, sum_below = 0, best = -1;
    for (std::size_t k = 0; k < 256; ++k) {
      all += count[k];
      total += count[k] * static_cast<double>(k);
    }
    for (std::size_t k = 0; k + 1 < 256; ++k) {
      below += count[k];
      sum_below += count[k] * static_cast<double>(k);
      if (below == 0 || below == all) continue;
      const double low = sum_below / below, high = (total - sum_below) / (all - below);
      const double apart = below * (all - below) * (high - low) * (high - low);
      if (apart <= best) continue;
      best = apart;
      model_.black = low / 127.5 - 1;
      model_.white = high / 127.5 - 1;
    }
    model_.sigma = std::max(0.02, 0.25 * (model_.white - model_.black));
  }

  double field(double y) const {
    if (fixed_levels_)
      return 0.5 * (log_likelihood(y, 1, model_.sigma, image_.range) -
                    log_likelihood(y, -1, model_.sigma, image_.range));
    const double up = y - model_.white, down = y - model_.black;
    return 0.25 * (down * down - up * up) / (model_.sigma * model_.sigma);
  }

  /// A margin that is not there agrees with nobody.
  static int neighbours(const Window& w, const std::vector<signed char>& spins, std::size_t x,
                        std::size_t y) {
    const std::size_t i = spin_at(w, x, y), stride = stride_of(w);
    return (x > 0 ? spins[i - 1] : 0) + (x + 1 < w.width ? spins[i + 1] : 0) +
           (y > 0 ? spins[i - stride] : 0) + (y + 1 < w.height ? spins[i + stride] : 0);
  }

  void sweep(const Window& w, std::vector<signed char>& spins) {
    for (std::size_t y = 0; y < w.height; ++y)
      for (std::size_t x = 0; x < w.width; ++x) {
        const double h =
            model_.coupling * neighbours(w, spins, x, y) + field(value(w, x, y) - light_at(w, x, y));
        spins[spin_at(w, x, y)] = random_.uniform() * (1 + std::exp(-2 * h)) < 1 ? 1 : -1;
      }
  }

  void sweep_patterns(const Window& w, std::vector<signed char>& spins) {
    const auto steps = context_steps(stride_of(w));
    for (std::size_t y = 0; y < w.height; ++y)
      for (std::size_t x = 0; x < w.width; ++x) {
        signed char& spin = spins[spin_at(w, x, y)];
        const double h = static_cast<double>(model_.patterns[pattern_at(&spin, steps)]) +
                         2 * field(value(w, x, y) - light_at(w, x, y));
        spin = random_.uniform() * (1 + std::exp(-h)) < 1 ? 1 : -1;
      }
  }

  /// The side of more pixels.
  signed char most_spins() const {
    std::ptrdiff_t sum = 0;
    for (const auto& spins : spins_) sum = std::accumulate(spins.begin(), spins.end(), sum);
    return sum >= 0 ? 1 : -1;
  }

  PatternCounts count_patterns() const {
    PatternCounts counts(patterns);
    for (std::size_t k = 0; k < windows_.size(); ++k) {
      const Window& w = windows_[k];
      const auto steps = context_steps(stride_of(w));
      for (std::size_t y = 0; y < w.height; ++y)
        for (std::size_t x = 0; x < w.width; ++x) {
          const signed char* spin = &spins_[k][spin_at(w, x, y)];
          ++counts[pattern_at(spin, steps)][*spin > 0 ? 1 : 0];
        }
    }
    return counts;
  }

  void maximise() {
    std::array<double, 9> agreement{};
    std::array<std::array<double, terms>, terms> a{};
    std::array<double, terms> b{};
    double squares = 0, pixels = 0, flipped = 0, all = 0;
    for (std::size_t k = 0; k < windows_.size(); ++k) {
      const Window& w = windows_[k];
      for (std::size_t y = 0; y < w.height; ++y)
        for (std::size_t x = 0; x < w.width; ++x) {
          const int spin = spins_[k][spin_at(w, x, y)];
          ++agreement[static_cast<std::size_t>(spin * neighbours(w, spins_[k], x, y) + 4)];
          flipped += (value(w, x, y) > 0) != (spin > 0);
          ++all;
          if (fixed_levels_) continue;
          const auto [u, v] = place(w, x, y);
          const auto f = basis(spin, u, v);
          const double seen = value(w, x, y);
          for (std::size_t r = 0; r < terms; ++r) {
            b[r] += f[r] * seen;
            for (std::size_t c = 0; c < terms; ++c) a[r][c] += f[r] * f[c];
          }
          squares += seen * seen;
          ++pixels;
        }
    }
    if (!coupling_) model_.coupling = coupling_of(agreement);
    if (count_flips_) model_.sigma = sigma_of_flips(flipped / all);
    if (fixed_levels_) return;
    const auto left_over = [&](const std::array<double, terms>& x) {  // |y|^2 - x.b at the minimum
      double sum = squares;
      for (std::size_t r = 0; r < terms; ++r) sum -= x[r] * b[r];
      return std::max(sum, 0.0);
    };
    const auto even = least_squares(a, b, 2), lit = least_squares(a, b, terms);
    const bool uneven = left_over(lit) < 0.95 * left_over(even);
    const auto& fit = uneven ? lit : even;
    if (!(std::abs(fit[1]) > 1e-6)) return;  // one side is empty: keep what there was
    model_.black = fit[0] - std::abs(fit[1]);
    model_.white = fit[0] + std::abs(fit[1]);
    for (std::size_t k = 0; k < 5; ++k) model_.light[k] = fit[k + 2];
    model_.sigma = std::max(std::sqrt(left_over(fit) / pixels), 0.01 * (model_.white - model_.black));
  }

  const NoisyImage& image_;
  std::optional<double> coupling_;
  bool fixed_levels_ = false;
  bool count_flips_ = false;  ///< sigma is known by the share of pixels that are on the other side
  std::vector<Window> windows_;
  std::vector<std::vector<signed char>> spins_;
  RandomSequence random_;
  BinaryImageModel model_;
};

/// A random 32-bit word from a counter (two rounds of a multiply-xorshift hash; C. Wellons, hash-prospector).
std::uint32_t hashed(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x21f0aaadU;
  x ^= x >> 15;
  x *= 0xd35a2d97U;
  return x ^ x >> 15;
}

}  // namespace

BinaryImageModel estimate_binary_model(const NoisyImage& image, std::optional<double> coupling,
                                       std::optional<double> sigma, std::uint64_t seed,
                                       const RunControl& control) {
  assert(image.width > 0 && image.height > 0);
  return StochasticEm(image, coupling, sigma, seed).run(control);
}

void normalise(NoisyImage& image, BinaryImageModel& model) {
  const double middle = 0.5 * (model.black + model.white), half = 0.5 * (model.white - model.black);
  if (model.even_light && middle == 0 && half == 1) return;
  for (std::size_t y = 0; y < image.height; ++y)
    for (std::size_t x = 0; x < image.width; ++x) {
      const double u = unit_place(x, image.width), v = unit_place(y, image.height);
      const auto& c = model.light;
      double& value = image.values[y * image.width + x];
      value = (value - middle - (c[0] * u + c[1] * v + c[2] * u * u + c[3] * u * v + c[4] * v * v)) / half;
    }
  image.range = PixelRange::open;
  model.sigma /= half;
}

namespace {

/// One chain, stepped colour by colour. Beyond the border stand zeros, which agree with nobody, and for patterns the frame.
class PixelChain {
 public:
  PixelChain(const NoisyImage& image, const BinaryImageModel& model)
      : width_(image.width), height_(image.height), model_(model), steps_(context_steps(stride())) {
    field_.resize(image.values.size());
    parallel_for(rows(), [&](const IndexRange& range) {
      for (std::size_t i = range.begin() * width_; i < range.end() * width_; ++i)
        field_[i] = static_cast<float>(log_likelihood(image.values[i], 1, model.sigma, image.range) -
                                       log_likelihood(image.values[i], -1, model.sigma, image.range));
    });
    sums_.assign(image.values.size(), 0.0F);
    for (int n = -4; n <= 4; ++n)
      pull_[static_cast<std::size_t>(n + 4)] = static_cast<float>(2 * model.coupling * n);
  }

  bool has_patterns() const { return !model_.patterns.empty(); }

  /// At the more likely side of every pixel.
  void start() {
    spins_.assign(stride() * (height_ + 2 * margin), 0);
    for (std::size_t y = 0; y < height_; ++y)
      for (std::size_t x = 0; x < width_; ++x)
        spins_[(y + margin) * stride() + x + margin] = field_[y * width_ + x] >= 0 ? 1 : -1;
  }

  void sweep_coupling(std::uint32_t key, bool counts) {
    for (std::size_t colour = 0; colour < 2; ++colour)
      parallel_for(rows(), [&](const IndexRange& range) {
        for (std::size_t y = range.begin(); y < range.end(); ++y) {
          const signed char* row = row_of(y);
          for (std::size_t x = (y + colour) % 2; x < width_; x += 2) {
            const int n = row[x - 1] + row[x + 1] + *(row + x - stride()) + row[x + stride()];
            draw(x, y, pull_[static_cast<std::size_t>(n + 4)], key, counts);
          }
        }
      });
  }

  void sweep_patterns(std::uint32_t key, bool counts) {
    for (std::size_t colour = 0; colour < context_colours; ++colour)
      parallel_for(rows(), [&](const IndexRange& range) {
        for (std::size_t y = range.begin(); y < range.end(); ++y) {
          const signed char* row = row_of(y);
          // x + 2 y = colour, counted by fives.
          for (std::size_t x = (colour + 3 * y) % context_colours; x < width_; x += context_colours)
            draw(x, y, model_.patterns[pattern_at(row + x, steps_)], key, counts);
        }
      });
  }

  /// From here on by patterns.
  void frame() { fill_margin(spins_, width_, height_, model_.frame); }

  const std::vector<float>& sums() const { return sums_; }

 private:
  IndexRange rows() const { return {0, height_, 16}; }
  std::size_t stride() const { return width_ + 2 * margin; }
  signed char* row_of(std::size_t y) { return spins_.data() + (y + margin) * stride() + margin; }

  void draw(std::size_t x, std::size_t y, float pull, std::uint32_t key, bool counts) {
    const std::size_t i = y * width_ + x;
    const float p = 1 / (1 + std::exp(-(pull + field_[i])));
    const std::uint32_t word = hashed(hashed(static_cast<std::uint32_t>(i)) ^ key);
    row_of(y)[x] = static_cast<float>(word >> 8) * 0x1p-24F < p ? 1 : -1;
    if (counts) sums_[i] += p;
  }

  std::size_t width_, height_;
  const BinaryImageModel& model_;
  std::array<std::ptrdiff_t, context_pixels> steps_;
  std::vector<float> field_, sums_;
  std::vector<signed char> spins_;
  std::array<float, 9> pull_{};
};

}  // namespace

BinaryPosterior binary_posterior(const NoisyImage& image, const BinaryImageModel& model, std::uint32_t chains,
                                 std::uint64_t burn_in, std::uint64_t sweeps, std::uint64_t seed,
                                 const RunControl& control) {
  PixelChain pixels(image, model);
  BinaryPosterior result;
  double counted = 0, done = 0;
  const double all = static_cast<double>(chains) * static_cast<double>(burn_in + sweeps);
  for (std::uint32_t chain = 0; chain < chains; ++chain) {
    pixels.start();
    for (std::uint64_t s = 0; s < burn_in + sweeps; ++s) {
      if (control.should_stop()) break;
      const auto key = static_cast<std::uint32_t>(Random(seed, Stream::sweep).block(chain, s, 0)[0]);
      const bool counts = s >= burn_in || control.time_fraction() > 0.5;
      // Patterns are those of a clean image: the coupling goes before.
      if (pixels.has_patterns() && s == burn_in / 2) pixels.frame();
      if (pixels.has_patterns() && s >= burn_in / 2)
        pixels.sweep_patterns(key, counts);
      else
        pixels.sweep_coupling(key, counts);
      if (counts) {
        ++counted;
        if (chain == 0) ++result.sweeps;
      }
      ++done;
      control.report({"denoising", done / all, s + 1, done * static_cast<double>(image.values.size()), 0});
    }
  }
  if (counted == 0) fail_stopped(control, "denoising");
  result.mean.reserve(image.values.size());
  for (const float sum : pixels.sums()) result.mean.push_back(2 * static_cast<double>(sum) / counted - 1);
  return result;
}

}  // namespace drover
