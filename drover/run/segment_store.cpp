#include "drover/run/segment_store.hpp"

#include <algorithm>
#include <cassert>

#include "drover/core/parallel.hpp"

namespace drover {

SegmentStore::SegmentStore(std::size_t entries, std::uint32_t chains, std::size_t memory_limit)
    : entries_(entries), chains_(chains), groups_(chains), capacity_(16) {
  const auto bytes = [&] { return entries_ * groups_ * capacity_ * sizeof(float); };
  // Halved when full, it must still hold the 4 segments that a diagnosis takes.
  while (bytes() > memory_limit && capacity_ > 8) capacity_ /= 2;
  while (bytes() > memory_limit && groups_ > 8) {
    chains_per_group_ *= 2;
    groups_ = (chains_ + chains_per_group_ - 1) / chains_per_group_;
  }
  means_.assign(entries_ * groups_ * capacity_, 0.0F);
}

std::uint64_t SegmentStore::draws() const {
  std::uint64_t total = 0;
  for (std::uint64_t d : draws_) total += d;
  return total;
}

std::uint32_t SegmentStore::chains_in_group(std::uint32_t group) const {
  return std::min(chains_per_group_, chains_ - group * chains_per_group_);
}

void SegmentStore::absorb(std::span<std::vector<float>> sums, std::uint32_t lanes, std::uint64_t draws) {
  const std::size_t segment = draws_.size();
  const auto before = static_cast<double>(open_draws_);
  const auto after = static_cast<double>(open_draws_ + draws);
  parallel_for(IndexRange(0, entries_, 1024), [&](const IndexRange& range) {
    for (std::size_t entry = range.begin(); entry != range.end(); ++entry) {
      for (std::uint32_t group = 0; group < groups_; ++group) {
        double sum = 0;
        const std::uint32_t count = chains_in_group(group);
        for (std::uint32_t c = 0; c < count; ++c) {
          const std::uint32_t chain = group * chains_per_group_ + c;
          sum += sums[chain / lanes][entry * lanes + chain % lanes];
        }
        const double earlier = open_draws_ == 0 ? 0.0 : before * at(entry, group, segment);
        at(entry, group, segment) = static_cast<float>((earlier + sum / count) / after);
      }
    }
  });
  for (auto& batch : sums) std::fill(batch.begin(), batch.end(), 0.0F);
  open_draws_ += draws;
}

void SegmentStore::close_segment(std::span<std::vector<float>> sums, std::uint32_t lanes,
                                 std::uint64_t draws) {
  absorb(sums, lanes, draws);
  assert(open_draws_ > 0);
  draws_.push_back(open_draws_);
  open_draws_ = 0;
  // At once, so that every later segment has the new length.
  if (draws_.size() == capacity_) merge_neighbours();
}

void SegmentStore::merge_neighbours() {
  const std::size_t half = draws_.size() / 2;
  parallel_for(IndexRange(0, entries_ * groups_, 4096), [&](const IndexRange& range) {
    for (std::size_t row = range.begin(); row != range.end(); ++row) {
      float* means = means_.data() + row * capacity_;
      for (std::size_t s = 0; s < half; ++s) {
        const auto a = static_cast<double>(draws_[2 * s]);
        const auto b = static_cast<double>(draws_[2 * s + 1]);
        means[s] = static_cast<float>((a * means[2 * s] + b * means[2 * s + 1]) / (a + b));
      }
    }
  });
  for (std::size_t s = 0; s < half; ++s) draws_[s] = draws_[2 * s] + draws_[2 * s + 1];
  draws_.resize(half);
  segment_length_ *= 2;
}

void SegmentStore::means_of_entry(std::size_t entry, std::vector<double>& means) const {
  means.resize(groups_ * segments());
  for (std::uint32_t g = 0; g < groups_; ++g)
    for (std::size_t s = 0; s < segments(); ++s) means[g * segments() + s] = at(entry, g, s);
}

double SegmentStore::mean(std::size_t entry) const {
  double weighted = 0;
  double weights = 0;
  for (std::uint32_t g = 0; g < groups_; ++g)
    for (std::size_t s = 0; s < segments(); ++s) {
      const double weight = static_cast<double>(draws_[s]) * chains_in_group(g);
      weighted += weight * at(entry, g, s);
      weights += weight;
    }
  return weighted / weights;  // NaN when there is no draw yet
}

}  // namespace drover
