// Draws as a NumPy archive: a zip of .npy arrays (https://numpy.org/doc/stable/reference/generated/
// numpy.lib.format.html), streamed.
//
// The array `draws` is written while its length is still unknown. Its .npy header has a fixed size and lies
// in a stored block at the front of the deflate stream, so that it can be overwritten at the end; the check
// sum of the entry is then that of the header combined with that of the rows. All entries carry ZIP64 sizes,
// so nothing changes beyond 4 GB. Times in the archive are those of the zip epoch: equal runs give equal
// files.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include <nlohmann/json.hpp>

#include "drover/core/error.hpp"
#include "drover/core/json_text.hpp"
#include "drover/core/version.hpp"
#include "drover/io/draws_formats.hpp"
#include "drover/io/draws_output.hpp"

namespace drover {

namespace {

/// Little-endian records.
class Record {
 public:
  template <typename Number>
  Record& add(std::type_identity_t<Number> number) {
    for (std::size_t i = 0; i < sizeof(Number); ++i)
      bytes_ += static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * i) & 0xff);
    return *this;
  }
  Record& add(const std::string& text) {
    bytes_ += text;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

using Bytes2 = std::uint16_t;
using Bytes4 = std::uint32_t;
using Bytes8 = std::uint64_t;

constexpr std::size_t npy_header_size = 128;

std::string npy_header(const std::string& type, const std::vector<std::size_t>& shape) {
  std::string sizes;
  for (std::size_t size : shape) sizes += fmt::format("{}, ", size);
  if (shape.size() > 1) sizes.resize(sizes.size() - 2);
  if (shape.size() == 1) sizes.pop_back();
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type, sizes);
  assert(text.size() < npy_header_size - 10);
  text.resize(npy_header_size - 11, ' ');
  return Record()
      .add(std::string("\x93NUMPY\x01", 7))
      .add<std::uint8_t>(0)
      .add<Bytes2>(npy_header_size - 10)
      .add(text + "\n")
      .bytes();
}

/// The zip archive: one entry at a time, each a header of npy_header_size bytes and a body.
class NpzArchive {
 public:
  NpzArchive(const std::string& path, int level) : file_(path), level_(level), packed_(1 << 16) {}
  ~NpzArchive() {
    if (open_) deflateEnd(&stream_);
  }

