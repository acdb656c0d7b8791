// Vectors that begin at a cache line, so that rows straddle as few lines as can be and whole vectors of any
// instruction set may be loaded from their beginning.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace drover {

template <class T>
struct LineAllocator : std::allocator<T> {
  static constexpr std::align_val_t line{64};
  template <class U>
  struct rebind {
    using other = LineAllocator<U>;
  };
  T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), line)); }
  void deallocate(T* place, std::size_t) { ::operator delete(place, line); }
};

template <class T>
using AlignedVector = std::vector<T, LineAllocator<T>>;
using AlignedFloats = AlignedVector<float>;

}  // namespace drover
