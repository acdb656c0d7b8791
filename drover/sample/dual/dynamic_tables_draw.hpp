// The vector loops of DynamicTables: 64 chains of one mixture or one variable at a time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace drover {

class LaneRandom;

/// So many numbers may be read behind a table, so that small ones are loaded as whole vectors.
inline constexpr std::size_t table_slack = 16;

/// One mixture of a pair factor.
struct MixtureTables {
  std::uint32_t components;
  std::uint32_t states[2];
  const float* weights[2];  ///< A(x, r) of either end at states r + x
};

/// Draws the component of every lane: P(r) in proportion to A_0(x_0, r) A_1(x_1, r).
void draw_components(const MixtureTables& mixture, const std::uint8_t* first, const std::uint8_t* second,
                     const LaneRandom& random, std::uint32_t batch, std::uint64_t sweep, std::uint32_t site,
                     std::uint8_t* drawn);

/// logs[64 k + lane] += table[components k + drawn[lane]] for all states k.
void add_drawn_terms(const float* table, std::uint32_t components, std::uint32_t states,
                     const std::uint8_t* drawn, float* logs);

/// Draws the state of every lane from exp(logs), which become probabilities.
void draw_states(float* logs, std::uint32_t states, const LaneRandom& random, std::uint32_t batch,
                 std::uint64_t sweep, std::uint32_t site, std::uint8_t* drawn);

/// The mean of 64 numbers, and their variance about it.
struct LaneMoments {
  double mean, variance;
};
LaneMoments lane_moments(const float* numbers);

}  // namespace drover
