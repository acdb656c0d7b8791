#include "drover/sample/anneal/shared_parts.hpp"

#include <tbb/task_arena.h>

#include <limits>

namespace drover {

std::size_t parts_per_round(const Ranks& ranks, bool keeps) {
  std::uint64_t round = std::numeric_limits<std::uint64_t>::max();
  if (keeps)
    round = std::uint64_t{ranks.size()} * static_cast<unsigned>(tbb::this_task_arena::max_concurrency());
  std::string bytes(reinterpret_cast<const char*>(&round), sizeof(round));
  ranks.broadcast(bytes);
  std::memcpy(&round, bytes.data(), sizeof(round));
  return round;
}

}  // namespace drover
