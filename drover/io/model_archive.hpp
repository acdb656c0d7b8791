// Trained models in files (.drv): a header that says what the file is, and named arrays.
//
//   drover model 1                       the container and its version
//   {"kind": "text", ..., "arrays": [{"name", "type", "count", "bytes"}, ...]}      one line of JSON
//   the arrays' bytes, one after the other, little-endian; strings end in a zero byte
//   crc32 1a2b3c4d                       of everything before
//
// `kind` names the command that made the model (text, crf, ising, rbm ...); the header's other members belong
// to that kind. Every file is read whole and checked before anything is believed. Written whole or not at
// all; a name ending in .gz is compressed.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "drover/core/run_control.hpp"

namespace drover {

class ModelArchive {
 public:
  using Array = std::variant<std::vector<float>, std::vector<double>, std::vector<std::uint32_t>,
                             std::vector<std::uint64_t>, std::vector<std::string>>;

  ModelArchive() = default;
  explicit ModelArchive(std::string kind) : kind_(std::move(kind)) {}

  const std::string& kind() const { return kind_; }
  /// What the kind wants to say: settings, sizes, names. Never holds "kind" or "arrays".
  nlohmann::ordered_json header = nlohmann::ordered_json::object();

  void add(std::string name, Array array) { arrays_.emplace_back(std::move(name), std::move(array)); }

  /// The array with this name, type and (when given) number of elements; raises bad_data.
  template <class Element>
  const std::vector<Element>& array(std::string_view name, std::uint64_t count = any_count) const {
    const Array& found = find(name);
    const auto* typed = std::get_if<std::vector<Element>>(&found);
    if (typed == nullptr) fail_array(name, "has an unexpected type");
    if (count != any_count && typed->size() != count) fail_array(name, "has an unexpected size");
    return *typed;
  }
  /// A member of the header as a T; raises bad_data when it is missing or of another type.
  template <class T>
  T member(const char* name) const {
    const auto found = header.find(name);
    if (found == header.end()) fail_member(name);
    try {
      return found->template get<T>();
    } catch (const nlohmann::json::exception&) {
      fail_member(name);
    }
  }

  std::string file = "model";  ///< for messages

 private:
  static constexpr std::uint64_t any_count = ~std::uint64_t{0};
  friend ModelArchive parse_model_archive(std::string_view bytes, const std::string& file);
  friend std::string model_archive_bytes(const ModelArchive& archive);

  const Array& find(std::string_view name) const;
  [[noreturn]] void fail_array(std::string_view name, const char* why) const;
  [[noreturn]] void fail_member(const char* name) const;

  std::string kind_;
  std::vector<std::pair<std::string, Array>> arrays_;
};

void write_model_archive(const std::string& path, const ModelArchive& archive);

/// Raises cannot_read, or bad_data for a file that is damaged or of another kind (empty: any will do), or
/// stopped when the control ends the run first.
ModelArchive read_model_archive(const std::string& path, std::string_view kind,
                                const RunControl& control = no_control());

/// The same in memory.
std::string model_archive_bytes(const ModelArchive& archive);
ModelArchive parse_model_archive(std::string_view bytes, const std::string& file);

}  // namespace drover
