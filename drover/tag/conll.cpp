#include "drover/tag/conll.hpp"
#include "drover/core/option_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "drover/io/whole_file.hpp"
#include "drover/text/tokeniser.hpp"

namespace drover {

namespace {

constexpr std::string_view document_mark = "-DOCSTART-";
constexpr std::size_t most_labels = 4096;

/// The fields of one line; false at the end of the file.
bool next_line(TextSource& source, std::vector<std::string>& fields) {
  fields.clear();
  if (source.peek() < 0) return false;
  while (source.next_token_on_line()) {
    const std::string_view token = source.token();
    const std::size_t bad = find_invalid_utf8(token);
    if (bad != std::string_view::npos)
      source.fail(
          fmt::format("expected UTF-8 text, found the byte {:#04x}", static_cast<unsigned char>(token[bad])));
    fields.emplace_back(token);
  }
  return true;
}

std::string count_text(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

class LabelNames {
 public:
  LabelNames(TaggedText& text, const ConllOptions& options) : text_(text), options_(options) {}

  LabelId number(const std::string& label, const TextSource& source) {
    const auto [at, fresh] = numbers_.try_emplace(label, 0);
    if (!fresh) return at->second;
    const std::string name = renamed(label);
    const auto found = std::find(text_.label_names.begin(), text_.label_names.end(), name);
    at->second = static_cast<LabelId>(found - text_.label_names.begin());
    if (found != text_.label_names.end()) return at->second;
    text_.label_names.push_back(name);
    if (text_.label_names.size() > most_labels)
      source.fail(fmt::format(
          "expected a label in the last column, but there are more than {} different ones", most_labels));
    return at->second;
  }

 private:
  std::string renamed(const std::string& label) const {
    LabelParts parts;
    const bool prefixed = label.size() > 2 && label[1] == '-' && split_label(label, LabelScheme::bio, parts);
    const std::string type = prefixed ? label.substr(2) : label;
    for (const auto& [from, to] : options_.rename)
      if (from == type) return to == "O" ? to : prefixed ? label.substr(0, 2) + to : to;
    return label;
  }

  TaggedText& text_;
  const ConllOptions& options_;
  std::unordered_map<std::string, LabelId> numbers_;
};

}  // namespace

TaggedText read_conll(TextSource& source, const ConllOptions& options, const RunControl& control) {
  TaggedText text;
  text.name = source.name();
  LabelNames names(text, options);
  std::vector<std::string> fields;
  std::size_t width = 0;
  bool labelled = true, documents = false;
  for (std::uint32_t line = 1; next_line(source, fields); source.skip_line(), ++line) {
    if (line % 4096 == 0) fail_if_stopped(control, "reading tagged text");
    if (fields.empty()) {
      text.end_sentence();
      if (!documents) text.end_document();
      continue;
    }
    if (fields[0] == document_mark) {
      text.end_document();
      documents = true;
      continue;
    }
    if (width == 0) {
      width = fields.size();
      const std::size_t wanted = options.columns;
      const bool may_lack = options.labels == ConllOptions::Labels::optional;
      if (wanted == 0 && width < 2 && !may_lack)
        fail_at({text.name, line},
                fmt::format("expected a word and a label, found {}", count_text(width, "field")));
      if (wanted > 0 && width != wanted + 1 && !(may_lack && width == wanted))
        fail_at({text.name, line},
                fmt::format("expected {} and a label{}, as the model was trained with, found {}",
                            count_text(wanted, "field"), may_lack ? " (or none)" : "",
                            count_text(width, "field")));
      labelled = wanted > 0 ? width == wanted + 1 : width >= 2;
      text.columns = static_cast<std::uint32_t>(labelled ? width - 1 : width);
    }
    if (fields.size() != width)
      fail_at({text.name, line}, fmt::format("expected {} as on the lines before, found {}",
                                             count_text(width, "field"), fields.size()));
    for (std::size_t k = 0; k < text.columns; ++k) text.add_field(fields[k]);
    text.line.push_back(line);
    if (labelled) text.labels.push_back(names.number(fields.back(), source));
  }
  text.end_document();
  if (text.tokens() == 0) fail_at({text.name}, "expected at least one token, found none");
  return text;
}

TaggedText read_conll(const std::string& path, const ConllOptions& options, const RunControl& control) {
  TextSource source(path, control);
  return read_conll(source, options, control);
}

std::vector<std::pair<std::string, std::string>> parse_pairs(std::string_view option, std::string_view text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view one = text.substr(0, end);
    const std::size_t equals = one.find('=');
    if (equals == 0 || equals == std::string_view::npos || equals + 1 == one.size())
      throw OptionError(std::string(option), printable(one), "NAME=NAME,...");
    pairs.emplace_back(one.substr(0, equals), one.substr(equals + 1));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return pairs;
}

std::string pairs_text(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::string text;
  for (const auto& [first, second] : pairs)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", first, second);
  return text;
}

std::size_t match_labels(TaggedText& text, const std::vector<std::string>& labels, LabelScheme scheme,
                         UnknownLabels unknown) {
  if (!text.has_labels()) return 0;
  const DetectedScheme own = detect_scheme(text);
  // A file without a single entity looks raw; its only label O fits every scheme.
  const bool only_outside = text.label_names.size() == 1 && text.label_names[0] == "O";
  if (!only_outside && (own.scheme == LabelScheme::raw) != (scheme == LabelScheme::raw))
    fail_at({text.name, text.line[0]},
            fmt::format("expected labels in the scheme {}, as the model was trained with, found {}",
                        choice_name(scheme), choice_name(own.scheme)));
  if (!only_outside && (own.scheme != scheme || own.strays > 0)) convert_labels(text, own.scheme, scheme);
  std::vector<std::string> names = labels;
  std::vector<LabelId> number(text.label_names.size());
  for (std::size_t k = 0; k < number.size(); ++k) {
    const auto found = std::find(names.begin(), names.end(), text.label_names[k]);
    number[k] = static_cast<LabelId>(found - names.begin());
    if (found == names.end()) names.push_back(text.label_names[k]);
  }
  std::size_t kept = 0;
  for (std::size_t t = 0; t < text.labels.size(); ++t) {
    const LabelId old = text.labels[t];
    if (number[old] >= labels.size() && unknown == UnknownLabels::refused)
      fail_at({text.name, text.line[t]},
              fmt::format("the label {} is not one of the model's (renaming can change or drop it)",
                          printable(text.label_names[old])));
    kept += number[old] >= labels.size() ? 1 : 0;
    text.labels[t] = number[old];
  }
  text.label_names = std::move(names);
  return kept;
}

TaggedText read_plain_text(const std::string& path, const RunControl& control) {
  TaggedText text;
  text.name = path;
  std::string all;
  if (path == "-") {
    TextSource source(path, control);
    for (int c = source.get(); c >= 0; c = source.get()) all += static_cast<char>(c);
  } else {
    all = read_whole_file(path, control);
  }
  Tokeniser tokeniser({.punctuation = true});
  std::vector<Token> tokens;
  std::uint32_t line = 0;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find('\n', at), all.size());
    const std::string_view one = std::string_view(all).substr(at, end - at);
    ++line;
    at = end + 1;
    if (line % 256 == 0) fail_if_stopped(control, "reading text");
    const std::size_t bad = find_invalid_utf8(one);
    if (bad != std::string_view::npos)
      fail_at({path, line, bad + 1}, fmt::format("expected UTF-8 text, found the byte {:#04x}",
                                                 static_cast<unsigned char>(one[bad])));
    tokeniser.tokenise(one, tokens);
    if (tokens.empty()) {
      text.end_sentence();
      continue;
    }
    for (std::size_t k = 0; k < tokens.size(); ++k) {
      const std::string_view word = one.substr(tokens[k].begin, tokens[k].end - tokens[k].begin);
      text.add_field(word);
      text.line.push_back(line);
      if (word != "." && word != "!" && word != "?") continue;
      // A sentence ends here when white space or the end of the line follows, and then no small letter.
      const bool last = k + 1 == tokens.size();
      if (last || (tokens[k + 1].begin > tokens[k].end &&
                   !(one[tokens[k + 1].begin] >= 'a' && one[tokens[k + 1].begin] <= 'z')))
        text.end_sentence();
    }
  }
  text.end_document();
  if (text.tokens() == 0) fail_at({path}, "expected at least one word, found none");
  return text;
}

std::string conll_text(const TaggedText& text, const std::vector<std::string>& names,
                       const std::vector<LabelId>& found, const std::vector<float>& confidence) {
  std::string out;
  std::size_t document = 0;
  const bool documents = text.documents() > 1 && text.documents() < text.sentences();
  for (std::size_t s = 0; s < text.sentences(); ++s) {
    if (documents && s == text.document_begin(document)) {
      out += "-DOCSTART-\n\n";
      ++document;
    }
    for (std::size_t t = text.sentence_begin(s); t < text.sentence_end[s]; ++t) {
      for (std::uint32_t k = 0; k < text.columns; ++k) (out += text.field(t, k)) += '\t';
      out += names[found[t]];
      if (!confidence.empty()) out += fmt::format("\t{:.4f}", confidence[t]);
      out += '\n';
    }
    out += '\n';
  }
  return out;
}

}  // namespace drover
