// Reads draws from a NumPy archive: drover's own, numpy.savez and numpy.savez_compressed.
//
// Nothing in the file is believed before it is checked: offsets lie inside the file, sizes agree with each
// other and with what deflate can reach (a factor of 1032), check sums hold.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "drover/core/error.hpp"
#include "drover/core/stop_check.hpp"
#include "drover/io/draws.hpp"
#include "drover/io/npz.hpp"
#include "drover/io/unpack_limit.hpp"
#include "drover/io/whole_file.hpp"

namespace drover {

namespace {

struct Entry {
  std::string name;
  bool deflated = false;
  std::uint32_t sum = 0;
  std::uint64_t size = 0;
  std::span<const std::uint8_t> packed;
};

/// The bytes of the archive with checked access.
class Archive {
 public:
  Archive(std::span<const std::uint8_t> bytes, std::string file, const RunControl& control)
      : bytes_(bytes), file_(std::move(file)), control_(control) {}

  const std::string& name() const { return file_; }
  const RunControl& control() const { return control_; }

  [[noreturn]] void fail(const std::string& message) const { fail_at({file_}, message); }

  std::vector<Entry> entries() const {
    if (bytes_.size() < 4 || number<std::uint32_t>(0) != 0x04034b50) fail("not a NumPy .npz archive");
    std::uint64_t end = bytes_.size() < 22 ? 0 : bytes_.size() - 22;
    const std::uint64_t lowest = end > 65535 ? end - 65535 : 0;
    while (end > lowest && number<std::uint32_t>(end) != 0x06054b50) --end;
    if (end == lowest) fail("the archive has no directory: it is truncated or not a zip file");
    std::uint64_t count = number<std::uint16_t>(end + 10), place = number<std::uint32_t>(end + 16);
    if (end >= 20 && number<std::uint32_t>(end - 20) == 0x07064b50) {
      const auto large = number<std::uint64_t>(end - 12);
      if (number<std::uint32_t>(large) != 0x06064b50) fail("bad ZIP64 directory");
      count = number<std::uint64_t>(large + 32);
      place = number<std::uint64_t>(large + 48);
    }
    std::vector<Entry> entries;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (number<std::uint32_t>(place) != 0x02014b50) fail("bad directory of the archive");
      const std::uint64_t name_size = number<std::uint16_t>(place + 28);
      const std::uint64_t extra_size = number<std::uint16_t>(place + 30);
      entries.push_back(entry(place, name_size, extra_size));
      place += 46 + name_size + extra_size + number<std::uint16_t>(place + 32);
    }
    return entries;
  }

 private:
  std::span<const std::uint8_t> part(std::uint64_t offset, std::uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) fail("the archive is truncated");
    return bytes_.subspan(offset, size);
  }

  template <typename Number>
  Number number(std::uint64_t offset) const {
    const auto bytes = part(offset, sizeof(Number));
    std::uint64_t result = 0;
    for (std::size_t i = 0; i < sizeof(Number); ++i) result |= std::uint64_t{bytes[i]} << (8 * i);
    return static_cast<Number>(result);
  }

