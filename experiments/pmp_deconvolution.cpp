// PMP, section 5.6: blind deconvolution. Binary images X are made by placing binary features W at places S,
// where overlaps count once: X_nyx = OR over f, i, j of (S_nf(y-i)(x-j) AND W_fij). Given X alone, each PMP
// sample is a set of features and places; W is shared by all images, so everything hangs together.
//
// Settings of the authors: 5 features of 6 x 6 (the truth has 4 of 5 x 5), P(W = 1) = 0.25 and P(S = 1) =
// 0.01, noise on W and S only, 1000 sweeps with damping 1/2, pixels held at X by a unary of +-230.26. Their
// script adds up the unary of each place once for every pixel of a feature, 36 times, noise included, which
// the paper does not say; their later example writes P(S = 1) = 1e-75 instead. All three are run.
//
// Whether parallel max-product finds a good state hangs on where it starts. A second form starts it several
// times for the same noise and keeps the state of the highest perturbed score, which is what PMP asks of its
// solver; the true features are not looked at.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>

#include "drover/core/parallel.hpp"
#include "drover/core/random.hpp"
#include "drover/infer/boolean_products.hpp"
#include "drover/io/npz.hpp"
#include "drover/model/convolution.hpp"
#include "drover/sample/pmp/perturb_and_max_product.hpp"
#include "experiments/all.hpp"

namespace drover::experiments {

namespace {

using Bits = std::vector<std::uint8_t>;
constexpr std::size_t lanes = BooleanMaxProduct::lanes;

/// How the prior of the places is read.
struct Observation {
  std::string name;
  double place_odds;   ///< log-odds of S = 1
  double place_noise;  ///< factor on the noise of S
};

struct Problem {
  ConvolutionShape shape;
  Bits picture;             ///< all images, (image, row, column)
  std::vector<Bits> truth;  ///< the true features, each square
  std::uint32_t truth_side = 0;

