#include "drover/core/large_memory.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <cstdint>

namespace drover {

void advise_large_pages(const void* begin, std::size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr std::uintptr_t page = std::uintptr_t{2} << 20;
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t first = (address + page - 1) / page * page, end = (address + bytes) / page * page;
  // What is refused is slower, and nothing else.
  auto* bytes_from = static_cast<char*>(const_cast<void*>(begin));
  if (first < end) (void)madvise(bytes_from + (first - address), end - first, MADV_HUGEPAGE);
#else
  (void)begin;
  (void)bytes;
#endif
}

}  // namespace drover
