// Large arrays in large pages. A page of 4 kB is cleared and mapped when it is first touched, and looked up
// at every jump; for arrays of hundreds of megabytes that costs as much as several sweeps. Linux gives pages
// of 2 MB where it is asked to before the first touch.
#pragma once

#include <cstddef>

namespace drover {

/// Asks for large pages where `bytes` are worth it; does nothing where the system has none.
void advise_large_pages(const void* begin, std::size_t bytes);

/// vector.assign(count, value) of fresh memory in large pages.
template <class Vector>
void assign_large(Vector& vector, std::size_t count, typename Vector::value_type value) {
  vector = Vector();
  vector.reserve(count);
  advise_large_pages(vector.data(), count * sizeof(value));
  vector.assign(count, value);
}

}  // namespace drover
