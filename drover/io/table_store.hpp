// Tables of a model being read: ties equal ones, and refuses sizes that no file of this length can mean.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/io/text_source.hpp"
#include "drover/model/model.hpp"

namespace drover {

/// Makes a table that was just appended share an earlier equal one. The first `capacity` distinct tables are
/// remembered in one small open-addressing array, so the cost per table is a hash and one look.
class TableTies {
 public:
  TableTies() : slots_(64) {}
  /// The values from table_offsets.back() on are a new table; returns its number, or that of its equal (then
  /// the values are dropped).
  std::uint32_t close_table(Tables& tables);

 private:
  void grow();

  static constexpr std::uint32_t capacity = 1U << 15;
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t table_plus_one = 0;
  };
  std::vector<Slot> slots_;
  std::uint32_t used_ = 0;
};

/// The number of entries of a table over `scope`; fails at the last token when it passes 2^48.
std::size_t table_entries(const TextSource& source, const std::vector<std::uint32_t>& cardinalities,
                          std::span<const VariableId> scope);

/// Fails at the last token when the scope names a variable twice.
void check_distinct(const TextSource& source, std::span<const VariableId> scope);

/// For formats that list only some entries of a table: fails when the dense tables of a file would take
/// more than 2^25 entries plus 64 for every character read.
class EntryBudget {
 public:
  void take(const TextSource& source, std::size_t entries);

 private:
  std::size_t taken_ = 0;
};

/// Fails when variable numbers reach beyond 2^20 plus 16 for every factor that was read: such a number is a
/// slip, and would only cost memory.
void check_highest_variable(const TextSource& source, std::uint64_t highest, std::uint64_t factors);

}  // namespace drover
