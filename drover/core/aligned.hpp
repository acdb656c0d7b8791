// Vectors that begin at a cache line, so that rows straddle as few lines as can be and whole vectors of any
// instruction set may be loaded from their beginning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

namespace drover {

/// Memory of malloc's usual kind, a line longer: what aligned allocation leaves around a block keeps freed blocks
/// from growing together, so that no other use is made of them.
template <class T>
struct LineAllocator : std::allocator<T> {
  static constexpr std::size_t line = 64;
  template <class U>
  struct rebind {
    using other = LineAllocator<U>;
  };
  T* allocate(std::size_t count) {
    static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ >= sizeof(void*));
    void* const begin = ::operator new(count * sizeof(T) + line);
    // Where it began stands before the first line within.
    void* const place = static_cast<char*>(begin) + (line - reinterpret_cast<std::uintptr_t>(begin) % line);
    static_cast<void**>(place)[-1] = begin;
    return static_cast<T*>(place);
  }
  void deallocate(T* place, std::size_t) { ::operator delete(reinterpret_cast<void**>(place)[-1]); }
};

template <class T>
using AlignedVector = std::vector<T, LineAllocator<T>>;
using AlignedFloats = AlignedVector<float>;

/// The same, but what resize() adds has no value yet: for memory that is to be written first where it is used.
template <class T>
struct UnfilledAllocator : LineAllocator<T> {
  template <class U>
  struct rebind {
    using other = UnfilledAllocator<U>;
  };
  template <class U>
  void construct(U* place) {
    ::new (static_cast<void*>(place)) U;
  }
  template <class U>
  void construct(U* place, const U& value) {
    ::new (static_cast<void*>(place)) U(value);
  }
};
template <class T>
using UnfilledVector = std::vector<T, UnfilledAllocator<T>>;

}  // namespace drover
