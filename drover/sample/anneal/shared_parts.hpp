// Numbered parts of a computation, shared by threads and by ranks, of which a PartKeeper may have some already.
//
// One process keeps a part as soon as it is done. Of several ranks rank 0 has the keeper and keeps what they
// bring it after every round, so that an end by force costs a round, and any number of ranks can go on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "drover/core/archive.hpp"
#include "drover/core/keeper.hpp"
#include "drover/core/parallel.hpp"
#include "drover/core/ranks.hpp"

namespace drover {

/// How many parts are done between two times that rank 0 keeps them; the same on all ranks.
std::size_t parts_per_round(const Ranks& ranks, bool keeps);

/// work(k) does part first + k, 0 <= k < count, on any thread and says whether it came to its end;
/// visit(k, archive) lists what it left behind. In the end rank 0 has all parts. `keeper` is null on other
/// ranks.
template <class Visit, class Work>
void share_parts(const Ranks& ranks, PartKeeper* keeper, std::uint64_t first, std::size_t count,
                 const Visit& visit, const Work& work) {
  if (ranks.size() == 1) {
    parallel_for(std::size_t{0}, count, [&](std::size_t k) {
      recall_or_do(
          keeper, first + k, [&](auto& archive) { visit(k, archive); }, [&] { return work(k); });
    });
    return;
  }
  std::string kept(count, 0);
  for (std::size_t k = 0; keeper != nullptr && k < count; ++k) {
    std::string bytes;
    if (!keeper->recall(first + k, bytes)) continue;
    LoadArchive archive(std::move(bytes));
    visit(k, archive);
    kept[k] = 1;
  }
  ranks.broadcast(kept);
  std::vector<std::size_t> left;
  for (std::size_t k = 0; k < count; ++k)
    if (kept[k] == 0) left.push_back(k);
  const std::size_t round = parts_per_round(ranks, keeper != nullptr);
  for (std::size_t begin = 0; begin < left.size(); begin += std::min(round, left.size() - begin)) {
    const std::size_t size = std::min(round, left.size() - begin);
    const std::size_t mine = begin + part_begin(size, ranks.rank(), ranks.size()),
                      end = begin + part_begin(size, ranks.rank() + 1, ranks.size());
    std::vector<char> whole(size, 0);
    parallel_for(mine, end, [&](std::size_t p) { whole[p - begin] = work(left[p]) ? 1 : 0; });
    SaveArchive archive;
    for (std::size_t p = mine; p < end; ++p) {
      archive(whole[p - begin]);
      visit(left[p], archive);
    }
    std::size_t p = begin;
    for (std::string& bytes : ranks.gather(archive.take()))
      for (LoadArchive load(std::move(bytes)); !load.at_end(); ++p) {
        char is_whole = 0;
        load(is_whole);
        visit(left[p], load);
        if (keeper == nullptr || is_whole == 0) continue;
        SaveArchive part;
        visit(left[p], part);
        keeper->keep(first + left[p], part.bytes());
      }
  }
}

}  // namespace drover
