#include "drover/core/shared_library.hpp"

#include <dlfcn.h>

#include "drover/core/error.hpp"

namespace drover {

SharedLibrary::SharedLibrary(std::initializer_list<const char*> names, const std::string& missing) {
  for (const char* name : names) {
    if (library_ != nullptr) break;
    library_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    name_ = name;
  }
  if (library_ == nullptr) throw Error(ErrorKind::misfit, missing);
}

void* SharedLibrary::address(const char* name) const {
  void* const found = ::dlsym(library_, name);
  if (found == nullptr) throw Error(ErrorKind::misfit, name_ + " has no function " + name);
  return found;
}

}  // namespace drover
