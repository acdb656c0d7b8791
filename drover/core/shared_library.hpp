// A library that is loaded at its first use: building needs no header of it, starting costs nothing, and where it
// is not installed only what needs it is missing. Whoever uses it states the few functions it calls.
#pragma once

#include <initializer_list>
#include <string>

namespace drover {

class SharedLibrary {
 public:
  /// The first of these file names that is there, for the rest of the program. Raises misfit: `missing` says
  /// what needs it and where to find it.
  SharedLibrary(std::initializer_list<const char*> names, const std::string& missing);

  template <class Function>
  void find(const char* name, Function& function) const {
    function = reinterpret_cast<Function>(address(name));
  }

 private:
  void* address(const char* name) const;

  std::string name_;
  void* library_ = nullptr;
};

}  // namespace drover
