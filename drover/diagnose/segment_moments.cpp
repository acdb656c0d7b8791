#include "drover/diagnose/segment_moments.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace drover {

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t least_batches = 8;

double mean_of_range(const SegmentMeans& segments, std::size_t chain, std::size_t begin, std::size_t end) {
  double sum = 0;
  for (std::size_t s = begin; s < end; ++s) sum += segments.at(chain, s);
  return sum / static_cast<double>(end - begin);
}

bool all_equal(const SegmentMeans& segments) {
  for (std::size_t c = 0; c < segments.chains; ++c)
    for (std::size_t s = 0; s < segments.segments; ++s)
      if (segments.at(c, s) != segments.at(0, 0)) return false;
  return true;
}

double variance_between_chains(const SegmentMeans& segments) {
  const double chains = static_cast<double>(segments.chains);
  const double mean = mean_from_segments(segments);
  double squares = 0;
  for (std::size_t c = 0; c < segments.chains; ++c) {
    const double distance = mean_of_range(segments, c, 0, segments.segments) - mean;
    squares += distance * distance;
  }
  return squares / (chains - 1) / chains;
}

/// Batches of `group` segments, those left over at the start of a chain not used.
double variance_of_batches(const SegmentMeans& segments, std::size_t group) {
  const std::size_t batches = segments.segments / group, start = segments.segments - batches * group;
  double squares = 0;
  for (std::size_t c = 0; c < segments.chains; ++c) {
    const double mean = mean_of_range(segments, c, start, segments.segments);
    for (std::size_t b = 0; b < batches; ++b) {
      const std::size_t begin = start + b * group;
      const double distance = mean_of_range(segments, c, begin, begin + group) - mean;
      squares += distance * distance;
    }
  }
  const double chains = static_cast<double>(segments.chains), count = static_cast<double>(batches);
  return squares / (chains * (count - 1)) / (chains * count);
}

}  // namespace

double mean_from_segments(const SegmentMeans& segments) {
  double mean = 0;
  for (std::size_t c = 0; c < segments.chains; ++c)
    mean += mean_of_range(segments, c, 0, segments.segments) / static_cast<double>(segments.chains);
  return mean;
}

double rhat_from_segments(const SegmentMeans& segments) {
  const std::size_t half = segments.segments / 2;
  const double length = segments.draws_per_segment * static_cast<double>(half);
  if (segments.chains == 0 || half == 0 || length < 2) return not_a_number;
  const double halves = 2 * static_cast<double>(segments.chains);
  const double centre = mean_from_segments(segments);
  double sum = 0, squares = 0, spread = 0;
  for (std::size_t c = 0; c < segments.chains; ++c) {
    for (const std::size_t begin : {std::size_t{0}, segments.segments - half}) {
      const double mean = mean_of_range(segments, c, begin, begin + half);
      sum += mean - centre;
      squares += (mean - centre) * (mean - centre);
      spread += mean * (1 - mean) / halves;
    }
  }
  const double variance_of_means = std::max(0.0, squares - sum * sum / halves) / (halves - 1);
  if (spread <= 0 && variance_of_means <= 0) return not_a_number;
  return std::sqrt((spread + variance_of_means) * (length - 1) / (length * spread));
}

double mcse_from_segments(const SegmentMeans& segments) {
  if (segments.chains == 0 || segments.segments == 0) return not_a_number;
  if ((segments.chains < 2 && segments.segments < 2) || all_equal(segments)) return not_a_number;
  double variance = segments.chains > 1 ? variance_between_chains(segments) : 0;
  if (segments.segments > 1) variance = std::max(variance, variance_of_batches(segments, 1));
  for (std::size_t group = 2; segments.segments / group >= least_batches; group *= 2)
    variance = std::max(variance, variance_of_batches(segments, group));
  return std::sqrt(variance);
}

double ess_from_segments(const SegmentMeans& segments) {
  const double error = mcse_from_segments(segments);
  if (std::isnan(error)) return not_a_number;
  const double p = mean_from_segments(segments);
  const double draws = static_cast<double>(segments.chains * segments.segments) * segments.draws_per_segment;
  return std::min(p * (1 - p) / (error * error), draws * std::max(1.0, std::log10(draws)));
}

}  // namespace drover
