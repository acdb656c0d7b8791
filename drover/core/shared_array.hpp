// An array whose copies share its numbers until one of them is changed: a large model, the graph that is compiled from it and copies of
// either hold the same couplings once.
//
// It is used like a std::vector. Whoever may change it is taken to do so: begin(), data() and [] of an array that is not const see to it
// that the numbers are its own, so loops that only read go through a const one. Copies may be used by different threads, one array
// by one thread at a time unless all only read.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace drover {

template <class T>
class SharedArray {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SharedArray() = default;
  SharedArray(std::vector<T> values) : held_(new Held{std::move(values)}) { look(); }
  SharedArray(std::initializer_list<T> values) : SharedArray(std::vector<T>(values)) {}
  SharedArray(const SharedArray& other) : held_(other.held_), begin_(other.begin_), size_(other.size_) {
    if (held_ != nullptr) held_->holders.fetch_add(1, std::memory_order_relaxed);
  }
  SharedArray(SharedArray&& other) noexcept { swap(other); }
  SharedArray& operator=(SharedArray other) noexcept {
    swap(other);
    return *this;
  }
  ~SharedArray() {
    if (held_ != nullptr && held_->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete held_;
  }

  operator std::vector<T>() const { return {begin_, begin_ + size_}; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T* data() const { return begin_; }
  const T* begin() const { return begin_; }
  const T* end() const { return begin_ + size_; }
  const T& operator[](std::size_t i) const { return begin_[i]; }
  const T& front() const { return begin_[0]; }
  const T& back() const { return begin_[size_ - 1]; }

  T* data() { return own().data(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  T& operator[](std::size_t i) { return data()[i]; }
  T& front() { return data()[0]; }
  T& back() { return data()[size_ - 1]; }

  void push_back(const T& value) {
    own().push_back(value);
    look();
  }
  void append(std::span<const T> values) {
    own().insert(held_->values.end(), values.begin(), values.end());
    look();
  }
  void pop_back() { resize(size_ - 1); }
  void resize(std::size_t size, const T& value = T()) {
    own().resize(size, value);
    look();
  }
  void reserve(std::size_t size) {
    own().reserve(size);
    look();
  }
  void clear() { assign(0, T()); }
  void assign(std::size_t size, const T& value) {
    if (!is_own()) *this = SharedArray();
    own().assign(size, value);
    look();
  }

  friend bool operator==(const SharedArray& a, const SharedArray& b) {
    return a.begin_ == b.begin_ ? a.size_ == b.size_ : std::ranges::equal(a, b);
  }

 private:
  struct Held {
    std::vector<T> values;
    std::atomic<std::size_t> holders{1};
  };

  void swap(SharedArray& other) noexcept {
    std::swap(held_, other.held_);
    std::swap(begin_, other.begin_);
    std::swap(size_, other.size_);
  }
  // What another holder read before it let go comes before what is written here.
  bool is_own() const { return held_ != nullptr && held_->holders.load(std::memory_order_acquire) == 1; }
  std::vector<T>& own() {
    if (!is_own()) *this = SharedArray(std::vector<T>(begin_, begin_ + size_));
    return held_->values;
  }
  void look() {
    begin_ = held_->values.data();
    size_ = held_->values.size();
  }

  Held* held_ = nullptr;
  const T* begin_ = nullptr;  // of held_->values, one look away
  std::size_t size_ = 0;
};

}  // namespace drover
