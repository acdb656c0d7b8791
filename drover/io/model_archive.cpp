#include "drover/io/model_archive.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <bit>
#include <cstring>

#include "drover/core/error.hpp"
#include "drover/core/json_text.hpp"
#include "drover/io/atomic_file.hpp"
#include "drover/io/whole_file.hpp"

namespace drover {

static_assert(std::endian::native == std::endian::little, "model files are little-endian");

namespace {

constexpr std::string_view first_line = "drover model 1\n";
constexpr std::string_view any_version = "drover model ";
constexpr std::size_t last_line_size = 6 + 8 + 1;  // "crc32 1a2b3c4d\n"

constexpr std::string_view type_names[] = {"f32", "f64", "u32", "u64", "strings"};

std::string bytes_of(const ModelArchive::Array& array) {
  return std::visit(
      [](const auto& elements) {
        using Element = typename std::decay_t<decltype(elements)>::value_type;
        std::string bytes;
        if constexpr (std::is_same_v<Element, std::string>) {
          for (const std::string& text : elements) bytes.append(text).push_back('\0');
        } else {
          bytes.assign(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(Element));
        }
        return bytes;
      },
      array);
}

std::size_t count_of(const ModelArchive::Array& array) {
  return std::visit([](const auto& elements) { return elements.size(); }, array);
}

std::string checksum_line(std::string_view bytes) {
  std::uint32_t crc = 0;
  for (std::size_t at = 0; at < bytes.size();) {  // zlib counts in 32 bits
    const std::size_t part = std::min<std::size_t>(bytes.size() - at, std::size_t{1} << 30);
    crc = static_cast<std::uint32_t>(
        crc32(crc, reinterpret_cast<const Bytef*>(bytes.data() + at), static_cast<uInt>(part)));
    at += part;
  }
  return fmt::format("crc32 {:08x}\n", crc);
}

template <class Number>
bool take_numbers(std::string_view bytes, std::uint64_t count, ModelArchive::Array& array) {
  if (bytes.size() % sizeof(Number) != 0 || bytes.size() / sizeof(Number) != count) return false;
  std::vector<Number> numbers(count);
  if (count > 0) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  array = std::move(numbers);
  return true;
}

bool take_strings(std::string_view bytes, std::uint64_t count, ModelArchive::Array& array) {
  if (!bytes.empty() && bytes.back() != '\0') return false;
  std::vector<std::string> strings;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\0');
    strings.emplace_back(bytes.substr(0, end));
    bytes.remove_prefix(end + 1);
  }
  const bool right = strings.size() == count;
  array = std::move(strings);
  return right;
}

bool take_array(std::string_view type, std::string_view bytes, std::uint64_t count,
                ModelArchive::Array& array) {
  if (type == "f32") return take_numbers<float>(bytes, count, array);
  if (type == "f64") return take_numbers<double>(bytes, count, array);
  if (type == "u32") return take_numbers<std::uint32_t>(bytes, count, array);
  if (type == "u64") return take_numbers<std::uint64_t>(bytes, count, array);
  return type == "strings" && take_strings(bytes, count, array);
}

}  // namespace

const ModelArchive::Array& ModelArchive::find(std::string_view name) const {
  for (const auto& [known, array] : arrays_)
    if (known == name) return array;
  fail_array(name, "is missing");
}

void ModelArchive::fail_array(std::string_view name, const char* why) const {
  fail_at({file}, fmt::format("the {} model is not whole: array \"{}\" {}", kind_, name, why));
}

void ModelArchive::fail_member(const char* name) const {
  fail_at({file},
          fmt::format("the {} model is not whole: \"{}\" is missing or not what it should be in its header",
                      kind_, name));
}

std::string model_archive_bytes(const ModelArchive& archive) {
  nlohmann::ordered_json header = {{"kind", archive.kind_}};
  for (const auto& [name, value] : archive.header.items()) header[name] = value;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  std::string arrays;
  for (const auto& [name, array] : archive.arrays_) {
    const std::string bytes = bytes_of(array);
    list.push_back({{"name", name},
                    {"type", type_names[array.index()]},
                    {"count", count_of(array)},
                    {"bytes", bytes.size()}});
    arrays += bytes;
  }
  header["arrays"] = std::move(list);
  std::string bytes = std::string(first_line) + json_text(header) + "\n" + arrays;
  return bytes + checksum_line(bytes);
}

ModelArchive parse_model_archive(std::string_view bytes, const std::string& file) {
  const auto fail = [&](const std::string& why) { fail_at({file}, why); };
  if (!bytes.starts_with(any_version)) fail("expected a drover model file (.drv)");
  if (!bytes.starts_with(first_line)) fail("the model file is of a version this program does not know");
  if (bytes.size() < first_line.size() + last_line_size) fail("the model file is cut off");
  const std::string_view body = bytes.substr(0, bytes.size() - last_line_size);
  if (bytes.substr(body.size()) != checksum_line(body))
    fail("the model file is damaged or cut off (its checksum does not fit)");
  const std::size_t header_end = body.find('\n', first_line.size());
  if (header_end == std::string_view::npos) fail("expected a line of JSON after the first line");
  auto header = nlohmann::ordered_json::parse(body.substr(first_line.size(), header_end - first_line.size()),
                                              nullptr, false);
  if (!header.is_object() || !header.contains("kind") || !header["kind"].is_string() ||
      !header.contains("arrays") || !header["arrays"].is_array())
    fail("expected a JSON object with \"kind\" and \"arrays\" in line 2");
  ModelArchive archive(header["kind"].get<std::string>());
  archive.file = file;
  std::string_view rest = body.substr(header_end + 1);
  for (const auto& entry : header["arrays"]) {
    const bool typed = entry.is_object() && entry.contains("name") && entry["name"].is_string() &&
                       entry.contains("type") && entry["type"].is_string() && entry.contains("count") &&
                       entry["count"].is_number_unsigned() && entry.contains("bytes") &&
                       entry["bytes"].is_number_unsigned();
    if (!typed) fail("expected name, type, count and bytes of each array in line 2");
    const auto size = entry["bytes"].get<std::uint64_t>();
    ModelArchive::Array array;
    if (size > rest.size() || !take_array(entry["type"].get<std::string>(), rest.substr(0, size),
                                          entry["count"].get<std::uint64_t>(), array))
      fail(fmt::format("array \"{}\" does not have the type and size that line 2 says",
                       entry["name"].get<std::string>()));
    archive.add(entry["name"].get<std::string>(), std::move(array));
    rest.remove_prefix(size);
  }
  if (!rest.empty()) fail("there are bytes after the last array");
  header.erase("kind");
  header.erase("arrays");
  archive.header = std::move(header);
  return archive;
}

void write_model_archive(const std::string& path, const ModelArchive& archive) {
  write_file(path, model_archive_bytes(archive));
}

ModelArchive read_model_archive(const std::string& path, std::string_view kind, const RunControl& control) {
  ModelArchive archive = parse_model_archive(read_whole_file(path, control), path);
  if (!kind.empty() && archive.kind() != kind)
    fail_at({path}, fmt::format("expected a model of kind {}, found one of kind {}", kind, archive.kind()));
  return archive;
}

}  // namespace drover
