#include "drover/report/tag_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace drover {

namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

constexpr std::string_view style = R"(
:root { color-scheme: light dark; }
body { font: 16px/1.7 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; font-size: .9rem; }
td, th { padding: .1rem .8rem .1rem 0; text-align: left; }
mark { color: inherit; padding: .1rem .25rem; border-radius: .3rem; }
mark small { font-size: .65rem; opacity: .75; margin-left: .3rem; }
.unsure { text-decoration: underline dotted; }
.warning { border-left: .3rem solid #d90; padding-left: .7rem; }
.document { border-top: 1px solid #8888; margin-top: 1.2rem; padding-top: .6rem; }
)";

/// Hues far apart, in order of the types' names.
std::map<std::string_view, int> hues_of(const std::vector<std::string>& names, LabelScheme scheme) {
  std::map<std::string_view, int> hues;
  for (const std::string& name : names)
    if (LabelParts parts; split_label(name, scheme, parts) && parts.prefix != 'O') hues[parts.type] = 0;
  int next = 210;
  for (auto& [type, hue] : hues) {
    hue = next % 360;
    next += 137;
  }
  return hues;
}

}  // namespace

std::string page_of(const Tags& tags) {
  const Provenance& origin = tags.provenance;
  const TaggedText& text = tags.text;
  const std::vector<std::string>& names = tags.label_names;
  const std::vector<LabelId>& found = tags.found.labels;
  const std::vector<float>& confidence = tags.found.confidence;
  const std::string title = "Labels of " + text.name.substr(text.name.find_last_of('/') + 1);
  std::vector<std::pair<std::string, std::string>> facts = {
      {"Model", origin.input}, {"Method", origin.method}, {"Tokens", std::to_string(text.tokens())}};
  if (tags.score) facts.emplace_back("F1", fmt::format("{:.2f}", 100 * tags.score->all.f1()));
  const auto hues = hues_of(names, tags.scheme);
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>{}</title><style>{}</style></head><body>\n<h1>{}</"
      "h1>\n<table>\n",
      escaped(title), style, escaped(title));
  for (const auto& [name, value] : facts)
    out += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", escaped(name), escaped(value));
  out += fmt::format("</table>\n<p>{}</p>\n", escaped(judge(tags).text));
  for (const std::string& warning : origin.warnings)
    out += fmt::format("<p class=\"warning\">{}</p>\n", escaped(warning));
  out += "<p>";
  for (const auto& [type, hue] : hues)
    out += fmt::format("<mark style=\"background:hsl({} 80% 60% / .5)\">{}</mark> ", hue, escaped(type));
  out +=
      "The stronger the colour, the surer the label; a dotted line marks tokens below 0.5. The pointer on a "
      "word shows its label and probability.</p>\n";
  std::size_t document = 0;
  for (std::size_t s = 0; s < text.sentences(); ++s) {
    const std::size_t begin = text.sentence_begin(s), end = text.sentence_end[s];
    const bool starts = s == text.document_begin(document);
    if (starts) ++document;
    out += starts && text.documents() < text.sentences() ? "<p class=\"document\">" : "<p>";
    const std::vector<Entity> entities =
        read_entities({found.data() + begin, end - begin}, names, tags.scheme, begin);
    auto next = entities.begin();
    for (std::size_t t = begin; t < end; ++t) {
      if (next != entities.end() && next->begin == t) {
        float sure = 1;
        for (std::size_t u = next->begin; u < next->end; ++u) sure = std::min(sure, confidence[u]);
        out += fmt::format("<mark style=\"background:hsl({} 80% 60% / {:.2f})\">", hues.at(next->type),
                           0.1F + 0.6F * sure);
      }
      out += fmt::format("<span{} title=\"{} {:.3f}\">{}</span>",
                         confidence[t] < 0.5F ? " class=\"unsure\"" : "", escaped(names[found[t]]),
                         confidence[t], escaped(text.word(t)));
      if (next != entities.end() && next->end == t + 1) {
        out += fmt::format("<small>{}</small></mark>", escaped(next->type));
        ++next;
      }
      out += ' ';
    }
    out += "</p>\n";
  }
  out += "</body></html>\n";
  return out;
}

}  // namespace drover
