#include "drover/io/draws.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "drover/core/error.hpp"
#include "drover/io/draws_formats.hpp"
#include "drover/io/text_source.hpp"

namespace drover {

DrawWriter::DrawWriter(DrawFileHeader header)
    : header_(std::move(header)),
      values_(header_.chains * header_.variable_names.size()),
      log_scores_(header_.chains) {
  assert(header_.chains > 0 && header_.evidence_names.size() == header_.evidence_values.size());
}

void DrawWriter::append(std::size_t chain, std::span<const Value> x, double log_score) {
  assert(chain == next_chain_ && x.size() == variables());
  std::copy(x.begin(), x.end(), values_.begin() + static_cast<std::ptrdiff_t>(chain * variables()));
  log_scores_[chain] = log_score;
  if (++next_chain_ < header_.chains) return;
  next_chain_ = 0;
  write_draw(values_, log_scores_);
  ++draws_;
}

namespace {

enum class Format { npz, csv, csv_gzip, netcdf, unknown };

Format format_of(std::string_view path) {
  if (path.ends_with(".npz")) return Format::npz;
  if (path.ends_with(".csv")) return Format::csv;
  if (path.ends_with(".csv.gz")) return Format::csv_gzip;
  if (path.ends_with(".nc")) return Format::netcdf;
  return Format::unknown;
}

[[noreturn]] void unknown_format(const std::string& path) {
  throw Error(ErrorKind::usage, fmt::format("{}: draws files end in .npz, .csv, .csv.gz or .nc", path));
}

[[noreturn]] void cannot_read(const std::string& path, int code) {
  throw Error(ErrorKind::cannot_read, fmt::format("cannot read {}: {}", path, std::strerror(code)));
}

/// A whole file seen as bytes, without copying it.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) cannot_read(path, errno);
    struct stat status {};
    int code = ::fstat(file, &status) != 0 ? errno : S_ISREG(status.st_mode) ? 0 : EINVAL;
    if (code == 0 && status.st_size > 0) {
      size_ = static_cast<std::size_t>(status.st_size);
      data_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
      if (data_ == MAP_FAILED) code = errno;
    }
    ::close(file);
    if (code != 0) cannot_read(path, code);
  }
  ~MappedFile() {
    if (size_ > 0) ::munmap(data_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::uint8_t> bytes() const { return {static_cast<const std::uint8_t*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace

std::unique_ptr<DrawWriter> make_draw_writer(const std::string& path, DrawFileHeader header) {
  if (path == "-") return make_csv_writer(path, std::move(header));  // the standard output
  switch (format_of(path)) {
    case Format::npz:
      return make_npz_writer(path, std::move(header));
    case Format::csv:
    case Format::csv_gzip:
      return make_csv_writer(path, std::move(header));
    case Format::netcdf:
      return make_netcdf_writer(path, std::move(header));
    case Format::unknown:
      break;
  }
  unknown_format(path);
}

DrawFile read_draws(const std::string& path, const RunControl& control) {
  switch (format_of(path)) {
    case Format::npz:
      return parse_draws_npz(MappedFile(path).bytes(), path, control);
    case Format::csv:
    case Format::csv_gzip: {
      TextSource source(path, control);
      return parse_draws_csv(source);
    }
    case Format::netcdf:
      return read_draws_netcdf(path, control);
    case Format::unknown:
      break;
  }
  unknown_format(path);
}

void set_values(DrawFile& file, std::vector<double> values) {
  double largest = 0;
  for (double value : values) {
    if (!(value >= 0 && value <= 65535) || value != static_cast<double>(static_cast<std::uint16_t>(value))) {
      file.values = std::move(values);
      return;
    }
    largest = std::max(largest, value);
  }
  if (largest < 256)
    file.values = std::vector<std::uint8_t>(values.begin(), values.end());
  else
    file.values = std::vector<std::uint16_t>(values.begin(), values.end());
}

}  // namespace drover
