#include "drover/run/segment_store.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "drover/core/parallel.hpp"

namespace drover {

SegmentStore::SegmentStore(std::size_t entries, std::uint32_t chains, std::size_t memory_limit)
    : SegmentStore(entries, chains, memory_limit, {entries, chains}, 0) {}

SegmentStore::SegmentStore(std::size_t entries, std::uint32_t chains, std::size_t memory_limit, Part own,
                           std::uint64_t burn_in)
    : entries_(entries), chains_(chains), groups_(chains), capacity_(16) {
  // Closing and merging segments of a large model cost as much as a sweep or two; a run that counts twice as
  // many sweeps as it burns in has some twelve segments or more of these lengths.
  if (entries * chains >= std::size_t{1} << 17)
    segment_length_ = std::clamp<std::uint64_t>(std::bit_floor(burn_in / 16), 4, 64);
  if (entries * chains >= std::size_t{1} << 19 && burn_in > 0)
    segment_length_ =
        std::max(segment_length_, std::clamp<std::uint64_t>(std::bit_floor(burn_in / 6), 8, 16));
  if (entries * chains >= std::size_t{1} << 24) segment_length_ = std::max<std::uint64_t>(segment_length_, 8);
  const auto bytes = [&] { return entries_ * groups_ * capacity_ * sizeof(float); };
  // Halved when full, it must still hold the 4 segments that a diagnosis takes.
  while (bytes() > memory_limit && capacity_ > 8) capacity_ /= 2;
  while (bytes() > memory_limit && groups_ > 8) {
    chains_per_group_ *= 2;
    groups_ = (chains_ + chains_per_group_ - 1) / chains_per_group_;
  }
  entries_ = own.entries;
  chains_ = own.chains;
  groups_ = (chains_ + chains_per_group_ - 1) / chains_per_group_;
  // Segments are in usual pages: they are gone through in order and now and then, so that large ones gain nothing, and
  // where a hypervisor takes free memory back they are the first to go, and slow to come.
}

std::size_t SegmentStore::planned_bytes(std::size_t entries, std::uint32_t chains, std::size_t memory_limit,
                                        std::uint64_t burn_in, std::uint64_t draws) {
  const SegmentStore plan(entries, chains, memory_limit, {entries, chains}, burn_in);
  const std::uint64_t length = plan.segment_length_, closed = draws / length + (draws % length > 0 ? 1 : 0);
  return entries * plan.groups_ * std::min<std::uint64_t>(plan.capacity_, closed) * sizeof(float);
}

std::uint32_t SegmentStore::planned_group(std::size_t entries, std::uint32_t chains,
                                          std::size_t memory_limit) {
  return SegmentStore(entries, chains, memory_limit, {0, 0}, 0).chains_per_group_;
}

SegmentStore SegmentStore::like_this(std::size_t entries, std::uint32_t chains) const {
  SegmentStore other;
  other.entries_ = entries;
  other.chains_ = chains;
  other.chains_per_group_ = chains_per_group_;
  other.groups_ = (chains + chains_per_group_ - 1) / chains_per_group_;
  other.capacity_ = capacity_;
  other.segment_length_ = segment_length_;
  other.open_draws_ = open_draws_;
  other.draws_ = draws_;
  other.make_room(other.used_segments());
  return other;
}

SegmentStore SegmentStore::gather_groups(const Ranks& ranks, std::uint32_t chains) const {
  if (ranks.size() == 1) return *this;
  SegmentStore whole;
  if (ranks.is_first()) whole = like_this(entries_, chains);
  for (std::size_t segment = 0; segment < used_segments(); ++segment) {
    const std::vector<std::string> parts =
        ranks.gather({reinterpret_cast<const char*>(row(0, segment)), entries_ * groups_ * sizeof(float)});
    std::size_t group = 0;
    for (const std::string& part : parts) {
      const std::size_t groups = part.size() / sizeof(float) / std::max<std::size_t>(1, entries_);
      for (std::size_t entry = 0; entry < entries_; ++entry)
        std::memcpy(whole.row(entry, segment) + group, part.data() + entry * groups * sizeof(float),
                    groups * sizeof(float));
      group += groups;
    }
  }
  return whole;
}

SegmentStore SegmentStore::gather_entries(const Ranks& ranks, std::span<const std::uint32_t> numbers,
                                          std::size_t entries) const {
  if (ranks.size() == 1 && numbers.empty()) return *this;
  assert(numbers.size() == entries_);
  const std::vector<std::string> all_numbers =
      ranks.gather({reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()});
  SegmentStore whole;
  if (ranks.is_first()) whole = like_this(entries, chains_);
  for (std::size_t segment = 0; segment < used_segments(); ++segment) {
    const std::vector<std::string> parts =
        ranks.gather({reinterpret_cast<const char*>(row(0, segment)), entries_ * groups_ * sizeof(float)});
    for (std::size_t rank = 0; rank < parts.size(); ++rank)
      for (std::size_t entry = 0; sizeof(std::uint32_t) * entry < all_numbers[rank].size(); ++entry) {
        std::uint32_t number = 0;
        std::memcpy(&number, all_numbers[rank].data() + entry * sizeof(number), sizeof(number));
        std::memcpy(whole.row(number, segment), parts[rank].data() + entry * groups_ * sizeof(float),
                    groups_ * sizeof(float));
      }
  }
  return whole;
}

SegmentStore SegmentStore::picked(std::span<const std::size_t> entries) const {
  SegmentStore few = like_this(entries.size(), chains_);
  for (std::size_t segment = 0; segment < used_segments(); ++segment)
    for (std::size_t k = 0; k < entries.size(); ++k)
      std::copy_n(row(entries[k], segment), groups_, few.row(k, segment));
  return few;
}

SegmentStore SegmentStore::part(std::span<const std::uint32_t> entries, std::uint32_t first_chain,
                                std::uint32_t chains) const {
  SegmentStore own = like_this(entries.size(), chains);
  const std::uint32_t first_group = first_chain / chains_per_group_;
  for (std::size_t segment = 0; segment < used_segments(); ++segment)
    for (std::size_t k = 0; k < entries.size(); ++k)
      std::copy_n(row(entries[k], segment) + first_group, own.groups_, own.row(k, segment));
  return own;
}

std::uint64_t SegmentStore::draws() const {
  std::uint64_t total = 0;
  for (std::uint64_t d : draws_) total += d;
  return total;
}

std::uint32_t SegmentStore::chains_in_group(std::uint32_t group) const {
  return std::min(chains_per_group_, chains_ - group * chains_per_group_);
}

namespace {

// mean = (before mean + sum) / after; with nothing before, the mean is not read.
void absorb_lanes(float* means, const float* sums, std::size_t lanes, double before, double after) {
  const double share = 1 / after, kept = before / after;
  if (before == 0)
    for (std::size_t lane = 0; lane < lanes; ++lane) means[lane] = static_cast<float>(share * sums[lane]);
  else
    for (std::size_t lane = 0; lane < lanes; ++lane)
      means[lane] = static_cast<float>(kept * means[lane] + share * sums[lane]);
}

// The same for groups of neighbouring chains, of which there are `size`.
template <std::size_t size>
void absorb_even_groups(float* means, const float* sums, std::size_t groups, double before, double after) {
  const double share = 1 / (after * size), kept = before / after;
  for (std::size_t group = 0; group < groups; ++group) {
    float sum = 0;
    for (std::size_t c = 0; c < size; ++c) sum += sums[size * group + c];
    const double earlier = before == 0 ? 0.0 : kept * means[group];
    means[group] = static_cast<float>(earlier + share * sum);
  }
}

}  // namespace

void SegmentStore::absorb(std::span<LaneSums> sums, std::uint32_t lanes, std::uint64_t draws) {
  make_room(draws_.size() + 1);
  const std::size_t segment = draws_.size();
  const auto before = static_cast<double>(open_draws_);
  const auto after = static_cast<double>(open_draws_ + draws);
  const auto absorb_apart = [&](std::size_t entry) {
    for (std::size_t b = 0; b < sums.size(); ++b) {
      const auto first = static_cast<std::uint32_t>(b * lanes);
      absorb_lanes(row(entry, segment) + first, sums[b].data() + entry * lanes,
                   std::min(lanes, chains_ - first), before, after);
    }
  };
  // Group by group while batches and their lanes go along: no division per chain.
  const auto absorb_groups = [&](std::size_t entry) {
    float* const means = row(entry, segment);
    std::size_t batch = 0;
    std::uint32_t lane = 0;
    for (std::uint32_t group = 0; group < groups_; ++group) {
      const std::uint32_t count = chains_in_group(group);
      float sum =
          0;  // as absorb_even_groups() does it: which of them is taken depends on the number of ranks
      for (std::uint32_t left = count; left > 0;) {
        const float* const here = sums[batch].data() + entry * lanes + lane;
        const std::uint32_t run = std::min(left, lanes - lane);
        for (std::uint32_t c = 0; c < run; ++c) sum += here[c];
        left -= run;
        lane += run;
        if (lane == lanes) lane = 0, ++batch;
      }
      const double share = 1 / (after * count), kept = before / after;
      const double earlier = before == 0 ? 0.0 : kept * means[group];
      means[group] = static_cast<float>(earlier + share * sum);
    }
  };
  // One batch whose lanes fill the groups: means and sums stand alike, and entries need not be told apart.
  const auto absorb_alike = [&](const IndexRange& range) {
    float* const here = sums[0].data() + range.begin() * lanes;
    float* const means = row(range.begin(), segment);
    const std::size_t count = range.size() * groups_;
    switch (chains_per_group_) {
      case 1:
        absorb_lanes(means, here, count, before, after);
        break;
      case 2:
        absorb_even_groups<2>(means, here, count, before, after);
        break;
      case 4:
        absorb_even_groups<4>(means, here, count, before, after);
        break;
      default:
        absorb_even_groups<8>(means, here, count, before, after);
        break;
    }
    std::fill_n(here, range.size() * lanes, 0.0F);
  };
  const bool alike = sums.size() == 1 && lanes == groups_ * chains_per_group_ && chains_ == lanes &&
                     std::has_single_bit(chains_per_group_) && chains_per_group_ <= 8;
  parallel_for(IndexRange(0, entries_, 1024), [&](const IndexRange& range) {
    if (alike) return absorb_alike(range);
    for (std::size_t entry = range.begin(); entry != range.end(); ++entry) {
      if (chains_per_group_ == 1)
        absorb_apart(entry);
      else
        absorb_groups(entry);
      for (LaneSums& batch : sums) std::fill_n(batch.data() + entry * lanes, lanes, 0.0F);
    }
  });
  open_draws_ += draws;
}

void SegmentStore::close_segment(std::span<LaneSums> sums, std::uint32_t lanes, std::uint64_t draws) {
  absorb(sums, lanes, draws);
  assert(open_draws_ > 0);
  draws_.push_back(open_draws_);
  open_draws_ = 0;
  // At once, so that every later segment has the new length.
  if (draws_.size() == capacity_) merge_neighbours();
}

void SegmentStore::merge_neighbours() {
  const std::size_t half = draws_.size() / 2;
  // In order: segment s is written after segments 2 s and 2 s + 1, never before, are read.
  for (std::size_t s = 0; s < half; ++s) {
    const auto draws = static_cast<double>(draws_[2 * s] + draws_[2 * s + 1]);
    const double a = static_cast<double>(draws_[2 * s]) / draws,
                 b = static_cast<double>(draws_[2 * s + 1]) / draws;
    parallel_for(IndexRange(0, entries_ * groups_, 16384), [&](const IndexRange& range) {
      float* const to = row(0, s);
      const float* const first = row(0, 2 * s);
      const float* const second = row(0, 2 * s + 1);
      for (std::size_t k = range.begin(); k != range.end(); ++k)
        to[k] = static_cast<float>(a * first[k] + b * second[k]);
    });
  }
  for (std::size_t s = 0; s < half; ++s) draws_[s] = draws_[2 * s] + draws_[2 * s + 1];
  draws_.resize(half);
  segment_length_ *= 2;
}

void SegmentStore::drop_first(std::size_t count) {
  count = std::min(count, draws_.size());
  // The open segment, if any, moves along.
  std::rotate(means_.begin(), means_.begin() + static_cast<std::ptrdiff_t>(count), means_.end());
  draws_.erase(draws_.begin(), draws_.begin() + static_cast<std::ptrdiff_t>(count));
}

void SegmentStore::means_of_entry(std::size_t entry, std::vector<double>& means) const {
  means.resize(groups_ * segments());
  for (std::size_t s = 0; s < segments(); ++s)
    std::copy_n(row(entry, s), groups_, means.begin() + static_cast<std::ptrdiff_t>(s * groups_));
}

double SegmentStore::mean(std::size_t entry) const {
  double weighted = 0;
  double weights = 0;
  for (std::size_t s = 0; s < segments(); ++s) {
    const float* const means = row(entry, s);
    for (std::uint32_t g = 0; g < groups_; ++g) {
      const double weight = static_cast<double>(draws_[s]) * chains_in_group(g);
      weighted += weight * means[g];
      weights += weight;
    }
  }
  return weighted / weights;  // NaN when there is no draw yet
}

double SegmentStore::mean(std::size_t entry, std::size_t segments, double so_far) const {
  if (chains_ % chains_per_group_ != 0) return mean(entry);
  double draws = static_cast<double>(segments * draws_.front()), weighted = draws * so_far;
  for (std::size_t s = segments; s < draws_.size(); ++s) {
    const float* const means = row(entry, s);
    double sum = 0;
    for (std::uint32_t g = 0; g < groups_; ++g) sum += means[g];
    weighted += static_cast<double>(draws_[s]) * (sum / groups_);
    draws += static_cast<double>(draws_[s]);
  }
  return weighted / draws;
}

SegmentBlock SegmentStore::block(std::size_t first, std::size_t segments, std::vector<float>& room,
                                 std::vector<const float*>& rows) const {
  constexpr std::size_t width = SegmentBlock::width;
  rows.resize(segments);
  if (groups_ == 1 && first + width <= entries_) {
    for (std::size_t s = 0; s < segments; ++s) rows[s] = row(first, s);
  } else {
    room.resize(segments * groups_ * width);
    for (std::size_t s = 0; s < segments; ++s) {
      rows[s] = room.data() + s * groups_ * width;
      for (std::size_t e = 0; e < width; ++e) {
        const float* const means = row(std::min(first + e, entries_ - 1), s);
        float* const to = room.data() + s * groups_ * width + e;
        for (std::uint32_t g = 0; g < groups_; ++g) to[g * width] = means[g];
      }
    }
  }
  return {.segments = rows,
          .chains = groups_,
          .draws_per_segment = static_cast<double>(draws_.front()),
          .chain_stride = width};
}

}  // namespace drover
