#include "drover/image/binary_estimate.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "drover/core/random.hpp"
#include "drover/image/pixel_chain.hpp"

namespace drover {

namespace {

constexpr std::size_t terms = 7;  // 1, x, u, v, u^2, u v, v^2
constexpr double most_coupling = 2, most_flips_believed = 0.4;

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
    for (const Window& w : windows_) chains_.emplace_back(w.width, w.height);
    see();
    for (PixelChain& chain : chains_) chain.start();
    // Before the first sweep they are the image as it was seen.
    const FlipLimits limits = most_flips(count_patterns());
    least_flips_ = std::min({limits.to_black, limits.to_white, most_flips_believed});
    most_flips_ = std::max(limits.to_black, limits.to_white);
  }

  BinaryImageModel run(const RunControl& control) {
    take_turns(control, 0);
    if (!coupling_) {
      const double coupling = model_.coupling;
      model_.frame = most_spins();
      for (PixelChain& chain : chains_) chain.frame(model_.frame);
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
    PatternCounts seen(context_patterns);
    double counted = 0;
    for (int t = 0; t < turns && !control.should_stop(); ++t) {
      see();
      for (int s = 0; s < sweeps; ++s)
        for (PixelChain& chain : chains_)
          round == 0 ? chain.sweep(model_.coupling, random_()) : chain.sweep(model_.patterns, random_());
      maximise(round);
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

  /// What every pixel says by itself, by the parameters as they are now.
  void see() {
    const SideOdds odds(model_.sigma, image_.range);
    for (std::size_t k = 0; k < windows_.size(); ++k) {
      const Window& w = windows_[k];
      chains_[k].see([&](std::size_t x, std::size_t y) {
        const double seen = value(w, x, y) - light_at(w, x, y);
        if (fixed_levels_) return odds(seen);
        const double up = seen - model_.white, down = seen - model_.black;
        return 0.5 * (down * down - up * up) / (model_.sigma * model_.sigma);
      });
    }
  }

  /// The side of more pixels.
  signed char most_spins() const {
    int sum = 0;
    for (const PixelChain& chain : chains_) sum += chain.most();
    return sum >= 0 ? 1 : -1;
  }

  PatternCounts count_patterns() const {
    PatternCounts counts(context_patterns);
    for (const PixelChain& chain : chains_) chain.add_patterns(counts);
    return counts;
  }

  void maximise(int round) {
    std::array<double, 9> agreement{};
    std::array<std::array<double, terms>, terms> a{};
    std::array<double, terms> b{};
    double squares = 0, pixels = 0, flipped = 0, all = 0;
    for (std::size_t k = 0; k < windows_.size(); ++k) {
      const Window& w = windows_[k];
      for (std::size_t y = 0; y < w.height; ++y)
        for (std::size_t x = 0; x < w.width; ++x) {
          const int spin = chains_[k].row(y)[x];
          if (round == 0) ++agreement[static_cast<std::size_t>(spin * chains_[k].neighbours(x, y) + 4)];
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
    if (!coupling_ && round == 0) model_.coupling = coupling_of(agreement);
    if (count_flips_) model_.sigma = sigma_of_flips(std::clamp(flipped / all, least_flips_, most_flips_));
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
  double least_flips_ = 0, most_flips_ = 1;  ///< by the patterns of the image as it was seen
  std::vector<Window> windows_;
  std::vector<PixelChain> chains_;
  RandomSequence random_;
  BinaryImageModel model_;
};

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

}  // namespace drover
