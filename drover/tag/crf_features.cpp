#include "drover/tag/crf_features.hpp"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <map>

namespace drover {

namespace {

/// Both halves of a 128-bit product, folded: every bit of both factors reaches every bit of the result.
std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

constexpr std::uint64_t odd_a = 0x9E3779B97F4A7C15U, odd_b = 0xD1B54A32D192ED03U;

std::uint64_t never_zero(std::uint64_t key) {
  return key == 0 ? 1 : key;
}

/// Calls f with each character of UTF-8 text; a byte that does not fit comes as a negative number.
template <class F>
void for_each_character(std::string_view text, F&& f) {
  const auto size = static_cast<std::int32_t>(text.size());
  for (std::int32_t at = 0; at < size;) {
    const std::int32_t begin = at;
    UChar32 c = static_cast<unsigned char>(text[static_cast<std::size_t>(at)]);
    if (c < 0x80)
      ++at;
    else
      U8_NEXT(text.data(), at, size, c);
    f(c, text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(at - begin)));
  }
}

void append_character(std::string& text, UChar32 c) {
  char bytes[U8_MAX_LENGTH];
  std::int32_t size = 0;
  U8_APPEND_UNSAFE(bytes, size, c);
  text.append(bytes, static_cast<std::size_t>(size));
}

/// The byte length of the first `count` characters, or npos when there are fewer.
std::size_t prefix_bytes(std::string_view word, std::uint32_t count) {
  std::size_t at = 0;
  for (; count > 0; --count) {
    if (at >= word.size()) return std::string_view::npos;
    do ++at;
    while (at < word.size() && (static_cast<unsigned char>(word[at]) & 0xC0) == 0x80);
  }
  return at;
}

std::size_t suffix_start(std::string_view word, std::uint32_t count) {
  std::size_t at = word.size();
  for (; count > 0; --count) {
    if (at == 0) return std::string_view::npos;
    do --at;
    while (at > 0 && (static_cast<unsigned char>(word[at]) & 0xC0) == 0x80);
  }
  return at;
}

}  // namespace

std::uint64_t hash_text(std::string_view text, std::uint64_t seed) {
  std::uint64_t hash = seed ^ fold(text.size() + odd_a, odd_b);
  while (text.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), 8);
    hash = fold(hash ^ word, odd_a) + odd_b;
    text.remove_prefix(8);
  }
  std::uint64_t word = 0;
  if (!text.empty()) std::memcpy(&word, text.data(), text.size());
  return fold(hash ^ word, odd_a ^ (hash >> 32));
}

void lower_text(std::string_view text, std::string& result) {
  result.clear();
  for_each_character(text, [&](UChar32 c, std::string_view bytes) {
    if (c >= 0 && c < 0x80)
      result += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    else if (c < 0)
      result += bytes;
    else
      append_character(result, u_tolower(c));
  });
}

void shape_of(std::string_view word, bool once, std::string& result) {
  result.clear();
  UChar32 before = -2;
  for_each_character(word, [&](UChar32 c, std::string_view) {
    UChar32 kind = c;
    if (c < 0)
      kind = '?';
    else if (u_isUUppercase(c) || u_istitle(c))
      kind = 'X';
    else if (u_isalpha(c))
      kind = 'x';
    else if (u_isdigit(c))
      kind = '9';
    if (!once || kind != before) append_character(result, kind);
    before = kind;
  });
}

bool is_capitalised(std::string_view word) {
  if (word.empty()) return false;
  UChar32 c = 0;
  std::int32_t at = 0;
  U8_NEXT(word.data(), at, static_cast<std::int32_t>(word.size()), c);
  return c >= 0 && (u_isUUppercase(c) || u_istitle(c));
}

FeatureExtractor::FeatureExtractor(const FeatureTemplates& templates, const Gazetteers& gazetteers) {
  // Groups by the set of offsets, in order of appearance.
  std::map<std::vector<std::int32_t>, std::size_t> group_of;
  std::vector<std::vector<std::size_t>> members;
  for (std::size_t k = 0; k < templates.templates.size(); ++k) {
    std::vector<std::int32_t> offsets;
    for (const TemplatePart& part : templates.templates[k]) offsets.push_back(part.offset);
    std::sort(offsets.begin(), offsets.end());
    offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
    const auto [at, fresh] = group_of.try_emplace(offsets, members.size());
    if (fresh) members.emplace_back();
    members[at->second].push_back(k);
  }
  for (const auto& group : members) {
    groups_.emplace_back();
    for (std::size_t k : group) {
      groups_.back().push_back(static_cast<std::uint32_t>(parts_.size()));
      auto& parts = parts_.emplace_back();
      std::uint64_t seed = odd_a;
      for (const TemplatePart& part : templates.templates[k]) {
        const auto found = std::find(attributes_.begin(), attributes_.end(), part.attribute);
        parts.push_back({static_cast<std::uint32_t>(found - attributes_.begin()), part.offset});
        if (found == attributes_.end()) attributes_.push_back(part.attribute);
        seed = fold(seed + static_cast<std::uint64_t>(part.attribute.kind) * 1000003U + part.attribute.size,
                    odd_b + static_cast<std::uint64_t>(part.offset + max_template_offset));
      }
      seeds_.push_back(seed);
    }
  }
  for (std::size_t e = 0; e < gazetteers.entries.size(); ++e) {
    const std::string& entry = gazetteers.entries[e];
    std::uint64_t hash = 0;
    std::size_t words = 0;
    for (std::size_t at = 0; at <= entry.size(); ++words) {
      const std::size_t end = std::min(entry.find(' ', at), entry.size());
      hash = hash_text(std::string_view(entry).substr(at, end - at), hash);
      if (words == 0) beginnings_.insert(hash);
      at = end + 1;
    }
    entries_[hash] |= std::uint64_t{1} << (gazetteers.lists[e] % 64);
    longest_entry_ = std::max(longest_entry_, words);
  }
}

