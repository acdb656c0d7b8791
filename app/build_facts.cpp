#include "app/build_facts.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <tbb/version.h>
#include <zlib.h>

#include <toml++/toml.h>
#include <CLI/Version.hpp>
#include <nlohmann/json.hpp>

#include "drover/core/simd.hpp"
#include "drover/core/version.hpp"

namespace drover::app {

namespace {

std::string three(int major, int minor, int patch) {
  return fmt::format("{}.{}.{}", major, minor, patch);
}

// Those that are loaded when they are first needed.
std::string is_there(const char* library) {
  void* handle = dlopen(library, RTLD_LAZY);
  if (handle == nullptr) return "not installed";
  dlclose(handle);
  return library;
}

}  // namespace

JsonObject build_facts() {
  JsonObject facts;
  facts.add("name", "drover");
  facts.add("version", version());
#if defined(__clang__)
  facts.add("compiler", "clang " + std::string(__clang_version__));
#else
  facts.add("compiler", "g++ " + std::string(__VERSION__));
#endif
  facts.add("instruction_set", std::string(simd_name()));
  Details libraries;
  libraries["fmt"] = three(FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100);
  libraries["CLI11"] = std::string(CLI11_VERSION);
  libraries["nlohmann-json"] =
      three(NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH);
  libraries["toml++"] = three(TOML_LIB_MAJOR, TOML_LIB_MINOR, TOML_LIB_PATCH);
  libraries["oneTBB"] = std::string(TBB_runtime_version());
  libraries["zlib"] = std::string(zlibVersion());
  libraries["netCDF"] = is_there("libnetcdf.so.19");
  libraries["CLP"] = is_there("libClp.so.1");
  facts.add("libraries", libraries);
  return facts;
}

}  // namespace drover::app
