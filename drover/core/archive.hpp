// Saving and loading of plain members, for checkpoints. What can be saved lists its members in
// visit(archive).
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "drover/core/error.hpp"

namespace drover {

class SaveArchive {
 public:
  template <class Number>
  requires std::is_arithmetic_v<Number>
  void operator()(Number& number) { append(&number, sizeof(Number)); }
  template <class Number, class Allocator>
  requires std::is_trivially_copyable_v<Number>
  void operator()(std::vector<Number, Allocator>& numbers) {
    std::uint64_t count = numbers.size();
    (*this)(count);
    append(numbers.data(), numbers.size() * sizeof(Number));
  }
  void operator()(std::string& text) {
    std::uint64_t count = text.size();
    (*this)(count);
    append(text.data(), text.size());
  }
  /// Of a size that both sides know.
  template <class Number>
  requires std::is_trivially_copyable_v<Number>
  void operator()(std::span<Number> numbers) { append(numbers.data(), numbers.size_bytes()); }
  const std::string& bytes() const { return bytes_; }
  std::string take() { return std::move(bytes_); }

 private:
  void append(const void* data, std::size_t size) { bytes_.append(static_cast<const char*>(data), size); }
  std::string bytes_;
};

class LoadArchive {
 public:
  explicit LoadArchive(std::string bytes) : bytes_(std::move(bytes)) {}

  template <class Number>
  requires std::is_arithmetic_v<Number>
  void operator()(Number& number) { take(&number, sizeof(Number)); }
  template <class Number, class Allocator>
  requires std::is_trivially_copyable_v<Number>
  void operator()(std::vector<Number, Allocator>& numbers) {
    std::uint64_t count = 0;
    (*this)(count);
    if (count > (bytes_.size() - at_) / sizeof(Number)) truncated();
    numbers.resize(count);
    take(numbers.data(), count * sizeof(Number));
  }
  void operator()(std::string& text) {
    std::uint64_t count = 0;
    (*this)(count);
    if (count > bytes_.size() - at_) truncated();
    text.assign(bytes_, at_, count);
    at_ += count;
  }
  template <class Number>
  requires std::is_trivially_copyable_v<Number>
  void operator()(std::span<Number> numbers) { take(numbers.data(), numbers.size_bytes()); }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  [[noreturn]] static void truncated() {
    throw Error(ErrorKind::bad_data, "the checkpoint is truncated or damaged");
  }
  // Never inlined: g++ 12 then believes that a string just moved may be uninitialised.
  [[gnu::noinline]] void take(void* data, std::size_t size) {
    if (size > bytes_.size() - at_) truncated();
    if (size > 0) std::memcpy(data, bytes_.data() + at_, size);
    at_ += size;
  }
  std::string bytes_;
  std::size_t at_ = 0;
};

}  // namespace drover
