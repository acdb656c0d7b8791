#include "drover/core/process_memory.hpp"

#include <cstdio>
#include <fstream>
#include <string>

namespace drover {

namespace {

// getrusage() would speak of the program that started this one, too.
double bytes_of(const char* field) {
  std::ifstream status("/proc/self/status");
  const std::string wanted = std::string(field) + ": %llu kB";
  unsigned long long kilobytes = 0;
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field) && std::sscanf(line.c_str(), wanted.c_str(), &kilobytes) == 1) break;
  return 1024.0 * static_cast<double>(kilobytes);
}

}  // namespace

double resident_bytes() {
  return bytes_of("VmRSS");
}

double peak_resident_bytes() {
  return bytes_of("VmHWM");
}

}  // namespace drover