  Entry entry(std::uint64_t place, std::uint64_t name_size, std::uint64_t extra_size) const {
    Entry entry;
    const auto name = part(place + 46, name_size);
    entry.name.assign(name.begin(), name.end());
    const auto method = number<std::uint16_t>(place + 10);
    if (number<std::uint16_t>(place + 8) & 1) fail("the archive is encrypted");
    if (method != 0 && method != 8) fail(fmt::format("{}: unknown compression {}", entry.name, method));
    entry.deflated = method == 8;
    entry.sum = number<std::uint32_t>(place + 16);
    std::uint64_t packed_size = number<std::uint32_t>(place + 20);
    entry.size = number<std::uint32_t>(place + 24);
    std::uint64_t offset = number<std::uint32_t>(place + 42);
    // ZIP64: the numbers that did not fit, in this order.
    for (std::uint64_t extra = 0; extra + 4 <= extra_size;) {
      const std::uint64_t start = place + 46 + name_size + extra, size = number<std::uint16_t>(start + 2);
      std::uint64_t next = start + 4;
      if (number<std::uint16_t>(start) == 1) {
        for (std::uint64_t* field : {&entry.size, &packed_size, &offset}) {
          if (*field != 0xffffffff) continue;
          if (next + 8 > start + 4 + size) fail(fmt::format("{}: bad ZIP64 sizes", entry.name));
          *field = number<std::uint64_t>(next);
          next += 8;
        }
      }
      extra += 4 + size;
    }
    if (number<std::uint32_t>(offset) != 0x04034b50) fail(fmt::format("{}: no such entry", entry.name));
    const std::uint64_t skip = 30 + std::uint64_t{number<std::uint16_t>(offset + 26)} +
                               std::uint64_t{number<std::uint16_t>(offset + 28)};
    entry.packed = part(offset + skip, packed_size);
    const bool possible = entry.deflated ? entry.size / 1032 <= packed_size + 1 : entry.size == packed_size;
    if (!possible) fail(fmt::format("{}: its size cannot be right", entry.name));
    if (entry.deflated) check_unpacked(file_, packed_size, entry.size, unpacked_draws);
    return entry;
  }

  std::span<const std::uint8_t> bytes_;
  std::string file_;
  const RunControl& control_;
};

/// The content of one entry, read from front to back.
class EntryStream {
 public:
  EntryStream(const Archive& archive, const Entry& entry)
      : archive_(archive), entry_(entry), check_(archive.control(), archive.name(), "was read") {
    if (entry.deflated && inflateInit2(&stream_, -MAX_WBITS) != Z_OK)
      throw Error(ErrorKind::internal, "zlib cannot start");
  }
  ~EntryStream() {
    if (entry_.deflated) inflateEnd(&stream_);
  }
  EntryStream(const EntryStream&) = delete;
  EntryStream& operator=(const EntryStream&) = delete;

  [[noreturn]] void fail(const std::string& message) const {
    archive_.fail(fmt::format("{}: {}", entry_.name, message));
  }
  std::uint64_t left() const { return entry_.size - read_; }
  StopCheck& check() { return check_; }

  void read(void* out, std::uint64_t size) {
    if (size > left()) fail("the array ends early");
    if (size == 0) return;
    constexpr std::uint64_t at_once = 1U << 24;
    auto* bytes = static_cast<std::uint8_t*>(out);
    while (size > 0) {
      const std::uint64_t part = std::min(size, at_once);
      if (entry_.deflated)
        inflate_to(bytes, part);
      else
        std::memcpy(bytes, entry_.packed.data() + read_, part);
      sum_ = crc32_z(sum_, bytes, part);
      read_ += part;
      bytes += part;
      size -= part;
      check_.ask();
    }
    if (left() == 0 && sum_ != entry_.sum) fail("the check sum is wrong: the file is damaged");
  }

 private:
  void inflate_to(std::uint8_t* out, std::uint64_t size) {
    while (size > 0) {
      if (stream_.avail_in == 0) {
        const std::size_t part = std::min<std::size_t>(entry_.packed.size() - taken_, 1U << 30);
        stream_.next_in = const_cast<Bytef*>(entry_.packed.data() + taken_);
        stream_.avail_in = static_cast<uInt>(part);
        taken_ += part;
      }
      stream_.next_out = out;
      stream_.avail_out = static_cast<uInt>(size);
      const int code = inflate(&stream_, Z_NO_FLUSH);
      const std::uint64_t made = size - stream_.avail_out;
      out += made;
      size -= made;
      if (code == Z_STREAM_END ? size > 0 : (code != Z_OK || (made == 0 && taken_ == entry_.packed.size())))
        fail("the compressed data is damaged");
    }
  }

  const Archive& archive_;
  const Entry& entry_;
  z_stream stream_{};
  std::size_t taken_ = 0;
  std::uint64_t read_ = 0;
  uLong sum_ = crc32_z(0, nullptr, 0);
  StopCheck check_;
};

struct ArrayHeader {
  char order = '<';  ///< of bytes: '<', '>' or '|'
  char kind = 'f';   ///< b, u, i, f, U; 0 for what is not understood
  std::uint64_t item_size = 0;
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;

