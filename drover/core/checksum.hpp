// A checksum of bytes that come in pieces: FNV-1a, 64 bits. It tells a damaged or foreign file from the one
// that was written; it is no protection against somebody who means to deceive.
//
// Source: G. Fowler, L. C. Noll, K.-P. Vo, D. Eastlake, The FNV non-cryptographic hash algorithm (1991).
#pragma once

#include <cstddef>
#include <cstdint>

namespace drover {

class Checksum {
 public:
  void add(const void* data, std::size_t size) {
    const auto* bytes = static_cast<const unsigned char*>(data);
    std::uint64_t hash = value_;
    for (std::size_t k = 0; k < size; ++k) hash = (hash ^ bytes[k]) * 1099511628211U;
    value_ = hash;
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 14695981039346656037U;
};

}  // namespace drover
