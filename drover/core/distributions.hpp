// A row of numbers for every variable, all in one array: distributions, standard errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace drover {

/// A distribution for every variable, all in one array. Where all have as many states, as is usual, nothing else is kept.
class Distributions {
 public:
  std::size_t size() const { return alike() ? values_.size() / width_ : offsets_.size() - 1; }
  std::span<const double> operator[](std::size_t variable) const {
    return {values_.data() + begin(variable), begin(variable + 1) - begin(variable)};
  }
  std::span<double> operator[](std::size_t variable) {
    return {values_.data() + begin(variable), begin(variable + 1) - begin(variable)};
  }
  /// Room for variables of these cardinalities, filled with `value`.
  void assign(std::span<const std::uint32_t> cardinalities, double value) {
    std::size_t total = 0;
    for (std::uint32_t cardinality : cardinalities) total += cardinality;
    width_ = cardinalities.empty() ? 0 : cardinalities.front();
    for (std::uint32_t cardinality : cardinalities)
      if (cardinality != width_) {
        width_ = 0;
        break;
      }
    offsets_.assign(1, 0);
    if (!alike()) {
      offsets_.reserve(cardinalities.size() + 1);
      for (std::uint32_t cardinality : cardinalities) offsets_.push_back(offsets_.back() + cardinality);
    }
    values_.assign(total, value);
  }
  void push_back(std::span<const double> distribution) {
    if (alike()) offsets_ = offsets();
    width_ = 0;
    values_.insert(values_.end(), distribution.begin(), distribution.end());
    offsets_.push_back(values_.size());
  }
  void push_back(std::initializer_list<double> distribution) {
    push_back(std::span<const double>(distribution.begin(), distribution.size()));
  }
  /// Where each begins in values(), and where the last ends.
  std::vector<std::size_t> offsets() const {
    if (!alike()) return offsets_;
    std::vector<std::size_t> result(size() + 1);
    for (std::size_t v = 0; v < result.size(); ++v) result[v] = width_ * v;
    return result;
  }
  const std::vector<double>& values() const { return values_; }

 private:
  bool alike() const { return width_ > 0; }
  std::size_t begin(std::size_t variable) const { return alike() ? width_ * variable : offsets_[variable]; }

  std::size_t width_ = 0;  // of all of them; 0: they differ, and offsets_ tells
  std::vector<std::size_t> offsets_{0};
  std::vector<double> values_;
};

}  // namespace drover