  bool numeric() const {
    return (kind == 'b' && item_size == 1) || (kind == 'f' && (item_size == 4 || item_size == 8)) ||
           ((kind == 'u' || kind == 'i') && std::has_single_bit(item_size) && item_size <= 8);
  }
};

/// Reads the header; the stream is then at the first item.
ArrayHeader read_header(EntryStream& stream) {
  std::uint8_t start[12] = {};
  stream.read(start, 10);
  if (std::memcmp(start, "\x93NUMPY", 6) != 0) stream.fail("not a .npy array");
  std::uint64_t size = start[8] | std::uint64_t{start[9]} << 8;
  if (start[6] > 1) {
    stream.read(start + 10, 2);
    size |= std::uint64_t{start[10]} << 16 | std::uint64_t{start[11]} << 24;
  }
  if (size > 1 << 20) stream.fail("bad .npy header");
  std::string text(size, ' ');
  stream.read(text.data(), size);

  const auto after = [&](const std::string& key) {
    const std::size_t at = text.find("'" + key + "'");
    const std::size_t colon = at == std::string::npos ? at : text.find(':', at);
    const std::size_t value = colon == std::string::npos ? colon : text.find_first_not_of(' ', colon + 1);
    if (value == std::string::npos) stream.fail("bad .npy header: no " + key);
    return value;
  };
  ArrayHeader header;
  std::size_t at = after("descr");
  if (text[at] != '\'' || at + 3 >= text.size()) {
    header.kind = 0;
  } else {
    header.order = text[at + 1];
    header.kind = text[at + 2];
    for (at += 3; at < text.size() && text[at] >= '0' && text[at] <= '9' && header.item_size < 1000000; ++at)
      header.item_size = 10 * header.item_size + static_cast<std::uint64_t>(text[at] - '0');
    if (header.kind == 'U') header.item_size *= 4;
  }
  header.fortran_order = text.compare(after("fortran_order"), 4, "True") == 0;
  at = after("shape");
  if (text[at] != '(') stream.fail("bad .npy header: shape");
  for (++at; at < text.size() && text[at] != ')';) {
    if (text[at] < '0' || text[at] > '9') {
      ++at;
      continue;
    }
    std::uint64_t number = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
      if (number > std::numeric_limits<std::uint64_t>::max() / 10 - 1) stream.fail("bad .npy header: shape");
      number = 10 * number + static_cast<std::uint64_t>(text[at] - '0');
    }
    header.shape.push_back(number);
  }
  if (header.kind != 0) {
    std::uint64_t total = header.item_size;
    for (std::uint64_t extent : header.shape)
      if (__builtin_mul_overflow(total, extent, &total)) stream.fail("bad .npy header: shape");
    if (total != stream.left()) stream.fail("the shape does not agree with the size of the array");
  }
  return header;
}

/// Extents and strides (in items) of the array seen as (draw, chain, variable).
struct Axes {
  std::uint64_t draws = 1, chains = 1, variables = 1;
  std::uint64_t draw_stride = 0, chain_stride = 0, variable_stride = 0;
};

Axes axes_of(const ArrayHeader& header, bool draw_first) {
  std::vector<std::uint64_t> strides(header.shape.size());
  std::uint64_t stride = 1;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    const std::size_t axis = header.fortran_order ? i : strides.size() - 1 - i;
    strides[axis] = stride;
    stride *= header.shape[axis];
  }
  Axes axes;
  if (header.shape.size() == 3) {
    const std::size_t draw = draw_first ? 0 : 1, chain = draw_first ? 1 : 0;
    axes.chains = header.shape[chain];
    axes.chain_stride = strides[chain];
    axes.draws = header.shape[draw];
    axes.draw_stride = strides[draw];
    axes.variables = header.shape[2];
    axes.variable_stride = strides[2];
  } else {
    axes.draws = header.shape[0];
    axes.draw_stride = strides[0];
    if (header.shape.size() == 2) {
      axes.variables = header.shape[1];
      axes.variable_stride = strides[1];
    }
  }
  return axes;
}

