// Running means of every marginal entry, per group of chains and per segment of the run: all that R-hat,
// effective sample size and standard errors need, in memory that does not grow with the length of the run.
//
// Kept draws are added to the open segment; when `capacity` segments are full, neighbours are merged and the
// segment length doubles, so between capacity / 2 and capacity segments of equal length describe the whole
// run. For models too large to keep every chain apart, neighbouring chains share a group. A segment's means
// stand together, entry by entry: a segment is written far more often than an entry is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drover/core/aligned.hpp"
#include "drover/core/error.hpp"
#include "drover/core/ranks.hpp"
#include "drover/diagnose/segment_block.hpp"

namespace drover {

/// Sums of a batch of chains.
using LaneSums = AlignedFloats;

class SegmentStore {
 public:
  SegmentStore() = default;
  /// Plans groups and segments so that the store takes at most `memory_limit` bytes where it can.
  SegmentStore(std::size_t entries, std::uint32_t chains, std::size_t memory_limit);
  /// Planned alike, but for a part only: some of the entries, and whole groups of the chains.
  struct Part {
    std::size_t entries;
    std::uint32_t chains;
  };
  /// `burn_in` tells how long the run may be, 0: not known; the first segments of large models are as long as
  /// that allows.
  SegmentStore(std::size_t entries, std::uint32_t chains, std::size_t memory_limit, Part own,
               std::uint64_t burn_in);
  /// What it takes, planned like that, when a run of `draws` kept draws per chain has ended; unknown_draws: at most.
  static constexpr std::uint64_t unknown_draws = ~std::uint64_t{0};
  static std::size_t planned_bytes(std::size_t entries, std::uint32_t chains, std::size_t memory_limit,
                                   std::uint64_t burn_in = 0, std::uint64_t draws = unknown_draws);
  /// How many chains would share a group.
  static std::uint32_t planned_group(std::size_t entries, std::uint32_t chains, std::size_t memory_limit);

  std::size_t entries() const { return entries_; }
  std::uint32_t groups() const { return groups_; }
  std::uint32_t chains_per_group() const { return chains_per_group_; }
  std::size_t segments() const { return draws_.size(); }
  /// Draws a segment holds when it is full.
  std::uint64_t segment_length() const { return segment_length_; }
  /// Kept draws per chain so far, closed segments only.
  std::uint64_t draws() const;
  /// Kept draws of each closed segment, per chain.
  std::span<const std::uint64_t> draws_of_segments() const { return draws_; }

  /// Adds `draws` kept draws per chain to the open segment. Sums are single precision, so this must happen
  /// every thousand draws or so: longer sums would round every further term. `sums[b]` belongs to the chains
  /// b * lanes .. of batch b and holds entry-major, lane-minor sums, which are reset to zero.
  void absorb(std::span<LaneSums> sums, std::uint32_t lanes, std::uint64_t draws);
  /// Absorbs the last draws of the open segment and closes it; merges neighbours when the store is full.
  void close_segment(std::span<LaneSums> sums, std::uint32_t lanes, std::uint64_t draws);

  /// What the ranks have of one run, together; on rank 0, empty on the others. Each rank has all entries of
  /// some groups of the `chains`, in the order of ranks.
  SegmentStore gather_groups(const Ranks& ranks, std::uint32_t chains) const;
  /// The same where each rank has some entries of all groups: `numbers[e]` of all `entries` is its entry e.
  SegmentStore gather_entries(const Ranks& ranks, std::span<const std::uint32_t> numbers,
                              std::size_t entries) const;
  /// Some of the entries.
  SegmentStore picked(std::span<const std::size_t> entries) const;
  /// Some of the entries and groups of a whole run: those that a store made for them would have.
  SegmentStore part(std::span<const std::uint32_t> entries, std::uint32_t first_chain,
                    std::uint32_t chains) const;

  /// take(means) for the means of all groups in each of some entries, segment by segment; it may change them.
  template <class Take>
  void for_means(std::span<const std::uint32_t> entries, Take take) {
    make_room(used_segments());
    for (std::size_t segment = 0; segment < used_segments(); ++segment)
      for (std::uint32_t entry : entries) take(std::span<float>(row(entry, segment), groups_));
  }

  /// Forgets the first `count` closed segments: they turned out to belong to burn-in.
  void drop_first(std::size_t count);

  /// The means of one entry as a matrix segments x groups, row-major by segment.
  void means_of_entry(std::size_t entry, std::vector<double>& means) const;
  /// The mean of one entry over all closed segments and chains.
  double mean(std::size_t entry) const;
  /// The same, where that over the first `segments`, all groups alike, is known to be `so_far`.
  double mean(std::size_t entry, std::size_t segments, double so_far) const;
  /// The means of SegmentBlock::width entries, those beyond the last repeating it, over the first `segments`;
  /// `room` and `rows` are reused between calls.
  SegmentBlock block(std::size_t first, std::size_t segments, std::vector<float>& room,
                     std::vector<const float*>& rows) const;

  /// Everything but the means.
  template <class Archive>
  void visit_course(Archive& archive) {
    archive(segment_length_);
    archive(open_draws_);
    archive(draws_);
  }
  template <class Archive>
  void visit(Archive& archive) {
    archive(entries_);
    archive(chains_);
    archive(groups_);
    archive(chains_per_group_);
    archive(capacity_);
    archive(segment_length_);
    archive(open_draws_);
    archive(draws_);
    // Only segments that hold something, as one array.
    std::uint64_t count = used_segments() * entries_ * groups_;
    archive(count);
    if (count != used_segments() * entries_ * groups_)
      throw Error(ErrorKind::bad_data, "the checkpoint's segments do not fit its chains");
    make_room(used_segments());
    for (std::size_t segment = 0; segment < used_segments(); ++segment)
      archive(std::span<float>(means_[segment]));
  }

 private:
  void merge_neighbours();
  /// Segments that hold something, the open one too.
  std::size_t used_segments() const { return draws_.size() + (open_draws_ > 0 ? 1 : 0); }
  /// The same run for other chains or entries, nothing in it yet.
  SegmentStore like_this(std::size_t entries, std::uint32_t chains) const;
  std::uint32_t chains_in_group(std::uint32_t group) const;
  /// Room for the means of that many segments, which are written before they are read.
  void make_room(std::size_t segments) {
    while (means_.size() < segments) means_.emplace_back(entries_ * groups_);
  }
  /// The means of all groups in one entry and segment.
  float* row(std::size_t entry, std::size_t segment) { return means_[segment].data() + entry * groups_; }
  const float* row(std::size_t entry, std::size_t segment) const {
    return means_[segment].data() + entry * groups_;
  }

  std::size_t entries_ = 0;
  std::uint32_t chains_ = 0;
  std::uint32_t groups_ = 0;
  std::uint32_t chains_per_group_ = 1;
  std::uint32_t capacity_ = 0;
  std::uint64_t segment_length_ = 1;
  std::uint64_t open_draws_ = 0;
  std::vector<std::uint64_t> draws_;
  /// Of the segments that were ever open, each in its own memory: a run takes what it fills, of what others have freed.
  std::vector<UnfilledVector<float>> means_;
};

}  // namespace drover
