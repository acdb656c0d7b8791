// The models that are shown when none was named: one of every kind.
#include <cmath>

#include "drover/core/random.hpp"
#include "drover/io/bif.hpp"
#include "drover/io/text_source.hpp"
#include "drover/model/binary_machine.hpp"
#include "drover/model/builders.hpp"
#include "drover/serve/live_assets.hpp"
#include "drover/serve/live_page.hpp"
#include "drover/serve/live_subject.hpp"

namespace drover {

namespace {

/// Rings, seen through noise: pixel i was white with log-odds 2 y_i / sigma^2.
Model noisy_rings() {
  constexpr std::uint32_t side = 128;
  constexpr double sigma = 1.6, coupling = 0.9;
  RandomSequence random(1, Stream::generate);
  Model model = ising(grid_edges(side, side, false), Draw::constant(coupling), Draw::constant(0), 1);
  for (VariableId v = 0; v < side * side; ++v) {
    const double x = v % side - 63.5, y = v / side - 63.5;  // NOLINT: whole columns and rows
    const double clean = std::fmod(std::hypot(x, y), 32) < 16 ? 1 : -1;
    // A normal by the sum of twelve uniforms.
    double noise = -6;
    for (int k = 0; k < 12; ++k) noise += random.uniform();
    const double unary[2] = {0, 2 * (clean + sigma * noise) / (sigma * sigma)};
    model.unaries.add(v, unary);
  }
  return model;
}

/// Every hidden unit is one of the seven strokes of a digital clock, on or off.
Model segments() {
  constexpr std::uint32_t width = 15, height = 15, strokes = 7;
  constexpr double off = -4, on = 7, pixels = 5;
  BinaryMachine machine = restricted_machine(width * height, strokes);
  // Half of the time on: that is what its bias takes back of what its pixels gain.
  const double gain = pixels * (std::log1p(std::exp(off + on)) - std::log1p(std::exp(off)));
  for (std::size_t v = 0; v < machine.variables(); ++v)
    machine.biases[v] = static_cast<float>(v < width * height ? off : -gain);
  const auto belongs = [](std::uint32_t x, std::uint32_t y, std::uint32_t stroke) {
    if (stroke < 3) return y == 1 + 6 * stroke && x >= 5 && x <= 9;
    const std::uint32_t top = stroke % 2 == 1 ? 2 : 8;
    return x == (stroke < 5 ? 4U : 10U) && y >= top && y < top + 5;
  };
  for (std::size_t e = 0; e < machine.edges(); ++e) {
    const std::uint32_t pixel = machine.first[e], stroke = machine.second[e] - width * height;
    machine.weights[e] = belongs(pixel % width, pixel / width, stroke) ? static_cast<float>(on) : 0;
  }
  return to_model(machine);
}

}  // namespace

Model live_example() {
  TextSource source(live_example_text(), "sprinkler.bif");
  return read_bif(source);
}

const std::vector<LiveExample>& live_examples() {
  static const std::vector<LiveExample> all = {
      {"sprinkler: a small network", live_example},
      {"ising: magnets near their critical temperature",
       [] { return ising(grid_edges(160, 160, true), Draw::constant(0.44), Draw::constant(0), 1); }},
      {"rings: an image seen through noise", noisy_rings},
      {"potts: four colours that like company",
       [] { return potts(grid_edges(96, 96, true), 4, Draw::constant(1.05), Draw::constant(0), 1); }},
      {"segments: a machine with hidden units", segments},
      {"glass: couplings of either sign, too wide for exact answers",
       [] { return ising(regular_edges(72, 5, 1), Draw::sign(0.35), Draw::normal(0, 0.3), 3); }}};
  return all;
}

}  // namespace drover
