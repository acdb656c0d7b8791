#include "drover/sample/dual/swendsen_wang.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace drover {
namespace {

// What one pair draws: the laws of bond and dual add up to the pair's table for any share.
TEST(SwendsenWang, LawsAddUpToThePair) {
  for (std::uint32_t states : {2U, 3U, 5U})
    for (double strength : {1e-3, 0.3, 1.0, 4.0, 30.0})
      for (double share : {0.0, 0.3, 0.9, 0.999}) {
        const auto law = bond_law(strength, share, states);
        const double rho = std::exp(-law.gain), others = states - 1.0;
        const double diagonal = 1 + others * rho * rho, off = 2 * rho + (others - 1) * rho * rho;
        EXPECT_NEAR(off / diagonal * (1 - law.bond), std::exp(-strength), 1e-12);
        EXPECT_NEAR(law.follow * diagonal, 1, 1e-12);
        EXPECT_NEAR(law.either * off, rho, 1e-12);
      }
}

}  // namespace
}  // namespace drover
