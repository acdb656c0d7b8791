#include "drover/tag/entities.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "drover/core/error.hpp"

namespace drover {

namespace {

char plain_prefix(char letter) {
  switch (letter) {
    case 'B':
    case 'I':
    case 'E':
    case 'S':
      return letter;
    case 'L':
      return 'E';
    case 'U':
    case 'W':
      return 'S';
    case 'M':
      return 'I';
    default:
      return '\0';
  }
}

bool begins_entity(const LabelParts& before, const LabelParts& here) {
  if (here.prefix == 'O') return false;
  if (here.prefix == 'B' || here.prefix == 'S') return true;
  return before.prefix == 'O' || before.prefix == 'E' || before.prefix == 'S' || before.type != here.type;
}

bool has_prefix(std::string_view label) {
  return label.size() > 2 && label[1] == '-' && plain_prefix(label[0]) != '\0';
}

LabelId intern(std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<LabelId>(found - names.begin());
  names.push_back(name);
  return static_cast<LabelId>(names.size() - 1);
}

}  // namespace

bool split_label(std::string_view label, LabelScheme scheme, LabelParts& parts) {
  parts = {};
  if (label == "O") return true;
  if (scheme == LabelScheme::raw) {
    parts = {'I', label};
    return true;
  }
  if (!has_prefix(label)) return false;
  parts = {plain_prefix(label[0]), label.substr(2)};
  return true;
}

std::vector<Entity> read_entities(std::span<const LabelId> labels, std::span<const std::string> names,
                                  LabelScheme scheme, std::size_t first) {
  std::vector<Entity> entities;
  LabelParts before, here;
  for (std::size_t t = 0; t < labels.size(); ++t) {
    split_label(names[labels[t]], scheme, here);
    if (begins_entity(before, here))
      entities.push_back({first + t, first + t + 1, here.type});
    else if (here.prefix != 'O')
      entities.back().end = first + t + 1;
    before = here;
  }
  return entities;
}

DetectedScheme detect_scheme(const TaggedText& text) {
  if (std::ranges::none_of(text.label_names, [](const auto& name) { return has_prefix(name); })) return {};
  std::size_t entities = 0, ends = 0, fresh_b = 0, fresh_i = 0;
  for (std::size_t s = 0; s < text.sentences(); ++s) {
    LabelParts before, here;
    for (std::size_t t = text.sentence_begin(s); t < text.sentence_end[s]; ++t) {
      const std::string& name = text.label_names[text.labels[t]];
      if (!split_label(name, LabelScheme::bio, here))
        fail_at(
            {text.name, text.line[t]},
            fmt::format("expected the label O or one with a prefix such as B-{}, found \"{}\"", name, name));
      entities += begins_entity(before, here) ? 1 : 0;
      ends += here.prefix == 'E' || here.prefix == 'S' ? 1 : 0;
      const bool fresh = here.prefix != 'O' && (before.prefix == 'O' || before.type != here.type);
      fresh_b += fresh && here.prefix == 'B' ? 1 : 0;
      fresh_i += fresh && here.prefix == 'I' ? 1 : 0;
      before = here;
    }
  }
  if (2 * ends >= entities && entities > 0) return {LabelScheme::iobes, fresh_i};
  if (fresh_i > fresh_b) return {LabelScheme::iob1, fresh_b};
  return {LabelScheme::bio, fresh_i};
}

DetectedScheme settle_scheme(TaggedText& text, std::optional<LabelScheme> wanted) {
  const DetectedScheme own = detect_scheme(text);
  const LabelScheme to = wanted.value_or(own.scheme);
  if (own.scheme == LabelScheme::raw && to != LabelScheme::raw)
    throw OptionError("scheme", std::string(choice_name(to)),
                      "raw: the labels of the file have no prefixes such as B-");
  if (own.scheme != to || own.strays > 0) convert_labels(text, own.scheme, to);
  return own;
}

void convert_labels(TaggedText& text, LabelScheme from, LabelScheme to) {
  if (from == LabelScheme::raw) {
    assert(to == LabelScheme::raw);
    return;
  }
  std::vector<std::string> names;
  std::vector<LabelId> labels(text.labels.size());
  const LabelId outside = intern(names, "O");
  for (std::size_t s = 0; s < text.sentences(); ++s) {
    const std::size_t first = text.sentence_begin(s);
    const std::span<const LabelId> old(text.labels.data() + first, text.sentence_end[s] - first);
    std::fill_n(labels.begin() + static_cast<std::ptrdiff_t>(first), old.size(), outside);
    const Entity* before = nullptr;
    const std::vector<Entity> entities = read_entities(old, text.label_names, from, first);
    for (const Entity& entity : entities) {
      const bool touches = before != nullptr && before->end == entity.begin && before->type == entity.type;
      for (std::size_t t = entity.begin; t < entity.end; ++t) {
        const bool head = t == entity.begin, tail = t + 1 == entity.end;
        char prefix = 'I';
        if (to == LabelScheme::bio && head) prefix = 'B';
        if (to == LabelScheme::iob1 && head && touches) prefix = 'B';
        if (to == LabelScheme::iobes) prefix = head && tail ? 'S' : head ? 'B' : tail ? 'E' : 'I';
        labels[t] = intern(names, to == LabelScheme::raw ? std::string(entity.type)
                                                         : fmt::format("{}-{}", prefix, entity.type));
      }
      before = &entity;
    }
  }
  text.label_names = std::move(names);
  text.labels = std::move(labels);
}

namespace {

/// A token in the scheme BIO, whatever the scheme that was learnt: models in different ones are scored alike.
struct TokenLabel {
  std::string_view type;  ///< empty: in no entity
  bool begins = false;
  bool operator==(const TokenLabel&) const = default;
};

std::vector<TokenLabel> labels_of(std::span<const Entity> entities, std::size_t tokens) {
  std::vector<TokenLabel> labels(tokens);
  for (const Entity& entity : entities)
    for (std::size_t t = entity.begin; t < entity.end; ++t) labels[t] = {entity.type, t == entity.begin};
  return labels;
}

}  // namespace

void EntityScore::add(std::span<const LabelId> truth, std::span<const std::string> truth_names,
                      std::span<const LabelId> found, std::span<const std::string> found_names,
                      LabelScheme scheme) {
  assert(truth.size() == found.size());
  const std::vector<Entity> expected = read_entities(truth, truth_names, scheme);
  const std::vector<Entity> given = read_entities(found, found_names, scheme);
  tokens += truth.size();
  if (scheme == LabelScheme::raw) {
    for (std::size_t t = 0; t < truth.size(); ++t)
      tokens_right += truth_names[truth[t]] == found_names[found[t]] ? 1 : 0;
  } else {
    const std::vector<TokenLabel> wanted = labels_of(expected, truth.size()),
                                  had = labels_of(given, truth.size());
    for (std::size_t t = 0; t < truth.size(); ++t) tokens_right += wanted[t] == had[t] ? 1 : 0;
  }
  const auto counts = [&](std::string_view type) -> EntityCounts& {
    const auto at = by_type.find(type);
    return at != by_type.end() ? at->second : by_type[std::string(type)];
  };
  for (const Entity& entity : expected) ++counts(entity.type).truth;
  auto next = expected.begin();
  for (const Entity& entity : given) {
    EntityCounts& of_type = counts(entity.type);
    ++of_type.found;
    while (next != expected.end() && next->begin < entity.begin) ++next;
    if (next == expected.end() || *next != entity) continue;
    ++of_type.right;
    ++all.right;
  }
  all.truth += expected.size();
  all.found += given.size();
}

}  // namespace drover
