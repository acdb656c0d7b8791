// Labels of tokens as entities: how BIO, IOB1 and IOBES labels spell them, and how they are scored.
//
// A label is O (outside) or PREFIX-TYPE. B begins an entity, I is inside one, E ends one, S is one alone (L,
// U, W and M are read as E, S, S and I). Entities are read as the evaluation of the CoNLL shared tasks reads
// them (Tjong Kim Sang and De Meulder 2003): B and S begin one; so do I and E after O, after another type,
// and after E or S. So the I- of IOB1 and I- without a beginning are entities too. In the raw scheme a label
// is its own type, and equal neighbours are one entity.
//
// Precision, recall and F1 count an entity as right when its first token, last token and type all agree.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drover/core/option_list.hpp"
#include "drover/tag/tagged_text.hpp"

namespace drover {

enum class LabelScheme { raw, bio, iob1, iobes };

template <>
struct ChoiceNames<LabelScheme> {
  static constexpr std::array names = {std::pair{LabelScheme::raw, std::string_view("raw")},
                                       std::pair{LabelScheme::bio, std::string_view("bio")},
                                       std::pair{LabelScheme::iob1, std::string_view("iob1")},
                                       std::pair{LabelScheme::iobes, std::string_view("iobes")}};
};

struct LabelParts {
  char prefix = 'O';      ///< O, B, I, E or S
  std::string_view type;  ///< empty for O
};

/// How a label reads; in a scheme with prefixes false when it is neither O nor PREFIX-TYPE.
bool split_label(std::string_view label, LabelScheme scheme, LabelParts& parts);

struct Entity {
  std::size_t begin = 0;  ///< tokens begin .. end - 1
  std::size_t end = 0;
  std::string_view type;  ///< points into the label
  bool operator==(const Entity&) const = default;
};

/// The entities of one sentence; `labels` index `names`, token numbers count from `first`.
std::vector<Entity> read_entities(std::span<const LabelId> labels, std::span<const std::string> names,
                                  LabelScheme scheme, std::size_t first = 0);

struct DetectedScheme {
  LabelScheme scheme = LabelScheme::raw;
  std::size_t strays = 0;  ///< labels that begin an entity as another scheme would
};

/// The scheme that most labels are written in. Raises bad_data at the first label without a prefix where
/// others have one.
DetectedScheme detect_scheme(const TaggedText& text);

/// Writes the labels in `wanted` (unset: in their own scheme, strays repaired) and says what they were in.
/// Raises usage when labels without prefixes are to get some.
DetectedScheme settle_scheme(TaggedText& text, std::optional<LabelScheme> wanted = {});

/// Rewrites the labels in another scheme (or in their own: strays become right), entity by entity;
/// `text.label_names` become those in use.
void convert_labels(TaggedText& text, LabelScheme from, LabelScheme to);

struct EntityCounts {
  std::uint64_t truth = 0, found = 0, right = 0;

  double precision() const {
    return found == 0 ? 0 : static_cast<double>(right) / static_cast<double>(found);
  }
  double recall() const { return truth == 0 ? 0 : static_cast<double>(right) / static_cast<double>(truth); }
  double f1() const {
    return truth + found == 0 ? 0 : 2.0 * static_cast<double>(right) / static_cast<double>(truth + found);
  }
};

struct EntityScore {
  EntityCounts all;
  std::map<std::string, EntityCounts, std::less<>> by_type;
  std::uint64_t tokens = 0, tokens_right = 0;

  double accuracy() const {
    return tokens == 0 ? 0 : static_cast<double>(tokens_right) / static_cast<double>(tokens);
  }
  /// Adds one sentence; each side has its own names.
  void add(std::span<const LabelId> truth, std::span<const std::string> truth_names,
           std::span<const LabelId> found, std::span<const std::string> found_names, LabelScheme scheme);
};

}  // namespace drover
