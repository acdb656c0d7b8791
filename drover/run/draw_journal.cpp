#include "drover/run/draw_journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "drover/core/error.hpp"

namespace drover {

namespace {

constexpr char first_words_of_draws[] = "drover draws of ";

}  // namespace

DrawJournal::DrawJournal(std::string path, std::string run, std::size_t variables, bool wide)
    : path_(std::move(path)),
      run_(first_words_of_draws + std::move(run)),
      variables_(variables),
      wide_(wide) {}

DrawJournal::~DrawJournal() {
  if (descriptor_ >= 0) close(descriptor_);
}

void DrawJournal::fail_write() const {
  throw Error(ErrorKind::cannot_write, fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
}

void DrawJournal::begin(const std::function<void()>& forget) {
  descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail_write();
  // An earlier run may have been killed before these words were whole.
  char begin[sizeof(first_words_of_draws) - 1];
  const ssize_t got = pread(descriptor_, begin, sizeof(begin), 0);
  if (got < 0 || !std::string_view(first_words_of_draws).starts_with({begin, static_cast<std::size_t>(got)}))
    throw Error(ErrorKind::cannot_write,
                fmt::format("cannot write {}: it is there, and has no draws of a checkpoint", path_));
  if (forget) forget();
  if (ftruncate(descriptor_, 0) != 0) fail_write();
  buffer_ = run_;
}

void DrawJournal::resume(const Mark& mark, const Take& take) {
  descriptor_ = open(path_.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor_ < 0)
    throw Error(ErrorKind::cannot_read,
                fmt::format("cannot read {}, which holds the draws of the checkpoint: {}", path_,
                            std::strerror(errno)));
  const auto refuse = [&] {
    fail_at({path_}, "these are not the draws of the checkpoint: their number or checksum is another");
  };
  if (mark.bytes < run_.size() || (mark.bytes - run_.size()) % row_size() != 0) refuse();
  // Twice through the file: no draw is handed on before all of them are known to be right.
  std::vector<char> block(std::size_t{1} << 20);
  for (std::uint64_t at = 0; at < mark.bytes;) {
    const ssize_t got = pread(descriptor_, block.data(),
                              std::min<std::uint64_t>(block.size(), mark.bytes - at), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) refuse();
    if (at == 0 && !std::string_view(block.data(), static_cast<std::size_t>(got)).starts_with(run_)) refuse();
    checksum_.add(block.data(), static_cast<std::size_t>(got));
    at += static_cast<std::uint64_t>(got);
  }
  if (checksum_.value() != mark.checksum) refuse();
  bytes_ = mark.bytes;
  std::vector<char> row(row_size());
  std::vector<Value> x(variables_);
  std::FILE* file = fdopen(dup(descriptor_), "rb");
  if (file == nullptr || fseeko(file, static_cast<off_t>(run_.size()), SEEK_SET) != 0) refuse();
  for (std::uint64_t at = run_.size(); at < bytes_; at += row.size()) {
    if (std::fread(row.data(), 1, row.size(), file) != row.size()) {
      std::fclose(file);
      refuse();
    }
    double log_score = 0;
    std::memcpy(&log_score, row.data(), sizeof(double));
    for (std::size_t v = 0; v < variables_; ++v)
      if (wide_)
        std::memcpy(&x[v], row.data() + sizeof(double) + 2 * v, 2);
      else
        x[v] = static_cast<unsigned char>(row[sizeof(double) + v]);
    take(x, log_score);
  }
  std::fclose(file);
  if (ftruncate(descriptor_, static_cast<off_t>(bytes_)) != 0 ||
      lseek(descriptor_, static_cast<off_t>(bytes_), SEEK_SET) < 0)
    fail_write();
}

void DrawJournal::append(std::span<const Value> x, double log_score) {
  static_assert(sizeof(Value) == 2);
  const std::size_t at = buffer_.size();
  buffer_.resize(at + row_size());
  std::memcpy(buffer_.data() + at, &log_score, sizeof(double));
  char* to = buffer_.data() + at + sizeof(double);
  if (wide_)
    std::memcpy(to, x.data(), 2 * x.size());
  else
    for (std::size_t v = 0; v < x.size(); ++v) to[v] = static_cast<char>(x[v]);
  if (buffer_.size() >= std::size_t{1} << 20) send();
}

void DrawJournal::send() {
  checksum_.add(buffer_.data(), buffer_.size());
  bytes_ += buffer_.size();
  for (std::string_view left = buffer_; !left.empty();) {
    const ssize_t sent = write(descriptor_, left.data(), left.size());
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) fail_write();
    left.remove_prefix(static_cast<std::size_t>(sent));
  }
  buffer_.clear();
}

DrawJournal::Mark DrawJournal::mark() {
  send();
  return {bytes_, checksum_.value()};
}

void DrawJournal::sync() const {
  if (fdatasync(descriptor_) != 0) fail_write();
}

}  // namespace drover
