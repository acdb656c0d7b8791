// Lines of a file, a pipe or the standard input, without waiting for those that have not come yet.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace drover {

class LineSource {
 public:
  /// "-" is the standard input. Raises cannot_read.
  explicit LineSource(const std::string& path);
  /// Lines that are in memory already, under a name for messages.
  LineSource(std::string text, std::string name)
      : path_(std::move(name)), buffer_(std::move(text)), ended_(true) {}
  ~LineSource();
  LineSource(const LineSource&) = delete;
  LineSource& operator=(const LineSource&) = delete;

  /// A line that has come in whole (the last one may lack its line end); valid until the next call.
  std::optional<std::string_view> next();
  bool finished() const { return ended_ && begin_ == buffer_.size(); }
  /// Reads what is there; waits for up to `milliseconds` if nothing is. Whether there was something, if only
  /// the end.
  bool fill(int milliseconds);

 private:
  std::string_view cut(std::size_t end, std::size_t next);

  std::string path_;
  int descriptor_ = -1;
  std::string buffer_;
  std::size_t begin_ = 0, searched_ = 0;
  bool ended_ = false;
};

}  // namespace drover