  void begin(const std::string& name) {
    entry_ = {name + ".npy", file_.size(), 0, npy_header_size, 0};
    const std::string start = local_header(entry_);
    file_.write(start.data(), start.size());
    entry_.data_offset = file_.size();
    // A stored deflate block, not the last, to be filled in by end().
    const std::string block = Record()
                                  .add<std::uint8_t>(0)
                                  .add<Bytes2>(npy_header_size)
                                  .add<Bytes2>(0xffff - npy_header_size)
                                  .add(std::string(npy_header_size, ' '))
                                  .bytes();
    file_.write(block.data(), block.size());
    stream_ = {};
    if (deflateInit2(&stream_, level_, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
      throw Error(ErrorKind::internal, "zlib cannot start");
    open_ = true;
    body_sum_ = crc32_z(0, nullptr, 0);
  }

  void write(const void* data, std::size_t size) {
    if (size == 0) return;  // zlib takes a null pointer for a fresh start of the sum
    const auto* bytes = static_cast<const Bytef*>(data);
    body_sum_ = crc32_z(body_sum_, bytes, size);
    entry_.size += size;
    while (size > 0) {
      const std::size_t part = std::min<std::size_t>(size, 1 << 30);
      pump(bytes, part, Z_NO_FLUSH);
      bytes += part;
      size -= part;
    }
  }

  void end(const std::string& header) {
    assert(header.size() == npy_header_size);
    pump(nullptr, 0, Z_FINISH);
    deflateEnd(&stream_);
    open_ = false;
    const uLong header_sum = crc32_z(0, reinterpret_cast<const Bytef*>(header.data()), header.size());
    entry_.sum = static_cast<std::uint32_t>(
        crc32_combine(header_sum, body_sum_, static_cast<z_off_t>(entry_.size - npy_header_size)));
    entry_.packed_size = file_.size() - entry_.data_offset;
    file_.write_at(entry_.data_offset + 5, header.data(), header.size());
    const std::string start = local_header(entry_);
    file_.write_at(entry_.offset, start.data(), start.size());
    entries_.push_back(entry_);
  }

  void finish() {
    const std::uint64_t directory = file_.size();
    for (const Entry& entry : entries_) {
      const std::string record = directory_record(entry);
      file_.write(record.data(), record.size());
    }
    const std::uint64_t end = file_.size();
    const std::string tail = Record()
                                 .add<Bytes4>(0x06064b50)  // ZIP64 end of directory
                                 .add<Bytes8>(44)
                                 .add<Bytes2>(45)
                                 .add<Bytes2>(45)
                                 .add<Bytes4>(0)
                                 .add<Bytes4>(0)
                                 .add<Bytes8>(entries_.size())
                                 .add<Bytes8>(entries_.size())
                                 .add<Bytes8>(end - directory)
                                 .add<Bytes8>(directory)
                                 .add<Bytes4>(0x07064b50)  // its locator
                                 .add<Bytes4>(0)
                                 .add<Bytes8>(end)
                                 .add<Bytes4>(1)
                                 .add<Bytes4>(0x06054b50)  // end of directory
                                 .add<Bytes2>(0)
                                 .add<Bytes2>(0)
                                 .add<Bytes2>(entries_.size())
                                 .add<Bytes2>(entries_.size())
                                 .add<Bytes4>(std::min<std::uint64_t>(end - directory, 0xffffffff))
                                 .add<Bytes4>(std::min<std::uint64_t>(directory, 0xffffffff))
                                 .add<Bytes2>(0)
                                 .bytes();
    file_.write(tail.data(), tail.size());
    file_.commit();
  }

 private:
  struct Entry {
    std::string name;
    std::uint64_t offset = 0;
    std::uint64_t data_offset = 0;
    std::uint64_t size = 0;
    std::uint64_t packed_size = 0;
    std::uint32_t sum = 0;
  };

  static std::string local_header(const Entry& entry) {
    return Record()
        .add<Bytes4>(0x04034b50)
        .add<Bytes2>(45)      // version needed: ZIP64
        .add<Bytes2>(0)       // flags
        .add<Bytes2>(8)       // deflate
        .add<Bytes2>(0)       // time
        .add<Bytes2>(0x0021)  // date: 1 January 1980
        .add<Bytes4>(entry.sum)
        .add<Bytes4>(0xffffffff)
        .add<Bytes4>(0xffffffff)
        .add<Bytes2>(entry.name.size())
        .add<Bytes2>(20)
        .add(entry.name)
        .add<Bytes2>(1)  // ZIP64 sizes
        .add<Bytes2>(16)
        .add<Bytes8>(entry.size)
        .add<Bytes8>(entry.packed_size)
        .bytes();
  }

  static std::string directory_record(const Entry& entry) {
    return Record()
        .add<Bytes4>(0x02014b50)
        .add<Bytes2>(45)
        .add<Bytes2>(45)
        .add<Bytes2>(0)
        .add<Bytes2>(8)
        .add<Bytes2>(0)
        .add<Bytes2>(0x0021)
        .add<Bytes4>(entry.sum)
        .add<Bytes4>(0xffffffff)
        .add<Bytes4>(0xffffffff)
        .add<Bytes2>(entry.name.size())
        .add<Bytes2>(28)
        .add<Bytes2>(0)  // comment
        .add<Bytes2>(0)  // disk
        .add<Bytes2>(0)  // internal attributes
        .add<Bytes4>(0)  // external attributes
        .add<Bytes4>(0xffffffff)
        .add(entry.name)
        .add<Bytes2>(1)
        .add<Bytes2>(24)
        .add<Bytes8>(entry.size)
        .add<Bytes8>(entry.packed_size)
        .add<Bytes8>(entry.offset)
        .bytes();
  }

  void pump(const Bytef* data, std::size_t size, int flush) {
    stream_.next_in = const_cast<Bytef*>(data);
    stream_.avail_in = static_cast<uInt>(size);
    do {
      stream_.next_out = packed_.data();
      stream_.avail_out = static_cast<uInt>(packed_.size());
      deflate(&stream_, flush);
      file_.write(packed_.data(), packed_.size() - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

  OutputFile file_;
  int level_;
  std::vector<Bytef> packed_;
  z_stream stream_{};
  bool open_ = false;
  uLong body_sum_ = 0;
  Entry entry_;
  std::vector<Entry> entries_;
};

/// UTF-8 to code points; a byte that is not UTF-8 stands for itself (Latin-1).
std::u32string code_points(const std::string& text) {
  std::u32string points;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = byte < 0x80 ? 1 : byte < 0xc0 ? 0 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    char32_t point = length == 0 || length == 1 ? byte : byte & (0xffU >> (length + 1));
    bool valid = length > 0 && byte < 0xf8 && i + length <= text.size();
    for (std::size_t k = 1; valid && k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      valid = next >> 6 == 2;
      point = point << 6 | (next & 0x3fU);
    }
    valid = valid && point < 0x110000 && !(point >= 0xd800 && point < 0xe000);
    points += valid ? point : char32_t{byte};
    i += valid ? length : 1;
  }
  return points;
}

/// An array of texts of one dimension, or a single text without dimensions.
void write_texts(NpzArchive& archive, const std::string& name, const std::vector<std::string>& texts,
                 bool single) {
  std::vector<std::u32string> points;
  std::size_t width = 1;
  for (const std::string& text : texts) {
    points.push_back(code_points(text));
    width = std::max(width, points.back().size());
  }
  archive.begin(name);
  for (std::u32string& text : points) {
    text.resize(width, U'\0');
    archive.write(text.data(), 4 * text.size());
  }
  archive.end(npy_header(fmt::format("<U{}", width),
                         single ? std::vector<std::size_t>{} : std::vector<std::size_t>{texts.size()}));
}

class NpzWriter final : public DrawWriter {
 public:
  NpzWriter(const std::string& path, DrawFileHeader file_header)
      : DrawWriter(std::move(file_header)),
        archive_(path, header().compression),
        scores_(path),
        narrow_(header().max_cardinality <= 256) {
    scores_.unlink();
    archive_.begin("draws");
  }

  void finish() override {
    archive_.end(npy_header(narrow_ ? "|u1" : "<u2", {draws(), header().chains, variables()}));
    if (header().log_scores) write_scores();
    write_texts(archive_, "variables", header().variable_names, false);
    write_texts(archive_, "evidence_variables", header().evidence_names, false);
    archive_.begin("evidence_values");
    archive_.write(header().evidence_values.data(), header().evidence_values.size() * sizeof(Value));
    archive_.end(npy_header("<u2", {header().evidence_values.size()}));
    write_texts(archive_, "metadata", {metadata()}, true);
    archive_.finish();
  }

 private:
  void write_scores() {
    archive_.begin("log_score");
    std::vector<char> block(1 << 16);
    for (std::uint64_t offset = 0; offset < scores_.size(); offset += block.size()) {
      const std::size_t size = std::min<std::uint64_t>(block.size(), scores_.size() - offset);
      scores_.read_at(offset, block.data(), size);
      archive_.write(block.data(), size);
    }
    archive_.end(npy_header("<f8", {draws(), header().chains}));
  }

  void write_draw(std::span<const Value> values, std::span<const double> log_scores) override {
    if (narrow_) {
      bytes_.assign(values.begin(), values.end());
      archive_.write(bytes_.data(), bytes_.size());
    } else {
      archive_.write(values.data(), values.size_bytes());
    }
    if (header().log_scores) scores_.write(log_scores.data(), log_scores.size_bytes());
  }

  std::string metadata() const {
    nlohmann::ordered_json json = nlohmann::ordered_json::parse(header().metadata);
    json["dimensions"] = {"draw", "chain", "variable"};
    json["inference_library"] = "drover";
    json["inference_library_version"] = version();
    if (!header().created_at.empty()) json["created_at"] = header().created_at;
    return json_text(json);
  }

  NpzArchive archive_;
  OutputFile scores_;
  bool narrow_;
  std::vector<std::uint8_t> bytes_;
};

}  // namespace

std::unique_ptr<DrawWriter> make_npz_writer(const std::string& path, DrawFileHeader header) {
  return std::make_unique<NpzWriter>(path, std::move(header));
}

}  // namespace drover
