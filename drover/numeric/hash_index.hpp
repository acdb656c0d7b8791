// 64-bit keys -> dense numbers, in two flat arrays (open addressing, linear probing, at most half full).
//
// Keys are hashes already, so their low bits are the place. Key 0 means "free" and is never stored.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace drover {

class HashIndex {
 public:
  static constexpr std::uint32_t none = 0xffffffffU;

  HashIndex() : keys_(16), values_(16) {}

  std::size_t size() const { return size_; }

  std::uint32_t find(std::uint64_t key) const {
    for (std::size_t at = key & mask();; at = (at + 1) & mask()) {
      if (keys_[at] == key) return values_[at];
      if (keys_[at] == 0) return none;
    }
  }
  /// The value of the key; a new key gets `fresh`.
  std::uint32_t insert(std::uint64_t key, std::uint32_t fresh) {
    assert(key != 0);
    std::size_t at = key & mask();
    for (; keys_[at] != 0; at = (at + 1) & mask())
      if (keys_[at] == key) return values_[at];
    keys_[at] = key;
    values_[at] = fresh;
    if (2 * ++size_ > keys_.size()) grow();
    return fresh;
  }
  void prefetch(std::uint64_t key) const {
    __builtin_prefetch(keys_.data() + (key & mask()));
    __builtin_prefetch(values_.data() + (key & mask()));
  }
  template <class F>
  void for_each(F&& f) const {
    for (std::size_t at = 0; at < keys_.size(); ++at)
      if (keys_[at] != 0) f(keys_[at], values_[at]);
  }

 private:
  std::size_t mask() const { return keys_.size() - 1; }
  void grow() {
    const std::vector<std::uint64_t> keys = std::move(keys_);
    const std::vector<std::uint32_t> values = std::move(values_);
    keys_.assign(2 * keys.size(), 0);
    values_.assign(2 * keys.size(), 0);
    for (std::size_t k = 0; k < keys.size(); ++k) {
      if (keys[k] == 0) continue;
      std::size_t at = keys[k] & mask();
      while (keys_[at] != 0) at = (at + 1) & mask();
      keys_[at] = keys[k];
      values_[at] = values[k];
    }
  }

  std::vector<std::uint64_t> keys_;
  std::vector<std::uint32_t> values_;
  std::size_t size_ = 0;
};

}  // namespace drover
