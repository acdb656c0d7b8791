#include "drover/tag/feature_templates.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "drover/text/tokeniser.hpp"

namespace drover {

namespace {

struct AttributeName {
  std::string_view name;
  AttributeKind kind;
  bool sized;
};

// Longer names before their beginnings.
constexpr std::array<AttributeName, 9> attribute_names = {{
    {"word", AttributeKind::word, false},
    {"lower", AttributeKind::lower, false},
    {"shape", AttributeKind::shape, false},
    {"shortshape", AttributeKind::short_shape, false},
    {"prefix", AttributeKind::prefix, true},
    {"suffix", AttributeKind::suffix, true},
    {"column", AttributeKind::column, true},
    {"gazetteer", AttributeKind::gazetteer, false},
    {"always", AttributeKind::always, false},
}};

constexpr const char* expected_part =
    "an attribute with its offset, such as word[0] (word, lower, shape, shortshape, prefixN, suffixN, "
    "columnN, "
    "gazetteer, always), or labels";
constexpr std::size_t most_parts = 8, most_templates = 1000;

template <class Number>
bool parse_whole(std::string_view text, Number& number) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

TemplatePart parse_part(const TextSource& source, std::string_view text, std::uint32_t columns) {
  const std::size_t open = text.find('[');
  if (open == std::string_view::npos || text.back() != ']') source.fail_expected(expected_part);
  const std::string_view name = text.substr(0, open);
  TemplatePart part;
  if (!parse_whole(text.substr(open + 1, text.size() - open - 2), part.offset) ||
      part.offset < -max_template_offset || part.offset > max_template_offset)
    source.fail_expected(
        fmt::format("an offset from -{} to {} between [ and ]", max_template_offset, max_template_offset));
  for (const AttributeName& attribute : attribute_names) {
    if (!name.starts_with(attribute.name)) continue;
    const std::string_view rest = name.substr(attribute.name.size());
    if (!attribute.sized && !rest.empty()) continue;
    part.attribute.kind = attribute.kind;
    if (!attribute.sized) return part;
    const std::uint32_t limit = attribute.kind == AttributeKind::column ? columns : max_affix;
    if (!parse_whole(rest, part.attribute.size) || part.attribute.size < 1 || part.attribute.size > limit)
      source.fail_expected(fmt::format("{} with a number from 1 to {}", attribute.name, limit));
    return part;
  }
  source.fail_expected(expected_part);
}

}  // namespace

FeatureTemplates read_templates(TextSource& source, std::uint32_t columns) {
  FeatureTemplates result;
  result.label_bigrams = false;
  while (source.peek() >= 0) {
    std::vector<TemplatePart> parts;
    bool labels = false;
    while (source.next_token_on_line() && !source.token().starts_with('#')) {
      if (labels) source.fail_expected("the end of the line after labels");
      if (source.token() == "labels" && parts.empty())
        labels = true;
      else
        parts.push_back(parse_part(source, source.token(), columns));
      if (parts.size() > most_parts) source.fail(fmt::format("expected at most {} attributes", most_parts));
    }
    source.skip_line();
    result.label_bigrams |= labels;
    if (parts.empty()) continue;
    result.templates.push_back(std::move(parts));
    if (result.templates.size() > most_templates)
      source.fail(fmt::format("expected at most {} templates", most_templates));
  }
  if (result.templates.empty())
    fail_at({source.name()}, "expected at least one feature template, found none");
  return result;
}

FeatureTemplates read_templates(const std::string& path, std::uint32_t columns) {
  TextSource source(path);
  return read_templates(source, columns);
}

std::string templates_text(const FeatureTemplates& templates) {
  std::string text;
  for (const auto& parts : templates.templates) {
    for (std::size_t k = 0; k < parts.size(); ++k) {
      for (const AttributeName& attribute : attribute_names)
        if (attribute.kind == parts[k].attribute.kind)
          text +=
              fmt::format("{}{}{}[{}]", k == 0 ? "" : " ", attribute.name,
                          attribute.sized ? std::to_string(parts[k].attribute.size) : "", parts[k].offset);
    }
    text += '\n';
  }
  if (templates.label_bigrams) text += "labels\n";
  return text;
}

std::string_view default_templates() {
  return R"(# The word itself
always[0]
word[0]
lower[0]
shape[0]
shortshape[0]
prefix1[0]
prefix2[0]
prefix3[0]
prefix4[0]
suffix1[0]
suffix2[0]
suffix3[0]
suffix4[0]
gazetteer[0]
# Its neighbours
word[-2]
word[-1]
word[1]
word[2]
shortshape[-2]
shortshape[-1]
shortshape[1]
shortshape[2]
suffix3[-1]
suffix3[1]
gazetteer[-1]
gazetteer[1]
# Together
lower[-1] lower[0]
lower[0] lower[1]
shortshape[-1] shortshape[0]
shortshape[0] shortshape[1]
shortshape[-1] shortshape[0] shortshape[1]
labels
)";
}

void read_gazetteer(const std::string& path, const std::string& name, Gazetteers& gazetteers) {
  TextSource source(path);
  const auto list = static_cast<std::uint32_t>(gazetteers.names.size());
  gazetteers.names.push_back(name);
  std::string lowered;
  const std::size_t before = gazetteers.entries.size();
  while (source.peek() >= 0) {
    std::string entry;
    while (source.next_token_on_line()) {
      if (find_invalid_utf8(source.token()) != std::string_view::npos) source.fail("expected UTF-8 text");
      lower_text(source.token(), lowered);
      entry += (entry.empty() ? "" : " ") + lowered;
    }
    source.skip_line();
    if (entry.empty()) continue;
    gazetteers.entries.push_back(std::move(entry));
    gazetteers.lists.push_back(list);
  }
  if (gazetteers.entries.size() == before)
    fail_at({source.name()}, "expected at least one entry in the gazetteer, found none");
}

FeatureTemplates default_feature_templates() {
  TextSource source(default_templates(), "the default templates");
  return read_templates(source, 1);
}

bool uses_columns(const FeatureTemplates& templates) {
  for (const auto& parts : templates.templates)
    for (const TemplatePart& part : parts)
      if (part.attribute.kind == AttributeKind::column && part.attribute.size > 1) return true;
  return false;
}

}  // namespace drover
