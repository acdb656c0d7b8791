// Where a long computation keeps what it has done, so that a later one can go on from there and give the same
// bits. Algorithms know these two faces; what stands behind them are files (drover/run/checkpoint.hpp,
// drover/run/part_log.hpp). A null pointer means that nothing is kept.
#pragma once

#include <cstdint>
#include <string>

#include "drover/core/archive.hpp"
#include "drover/core/error.hpp"

namespace drover {

/// For a loop: its whole state, as of some iteration.
class StateKeeper {
 public:
  virtual ~StateKeeper() = default;
  /// The state to go on from; null when the loop is to begin at its beginning.
  virtual const std::string* saved() const = 0;
  /// Whether it is time to save again.
  virtual bool is_due() const = 0;
  /// Takes the place of the state before.
  virtual void save(std::string state) = 0;
};

/// For a computation that is made of numbered parts: the result of each that is done. From any thread.
class PartKeeper {
 public:
  virtual ~PartKeeper() = default;
  /// False when the part was not kept.
  virtual bool recall(std::uint64_t part, std::string& bytes) = 0;
  virtual void keep(std::uint64_t part, const std::string& bytes) = 0;
};

/// Calls visit(archive) with the saved state, if there is one; whether there was.
template <class Visit>
bool restore(const StateKeeper* keeper, Visit&& visit) {
  if (keeper == nullptr || keeper->saved() == nullptr) return false;
  LoadArchive archive(*keeper->saved());
  visit(archive);
  if (!archive.at_end())
    throw Error(ErrorKind::bad_data, "the checkpoint is longer than the state of this run");
  return true;
}

/// Saves what visit(archive) lists when it is time, or `now`.
template <class Visit>
void keep(StateKeeper* keeper, Visit&& visit, bool now = false) {
  if (keeper == nullptr || !(now || keeper->is_due())) return;
  SaveArchive archive;
  visit(archive);
  keeper->save(archive.take());
}

/// The part as visit(archive) restores it, or as `work` makes it, which is then kept.
template <class Visit, class Work>
void recall_or_do(PartKeeper* keeper, std::uint64_t part, Visit&& visit, Work&& work) {
  std::string bytes;
  if (keeper != nullptr && keeper->recall(part, bytes)) {
    LoadArchive archive(std::move(bytes));
    visit(archive);
    return;
  }
  if (!work() || keeper == nullptr) return;
  SaveArchive archive;
  visit(archive);
  keeper->keep(part, archive.bytes());
}

}  // namespace drover
