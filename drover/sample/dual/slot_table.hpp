// Numbers that name things which come and go: an id stays valid until its thing is removed, and is not given
// again. Each thing has a slot, a small number that is used again; the id is the slot and how often it was
// used before. All operations take constant time.
#pragma once

#include <cassert>
#include <cstdint>
#include <vector>

namespace drover {

class SlotTable {
 public:
  using Id = std::uint64_t;

  static std::uint32_t slot_of(Id id) { return static_cast<std::uint32_t>(id); }

  Id take() {
    if (free_.empty()) {
      uses_.push_back(0);
      held_.push_back(1);
      return uses_.size() - 1;
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    held_[slot] = 1;
    return id_of(slot);
  }

  void give_back(Id id) {
    assert(holds(id));
    const std::uint32_t slot = slot_of(id);
    held_[slot] = 0;
    // A slot used up to the last number is left alone.
    if (++uses_[slot] < most_uses) free_.push_back(slot);
  }

  bool holds(Id id) const {
    const std::uint32_t slot = slot_of(id);
    return slot < uses_.size() && held_[slot] != 0 && uses_[slot] == id >> 32;
  }
  bool holds_slot(std::uint32_t slot) const { return held_[slot] != 0; }
  Id id_of(std::uint32_t slot) const { return Id{uses_[slot]} << 32 | slot; }

  /// Slots in use or free.
  std::size_t slots() const { return uses_.size(); }

 private:
  static constexpr std::uint32_t most_uses =
      1U << 21;  ///< ids stay below 2^53: whole numbers in any JSON reader
  std::vector<std::uint32_t> uses_;
  std::vector<std::uint8_t> held_;
  std::vector<std::uint32_t> free_;
};

}  // namespace drover
