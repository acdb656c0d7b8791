#include "drover/diagnose/autocorrelation.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "drover/diagnose/patience.hpp"

namespace drover {

namespace {

/// An in-place radix-2 transform with its table of roots; the size is a power of two.
class FourierTransform {
 public:
  FourierTransform(std::size_t size, StopCheck& check) : check_(check) {
    for (std::vector<double>* table : {&cosines_, &sines_}) grow_patiently(*table, size / 2, 0.0, check_);
    grow_patiently(reversed_, size, 0, check_);
    for (std::size_t k = 0; k < size / 2; ++k) {
      const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(size);
      check_.step(8);
      cosines_[k] = std::cos(angle);
      sines_[k] = std::sin(angle);
    }
    for (std::size_t i = 1; i < size; ++i) reversed_[i] = reversed_[i / 2] / 2 + (i % 2) * (size / 2);
  }

  void operator()(std::vector<double>& real, std::vector<double>& imaginary) {
    const std::size_t size = reversed_.size();
    for (std::size_t i = 0; i < size; ++i) {
      check_.step(2);
      if (i >= reversed_[i]) continue;
      std::swap(real[i], real[reversed_[i]]);
      std::swap(imaginary[i], imaginary[reversed_[i]]);
    }
    for (std::size_t half = 1; half < size; half *= 2) {
      const std::size_t step = size / 2 / half;
      for (std::size_t start = 0; start < size; start += 2 * half) {
        check_.step(half);
        for (std::size_t k = 0; k < half; ++k) {
          const std::size_t a = start + k, b = a + half;
          const double c = cosines_[k * step], s = sines_[k * step];
          const double x = real[b] * c - imaginary[b] * s;
          const double y = real[b] * s + imaginary[b] * c;
          real[b] = real[a] - x;
          imaginary[b] = imaginary[a] - y;
          real[a] += x;
          imaginary[a] += y;
        }
      }
    }
  }

 private:
  std::vector<double> cosines_, sines_;
  std::vector<std::size_t> reversed_;
  StopCheck& check_;
};

void copy_centred(std::span<const double> chain, std::vector<double>& out) {
  double sum = 0;
  for (double value : chain) sum += value - chain[0];
  const double mean = sum / static_cast<double>(chain.size());
  for (std::size_t t = 0; t < chain.size(); ++t) out[t] = chain[t] - chain[0] - mean;
}

}  // namespace

std::vector<double> mean_autocovariance(Draws draws, const RunControl& control) {
  if (draws.size() == 0) return {};
  StopCheck check = diagnosis_check(control);
  const std::size_t size = std::bit_ceil(2 * draws.draws);
  FourierTransform transform(size, check);
  std::vector<double> real, imaginary, spectrum;
  for (std::vector<double>* values : {&real, &imaginary, &spectrum})
    grow_patiently(*values, size, 0.0, check);
  for (std::size_t c = 0; c < draws.chains; c += 2) {
    std::fill(real.begin(), real.end(), 0.0);
    std::fill(imaginary.begin(), imaginary.end(), 0.0);
    copy_centred(draws.chain(c), real);
    if (c + 1 < draws.chains) copy_centred(draws.chain(c + 1), imaginary);
    transform(real, imaginary);
    for (std::size_t k = 0; k < size; ++k) spectrum[k] += real[k] * real[k] + imaginary[k] * imaginary[k];
  }
  for (std::size_t k = 0; k < size; ++k) real[k] = (spectrum[k] + spectrum[(size - k) % size]) / 2;
  std::fill(imaginary.begin(), imaginary.end(), 0.0);
  transform(real, imaginary);
  real.resize(draws.draws);
  const double scale = static_cast<double>(size) * static_cast<double>(draws.size());
  for (double& value : real) value /= scale;
  return real;
}

std::vector<double> autocorrelation(Draws draws, std::size_t max_lag) {
  std::vector<double> result(max_lag + 1, std::numeric_limits<double>::quiet_NaN());
  if (undiagnosable(draws)) return result;
  const std::vector<double> covariance = mean_autocovariance(draws);
  if (covariance[0] <= 0) return result;
  for (std::size_t t = 0; t <= max_lag && t < covariance.size(); ++t)
    result[t] = covariance[t] / covariance[0];
  return result;
}

}  // namespace drover