  std::size_t variables() const { return shape.first_pixel(); }
};

Problem load_real(const std::filesystem::path& file) {
  const NpzArray x = read_npz_array(file.string(), "X"), w = read_npz_array(file.string(), "W");
  Problem problem;
  problem.shape.images = static_cast<std::uint32_t>(x.shape.at(0));
  for (double v : x.values) problem.picture.push_back(v > 0.5);
  problem.truth_side = static_cast<std::uint32_t>(w.shape.at(2));
  const std::size_t area = std::size_t{problem.truth_side} * problem.truth_side;
  for (std::size_t f = 0; f * area < w.values.size(); ++f) {
    problem.truth.emplace_back();
    for (std::size_t k = 0; k < area; ++k) problem.truth.back().push_back(w.values[f * area + k] > 0.5);
  }
  return problem;
}

/// Two small features at random places.
Problem make_stand_in(std::uint64_t seed) {
  Problem problem;
  problem.shape = {.features = 3,
                   .feature_height = 4,
                   .feature_width = 4,
                   .images = 20,
                   .location_height = 7,
                   .location_width = 7};
  problem.truth = {{1, 1, 1, 1, 0, 1, 1, 1, 1}, {0, 1, 0, 1, 1, 1, 0, 1, 0}};
  problem.truth_side = 3;
  const std::uint32_t side = problem.shape.image_height();
  RandomSequence random(seed, Stream::generate);
  problem.picture.assign(std::size_t{problem.shape.images} * side * side, 0);
  for (std::uint32_t n = 0; n < problem.shape.images; ++n)
    for (int copies = 0; copies < 3; ++copies) {
      const Bits& feature = problem.truth[random.below(2)];
      const std::uint32_t y = random.below(side - 2), x = random.below(side - 2);
      for (std::uint32_t k = 0; k < 9; ++k)
        problem.picture[(std::size_t{n} * side + y + k / 3) * side + x + k % 3] |= feature[k];
    }
  return problem;
}

BooleanProducts make_products(const Problem& problem, const Observation& reading) {
  const ConvolutionShape& shape = problem.shape;
  constexpr float known = 230.26F;
  BooleanProducts products;
  products.bias.assign(problem.variables(), static_cast<float>(reading.place_odds));
  std::fill_n(products.bias.begin(), shape.first_location(),
              static_cast<float>(std::log(shape.feature_prior / (1 - shape.feature_prior))));
  for (std::uint32_t n = 0; n < shape.images; ++n)
    for (std::uint32_t r = 0; r < shape.image_height(); ++r)
      for (std::uint32_t c = 0; c < shape.image_width(); ++c) {
        for (std::uint32_t f = 0; f < shape.features; ++f)
          for (std::uint32_t a = 0; a < shape.feature_height && a <= r; ++a)
            for (std::uint32_t b = 0; b < shape.feature_width && b <= c; ++b) {
              if (r - a >= shape.location_height || c - b >= shape.location_width) continue;
              products.left.push_back(shape.feature_pixel(f, a, b));
              products.right.push_back(shape.location(n, f, r - a, c - b));
            }
        products.end_output(problem.picture[shape.pixel(n, r, c) - shape.first_pixel()] != 0 ? known
                                                                                             : -known);
      }
  return products;
}

std::size_t wrong_pixels(const BooleanProducts& products, const Bits& state) {
  std::size_t wrong = 0;
  for (std::size_t p = 0; p < products.outputs(); ++p)
    wrong += products.is_on(p, state) != (products.odds[p] > 0);
  return wrong;
}

/// Pixels by which the most similar feature of the sample, moved anywhere, differs from the true one; pixels
/// of the true one beyond the frame differ.
std::uint32_t distance(const Problem& problem, const Bits& state, const Bits& truth) {
  const auto side = static_cast<int>(problem.truth_side);
  const auto height = static_cast<int>(problem.shape.feature_height),
             width = static_cast<int>(problem.shape.feature_width);
  std::uint32_t best = std::numeric_limits<std::uint32_t>::max();
  for (std::uint32_t f = 0; f < problem.shape.features; ++f)
    for (int dy = 1 - side; dy < height; ++dy)
      for (int dx = 1 - side; dx < width; ++dx) {
        std::uint32_t different = 0;
        for (int i = std::min(0, dy); i < std::max(height, dy + side); ++i)
          for (int j = std::min(0, dx); j < std::max(width, dx + side); ++j) {
            const bool framed = i >= 0 && i < height && j >= 0 && j < width;
            const bool inside = i >= dy && i < dy + side && j >= dx && j < dx + side;
            const bool wanted = inside && truth[static_cast<std::size_t>((i - dy) * side + j - dx)] != 0;
            const bool shown =
                framed && state[problem.shape.feature_pixel(f, static_cast<std::uint32_t>(i),
                                                            static_cast<std::uint32_t>(j))] != 0;
            different += wanted != shown;
          }
        best = std::min(best, different);
      }
  return best;
}

struct Effort {
  std::size_t samples, starts;
  std::uint32_t sweeps;
};

/// One state per sample: the best of its starts. Start 0 begins with messages of zero, the others with sums
/// of logistic numbers. Returns nothing when stopped.
std::vector<Bits> draw(const Problem& problem, const Observation& reading, const BooleanProducts& products,
                       const Effort& effort, const Options& options) {
  const BooleanMaxProduct solver(products);
  const std::size_t n = problem.variables();
  const Random noise(options.seed, Stream::perturb);
  std::vector<Bits> best(effort.samples);
  std::vector<double> best_score(effort.samples, -std::numeric_limits<double>::infinity());
  std::atomic<bool> stopped = false;
  // A group has one start of sixteen samples. Groups of the same samples follow each other.
  parallel_for(std::size_t{0}, effort.samples / lanes, [&](std::size_t group) {
    std::vector<float> extra(lanes * n), lean;
    for (std::size_t l = 0; l < lanes; ++l)
      for (std::size_t v = 0; v < n; ++v)
        extra[l * n + v] = logistic_noise(noise.block(static_cast<std::uint32_t>(group * lanes + l), 0,
                                                      static_cast<std::uint32_t>(v))) *
                           static_cast<float>(v < problem.shape.first_location() ? 1.0 : reading.place_noise);
    for (std::size_t start = 0; start < effort.starts; ++start) {
      if (start > 0) {
        lean.resize(lanes * n);
        for (std::size_t l = 0; l < lanes; ++l)
          for (std::size_t v = 0; v < n; ++v)
            lean[l * n + v] = logistic_noise(noise.block(static_cast<std::uint32_t>(group * lanes + l), start,
                                                         static_cast<std::uint32_t>(v)));
      }
      BooleanMaxProduct::State state = solver.start(extra, lean);
      for (std::uint32_t done = 0; done < effort.sweeps; done += 20) {
        if (options.control.should_stop()) stopped = true;
        if (stopped) return;
        if (group == 0)
          options.control.report({reading.name,
                                  (static_cast<double>(start) + static_cast<double>(done) / effort.sweeps) /
                                      static_cast<double>(effort.starts),
                                  done, 0, 0});
        solver.run(state, std::min(20U, effort.sweeps - done), 0.5F);
      }
      Bits values(n);
      for (std::size_t l = 0; l < lanes; ++l) {
        const std::size_t s = group * lanes + l;
        solver.decode(state, l, values);
        const double value = score(products, {extra.data() + l * n, n}, values);
        if (value > best_score[s]) {
          best_score[s] = value;
          best[s] = values;
        }
      }
    }
  });
  if (stopped) best.clear();
  return best;
}

/// The features of the first samples, one row each.
ReportImage show_features(const Problem& problem, std::span<const Bits> states, const std::string& title) {
  const ConvolutionShape& shape = problem.shape;
  const std::size_t row_height = shape.feature_height + 1;
  ReportImage image{
      title, shape.features * (shape.feature_width + 1) - 1, states.size() * row_height - 1, {}};
  image.values.assign(image.width * image.height, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t s = 0; s < states.size(); ++s)
    for (std::uint32_t f = 0; f < shape.features; ++f)
      for (std::uint32_t i = 0; i < shape.feature_height; ++i)
        for (std::uint32_t j = 0; j < shape.feature_width; ++j)
          image.values[(s * row_height + i) * image.width + f * (shape.feature_width + 1) + j] =
              states[s][shape.feature_pixel(f, i, j)];
  return image;
}

}  // namespace

Outcome pmp_deconvolution(const Options& options) {
  Outcome outcome;
  const auto file = find_data(options, "pmp/conv_problem.npz");
  const bool real = file && !options.quick;
  if (!real)
    outcome.notes.emplace_back(
        "stand-in: 20 made images of 10 x 10 with two features of 3 x 3; the authors' images need --data and "
        "no --quick");
  const Problem problem = real ? load_real(*file) : make_stand_in(options.seed);
  const double one = std::log(0.01 / 0.99),
               times = problem.shape.feature_height * problem.shape.feature_width;
  const std::vector<Observation> readings = {
      {"P(S) = 0.01", one, 1},
      {fmt::format("P(S) = 0.01, unary of S {} times", times), times * one, times},
      {"P(S) = 1e-75", -75 * std::log(10.0), 1}};
  const std::vector<Effort> efforts = {{16, 1, real ? 1000U : 200U},
                                       {16, real ? 8U : 4U, real ? 300U : 200U}};
  const auto all = static_cast<double>(problem.truth.size());
  const auto images = static_cast<double>(problem.picture.size());
  outcome.rows.push_back({.name = "variables of W and S",
                          .paper = real ? std::optional(40680.0) : std::nullopt,
                          .ours = static_cast<double>(problem.variables())});
  for (const Observation& reading : readings) {
    const BooleanProducts products = make_products(problem, reading);
    std::vector<double> shown;  // share of samples with all features, for each effort
    for (const Effort& effort : efforts) {
      const auto begin = std::chrono::steady_clock::now();
      const std::vector<Bits> states = draw(problem, reading, products, effort, options);
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      if (states.empty()) {
        outcome.interrupted = true;
        return outcome;
      }
      const std::string name =
          reading.name +
          (effort.starts == 1 ? ", one start" : fmt::format(", best of {} starts", effort.starts));
      std::vector<double> exact, near, wrong;
      for (const Bits& state : states) {
        exact.push_back(0);
        near.push_back(0);
        for (const Bits& feature : problem.truth) {
          const std::uint32_t pixels = distance(problem, state, feature);
          exact.back() += pixels == 0;
          near.back() += pixels <= 2;
        }
        wrong.push_back(static_cast<double>(wrong_pixels(products, state)) / images);
      }
      const auto samples = static_cast<double>(states.size());
      const auto complete = static_cast<double>(std::count(exact.begin(), exact.end(), all));
      const auto nearly = static_cast<double>(std::count(near.begin(), near.end(), all));
      outcome.rows.push_back(
          {.name = name + ": samples with all true features, exactly", .ours = complete / samples});
      outcome.rows.push_back({.name = name + ": samples with all true features but for 2 pixels each",
                              .ours = nearly / samples});
      outcome.rows.push_back({.name = name + ": share of wrong pixels when X is made again",
                              .ours = mean_of(wrong),
                              .spread = deviation_of(wrong)});
      outcome.rows.push_back({.name = name + fmt::format(": seconds per sample, {} sweeps", effort.sweeps),
                              .ours = seconds / samples,
                              .note = "one thread, 16 at a time"});
      if (effort.starts > 1)
        outcome.claims.push_back({name + ": every sample shows all true features", nearly == samples});
      outcome.images.push_back(show_features(problem, std::span(states).first(5),
                                             name + ": features of five samples, one row each"));
      shown.push_back(nearly / samples);
    }
    if (shown[1] < shown[0])
      outcome.notes.push_back(reading.name +
                              ": states of a higher score show the true features less often, so this prior "
                              "does not single them out");
  }
  return outcome;
}

}  // namespace drover::experiments
