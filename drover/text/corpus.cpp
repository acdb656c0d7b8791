#include "drover/text/corpus.hpp"
#include "drover/core/option_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "drover/io/text_source.hpp"
#include "drover/text/tokeniser.hpp"

namespace drover {

namespace {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

using WordIds = std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>>;

constexpr std::uint32_t unknown_word = std::numeric_limits<std::uint32_t>::max();

constexpr std::string_view english_stop_words =
    "a about after again all also am an and any are aren't as at be because been before being but by can "
    "can't "
    "cannot could couldn't did didn't do does doesn't doing don't down during each few for from further had "
    "hadn't has hasn't have haven't having he her here hers herself him himself his how i if in into is "
    "isn't it "
    "it's its itself just me more most my myself no nor not now of off on once only or other our ours "
    "ourselves "
    "out over own same shan't she should shouldn't so some such than that that's the their theirs them "
    "themselves then there there's these they this those through to too under until up very was wasn't we "
    "were "
    "weren't what when where which while who whom why will with won't would wouldn't you your yours yourself "
    "yourselves";

std::string from_latin_1(std::string_view text) {
  std::string result;
  result.reserve(text.size() + text.size() / 8);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      result.push_back(c);
    } else {
      result.push_back(static_cast<char>(0xC0 | (byte >> 6)));
      result.push_back(static_cast<char>(0x80 | (byte & 0x3F)));
    }
  }
  return result;
}

void check_utf8(std::string_view text, const Place& place) {
  const std::size_t bad = find_invalid_utf8(text);
  if (bad == std::string_view::npos) return;
  const std::string_view before = text.substr(0, bad);
  const auto lines = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t start = lines == 0 ? 0 : before.rfind('\n') + 1;
  const std::size_t first_column = lines == 0 && place.column > 0 ? place.column : 1;
  fail_at({place.file, std::max<std::size_t>(place.line, 1) + lines, first_column + bad - start},
          fmt::format("expected UTF-8 text, found the byte {:#04x} (for Latin-1 files, name that encoding)",
                      static_cast<unsigned char>(text[bad])));
}

/// A number of classes (then the names stay empty), or names.
void set_classes(CorpusOptions& options, std::string_view text) {
  options.classes.clear();
  options.class_count.reset();
  if (text.empty()) return;
  constexpr std::uint32_t most = 65000;
  const OptionError wrong("classes", std::string(text),
                          "a number of classes from 2 to 65000 or at least two names");
  std::uint32_t count = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (problem == std::errc() && end == text.data() + text.size()) {
    if (count < 2 || count > most) throw wrong;
    options.class_count = count;
    return;
  }
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    options.classes.emplace_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  if (options.classes.size() < 2 || options.classes.size() > most ||
      std::ranges::find(options.classes, "") != options.classes.end())
    throw wrong;
}

std::string classes_text(const CorpusOptions& options) {
  return options.class_count ? std::to_string(*options.class_count)
                             : fmt::format("{}", fmt::join(options.classes, ","));
}

}  // namespace

void describe_files(OptionList& list, CorpusOptions& options) {
  list.add_choice("encoding", "NAME", "of the texts: utf-8 or latin-1", options.encoding);
  list.add_choice("input-format", "NAME", "of files: tsv, jsonl, svmlight or plain (a document each)",
                  options.format, "by their names and content");
}

void describe(OptionList& list, CorpusOptions& options) {
  list.add_syntax("classes", "N|NAME,...",
                  "the classes: how many, or their names (any other label is then an error)",
                  {[&options](std::string_view text) { set_classes(options, text); },
                   [&options] { return classes_text(options); }},
                  "those found, at least 2");
  list.add("min-count", "N", "leave out words that occur less often in all documents together",
           options.min_count, {1, 1e9});
  list.add("ngrams", "N", "count runs of up to N neighbouring words as words too", options.ngrams, {1, 8});
  list.add("stop-words", "LIST", "words to leave out: english, or a file with a word per line",
           options.stop_words);
  list.add("keep-case", "do not change letters to lower case", options.keep_case);
  describe_files(list, options);
}

std::vector<std::string> read_stop_words(const std::string& list) {
  std::vector<std::string> words;
  if (list == "english") {
    TextSource source(english_stop_words, "stop words");
    while (source.next_token()) words.emplace_back(source.token());
  } else if (!list.empty()) {
    TextSource source(list);
    while (source.next_token()) words.emplace_back(source.token());
    if (words.empty()) fail_at({list}, "expected a stop word per line, found none");
  }
  return words;
}

