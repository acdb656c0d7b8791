#include "drover/diagnose/binary_draws.hpp"

#include <cmath>

#include "drover/diagnose/draws.hpp"
#include "drover/diagnose/initial_sequence.hpp"
#include "drover/diagnose/patience.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/diagnose/binary_draws.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first, so that what follows is compiled once for every instruction set.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace drover::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Ones of row & (row shifted down by `lag` draws), over all half chains.
std::uint64_t lagged_ones(const std::uint64_t* HWY_RESTRICT words, std::size_t stride, std::size_t rows,
                          std::size_t lag) {
  const hn::CappedTag<std::uint64_t, 8> d;
  const std::size_t whole = lag / 64;
  const int part = static_cast<int>(lag % 64);
  auto count = hn::Zero(d);
  for (std::size_t row = 0; row + whole < rows; ++row) {
    const std::uint64_t* HWY_RESTRICT now = words + row * stride;
    const std::uint64_t* HWY_RESTRICT later = now + whole * stride;
    for (std::size_t h = 0; h < stride; h += hn::Lanes(d)) {
      auto shifted = hn::LoadU(d, later + h);
      if (part != 0)
        shifted = hn::Or(hn::ShiftRightSame(shifted, part),
                         hn::ShiftLeftSame(hn::LoadU(d, later + stride + h), 64 - part));
      count = hn::Add(count, hn::PopulationCount(hn::And(hn::LoadU(d, now + h), shifted)));
    }
  }
  return hn::GetLane(hn::SumOfLanes(d, count));
}

}  // namespace drover::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

HWY_EXPORT(lagged_ones);

BinaryDraws::BinaryDraws(std::size_t chain_count, std::size_t draw_count)
    : chains(chain_count),
      draws(draw_count),
      half(draw_count / 2),
      stride((2 * chain_count + 7) / 8 * 8),
      words((row_count() + 1) * stride, 0) {}

namespace {

/// The mean autocovariance of the half chains, lag after lag.
class BitAutocovariance {
 public:
  BitAutocovariance(const BinaryDraws& binary, StopCheck& check)
      : binary_(binary), check_(check), means_(2 * binary.chains), length_(static_cast<double>(binary.half)) {
    for (std::size_t h = 0; h < means_.size(); ++h) {
      std::uint64_t ones = 0;
      for (std::size_t row = 0; row < binary.row_count(); ++row)
        ones += static_cast<std::uint64_t>(__builtin_popcountll(binary.words[row * binary.stride + h]));
      means_[h] = static_cast<double>(ones) / length_;
      squares_ += means_[h] * means_[h];
      ends_ += 2 * means_[h] * static_cast<double>(ones);
      at_zero_ += means_[h] * (1 - means_[h]);
    }
    at_zero_ /= static_cast<double>(means_.size());
  }

  double operator()(std::size_t lag) {
    if (lag == 0) return at_zero_;
    check_.step(1 + binary_.words.size() / 16);
    for (; lag_ < lag; ++lag_) drop_ends(lag_);
    const double pairs = static_cast<double>(
        HWY_DYNAMIC_DISPATCH(lagged_ones)(binary_.words.data(), binary_.stride, binary_.row_count(), lag));
    const double left = length_ - static_cast<double>(lag);
    return (pairs - ends_ + left * squares_) / (length_ * static_cast<double>(means_.size()));
  }

  const std::vector<double>& means() const { return means_; }

 private:
  /// Takes draw `lag` and its mirror image out of the sums over the last and the first n - lag draws.
  void drop_ends(std::size_t lag) {
    const std::size_t mirror = binary_.half - 1 - lag;
    const std::uint64_t* first = binary_.words.data() + lag / 64 * binary_.stride;
    const std::uint64_t* last = binary_.words.data() + mirror / 64 * binary_.stride;
    for (std::size_t h = 0; h < means_.size(); ++h)
      ends_ -= means_[h] * static_cast<double>((first[h] >> (lag % 64) & 1) + (last[h] >> (mirror % 64) & 1));
  }

  const BinaryDraws& binary_;
  StopCheck& check_;
  std::vector<double> means_;
  double length_;
  double at_zero_ = 0;
  double squares_ = 0;  ///< sum of m^2
  double ends_ = 0;     ///< sum of m (head + tail) at lag_
  std::size_t lag_ = 0;
};

}  // namespace

BinaryDiagnosis diagnose_binary(const BinaryDraws& binary, const RunControl& control) {
  const double count = static_cast<double>(binary.chains * binary.draws);
  const double mean = static_cast<double>(binary.ones) / count;
  BinaryDiagnosis result{mean, not_a_number, not_a_number, not_a_number, not_a_number};
  if (binary.draws < least_draws) return result;

  StopCheck check = diagnosis_check(control);
  BitAutocovariance autocovariance(binary, check);
  const std::vector<double>& means = autocovariance.means();
  const double length = static_cast<double>(binary.half), halves = static_cast<double>(means.size());
  double centre = 0, variance_of_means = 0;
  for (double value : means) centre += value / halves;
  for (double value : means) variance_of_means += (value - centre) * (value - centre) / (halves - 1);
  const double at_zero = autocovariance(0);
  if (at_zero == 0 && (means.front() == 0 || means.front() == 1)) {
    bool equal = true;
    for (double value : means) equal &= value == means.front();
    if (equal) return result;
  }
  const double within = at_zero * length / (length - 1);
  result.rhat = std::sqrt((at_zero + variance_of_means) / within);
  result.autocorrelation = 1 - (within - autocovariance(1)) / (at_zero + variance_of_means);
  const double time = initial_sequence_time(means.size(), binary.half, variance_of_means, autocovariance);
  result.ess = halves * length / time;
  result.mcse = std::sqrt(mean * (1 - mean) * count / (count - 1) / result.ess);
  return result;
}

}  // namespace drover
#endif  // HWY_ONCE
