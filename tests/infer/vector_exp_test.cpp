#include "drover/infer/vector_exp.hpp"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <vector>

#include "drover/core/random.hpp"
#include "drover/core/types.hpp"

namespace drover {
namespace {

TEST(VectorExp, HasTheStatedErrors) {
  const std::int64_t supported = hwy::SupportedTargets();
  for (const std::int64_t targets : {supported, std::int64_t{HWY_AVX2}, std::int64_t{HWY_SSE4}}) {
    if ((targets & supported) == 0) continue;
    hwy::SetSupportedTargetsForTest(targets);
    RandomSequence random(4, Stream::generate);
    for (const double size : {1e-10, 1.0, 30.0, 699.0})
      for (const std::size_t count : {1, 3, 8, 5003}) {
        std::vector<double> x(count), y(count);
        for (double& value : x) value = -size * random.uniform();
        exp_all(x.data(), count, y.data());
        for (std::size_t k = 0; k < count; ++k) {
          const long double exact = std::exp(static_cast<long double>(x[k]));
          EXPECT_LT(std::abs(static_cast<double>((y[k] - exact) / exact)), 6e-16) << x[k];
        }
        for (double& value : x) value = std::exp(size * (2 * random.uniform() - 1));
        log_all(x.data(), count, y.data());
        for (std::size_t k = 0; k < count; ++k) {
          const auto exact = std::log(static_cast<long double>(x[k]));
          const auto error = static_cast<double>(std::abs(y[k] - exact));
          EXPECT_LE(error, 3e-16 + 3e-16 * static_cast<double>(std::abs(exact))) << x[k];
        }
      }
    double edge[3] = {log_zero, -701, 0};
    exp_all(edge, 3, edge);
    EXPECT_EQ(edge[0], 0);
    EXPECT_EQ(edge[1], 0);
    EXPECT_EQ(edge[2], 1);
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace
}  // namespace drover
