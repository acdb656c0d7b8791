// What a tagger sees of a token: feature templates, and their values as 64-bit keys.
//
// A template is a conjunction of parts; a part is an attribute of the token at some offset from the current
// one (word[0], shape[-1] lower[0]). Its value at a token is the tuple of the attributes; every distinct
// value of every template is a feature with a weight per label. A feature is known by a 64-bit hash of
// template and value and never by its text: with a million features the chance that any two share a key is
// 3e-8.
//
// Attributes are hashed once per token; a feature then costs a few multiplications. An attribute that a token
// does not have (a prefix longer than the word, no gazetteer entry) gives key 0, and templates with it give
// no feature there. Beyond the ends of a sentence every attribute has the value "n tokens outside".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "drover/tag/tagged_text.hpp"

namespace drover {

enum class AttributeKind : std::uint8_t {
  word,         ///< the word itself
  lower,        ///< in lower case
  shape,        ///< Xx9-: letters as X or x, digits as 9, other characters as they are
  short_shape,  ///< the same, with repetitions once
  prefix,       ///< the first `size` characters
  suffix,       ///< the last `size` characters
  column,       ///< column number `size` of the file, counted from 1
  gazetteer,    ///< where the token stands in entries of the gazetteers
  always,       ///< the same at every token
};

struct Attribute {
  AttributeKind kind = AttributeKind::word;
  std::uint32_t size = 0;
  bool operator==(const Attribute&) const = default;
};

struct TemplatePart {
  Attribute attribute;
  std::int32_t offset = 0;
};

inline constexpr std::int32_t max_template_offset = 9;
inline constexpr std::uint32_t max_affix = 20;

struct FeatureTemplates {
  std::vector<std::vector<TemplatePart>> templates;
  bool label_bigrams = true;  ///< a weight for every pair of neighbouring labels
};

/// Lists of names: "city", "person". An entry is one or more words, compared in lower case.
struct Gazetteers {
  std::vector<std::string> names;    ///< one per list
  std::vector<std::string> entries;  ///< lower case, words parted by one space
  std::vector<std::uint32_t> lists;  ///< of each entry, an index into names
};

std::uint64_t hash_text(std::string_view text, std::uint64_t seed);

/// The text in lower case, character by character; bytes that are not UTF-8 stay as they are.
void lower_text(std::string_view text, std::string& result);
/// X for capitals, x for other letters, 9 for digits, the rest unchanged; `once` drops repetitions.
void shape_of(std::string_view word, bool once, std::string& result);
/// Whether the first character is a capital letter.
bool is_capitalised(std::string_view word);

/// Computes features; holds what is looked up again and again. One per thread.
class FeatureExtractor {
 public:
  FeatureExtractor(const FeatureTemplates& templates, const Gazetteers& gazetteers);

  /// Templates in groups that look at the same offsets: features of one group are known together.
  std::size_t groups() const { return groups_.size(); }
  std::span<const std::uint32_t> group(std::size_t g) const { return groups_[g]; }
  std::size_t templates() const { return parts_.size(); }

  /// Prepares the tokens begin .. end - 1, one sentence.
  void start(const TaggedText& text, std::size_t begin, std::size_t end);
  /// The keys of all templates at token `at` of that sentence (counted from 0), group after group, 0 where
  /// there is none.
  void keys(std::size_t at, std::span<std::uint64_t> keys) const;

 private:
  struct Part {
    std::uint32_t attribute;
    std::int32_t offset;
  };
  std::uint64_t attribute_key(const Attribute& attribute, const TaggedText& text, std::size_t token);
  void find_gazetteer_entries(const TaggedText& text, std::size_t begin, std::size_t end);

  std::vector<Attribute> attributes_;
  std::vector<std::vector<Part>> parts_;  ///< of each template, in the order of the groups
  std::vector<std::uint64_t> seeds_;      ///< of each template, by its text
  std::vector<std::vector<std::uint32_t>> groups_;
  std::size_t length_ = 0;
  std::vector<std::uint64_t> table_;  ///< token-major: the attributes of the sentence
  std::vector<std::uint64_t> gazetteer_keys_;
  std::unordered_map<std::uint64_t, std::uint64_t> entries_;  ///< hash of an entry -> its lists, one bit each
  std::unordered_set<std::uint64_t> beginnings_;              ///< hashes of first words
  std::size_t longest_entry_ = 0;
  std::string scratch_, lowered_;
};

}  // namespace drover
