// What every spin kernel is put through, on top of tests/support/kernel_test.hpp.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <vector>

#include "drover/compile/spin_graph.hpp"
#include "tests/support/kernel_test.hpp"
#include "tests/support/random_models.hpp"

namespace drover::testing {

/// Runs `body` once for every instruction set of this machine.
template <class Body>
void for_each_target(Body body) {
  const auto choose = [](std::int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  };
  const std::int64_t supported = hwy::SupportedTargets();
  for (std::int64_t target = 1; target > 0; target <<= 1) {
    if ((supported & target) == 0) continue;
    SCOPED_TRACE(hwy::TargetName(target));
    choose(target);
    body();
    choose(0);
  }
}

/// A spin model of 2 .. 7 variables; every third has evidence on one of them.
inline Graph random_spin_graph(std::uint64_t seed) {
  RandomModelOptions options;
  options.variables = 3 + seed % 5;
  options.factors = 4 + seed % 11;
  options.scale = 0.3 + 0.2 * static_cast<double>(seed % 4);
  Evidence evidence;
  if (seed % 3 == 0) evidence.add(static_cast<VariableId>(seed % options.variables), seed % 2);
  return compile(random_model(seed, options), evidence);
}

/// Several sweeps of one chain at once give the bits and sums of as many one by one.
template <class K>
void expect_sweeps_at_once(const K& kernel, std::uint64_t seed, std::uint64_t count) {
  auto apart = kernel.start(seed, 0), together = apart, without_sums = apart;
  std::vector<float> sums_apart(kernel.entry_count() * kernel.lanes(), 0.0F), sums_together = sums_apart;
  for (std::uint64_t sweep = 3; sweep < 3 + count; ++sweep)
    kernel.sweep(apart, sweep, ConditionalSums{sums_apart});
  kernel.sweeps(together, 3, count, ConditionalSums{sums_together});
  kernel.sweeps(without_sums, 3, count);
  std::vector<Value> x(kernel.size()), y(kernel.size()), z(kernel.size());
  for (std::uint32_t lane = 0; lane < kernel.lanes(); ++lane) {
    kernel.read(apart, lane, x);
    kernel.read(together, lane, y);
    kernel.read(without_sums, lane, z);
    EXPECT_EQ(x, y);
    EXPECT_EQ(x, z);
  }
  for (std::size_t i = 0; i < sums_apart.size(); ++i)
    ASSERT_NEAR(sums_apart[i], sums_together[i], 1e-6 * static_cast<double>(count)) << i;
}

/// A grid with random couplings and fields.
inline Model random_grid(std::uint32_t width, std::uint32_t height, bool periodic, std::uint64_t seed,
                         double scale = 0.5) {
  RandomSequence random(seed, Stream::generate);
  Model model;
  model.cardinalities.assign(std::size_t{width} * height, 2);
  for (std::uint32_t i = 0; i < width * height; ++i) {
    const double values[2] = {scale * random.normal(), scale * random.normal()};
    model.unaries.add(i, values);
  }
  for (std::uint32_t y = 0; y < height; ++y)
    for (std::uint32_t x = 0; x < width; ++x) {
      const std::uint32_t i = y * width + x;
      if (x + 1 < width || periodic)
        model.spin_pairs.add(i, y * width + (x + 1) % width, scale * random.normal());
      if (y + 1 < height || periodic)
        model.spin_pairs.add(i, (y + 1) % height * width + x, scale * random.normal());
    }
  return model;
}

/// A grid with one coupling and one field, J s s + h s.
inline Model equal_grid(std::uint32_t width, std::uint32_t height, bool periodic, double coupling,
                        double field) {
  Model model = random_grid(width, height, periodic, 0, 0.0);
  for (double& value : model.spin_pairs.couplings) value = coupling;
  for (std::size_t i = 0; i < model.unaries.log_values.size(); ++i)
    model.unaries.log_values[i] = i % 2 == 0 ? -field : field;
  return model;
}

/// The kernel with all its lanes at one inverse temperature.
template <Kernel K>
struct Tempered : K {
  Tempered(const K& kernel, float inverse) : K(kernel), inverse_temperature(inverse) {}
  typename K::State start(std::uint64_t seed, std::uint32_t first_chain) const {
    auto state = K::start(seed, first_chain);
    this->set_inverse_temperatures(state, std::vector<float>(this->lanes(), inverse_temperature));
    return state;
  }
  float inverse_temperature;
};

/// The same model at inverse temperature beta.
inline Graph tempered(Graph graph, double beta) {
  for (double& value : graph.unary) value *= beta;
  for (double& value : graph.spin_pairs.couplings) value *= beta;
  return graph;
}

}  // namespace drover::testing
