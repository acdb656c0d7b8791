#include "experiments/ieer.hpp"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "drover/core/error.hpp"

namespace drover::experiments {

namespace {

constexpr std::array<std::string_view, 3> types = {"PERSON", "LOCATION", "ORGANIZATION"};
constexpr LabelId outside = 0;

std::string utf8_of_latin1(std::string_view bytes) {
  std::string out;
  for (char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      out += c;
    } else {
      out += static_cast<char>(0xC0 | (byte >> 6));
      out += static_cast<char>(0x80 | (byte & 0x3F));
    }
  }
  return out;
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}
bool is_part(char c) {
  return is_letter(c) || (c >= '0' && c <= '9');
}

/// Whether a full stop belongs to the word before it: an initial, U.S., or a usual title.
bool is_abbreviation(std::string_view word) {
  constexpr std::array<std::string_view, 12> known = {"Mr",  "Mrs", "Ms",  "Dr",  "St", "Jr",
                                                      "Gov", "Sen", "Rep", "Gen", "Co", "Corp"};
  if (word.size() == 1) return word[0] >= 'A' && word[0] <= 'Z';
  return word.find('.') != std::string_view::npos ||
         std::find(known.begin(), known.end(), word) != known.end();
}

/// Words between white space, their punctuation apart; 's is a word.
template <class Emit>
void split_words(std::string_view text, Emit&& emit) {
  for (std::size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) <= ' ') {
      ++at;
      continue;
    }
    if (text.substr(at, 2) == "``" || text.substr(at, 2) == "''") {
      emit("\"");
      at += 2;
      continue;
    }
    if (!is_part(text[at]) && text.substr(at, 2) != "'s") {
      emit(text.substr(at, 1));
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    while (end < text.size() &&
           (is_part(text[end]) ||
            ((text[end] == '-' || text[end] == '.' || text[end] == ',' || text[end] == '&') &&
             end + 1 < text.size() && is_part(text[end + 1]) &&
             (text[end] != ',' || (text[end + 1] >= '0' && text[end + 1] <= '9')))))
      ++end;
    if (end < text.size() && text[end] == '.' && is_abbreviation(text.substr(at, end - at))) ++end;
    emit(text.substr(at, end - at));
    at = end;
  }
}

/// The text between <NAME> and </NAME> from `from` on.
std::string_view section(std::string_view text, const std::string& name) {
  const std::size_t begin = text.find("<" + name + ">");
  if (begin == std::string_view::npos) return {};
  const std::size_t start = begin + name.size() + 2;
  const std::size_t end = text.find("</" + name + ">", start);
  return text.substr(start, (end == std::string_view::npos ? text.size() : end) - start);
}

class Adder {
 public:
  explicit Adder(TaggedText& text) : text_(text) {}

  void add(std::string_view marked) {
    std::vector<LabelId> open;  // 0: an entity of no interest
    LabelId current = outside;
    bool begun = false;
    while (!marked.empty()) {
      const std::size_t tag = std::min(marked.find('<'), marked.size());
      split_words(marked.substr(0, tag), [&](std::string_view word) {
        text_.add_field(word);
        text_.line.push_back(0);
        text_.labels.push_back(current == outside ? outside : begun ? current + 1 : current);
        begun = true;
        if (current == outside && (word == "." || word == "?" || word == "!")) text_.end_sentence();
      });
      if (tag == marked.size()) break;
      const std::size_t close = std::min(marked.find('>', tag), marked.size() - 1);
      const std::string_view inside = marked.substr(tag + 1, close - tag - 1);
      if (inside.starts_with("b_")) {
        LabelId label = outside;
        for (std::size_t k = 0; k < types.size(); ++k)
          if (inside.starts_with("b_enamex") &&
              inside.find(fmt::format("type=\"{}\"", types[k])) != std::string_view::npos)
            label = static_cast<LabelId>(1 + 2 * k);
        open.push_back(label);
        if (current == outside && label != outside) {
          current = label;
          begun = false;
          depth_ = open.size();
        }
      } else if (inside.starts_with("e_") && !open.empty()) {
        if (current != outside && open.size() == depth_) current = outside;
        open.pop_back();
      }
      marked.remove_prefix(close + 1);
    }
  }

 private:
  TaggedText& text_;
  std::size_t depth_ = 0;  ///< of the entity that counts
};

}  // namespace

void add_ieer_documents(std::string_view file, TaggedText& text) {
  if (text.label_names.empty())
    text.label_names = {"O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG", "I-ORG"};
  const std::string all = utf8_of_latin1(file);
  std::string_view rest = all;
  for (std::size_t at = rest.find("<DOC>"); at != std::string_view::npos; at = rest.find("<DOC>")) {
    rest.remove_prefix(at + 5);
    const std::string_view document = rest.substr(0, std::min(rest.find("</DOC>"), rest.size()));
    Adder(text).add(section(document, "HEADLINE"));
    text.end_sentence();
    Adder(text).add(section(document, "TEXT"));
    text.end_document();
  }
}

TaggedText read_ieer(const std::string& zip_path) {
  const std::unique_ptr<zip_t, int (*)(zip_t*)> archive(zip_open(zip_path.c_str(), ZIP_RDONLY, nullptr),
                                                        zip_close);
  if (!archive) throw Error(ErrorKind::cannot_read, fmt::format("cannot read {}", zip_path));
  TaggedText text;
  text.name = zip_path;
  std::vector<std::string> names;
  for (zip_int64_t k = 0; k < zip_get_num_entries(archive.get(), 0); ++k)
    names.emplace_back(zip_get_name(archive.get(), static_cast<zip_uint64_t>(k), 0));
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    if (name.find("APW_") == std::string::npos && name.find("NYT_") == std::string::npos) continue;
    const std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file(zip_fopen(archive.get(), name.c_str(), 0),
                                                                 zip_fclose);
    if (!file) throw Error(ErrorKind::cannot_read, fmt::format("cannot read {} in {}", name, zip_path));
    std::string bytes;
    std::array<char, 65536> buffer{};
    for (zip_int64_t size = 0; (size = zip_fread(file.get(), buffer.data(), buffer.size())) > 0;)
      bytes.append(buffer.data(), static_cast<std::size_t>(size));
    add_ieer_documents(bytes, text);
  }
  if (text.tokens() == 0) fail_at({zip_path}, "expected newswire documents, found none");
  return text;
}

}  // namespace drover::experiments