template <typename Item>
Item item_at(const std::uint8_t* bytes, bool swap) {
  std::uint8_t copy[sizeof(Item)];
  std::memcpy(copy, bytes, sizeof(Item));
  if (swap) std::reverse(copy, copy + sizeof(Item));
  return std::bit_cast<Item>(copy);
}

template <typename Item, typename Result>
std::vector<Result> gather(const std::vector<std::uint8_t>& bytes, const Axes& axes, bool swap,
                           StopCheck& check) {
  std::vector<Result> result;
  result.reserve(axes.draws * axes.chains * axes.variables);
  for (std::uint64_t t = 0; t < axes.draws; ++t)
    for (std::uint64_t c = 0; c < axes.chains; ++c) {
      check.step(axes.variables);
      for (std::uint64_t v = 0; v < axes.variables; ++v) {
        const std::uint64_t index = t * axes.draw_stride + c * axes.chain_stride + v * axes.variable_stride;
        result.push_back(static_cast<Result>(item_at<Item>(bytes.data() + index * sizeof(Item), swap)));
      }
    }
  return result;
}

std::vector<double> gather_double(const ArrayHeader& header, const std::vector<std::uint8_t>& bytes,
                                  const Axes& axes, StopCheck& check) {
  const bool swap = header.order == '>';
  switch (header.kind) {
    case 'f':
      return header.item_size == 4 ? gather<float, double>(bytes, axes, swap, check)
                                   : gather<double, double>(bytes, axes, swap, check);
    case 'i':
      return header.item_size == 1   ? gather<std::int8_t, double>(bytes, axes, swap, check)
             : header.item_size == 2 ? gather<std::int16_t, double>(bytes, axes, swap, check)
             : header.item_size == 4 ? gather<std::int32_t, double>(bytes, axes, swap, check)
                                     : gather<std::int64_t, double>(bytes, axes, swap, check);
    default:
      return header.item_size == 1   ? gather<std::uint8_t, double>(bytes, axes, swap, check)
             : header.item_size == 2 ? gather<std::uint16_t, double>(bytes, axes, swap, check)
             : header.item_size == 4 ? gather<std::uint32_t, double>(bytes, axes, swap, check)
                                     : gather<std::uint64_t, double>(bytes, axes, swap, check);
  }
}

std::vector<std::uint8_t> read_items(EntryStream& stream) {
  std::vector<std::uint8_t> bytes(stream.left());
  stream.read(bytes.data(), bytes.size());
  return bytes;
}

void append_utf8(std::string& text, std::uint32_t point) {
  if (point >= 0x110000) point = 0xfffd;
  if (point < 0x80) {
    text += static_cast<char>(point);
    return;
  }
  const int length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  text += static_cast<char>((0xf00U >> length & 0xffU) | point >> (6 * (length - 1)));
  for (int i = length - 2; i >= 0; --i) text += static_cast<char>(0x80 | (point >> (6 * i) & 0x3f));
}

std::vector<std::string> read_texts(const Archive& archive, const Entry& entry) {
  EntryStream stream(archive, entry);
  const ArrayHeader header = read_header(stream);
  std::vector<std::string> texts;
  if (header.kind != 'U' || header.item_size == 0) return texts;
  const std::vector<std::uint8_t> bytes = read_items(stream);
  for (std::size_t start = 0; start < bytes.size(); start += header.item_size) {
    std::string text;
    for (std::size_t i = start; i < start + header.item_size; i += 4) {
      const auto point = item_at<std::uint32_t>(bytes.data() + i, header.order == '>');
      if (point != 0) append_utf8(text, point);
    }
    texts.push_back(text);
  }
  return texts;
}

const Entry* find_entry(const std::vector<Entry>& entries, const std::string& name) {
  for (const Entry& entry : entries)
    if (entry.name == name + ".npy") return &entry;
  return nullptr;
}

const Entry& find_draws(const Archive& archive, const std::vector<Entry>& entries) {
  if (const Entry* entry = find_entry(entries, "draws")) return *entry;
  for (const Entry& entry : entries) {
    if (!entry.name.ends_with(".npy")) continue;
    EntryStream stream(archive, entry);
    const ArrayHeader header = read_header(stream);
    if (header.numeric() && !header.shape.empty() && header.shape.size() <= 3) return entry;
  }
  archive.fail("expected an array of draws with one to three dimensions, found none");
}

}  // namespace

