#include "drover/text/dirichlet_multinomial.hpp"

#include <algorithm>

#include "drover/numeric/slice_sampler.hpp"

namespace drover {

void CountHistogram::clear() {
  std::fill(small_.begin(), small_.end(), 0U);
  large_.clear();
}

double CountHistogram::log_rising(double a) const {
  // log G(n + a) - log G(a) = log a + log(a + 1) + ... + log(a + n - 1), added up from one count to the next.
  double sum = 0;
  double rising = 0;
  std::size_t last = small_.size();
  while (last > 0 && small_[last - 1] == 0) --last;
  for (std::size_t n = 1; n < last; ++n) {
    rising += std::log(a + static_cast<double>(n - 1));
    sum += small_[n] * rising;
  }
  const double at_zero = large_.empty() ? 0 : log_gamma(a);
  for (const std::uint32_t n : large_) sum += log_gamma(n + a) - at_zero;
  return sum;
}

double log_evidence(const CountHistogram& counts, std::span<const CountGroup> groups, double pseudo_count) {
  double sum = counts.log_rising(pseudo_count);
  for (const CountGroup& group : groups)
    sum += log_gamma(group.size * pseudo_count) - log_gamma(group.total + group.size * pseudo_count);
  return sum;
}

double draw_pseudo_count(const CountHistogram& counts, std::span<const CountGroup> groups, double current,
                         const Random& random, std::uint32_t chain, std::uint64_t sweep,
                         std::uint32_t place) {
  std::uint32_t number = 0;
  const auto uniform = [&] { return random.uniform(chain, sweep, (place << 16) + number++); };
  // On the scale y = log a the prior exp(-a) has the density exp(y - exp(y)). Beyond e^40 and below e^-40 the
  // prior leaves nothing that a double could tell apart.
  const auto log_density = [&](double y) {
    if (std::abs(y) > 40) return -std::numeric_limits<double>::infinity();
    const double a = std::exp(y);
    return log_evidence(counts, groups, a) + y - a;
  };
  return std::exp(slice_step(std::log(current), 1.0, log_density, uniform));
}

}  // namespace drover