// Words get numbers as they come; finish() drops the rare ones and sorts the rest by frequency.
struct CorpusBuilder::Data {
  CorpusOptions options;
  const RunControl* control = nullptr;
  Tokeniser tokeniser;
  std::unordered_set<std::string, TextHash, std::equal_to<>> stop_words;
  WordIds ids;
  std::vector<std::uint64_t> totals;  ///< by word
  bool fixed_vocabulary = false;
  WordIds class_ids;
  std::vector<std::string> class_names;
  Corpus corpus;

  // Scratch of one document.
  std::vector<Token> tokens;
  std::vector<std::string> kept;
  std::vector<std::uint32_t> found;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> entries;
  std::string text_buffer, word_buffer;
  Place counts_place;

  std::uint32_t word_id(std::string_view word) {
    const auto known = ids.find(word);
    if (known != ids.end()) return known->second;
    if (fixed_vocabulary) return unknown_word;
    const auto id = static_cast<std::uint32_t>(totals.size());
    if (id == unknown_word) throw Error(ErrorKind::bad_data, "the documents have too many different words");
    ids.emplace(word, id);
    totals.push_back(0);
    return id;
  }

  void begin(const std::string& label, const Place& place, std::string name) {
    if (corpus.labels.size() % 64 == 0) {
      fail_if_stopped(*control, "reading documents");
      control->report({"reading documents", -1, corpus.labels.size()});
    }
    std::uint32_t known = no_label;
    if (!label.empty()) {
      const auto found_class = class_ids.find(label);
      if (found_class != class_ids.end()) {
        known = found_class->second;
      } else if (!options.classes.empty()) {
        fail_at(place, fmt::format("unknown label \"{}\"; expected {}", printable(label),
                                   fmt::join(options.classes, ", ")));
      } else {
        check_utf8(label, place);
        known = static_cast<std::uint32_t>(class_names.size());
        if (known >= 65535) fail_at(place, "more than 65535 different labels");
        class_names.push_back(label);
        class_ids.emplace(label, known);
      }
    }
    corpus.labels.push_back(known);
    corpus.names.push_back(std::move(name));
    entries.clear();
  }

  // Sorted and merged entries of the current document become part of the corpus.
  void end() {
    std::sort(entries.begin(), entries.end());
    WordCounts& counts = corpus.counts;
    for (const auto& [word, count] : entries) {
      const bool same = counts.words.size() > counts.offsets.back() && counts.words.back() == word;
      if (same && counts.counts.back() <= std::numeric_limits<std::uint32_t>::max() - count) {
        counts.counts.back() += count;
      } else {
        counts.words.push_back(word);
        counts.counts.push_back(count);
      }
      totals[word] += count;
    }
    counts.offsets.push_back(counts.words.size());
  }

  void add_word(std::string_view word) {
    const std::uint32_t id = word_id(word);
    if (id == unknown_word)
      ++corpus.unknown_tokens;
    else
      entries.emplace_back(id, 1);
  }
};

CorpusBuilder::CorpusBuilder(const CorpusOptions& options, const RunControl& control)
    : data_(std::make_unique<Data>()) {
  Data& data = *data_;
  data.options = options;
  data.control = &control;
  for (std::string& word : read_stop_words(options.stop_words)) data.stop_words.insert(std::move(word));
  data.stop_words.insert(options.stop_word_list.begin(), options.stop_word_list.end());
  for (const std::string& word : options.vocabulary) data.word_id(word);
  data.fixed_vocabulary = !options.vocabulary.empty();
  for (const std::string& name : options.classes) {
    if (!data.class_ids.emplace(name, static_cast<std::uint32_t>(data.class_names.size())).second)
      throw OptionError("classes", fmt::format("{}", fmt::join(options.classes, ",")), "each name once");
    data.class_names.push_back(name);
  }
}

CorpusBuilder::~CorpusBuilder() = default;

void CorpusBuilder::add_text(std::string_view text, const std::string& label, const Place& place,
                             std::string name) {
  Data& data = *data_;
  if (text.size() >= (std::size_t{1} << 31)) fail_at(place, "a document of 2 GB or more");
  data.begin(label, place, std::move(name));
  if (data.options.encoding == TextEncoding::latin_1) {
    data.text_buffer = from_latin_1(text);
    text = data.text_buffer;
  } else {
    check_utf8(text, place);
  }
  data.tokeniser.tokenise(text, data.tokens);
  std::size_t kept = 0;
  for (const Token& token : data.tokens) {
    std::string_view word = text.substr(token.begin, token.end - token.begin);
    if (!data.options.keep_case) {
      data.tokeniser.lower_case(word, data.word_buffer);
      word = data.word_buffer;
    }
    if (!data.stop_words.empty() && data.stop_words.contains(word)) continue;
    if (data.options.ngrams == 1) {
      data.add_word(word);
    } else {
      if (kept == data.kept.size()) data.kept.emplace_back();
      data.kept[kept++].assign(word);
    }
  }
  for (std::size_t first = 0; first < kept; ++first) {
    data.word_buffer.clear();
    for (std::size_t n = 0; n < data.options.ngrams && first + n < kept; ++n) {
      if (n > 0) data.word_buffer += ' ';
      data.word_buffer += data.kept[first + n];
      data.add_word(data.word_buffer);
    }
  }
  data.end();
}

