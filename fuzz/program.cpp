// The program of all fuzz targets: its own name says which of them libFuzzer feeds.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "target.hpp"

namespace {

drover::fuzz::Target chosen = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(const int*, char*** arguments) {
  const std::string name = std::filesystem::path((*arguments)[0]).filename();
  const auto found = drover::fuzz::targets().find(name);
  if (found == drover::fuzz::targets().end()) {
    std::fprintf(stderr, "%s is no fuzz target. Start one of the links beside this program:\n", name.c_str());
    for (const auto& [target, function] : drover::fuzz::targets())
      std::fprintf(stderr, "  %s\n", std::string(target).c_str());
    std::exit(2);
  }
  chosen = found->second;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return chosen(data, size);
}
