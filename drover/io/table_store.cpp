#include "drover/io/table_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace drover {

std::uint32_t TableTies::close_table(Tables& tables) {
  const std::size_t begin = tables.table_offsets.back();
  const std::size_t size = tables.log_values.size() - begin;
  const double* values = tables.log_values.data() + begin;
  std::uint64_t hash = size;
  for (std::size_t e = 0; e < size; ++e)
    hash = (std::rotl(hash, 23) ^ std::bit_cast<std::uint64_t>(values[e])) * 0x9e3779b97f4a7c15U;
  const auto tag = static_cast<std::uint32_t>(hash >> 32);
  std::size_t at = tag & (slots_.size() - 1);
  for (; slots_[at].table_plus_one != 0; at = (at + 1) & (slots_.size() - 1)) {
    if (slots_[at].hash != tag) continue;
    const std::uint32_t other = slots_[at].table_plus_one - 1;
    const auto known = tables.table(other);
    if (known.size() != size || std::memcmp(known.data(), values, size * sizeof(double)) != 0) continue;
    tables.log_values.resize(begin);
    return other;
  }
  tables.table_offsets.push_back(tables.log_values.size());
  const auto number = static_cast<std::uint32_t>(tables.table_count() - 1);
  if (used_ < capacity) {
    slots_[at] = {tag, number + 1};
    if (2 * ++used_ > slots_.size()) grow();
  }
  return number;
}

void TableTies::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.table_plus_one == 0) continue;
    std::size_t at = slot.hash & (slots_.size() - 1);
    while (slots_[at].table_plus_one != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = slot;
  }
}

std::size_t table_entries(const TextSource& source, const std::vector<std::uint32_t>& cardinalities,
                          std::span<const VariableId> scope) {
  constexpr std::size_t limit = std::size_t{1} << 48;
  std::size_t entries = 1;
  for (VariableId v : scope) {
    entries *= cardinalities[v];  // below 2^48 times 2^16
    if (entries > limit)
      source.fail(
          fmt::format("expected a table that fits in memory, found {} variables with more than 2^48 "
                      "joint states",
                      scope.size()));
  }
  return entries;
}

void check_distinct(const TextSource& source, std::span<const VariableId> scope) {
  const auto fail = [&](VariableId v) {
    source.fail(fmt::format("expected distinct variables, found {} twice in one factor", v));
  };
  if (scope.size() <= 16) {
    for (std::size_t a = 1; a < scope.size(); ++a)
      for (std::size_t b = 0; b < a; ++b)
        if (scope[a] == scope[b]) fail(scope[a]);
    return;
  }
  std::vector<VariableId> sorted(scope.begin(), scope.end());
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) fail(*twice);
}

void EntryBudget::take(const TextSource& source, std::size_t entries) {
  taken_ += entries;
  if (taken_ > (std::size_t{1} << 25) + 64 * source.consumed())
    source.fail(fmt::format("expected tables in proportion to the file, found {} entries in all", taken_));
}

void check_highest_variable(const TextSource& source, std::uint64_t highest, std::uint64_t factors) {
  const std::uint64_t limit = (std::uint64_t{1} << 20) + 16 * factors;
  if (highest >= limit)
    fail_at({source.name()}, fmt::format("variable {} is far beyond what {} factors can need (limit {})",
                                         highest, factors, limit));
}

}  // namespace drover
