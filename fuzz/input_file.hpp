// For readers that want a name: the input as a file, in memory where the system has such a place.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace drover::fuzz {

/// A folder of this process; removed at its end, if that is an orderly one.
class InputFolder {
 public:
  InputFolder() {
    std::string name =
        std::filesystem::exists("/dev/shm") ? "/dev/shm/drover-fuzz-XXXXXX" : "drover-fuzz-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~InputFolder() { std::filesystem::remove_all(path_); }
  InputFolder(const InputFolder&) = delete;
  InputFolder& operator=(const InputFolder&) = delete;

  std::string write(const std::string& name, std::string_view bytes) const {
    const std::string file = path_ + "/" + name;
    std::ofstream(file, std::ios::binary) << bytes;
    return file;
  }

 private:
  std::string path_;
};

inline const InputFolder& input_folder() {
  static const InputFolder folder;
  return folder;
}

}  // namespace drover::fuzz
