#include "drover/numeric/gamma_draws.hpp"

#include <cassert>
#include <cmath>

#include "drover/sample/lane_random_targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/numeric/gamma_draws.cpp"
#include <hwy/foreach_target.h>  // before the other headers of Highway

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "drover/sample/lane_random-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {

// A float strictly between 0 and 1 from the upper 23 bits of a word.
HWY_INLINE FloatVector open_unit(WordVector word) {
  const FloatTag floats;
  const hn::RebindToSigned<FloatTag> integers;
  const auto bits = hn::ConvertTo(floats, hn::BitCast(integers, hn::ShiftRight<9>(word)));
  return hn::MulAdd(bits, hn::Set(floats, 0x1p-23F), hn::Set(floats, 0x1p-24F));
}

// x^2/2 + d - d v + d log v, by the formula and, for small w, by its series.
HWY_INLINE FloatVector acceptance(FloatVector x, FloatVector d, FloatVector w, FloatVector v) {
  const FloatTag floats;
  const auto direct = hn::MulAdd(d, hn::Add(hn::Sub(hn::Set(floats, 1.0F), v), hn::Log(floats, v)),
                                 hn::Mul(hn::Set(floats, 0.5F), hn::Mul(x, x)));
  auto series = hn::Set(floats, -3.0F / 8);
  for (const float coefficient : {3.0F / 7, -3.0F / 6, 3.0F / 5, -3.0F / 4})
    series = hn::MulAdd(series, w, hn::Set(floats, coefficient));
  const auto square = hn::Mul(w, w);
  series = hn::Mul(hn::Mul(series, d), hn::Mul(square, square));
  return hn::IfThenElse(hn::Lt(hn::Abs(w), hn::Set(floats, 0.1F)), series, direct);
}

// Refused draws come out as NaN; a lane's shape below 1 is raised by 1 here and lowered by `lower_shapes`.
void draw_gammas(const LaneRandom& random, std::uint32_t chain, std::uint64_t sweep, std::uint32_t group,
                 const float* HWY_RESTRICT shapes, float* HWY_RESTRICT logs) {
  const FloatTag floats;
  const LaneWords words(random, chain, sweep);
  WordVector normal_words[vector_count], test_words[vector_count];
  words.draw(4 * group, normal_words);
  words.draw(4 * group + 1, test_words);
  // Box and Muller: half of the words are radii, half angles; each pair gives two normals.
  FloatVector normals[vector_count];
  for (std::size_t k = 0; k < vector_count / 2; ++k) {
    const std::size_t partner = k + vector_count / 2;
    const auto radius =
        hn::Sqrt(hn::Mul(hn::Set(floats, -2.0F), hn::Log(floats, open_unit(normal_words[k]))));
    const auto angle = hn::Mul(hn::Sub(open_unit(normal_words[partner]), hn::Set(floats, 0.5F)),
                               hn::Set(floats, 6.28318530718F));
    normals[k] = hn::Mul(radius, hn::Cos(floats, angle));
    normals[partner] = hn::Mul(radius, hn::Sin(floats, angle));
  }
  const auto one = hn::Set(floats, 1.0F);
  for (std::size_t k = 0; k < vector_count; ++k) {
    auto shape = hn::LoadU(floats, shapes + k * vector_lanes);
    shape = hn::IfThenElse(hn::Lt(shape, one), hn::Add(shape, one), shape);
    const auto d = hn::Sub(shape, hn::Set(floats, 1.0F / 3));
    const auto w = hn::Div(normals[k], hn::Mul(hn::Set(floats, 3.0F), hn::Sqrt(d)));
    const auto base = hn::Add(one, w);
    const auto positive = hn::Gt(base, hn::Set(floats, 1e-6F));
    const auto v = hn::IfThenElse(positive, hn::Mul(base, hn::Mul(base, base)), one);
    const auto log_u = hn::Log(floats, open_unit(test_words[k]));
    const auto accepted = hn::And(positive, hn::Lt(log_u, acceptance(normals[k], d, w, v)));
    const auto log_gamma = hn::Log(floats, hn::Mul(d, v));
    hn::StoreU(hn::IfThenElse(accepted, log_gamma, hn::NaN(floats)), floats, logs + k * vector_lanes);
  }
}

