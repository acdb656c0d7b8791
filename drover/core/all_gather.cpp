#include "drover/core/all_gather.hpp"

#include <cstdint>
#include <cstring>
#include <utility>

namespace drover {

std::vector<std::string> all_gather(const Ranks& ranks, std::string bytes) {
  std::vector<std::string> parts = ranks.gather(std::move(bytes));
  if (ranks.size() == 1) return parts;
  // One message: the sizes, then the parts.
  std::string together;
  for (const std::string& part : parts) {
    const std::uint64_t size = part.size();
    together.append(reinterpret_cast<const char*>(&size), sizeof(size));
  }
  for (const std::string& part : parts) together += part;
  ranks.broadcast(together);
  parts.clear();
  std::size_t at = ranks.size() * sizeof(std::uint64_t);
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    std::uint64_t size = 0;
    std::memcpy(&size, together.data() + rank * sizeof(size), sizeof(size));
    parts.push_back(together.substr(at, size));
    at += size;
  }
  return parts;
}

}  // namespace drover
