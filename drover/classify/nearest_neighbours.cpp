#include "drover/classify/nearest_neighbours.hpp"

#include <bit>

namespace drover {

NearestNeighbours::NearestNeighbours(const LabelledRows& data, std::size_t neighbours)
    : neighbours_(std::min(neighbours, data.rows())),
      words_((data.cardinalities.size() + 63) / 64),
      classes_(data.classes),
      labels_(data.labels) {
  assert(neighbours_ > 0);
  for (std::uint32_t cardinality : data.cardinalities)
    planes_ = std::max<std::size_t>(planes_, std::bit_width(cardinality - 1));
  bits_.assign(data.rows() * words_ * planes_, 0);
  for (std::size_t r = 0; r < data.rows(); ++r) pack(data.row(r), &bits_[r * words_ * planes_]);
}

void NearestNeighbours::pack(std::span<const Value> x, std::uint64_t* words) const {
  for (std::size_t v = 0; v < x.size(); ++v)
    for (std::size_t p = 0; p < planes_; ++p)
      words[v / 64 * planes_ + p] |= static_cast<std::uint64_t>(x[v] >> p & 1) << (v % 64);
}

Value NearestNeighbours::predict(std::span<const Value> x) const {
  std::vector<std::uint64_t> asked(words_ * planes_, 0);
  pack(x, asked.data());
  struct Near {
    int distance;
    Value label;
  };
  std::vector<Near> nearest;  // ascending, at most neighbours_ of them
  const std::uint64_t* row = bits_.data();
  for (Value label : labels_) {
    int distance = 0;
    for (std::size_t w = 0; w < words_; ++w) {
      std::uint64_t differs = 0;
      for (std::size_t p = 0; p < planes_; ++p) differs |= row[w * planes_ + p] ^ asked[w * planes_ + p];
      distance += std::popcount(differs);
    }
    row += words_ * planes_;
    if (nearest.size() == neighbours_) {
      if (distance >= nearest.back().distance) continue;
      nearest.pop_back();
    }
    const auto at = std::find_if(nearest.begin(), nearest.end(),
                                 [&](const Near& near) { return near.distance > distance; });
    nearest.insert(at, {distance, label});
  }
  std::vector<std::size_t> votes(classes_, 0);
  for (const Near& near : nearest) ++votes[near.label];
  return static_cast<Value>(std::max_element(votes.begin(), votes.end()) - votes.begin());
}

}  // namespace drover
