#include "drover/diagnose/segment_moments.hpp"

#include <algorithm>
#include <cmath>

#include "drover/diagnose/draws.hpp"

namespace drover {

namespace {

// R-hat of half-chain means with these sums over the 2 C halves.
double rhat_of_halves(double halves, double length, double sum, double squares, double spread) {
  const double variance_of_means = std::max(0.0, squares - sum * sum / halves) / (halves - 1);
  if (spread <= 0 && variance_of_means <= 0) return not_a_number;
  return std::sqrt((spread + variance_of_means) * (length - 1) / (length * spread));
}

double ess_of(const SegmentMeans& segments, double p, double error) {
  if (std::isnan(error)) return not_a_number;
  const double draws = static_cast<double>(segments.chains * segments.segments) * segments.draws_per_segment;
  return std::min(p * (1 - p) / (error * error), draws * std::max(1.0, std::log10(draws)));
}

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
  return rhat_of_halves(halves, length, sum, squares, spread);
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
  return ess_of(segments, mean_from_segments(segments), mcse_from_segments(segments));
}

namespace {

// Adds segments begin .. end - 1 of every chain into `sums`. Like all loops below it runs over chains in the
// inner loop, so that chains that stand together are vectors.
void add_segments(const SegmentMeans& segments, std::size_t begin, std::size_t end, double* sums) {
  for (std::size_t s = begin; s < end; ++s) {
    const double* const row = segments.means + s * segments.segment_stride;
    if (segments.chain_stride == 1)
      for (std::size_t c = 0; c < segments.chains; ++c) sums[c] += row[c];
    else
      for (std::size_t c = 0; c < segments.chains; ++c) sums[c] += row[c * segments.chain_stride];
  }
}

// The sum of (scale sums[c] - centres[c])^2.
double squared_distances(const double* sums, double scale, const double* centres, std::size_t chains) {
  double even = 0, odd = 0;
  std::size_t c = 0;
  for (; c + 1 < chains; c += 2) {
    const double a = scale * sums[c] - centres[c], b = scale * sums[c + 1] - centres[c + 1];
    even += a * a;
    odd += b * b;
  }
  if (c < chains) even += (scale * sums[c] - centres[c]) * (scale * sums[c] - centres[c]);
  return even + odd;
}

double sum_of(const double* means, std::size_t begin, std::size_t end) {
  double sum = 0;
  for (std::size_t s = begin; s < end; ++s) sum += means[s];
  return sum;
}

// The same for one chain, without the room and the loops over chains: a large model has millions of them.
SegmentFigures figures_of_one_chain(const SegmentMeans& segments) {
  SegmentFigures result{not_a_number, not_a_number, not_a_number};
  const double* const y = segments.means;
  const std::size_t count = segments.segments, half = count / 2;
  const double first = sum_of(y, 0, half), second = sum_of(y, count - half, count);
  const double mean = (first + second + sum_of(y, half, count - half)) / static_cast<double>(count);
  const double length = segments.draws_per_segment * static_cast<double>(half);
  if (half > 0 && length >= 2) {
    const double a = first / static_cast<double>(half), b = second / static_cast<double>(half);
    result.rhat =
        rhat_of_halves(2, length, a - mean + (b - mean), (a - mean) * (a - mean) + (b - mean) * (b - mean),
                       (a * (1 - a) + b * (1 - b)) / 2);
  }
  if (count < 2 || std::all_of(y, y + count, [&](double each) { return each == y[0]; })) return result;
  double variance = 0;
  for (std::size_t group = 1; group == 1 || count / group >= least_batches; group *= 2) {
    const std::size_t batches = count / group, start = count - batches * group;
    const double centre = sum_of(y, start, count) / static_cast<double>(batches * group);
    double squares = 0;
    for (std::size_t b = start; b < count; b += group) {
      const double distance = sum_of(y, b, b + group) / static_cast<double>(group) - centre;
      squares += distance * distance;
    }
    const double number = static_cast<double>(batches);
    variance = std::max(variance, squares / (number - 1) / number);
  }
  result.mcse = std::sqrt(variance);
  result.ess = ess_of(segments, mean, result.mcse);
  return result;
}

}  // namespace

SegmentFigures figures_from_segments(const SegmentMeans& segments, std::vector<double>& scratch) {
  SegmentFigures result{not_a_number, not_a_number, not_a_number};
  const std::size_t chains = segments.chains, count = segments.segments, half = count / 2;
  if (chains == 0 || count == 0) return result;
  if (chains == 1 && segments.segment_stride == 1) return figures_of_one_chain(segments);
  const double all_chains = static_cast<double>(chains), all_segments = static_cast<double>(count);
  scratch.assign(4 * chains, 0.0);
  double* const totals = scratch.data();  // of whole chains
  double* const first = totals + chains;  // of their first half, then of batches
  double* const second = first + chains;  // of their second half
  double* const centres = second + chains;
  add_segments(segments, 0, half, first);
  add_segments(segments, count - half, count, second);
  for (std::size_t c = 0; c < chains; ++c) totals[c] = first[c] + second[c];
  add_segments(segments, half, count - half, totals);  // the middle one of an odd number
  double mean = 0;
  for (std::size_t c = 0; c < chains; ++c) mean += totals[c];
  mean /= all_chains * all_segments;

  const double length = segments.draws_per_segment * static_cast<double>(half);
  if (half > 0 && length >= 2) {
    const double scale = 1 / static_cast<double>(half);
    double sum = 0, squares = 0, spread = 0;
    for (const double* sums : {first, second})
      for (std::size_t c = 0; c < chains; ++c) {
        const double m = scale * sums[c];
        sum += m - mean;
        squares += (m - mean) * (m - mean);
        spread += m * (1 - m);
      }
    result.rhat = rhat_of_halves(2 * all_chains, length, sum, squares, spread / (2 * all_chains));
  }

  if ((chains < 2 && count < 2) || all_equal(segments)) return result;
  double variance = 0;
  if (chains > 1) {
    std::fill_n(centres, chains, mean);
    variance = squared_distances(totals, 1 / all_segments, centres, chains) / (all_chains - 1) / all_chains;
  }
  for (std::size_t group = 1; count > 1 && (group == 1 || count / group >= least_batches); group *= 2) {
    const std::size_t batches = count / group, start = count - batches * group;
    std::fill_n(centres, chains, 0.0);
    add_segments(segments, start, count, centres);
    for (std::size_t c = 0; c < chains; ++c) centres[c] /= static_cast<double>(batches * group);
    double squares = 0;
    for (std::size_t b = 0; b < batches; ++b) {
      std::fill_n(first, chains, 0.0);
      add_segments(segments, start + b * group, start + (b + 1) * group, first);
      squares += squared_distances(first, 1 / static_cast<double>(group), centres, chains);
    }
    const double number = static_cast<double>(batches);
    variance = std::max(variance, squares / (all_chains * (number - 1)) / (all_chains * number));
  }
  result.mcse = std::sqrt(variance);
  result.ess = ess_of(segments, mean, result.mcse);
  return result;
}

}  // namespace drover