// log Gamma(a) = log Gamma(a + 1) + log(u) / a where a < 1.
void lower_shapes(const LaneRandom& random, std::uint32_t chain, std::uint64_t sweep, std::uint32_t group,
                  const float* HWY_RESTRICT shapes, float* HWY_RESTRICT logs) {
  const FloatTag floats;
  WordVector lower_words[vector_count];
  LaneWords(random, chain, sweep).draw(4 * group + 2, lower_words);
  for (std::size_t k = 0; k < vector_count; ++k) {
    const auto shape = hn::LoadU(floats, shapes + k * vector_lanes);
    const auto log_gamma = hn::LoadU(floats, logs + k * vector_lanes);
    const auto lowered = hn::Add(log_gamma, hn::Div(hn::Log(floats, open_unit(lower_words[k])), shape));
    hn::StoreU(hn::IfThenElse(hn::Lt(shape, hn::Set(floats, 1.0F)), lowered, log_gamma), floats,
               logs + k * vector_lanes);
  }
}

double sum_of_exponentials(const float* HWY_RESTRICT logs) {
  const FloatTag floats;
  auto sum = hn::Zero(floats);
  for (std::size_t k = 0; k < vector_count; ++k)
    sum = hn::Add(sum, hn::Exp(floats, hn::LoadU(floats, logs + k * vector_lanes)));
  return static_cast<double>(hn::GetLane(hn::SumOfLanes(floats, sum)));
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

namespace {
HWY_EXPORT(draw_gammas);
HWY_EXPORT(lower_shapes);
HWY_EXPORT(sum_of_exponentials);

// log Gamma(shape), shape >= 1.
double draw_raised(const Random& random, std::uint32_t chain, std::uint64_t sweep, std::uint32_t site,
                   double shape) {
  const double d = shape - 1.0 / 3;
  const double c = 1 / (3 * std::sqrt(d));
  for (std::uint32_t attempt = 0;; ++attempt) {
    // The counter has room above the chain: attempts, then normal or uniform.
    const std::uint32_t place = chain | ((2 * attempt) & 0xffffU) << 16;
    const double x = random.normal(place, sweep, site);
    const double base = 1 + c * x;
    if (base <= 0) continue;
    const double v = base * base * base;
    const double u = random.uniform(place | 0x10000U, sweep, site);
    if (std::log1p(-u) < 0.5 * x * x + d * (1 - v + std::log(v))) return std::log(d * v);
  }
}

}  // namespace

double draw_log_gamma(const Random& random, std::uint32_t chain, std::uint64_t sweep, std::uint32_t site,
                      double shape) {
  assert(shape > 0 && chain < 0x10000U);
  if (shape >= 1) return draw_raised(random, chain, sweep, site, shape);
  const double u = random.uniform(chain | 0xffff0000U, sweep, site);
  return draw_raised(random, chain, sweep, site, shape + 1) + std::log1p(-u) / shape;
}

double GammaDraws::draw(std::uint32_t chain, std::uint64_t sweep, std::uint32_t group, const float* shapes,
                        std::uint32_t count, float* logs) const {
  HWY_DYNAMIC_DISPATCH(draw_gammas)(lanes_, chain, sweep, group, shapes, logs);
  bool any_below = false;
  for (std::uint32_t i = 0; i < width; ++i) {
    any_below = any_below || shapes[i] < 1;
    if (std::isnan(logs[i])) {
      const double shape = shapes[i] < 1 ? shapes[i] + 1.0 : shapes[i];
      logs[i] = static_cast<float>(draw_raised(single_, chain, sweep, width * group + i, shape));
    }
  }
  if (any_below) HWY_DYNAMIC_DISPATCH(lower_shapes)(lanes_, chain, sweep, group, shapes, logs);
  for (std::uint32_t i = count; i < width; ++i) logs[i] = -1000;
  return HWY_DYNAMIC_DISPATCH(sum_of_exponentials)(logs);
}

}  // namespace drover
#endif