std::uint64_t FeatureExtractor::attribute_key(const Attribute& attribute, const TaggedText& text,
                                              std::size_t token) {
  const std::string_view word = text.word(token);
  std::string_view value = word;
  switch (attribute.kind) {
    case AttributeKind::word:
      break;
    case AttributeKind::lower:
      lower_text(word, scratch_);
      value = scratch_;
      break;
    case AttributeKind::shape:
    case AttributeKind::short_shape:
      shape_of(word, attribute.kind == AttributeKind::short_shape, scratch_);
      value = scratch_;
      break;
    case AttributeKind::prefix: {
      const std::size_t bytes = prefix_bytes(word, attribute.size);
      if (bytes == std::string_view::npos) return 0;
      value = word.substr(0, bytes);
      break;
    }
    case AttributeKind::suffix: {
      const std::size_t start = suffix_start(word, attribute.size);
      if (start == std::string_view::npos) return 0;
      value = word.substr(start);
      break;
    }
    case AttributeKind::column:
      assert(attribute.size >= 1 && attribute.size <= text.columns);
      value = text.field(token, attribute.size - 1);
      break;
    case AttributeKind::gazetteer:
      assert(false);
      return 0;
    case AttributeKind::always:
      value = {};
      break;
  }
  return never_zero(hash_text(value, odd_b));
}

// Marks every token with the entries it stands in: for each list, whether as first word or further on.
void FeatureExtractor::find_gazetteer_entries(const TaggedText& text, std::size_t begin, std::size_t end) {
  std::vector<std::uint64_t> first(length_), inner(length_), hashes(length_);
  gazetteer_keys_.assign(length_, 0);
  for (std::size_t t = begin; t < end; ++t) {
    lower_text(text.word(t), lowered_);
    if (!beginnings_.contains(hash_text(lowered_, 0))) continue;
    std::uint64_t hash = 0;
    for (std::size_t u = t; u < end && u < t + longest_entry_; ++u) {
      lower_text(text.word(u), lowered_);
      hash = hash_text(lowered_, hash);
      const auto found = entries_.find(hash);
      if (found == entries_.end()) continue;
      first[t - begin] |= found->second;
      for (std::size_t v = t + 1; v <= u; ++v) inner[v - begin] |= found->second;
    }
  }
  for (std::size_t t = 0; t < length_; ++t)
    if ((first[t] | inner[t]) != 0) gazetteer_keys_[t] = never_zero(fold(first[t] + odd_a, inner[t] + odd_b));
}

void FeatureExtractor::start(const TaggedText& text, std::size_t begin, std::size_t end) {
  length_ = end - begin;
  table_.resize(length_ * attributes_.size());
  for (std::size_t a = 0; a < attributes_.size(); ++a)
    if (attributes_[a].kind == AttributeKind::gazetteer) {
      find_gazetteer_entries(text, begin, end);
      for (std::size_t t = 0; t < length_; ++t) table_[t * attributes_.size() + a] = gazetteer_keys_[t];
    } else {
      for (std::size_t t = 0; t < length_; ++t)
        table_[t * attributes_.size() + a] = attribute_key(attributes_[a], text, begin + t);
    }
}

void FeatureExtractor::keys(std::size_t at, std::span<std::uint64_t> keys) const {
  assert(keys.size() == parts_.size());
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    std::uint64_t key = seeds_[k];
    for (const Part& part : parts_[k]) {
      const std::ptrdiff_t place = static_cast<std::ptrdiff_t>(at) + part.offset;
      std::uint64_t value = 0;
      if (place < 0)
        value = odd_a + static_cast<std::uint64_t>(-place);
      else if (place >= static_cast<std::ptrdiff_t>(length_))
        value = odd_b + static_cast<std::uint64_t>(place) - length_;
      else
        value = table_[static_cast<std::size_t>(place) * attributes_.size() + part.attribute];
      if (value == 0) {
        key = 0;
        break;
      }
      key = never_zero(fold(key ^ value, odd_a));
    }
    keys[k] = key;
  }
}

}  // namespace drover