DrawFile parse_draws_npz(std::span<const std::uint8_t> bytes, const std::string& name,
                         const RunControl& control) {
  const Archive archive(bytes, name, control);
  const std::vector<Entry> entries = archive.entries();
  DrawFile file;
  bool draw_first = false;
  if (const Entry* entry = find_entry(entries, "metadata")) {
    const std::vector<std::string> texts = read_texts(archive, *entry);
    if (texts.size() == 1) file.metadata = texts[0];
    const auto json = nlohmann::json::parse(file.metadata, nullptr, false);
    if (json.is_object() && json.contains("dimensions") && json["dimensions"].is_array() &&
        !json["dimensions"].empty())
      draw_first = json["dimensions"][0] == "draw";
  }

  EntryStream stream(archive, find_draws(archive, entries));
  const ArrayHeader header = read_header(stream);
  if (!header.numeric()) stream.fail("expected an array of numbers");
  if (header.shape.empty() || header.shape.size() > 3)
    stream.fail(fmt::format("expected one to three dimensions, found {}", header.shape.size()));
  const Axes axes = axes_of(header, draw_first);
  file.draws = axes.draws;
  file.chains = axes.chains;
  // An array without items may still claim any number of variables or chains.
  if (axes.variables > (1U << 30) || axes.chains > (1U << 30) ||
      (stream.left() == 0 && axes.variables > 65536))
    stream.fail("too many variables or chains");
  const bool in_order = header.shape.size() < 3 || draw_first;
  const bool bytes_only = header.kind == 'b' || (header.kind == 'u' && header.item_size == 1);
  std::vector<std::uint8_t> items = read_items(stream);
  if (bytes_only && in_order && !header.fortran_order)
    file.values = std::move(items);
  else if (bytes_only)
    file.values = gather<std::uint8_t, std::uint8_t>(items, axes, false, stream.check());
  else if (header.kind == 'u' && header.item_size == 2)
    file.values = gather<std::uint16_t, std::uint16_t>(items, axes, header.order == '>', stream.check());
  else
    set_values(file, gather_double(header, items, axes, stream.check()));

  if (const Entry* entry = find_entry(entries, "variables"))
    file.variable_names = read_texts(archive, *entry);
  if (file.variable_names.size() != axes.variables) {
    file.variable_names.clear();
    for (std::uint64_t v = 0; v < axes.variables; ++v) file.variable_names.push_back(std::to_string(v));
  }
  if (const Entry* entry = find_entry(entries, "log_score")) {
    EntryStream scores(archive, *entry);
    const ArrayHeader score_header = read_header(scores);
    const std::vector<std::uint64_t> expected =
        draw_first ? std::vector{axes.draws, axes.chains} : std::vector{axes.chains, axes.draws};
    if (!score_header.numeric() || score_header.shape != expected)
      scores.fail("its shape does not agree with that of the draws");
    ArrayHeader cube = score_header;
    cube.shape.push_back(1);
    file.log_scores = gather_double(cube, read_items(scores), axes_of(cube, draw_first), scores.check());
  }
  return file;
}

NpzArray read_npz_array(const std::string& path, const std::string& name, const RunControl& control) {
  const std::string text = read_whole_file(path, control);
  const Archive archive({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, path, control);
  const std::vector<Entry> entries = archive.entries();
  const Entry* entry = find_entry(entries, name);
  if (entry == nullptr) archive.fail(fmt::format("expected an array named {}, found none", name));
  EntryStream stream(archive, *entry);
  const ArrayHeader header = read_header(stream);
  if (!header.numeric()) stream.fail("expected an array of numbers");
  if (header.fortran_order && header.shape.size() > 1) stream.fail("expected an array in C order");
  // Row-major items are one long row, whatever the shape.
  ArrayHeader row = header;
  row.shape = {stream.left() / header.item_size};
  return {header.shape, gather_double(row, read_items(stream), axes_of(row, true), stream.check())};
}

}  // namespace drover
