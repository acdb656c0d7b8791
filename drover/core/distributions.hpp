// A row of numbers for every variable, all in one array: distributions, standard errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace drover {

/// A distribution for every variable, all in one array.
class Distributions {
 public:
  std::size_t size() const { return offsets_.size() - 1; }
  std::span<const double> operator[](std::size_t variable) const {
    return {values_.data() + offsets_[variable], offsets_[variable + 1] - offsets_[variable]};
  }
  std::span<double> operator[](std::size_t variable) {
    return {values_.data() + offsets_[variable], offsets_[variable + 1] - offsets_[variable]};
  }
  /// Room for variables of these cardinalities, filled with `value`.
  void assign(std::span<const std::uint32_t> cardinalities, double value) {
    offsets_.assign(1, 0);
    offsets_.reserve(cardinalities.size() + 1);
    for (std::uint32_t cardinality : cardinalities) offsets_.push_back(offsets_.back() + cardinality);
    values_.assign(offsets_.back(), value);
  }
  void push_back(std::span<const double> distribution) {
    values_.insert(values_.end(), distribution.begin(), distribution.end());
    offsets_.push_back(values_.size());
  }
  void push_back(std::initializer_list<double> distribution) {
    push_back(std::span<const double>(distribution.begin(), distribution.size()));
  }
  const std::vector<std::size_t>& offsets() const { return offsets_; }
  const std::vector<double>& values() const { return values_; }

 private:
  std::vector<std::size_t> offsets_{0};
  std::vector<double> values_;
};

}  // namespace drover
