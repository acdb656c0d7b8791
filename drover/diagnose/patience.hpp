// Diagnoses of millions of draws that can be ended on the way.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "drover/core/stop_check.hpp"

namespace drover {

inline StopCheck diagnosis_check(const RunControl& control) {
  return {control, "the diagnosis", "was made"};
}

/// std::sort: short stretches are sorted and then merged, and the check is asked every few thousand values.
template <class T>
void patient_sort(std::vector<T>& values, StopCheck& check) {
  constexpr std::size_t stretch = std::size_t{1} << 16, piece = std::size_t{1} << 14;
  const std::size_t size = values.size();
  const auto place = [&](std::size_t i) {
    return values.begin() + static_cast<std::ptrdiff_t>(std::min(i, size));
  };
  for (std::size_t begin = 0; begin < size; begin += stretch) {
    std::sort(place(begin), place(begin + stretch));
    check.step(stretch);
  }
  if (size <= stretch) return;
  check.ask();
  std::vector<T> merged(size);
  check.ask();
  for (std::size_t width = stretch; width < size; width *= 2) {
    for (std::size_t begin = 0; begin < size; begin += 2 * width) {
      const std::size_t middle = std::min(begin + width, size), end = std::min(begin + 2 * width, size);
      std::size_t a = begin, b = middle;
      for (std::size_t out = begin; out < end; check.ask())
        for (const std::size_t stop = std::min(out + piece, end); out < stop; ++out)
          merged[out] = b == end || (a < middle && !(values[b] < values[a])) ? values[a++] : values[b++];
    }
    values.swap(merged);
  }
}

}  // namespace drover
