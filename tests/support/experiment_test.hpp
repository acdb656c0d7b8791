// Runs an experiment in its quick form without any data folder, and expects every claim to hold that is
// not about seconds.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "experiments/experiment.hpp"

namespace drover::testing {

inline experiments::Outcome expect_claims_hold(const std::string& name) {
  experiments::Options options;
  options.quick = true;
  experiments::Outcome outcome = experiments::find_experiment(name).run(options);
  EXPECT_FALSE(outcome.rows.empty());
  EXPECT_FALSE(outcome.claims.empty());
  EXPECT_FALSE(outcome.interrupted);
  for (const experiments::Row& row : outcome.rows) EXPECT_TRUE(std::isfinite(row.ours)) << row.name;
  for (const experiments::Claim& claim : outcome.claims)
    EXPECT_TRUE(claim.holds || claim.timed) << claim.text;
  for (const experiments::Figure& figure : outcome.figures)
    for (const experiments::Curve& curve : figure.curves) EXPECT_EQ(curve.x.size(), curve.y.size());
  return outcome;
}

}  // namespace drover::testing
