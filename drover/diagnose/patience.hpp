// Diagnoses of millions of draws that can be ended on the way. Fresh memory is taken in pieces, too: for a system that
// has little to spare, clearing it takes longer than the figures.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "drover/core/large_memory.hpp"
#include "drover/core/stop_check.hpp"

namespace drover {

inline StopCheck diagnosis_check(const RunControl& control) {
  return {control, "the diagnosis", "was made"};
}

/// Adds values at the end; room for them is there.
inline void append_patiently(std::vector<double>& values, std::span<const double> more, StopCheck& check) {
  constexpr std::size_t piece = std::size_t{1} << 20;
  for (std::size_t begin = 0; begin < more.size(); begin += piece) {
    const auto part = more.subspan(begin, std::min(piece, more.size() - begin));
    values.insert(values.end(), part.begin(), part.end());
    check.ask();
  }
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
  std::vector<T> merged;
  grow_patiently(merged, size, T{}, check);
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
