// Documents as bags of words: how often each word stands in each document.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace drover {

/// Only words that occur are stored; document d has the entries offsets[d] .. offsets[d + 1] - 1.
struct WordCounts {
  std::uint32_t vocabulary = 0;              ///< words are 0 .. vocabulary - 1
  std::vector<std::uint64_t> offsets = {0};  ///< documents + 1
  std::vector<std::uint32_t> words;          ///< ascending within a document
  std::vector<std::uint32_t> counts;         ///< at least 1

  std::size_t documents() const { return offsets.size() - 1; }
  std::size_t entries() const { return words.size(); }
  std::span<const std::uint32_t> words_of(std::size_t d) const {
    return {words.data() + offsets[d], static_cast<std::size_t>(offsets[d + 1] - offsets[d])};
  }
  std::span<const std::uint32_t> counts_of(std::size_t d) const {
    return {counts.data() + offsets[d], static_cast<std::size_t>(offsets[d + 1] - offsets[d])};
  }
  std::uint64_t length(std::size_t d) const {
    std::uint64_t sum = 0;
    for (std::uint32_t count : counts_of(d)) sum += count;
    return sum;
  }
};

/// The label of a document whose class is not known.
inline constexpr std::uint32_t no_label = std::numeric_limits<std::uint32_t>::max();

}  // namespace drover