void CorpusBuilder::begin_counts(const std::string& label, const Place& place, std::string name) {
  data_->begin(label, place, std::move(name));
  data_->counts_place = place;
}

void CorpusBuilder::add_count(std::string_view word, std::uint64_t count, const Place& place) {
  Data& data = *data_;
  if (count > std::numeric_limits<std::uint32_t>::max())
    fail_at(place, fmt::format("expected a count below 2^32, found {}", count));
  if (count == 0) return;
  const std::uint32_t id = data.word_id(word);
  if (id == unknown_word)
    data.corpus.unknown_tokens += count;
  else
    data.entries.emplace_back(id, static_cast<std::uint32_t>(count));
}

void CorpusBuilder::end_counts() {
  auto& entries = data_->entries;
  std::sort(entries.begin(), entries.end());
  for (std::size_t e = 1; e < entries.size(); ++e) {
    if (entries[e].first == entries[e - 1].first)
      fail_at(data_->counts_place, "an index stands twice in one document");
  }
  data_->end();
}

void CorpusBuilder::warn(std::string message) {
  data_->corpus.warnings.push_back(std::move(message));
}

Corpus CorpusBuilder::finish() {
  Data& data = *data_;
  Corpus& corpus = data.corpus;
  WordCounts& counts = corpus.counts;
  if (counts.documents() == 0) throw Error(ErrorKind::bad_data, "there are no documents to read");

  // Words: from the order they came in to the order of frequency (or the given one).
  const std::size_t found = data.totals.size();
  std::vector<const std::string*> texts(found);
  for (const auto& [text, id] : data.ids) texts[id] = &text;
  std::vector<std::uint32_t> order(found);
  std::iota(order.begin(), order.end(), 0U);
  if (!data.fixed_vocabulary) {
    std::erase_if(order, [&](std::uint32_t w) { return data.totals[w] < data.options.min_count; });
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return data.totals[a] != data.totals[b] ? data.totals[a] > data.totals[b] : *texts[a] < *texts[b];
    });
    if (order.empty())
      throw Error(ErrorKind::bad_data,
                  found == 0 ? "the documents have no words"
                             : fmt::format("no word occurs {} times or more", data.options.min_count));
  }
  std::vector<std::uint32_t> new_id(found, unknown_word);
  for (std::size_t w = 0; w < order.size(); ++w) new_id[order[w]] = static_cast<std::uint32_t>(w);
  for (const std::uint32_t w : order) corpus.words.push_back(*texts[w]);
  counts.vocabulary = static_cast<std::uint32_t>(order.size());

  // Entries in place: a document never grows.
  std::uint64_t write = 0;
  for (std::size_t d = 0; d < counts.documents(); ++d) {
    data.entries.clear();
    const std::uint64_t begin = counts.offsets[d];
    const std::uint64_t end = counts.offsets[d + 1];
    for (std::uint64_t e = begin; e < end; ++e)
      if (new_id[counts.words[e]] != unknown_word)
        data.entries.emplace_back(new_id[counts.words[e]], counts.counts[e]);
    std::sort(data.entries.begin(), data.entries.end());
    counts.offsets[d] = write;
    for (const auto& [word, count] : data.entries) {
      counts.words[write] = word;
      counts.counts[write++] = count;
      corpus.tokens += count;
    }
  }
  counts.offsets.back() = write;
  counts.words.resize(write);
  counts.counts.resize(write);

  // Classes in alphabetical order, unless their order was given.
  corpus.classes = data.class_names;
  if (data.options.classes.empty()) {
    std::sort(corpus.classes.begin(), corpus.classes.end());
    std::vector<std::uint32_t> rank(corpus.classes.size());
    for (std::size_t c = 0; c < rank.size(); ++c)
      rank[data.class_ids.find(corpus.classes[c])->second] = static_cast<std::uint32_t>(c);
    for (std::uint32_t& label : corpus.labels)
      if (label != no_label) label = rank[label];
  }
  if (const auto count = data.options.class_count) {
    if (corpus.classes.size() > *count)
      throw Error(ErrorKind::bad_data,
                  fmt::format("the documents have {} different labels, more than the {} classes asked for",
                              corpus.classes.size(), *count));
    for (std::size_t k = corpus.classes.size(); k < *count; ++k)
      corpus.classes.push_back(fmt::format("class {}", k + 1));
  }
  return std::move(corpus);
}

}  // namespace drover
