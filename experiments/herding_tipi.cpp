// Herding, figure 2: the Tipi function of two features and the weights that herding visits on it.
//
//   l0(w) = <w, mu> - max_x <w, phi(x)>,   phi(x) = (sin x, cos x),   x = -pi, -pi + 1, ..., -pi + 6
//
// with mu the mean over the seven states. l0 is concave, scale free, and 0 only at w = 0. A step of herding
// changes |w|^2 by 2 l0(w) + |mu - phi|^2. With c = the least -l0 on the unit circle and B the largest
// |mu - phi|, the norm falls wherever |w| > B^2 / (2 c), so it never exceeds B^2 / (2 c) + B.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "experiments/all.hpp"

namespace drover::experiments {

namespace {

using Point = std::array<double, 2>;

constexpr double pi = 3.14159265358979323846;
constexpr int states = 7;

struct Tipi {
  std::array<Point, states> features;
  Point mean{0, 0};

  Tipi() {
    for (int k = 0; k < states; ++k) {
      features[k] = {std::sin(-pi + k), std::cos(-pi + k)};
      for (int d = 0; d < 2; ++d) mean[d] += features[k][d] / states;
    }
  }
  /// The first of the best states.
  int best(const Point& w) const {
    int best = 0;
    for (int k = 1; k < states; ++k)
      if (dot(w, features[k]) > dot(w, features[best])) best = k;
    return best;
  }
  double operator()(const Point& w) const { return dot(w, mean) - dot(w, features[best(w)]); }
  static double dot(const Point& a, const Point& b) { return a[0] * b[0] + a[1] * b[1]; }
};

}  // namespace

Outcome herding_tipi(const Options& options) {
  Outcome outcome;
  const Tipi tipi;
  const std::uint64_t steps = options.quick ? 20'000 : 1'000'000;
  const std::uint64_t shown = 3000;

  constexpr int directions = 3600;
  double slope = 1e300, highest = tipi({0, 0});
  std::vector<Point> circle;
  std::vector<double> depth;
  for (int a = 0; a <= directions; ++a) {
    const double angle = 2 * pi * a / directions;
    circle.push_back({std::cos(angle), std::sin(angle)});
    depth.push_back(tipi(circle.back()));
    slope = std::min(slope, -depth.back());
    highest = std::max(highest, depth.back());
  }
  double reach = 0;
  for (const Point& feature : tipi.features)
    reach = std::max(reach, std::hypot(tipi.mean[0] - feature[0], tipi.mean[1] - feature[1]));
  const double bound = reach * reach / (2 * slope) + reach;

  Point w{0, 0};
  std::array<double, states> visits{};
  double largest = 0, largest_early = 0;
  Curve dots{"weights of herding", {}, {}, true};
  for (std::uint64_t t = 1; t <= steps; ++t) {
    const int state = tipi.best(w);
    ++visits[static_cast<std::size_t>(state)];
    // T mu minus sums: adding up differences would drift.
    w = {static_cast<double>(t) * tipi.mean[0], static_cast<double>(t) * tipi.mean[1]};
    for (int k = 0; k < states; ++k)
      for (int d = 0; d < 2; ++d) w[d] -= visits[k] * tipi.features[k][d];
    highest = std::max(highest, tipi(w));
    largest = std::max(largest, std::hypot(w[0], w[1]));
    if (t == steps / 10) largest_early = largest;
    if (t <= shown) {
      dots.x.push_back(w[0]);
      dots.y.push_back(w[1]);
    }
    if (t % 65536 == 0) {
      options.control.report({"herding", static_cast<double>(t) / static_cast<double>(steps), t, 0, 0});
      if (options.control.should_stop()) {
        outcome.interrupted = true;
        break;
      }
    }
  }
  if (options.quick) outcome.notes.push_back(fmt::format("quick: {} steps", steps));

  double convexity = 0;  // how far l0 of a middle lies below the mean of the ends
  for (int a = 0; a < directions; a += 40) {
    for (int b = 0; b < directions; b += 40) {
      const Point middle{(circle[a][0] + 2 * circle[b][0]) / 2, (circle[a][1] + 2 * circle[b][1]) / 2};
      convexity = std::max(convexity, (depth[a] + 2 * depth[b]) / 2 - tipi(middle));
    }
  }

  outcome.rows = {{.name = "largest l0: w = 0, all directions, visited weights", .paper = 0, .ours = highest},
                  {.name = "largest |w|", .ours = largest, .note = fmt::format("bound {:.4g}", bound)},
                  {.name = "largest |w| in the first tenth of the run", .ours = largest_early},
                  {.name = fmt::format("moment error |w| / T at T = {}", steps),
                   .ours = std::hypot(w[0], w[1]) / static_cast<double>(steps)}};
  outcome.claims = {{"l0 <= 0 everywhere (to rounding)", highest <= 1e-9},
                    {"l0 is concave (middles of pairs of points)", convexity <= 1e-12},
                    {"the weights stay below the bound B^2 / (2 c) + B", largest <= bound}};
  Figure figure{.title = "The Tipi function and the weights on it",
                .caption = fmt::format("Closed lines: l0(w) at equal levels, cornered where the best state "
                                       "changes. Dots: the first {} weights of herding.",
                                       shown),
                .x_label = "weight of sin x",
                .y_label = "weight of cos x"};
  for (double level : {0.25, 0.5, 1.0, 1.5}) {
    // l0(r u) = r l0(u), so the level line is known in every direction.
    Curve line{fmt::format("l0 = -{:g}", level), {}, {}};
    for (int a = 0; a <= directions; a += 10) {
      line.x.push_back(level / -depth[a] * circle[a][0]);
      line.y.push_back(level / -depth[a] * circle[a][1]);
    }
    figure.curves.push_back(std::move(line));
  }
  figure.curves.push_back(std::move(dots));
  outcome.figures.push_back(std::move(figure));
  return outcome;
}

}  // namespace drover::experiments
