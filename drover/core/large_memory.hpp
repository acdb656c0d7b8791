// Large arrays in large pages. A page of 4 kB is cleared and mapped when it is first touched, and looked up
// at every jump; for arrays of hundreds of megabytes that costs as much as several sweeps. Linux gives pages
// of 2 MB where it is asked to before the first touch.
#pragma once

#include <algorithm>
#include <cstddef>

#include "drover/core/stop_check.hpp"

namespace drover {

/// Asks for large pages where `bytes` are worth it; does nothing where the system has none.
void advise_large_pages(const void* begin, std::size_t bytes);

/// Fresh memory in large pages, which nobody has touched yet.
template <class Vector>
void reserve_large(Vector& vector, std::size_t count) {
  vector = Vector();
  vector.reserve(count);
  advise_large_pages(vector.data(), count * sizeof(typename Vector::value_type));
}

/// vector.assign(count, value) of fresh memory in large pages.
template <class Vector>
void assign_large(Vector& vector, std::size_t count, typename Vector::value_type value) {
  reserve_large(vector, count);
  vector.assign(count, value);
}

/// vector.resize(count, value), which asks the check every few milliseconds: the system clears fresh memory at some
/// gigabytes a second.
template <class Vector>
void grow_patiently(Vector& vector, std::size_t count, typename Vector::value_type value, StopCheck& check) {
  constexpr std::size_t piece = (std::size_t{1} << 24) / sizeof(value);
  vector.reserve(count);
  while (vector.size() < count) {
    vector.resize(std::min(count, vector.size() + piece), value);
    check.ask();
  }
}

/// assign_large() which asks likewise.
template <class Vector>
void assign_large(Vector& vector, std::size_t count, typename Vector::value_type value, StopCheck& check) {
  reserve_large(vector, count);
  grow_patiently(vector, count, value, check);
}

}  // namespace drover
