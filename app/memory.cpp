#include "app/memory.hpp"

#if defined(__GLIBC__)
#include <malloc.h>
#endif
#include <sys/resource.h>
#include <tbb/info.h>

#include <cstdio>
#include <cstring>

namespace drover::app {

namespace {

double limit = 0;

// What the system counts against RLIMIT_DATA, in bytes.
double data_size() {
  double bytes = 0;
  std::FILE* status = std::fopen("/proc/self/status", "r");
  if (status == nullptr) return bytes;
  char line[256];
  while (std::fgets(line, sizeof(line), status) != nullptr) {
    unsigned long long kilobytes = 0;
    if (std::strncmp(line, "VmData:", 7) == 0 && std::sscanf(line + 7, "%llu", &kilobytes) == 1)
      bytes = 1024.0 * static_cast<double>(kilobytes);
  }
  std::fclose(status);
  return bytes;
}

}  // namespace

// A model is read, compiled and laid out in arrays of megabytes that come and go; fresh pages for each cost as
// much as filling them. malloc would give back every one of them above 128 kB.
void keep_freed_memory() {
#if defined(__GLIBC__)
  constexpr int megabyte = 1 << 20;
  mallopt(M_MMAP_MAX, 0);  // a threshold cannot be above 32 MB
  mallopt(M_TRIM_THRESHOLD, 512 * megabyte);
  mallopt(M_TOP_PAD, 16 * megabyte);
#endif
}

void limit_memory(double gigabytes) {
  limit = gigabytes;
  // Stacks of threads count whole, though little of them is used; so does what malloc keeps in hand for each.
  const double threads = static_cast<double>(tbb::info::default_concurrency());
  constexpr double stack = 8.5e6, in_hand = 2e6, small_things = 16e6;
  const double bytes = data_size() + 1e9 * gigabytes + threads * (stack + in_hand) + small_things;
  rlimit allowed{};
  if (getrlimit(RLIMIT_DATA, &allowed) != 0) return;
  const auto wanted = static_cast<rlim_t>(bytes);
  if (allowed.rlim_max != RLIM_INFINITY && wanted > allowed.rlim_max) return;
  allowed.rlim_cur = wanted;
  setrlimit(RLIMIT_DATA, &allowed);
}

double memory_limit() {
  return limit;
}

}  // namespace drover::app
