// The files documents come in: folders, zip archives, and files with a document per line.
#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "drover/io/text_source.hpp"
#include "drover/io/unpack_limit.hpp"
#include "drover/io/whole_file.hpp"
#include "drover/text/corpus.hpp"

namespace drover {

namespace {

namespace fs = std::filesystem;

bool is_unlabelled_name(std::string_view name) {
  return name == "unlabelled" || name == "unlabeled" || name == "unsup";
}

// The next line without its end; the source's place is the line's first byte. False at the end of the file.
bool next_line(TextSource& source, std::string& line) {
  source.mark();
  line.clear();
  int c = source.get();
  if (c < 0) return false;
  for (; c >= 0 && c != '\n'; c = source.get()) line.push_back(static_cast<char>(c));
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return true;
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

std::string line_name(const TextSource& source) {
  return fmt::format("{}:{}", source.name(), source.line());
}

// One document, or a file of them, that stands in a folder or an archive.
struct Member {
  std::string path;  ///< below the folder or archive, with slashes
  std::function<std::string()> read;
};

/// How much a whole archive may become; members may share bytes of it.
struct Unpacking {
  std::string archive;
  std::uint64_t packed = 0, unpacked = 0;
};

std::string read_zip_member(zip_t* archive, zip_uint64_t index, const std::string& name,
                            Unpacking& unpacking) {
  zip_stat_t status;
  zip_stat_init(&status);
  zip_file_t* file =
      zip_stat_index(archive, index, 0, &status) == 0 ? zip_fopen_index(archive, index, 0) : nullptr;
  if (file == nullptr) fail_at({name}, fmt::format("cannot be unpacked ({})", zip_strerror(archive)));
  std::string bytes;
  constexpr std::size_t part = std::size_t{1} << 16;  // no size in the archive is believed
  for (zip_int64_t got = 1; got > 0;) {
    const std::size_t size = bytes.size();
    bytes.resize(size + part);
    got = zip_fread(file, bytes.data() + size, part);
    bytes.resize(size + static_cast<std::size_t>(std::max<zip_int64_t>(got, 0)));
    unpacking.unpacked += bytes.size() - size;
    const bool too_much = is_out_of_proportion(unpacking.packed, unpacking.unpacked);
    if (got < 0 || too_much) zip_fclose(file);
    if (too_much) check_unpacked(unpacking.archive, unpacking.packed, unpacking.unpacked);
    if (got < 0) fail_at({name}, "the zip archive is damaged here");
  }
  if (zip_fclose(file) != 0) fail_at({name}, "the zip archive is damaged here");
  return bytes;
}

using FileFormat = DocumentFormat;
using AskedFormat = std::optional<DocumentFormat>;

bool looks_like_svmlight(std::string_view line) {
  // label, then index:count
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return false;
  std::string_view rest = line.substr(space + 1);
  const std::size_t colon = rest.find(':');
  return colon != std::string_view::npos && colon > 0 && rest.find_first_not_of("0123456789") == colon &&
         colon + 1 < rest.size() && rest[colon + 1] >= '0' && rest[colon + 1] <= '9';
}

FileFormat recognise(TextSource& source, AskedFormat asked) {
  if (asked) return *asked;
  std::string name = source.name();
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  for (const auto& [ending, format] : {std::pair{".tsv", FileFormat::tsv},
                                       {".jsonl", FileFormat::jsonl},
                                       {".ndjson", FileFormat::jsonl},
                                       {".svm", FileFormat::svmlight},
                                       {".svmlight", FileFormat::svmlight},
                                       {".libsvm", FileFormat::svmlight}})
    if (name.ends_with(ending)) return format;
  std::string_view text = source.beginning();
  text.remove_prefix(std::min(text.find_first_not_of("\r\n"), text.size()));
  text = text.substr(0, text.find('\n'));
  if (text.starts_with("{\"") || text.starts_with("{ \"")) return FileFormat::jsonl;
  if (looks_like_svmlight(text)) return FileFormat::svmlight;
  const std::size_t tab = text.find('\t');
  const bool label_first =
      tab != std::string_view::npos && text.substr(0, tab).find(' ') == std::string_view::npos;
  return label_first ? FileFormat::tsv : FileFormat::plain;
}

void read_plain(TextSource& source, const std::string& label, CorpusBuilder& builder) {
  std::string text;
  for (int c = source.get(); c >= 0; c = source.get()) text.push_back(static_cast<char>(c));
  builder.add_text(text, label, {source.name(), 1, 1}, source.name());
}

void read_open_file(TextSource& source, AskedFormat asked, CorpusBuilder& builder) {
  switch (recognise(source, asked)) {
    case FileFormat::tsv:
      return read_tsv_corpus(source, builder);
    case FileFormat::jsonl:
      return read_jsonl_corpus(source, builder);
    case FileFormat::svmlight:
      return read_svmlight_corpus(source, builder);
    case FileFormat::plain:
      return read_plain(source, "", builder);
  }
}

// A folder per class when there are folders; else files, each read as if named on its own.
void read_members(std::vector<Member>& members, const std::string& top, AskedFormat asked,
                  CorpusBuilder& builder) {
  std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  if (members.empty()) fail_at({top}, "expected documents, found none");
  // Archives often hold one folder that holds everything; it is no class.
  const std::size_t slash = members.front().path.find('/');
  const std::string common = slash == std::string::npos ? "" : members.front().path.substr(0, slash + 1);
  const bool shared =
      !common.empty() && std::all_of(members.begin(), members.end(),
                                     [&](const Member& member) { return member.path.starts_with(common); });
  const std::size_t skip = shared ? common.size() : 0;
  const auto below = [&](const Member& member) { return std::string_view(member.path).substr(skip); };
  const auto in_folder = [&](const Member& member) {
    return below(member).find('/') != std::string_view::npos;
  };
  const bool by_class = std::any_of(members.begin(), members.end(), in_folder);
  const bool one_class = shared && !by_class;  // the only folder is a class after all
  std::size_t left_out = 0;
  for (const Member& member : members) {
    const std::string name = top + "/" + member.path;
    if (by_class && !in_folder(member)) {
      ++left_out;
      continue;
    }
    const std::string text = member.read();
    if (by_class || one_class) {
      std::string label(one_class ? common.substr(0, common.size() - 1)
                                  : below(member).substr(0, below(member).find('/')));
      if (is_unlabelled_name(label)) label.clear();
      builder.add_text(text, label, {name, 1, 1}, name);
    } else {
      TextSource source(text, name);
      read_open_file(source, asked, builder);
    }
  }
  if (left_out > 0)
    builder.warn(fmt::format("{}: {} file{} beside the class folders left out", top, left_out,
                             left_out == 1 ? "" : "s"));
}

void read_folder(const std::string& path, AskedFormat asked, CorpusBuilder& builder) {
  std::vector<Member> members;
  std::error_code problem;
  for (fs::recursive_directory_iterator at(path, problem), end; !problem && at != end;
       at.increment(problem)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with(".")) {
      if (at->is_directory()) at.disable_recursion_pending();
      continue;
    }
    if (!at->is_regular_file()) continue;
    const std::string whole = at->path().string();
    members.push_back(
        {fs::relative(at->path(), path).generic_string(), [whole] { return read_whole_file(whole); }});
  }
  if (problem)
    throw Error(ErrorKind::cannot_read, fmt::format("cannot read {}: {}", path, problem.message()));
  read_members(members, path, asked, builder);
}

void read_zip(const std::string& path, AskedFormat asked, CorpusBuilder& builder) {
  int code = 0;
  const std::unique_ptr<zip_t, void (*)(zip_t*)> archive(zip_open(path.c_str(), ZIP_RDONLY, &code),
                                                         zip_discard);
  if (archive == nullptr) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string why = zip_error_strerror(&error);
    zip_error_fini(&error);
    if (code == ZIP_ER_NOZIP || code == ZIP_ER_INCONS || code == ZIP_ER_EOF)
      fail_at({path}, fmt::format("the zip archive is damaged ({})", why));
    throw Error(ErrorKind::cannot_read, fmt::format("cannot read {}: {}", path, why));
  }
  Unpacking unpacking{path, fs::file_size(path)};
  std::vector<Member> members;
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t index = 0; index < count; ++index) {
    const char* name = zip_get_name(archive.get(), static_cast<zip_uint64_t>(index), 0);
    if (name == nullptr) fail_at({path}, "the zip archive is damaged (an entry without a name)");
    const std::string member = name;
    const std::size_t slash = member.rfind('/');
    const bool hidden = member[slash == std::string::npos ? 0 : slash + 1] == '.';
    if (member.empty() || member.ends_with("/") || hidden || member.starts_with("__MACOSX/")) continue;
    members.push_back({member, [&archive, &unpacking, index, full = path + "/" + member] {
                         return read_zip_member(archive.get(), static_cast<zip_uint64_t>(index), full,
                                                unpacking);
                       }});
  }
  read_members(members, path, asked, builder);
}

}  // namespace

void read_tsv_corpus(TextSource& source, CorpusBuilder& builder) {
  std::string line;
  for (bool first = true; next_line(source, line); first = false) {
    if (is_blank(line)) continue;
    if (first && (line == "label\ttext" || line == "class\ttext")) continue;
    const std::size_t tab = line.find('\t');
    Place place = source.place();
    if (tab == std::string::npos)
      fail_at(place, fmt::format("expected label<TAB>text, found no tab in \"{}\"", printable(line)));
    const std::size_t second = line.find('\t', tab + 1);
    if (second != std::string::npos) {
      place.column = second + 1;
      fail_at(place, fmt::format("expected two columns (label<TAB>text), found {}",
                                 std::count(line.begin(), line.end(), '\t') + 1));
    }
    std::string label = line.substr(0, tab);
    if (label == "?") label.clear();
    place.column = tab + 2;
    builder.add_text(std::string_view(line).substr(tab + 1), label, place, line_name(source));
  }
}

void read_jsonl_corpus(TextSource& source, CorpusBuilder& builder) {
  std::string line;
  while (next_line(source, line)) {
    if (is_blank(line)) continue;
    nlohmann::json object;
    try {
      object = nlohmann::json::parse(line);
    } catch (const nlohmann::json::parse_error& error) {
      Place place = source.place();
      place.column = std::max<std::size_t>(error.byte, 1);
      fail_at(place, "expected a JSON object, such as {\"label\": \"pos\", \"text\": \"...\"}");
    } catch (const nlohmann::json::out_of_range&) {  // a number such as 1e999; the library names no column
      source.fail("expected numbers within the range of double precision");
    }
    if (!object.is_object() || !object.contains("text") || !object["text"].is_string())
      source.fail("expected a JSON object with a member \"text\" that is a string");
    std::string label;
    if (object.contains("label") && !object["label"].is_null()) {
      const auto& member = object["label"];
      if (!member.is_string() && !member.is_number() && !member.is_boolean())
        source.fail("expected \"label\" to be a string, a number or null");
      label = member.is_string() ? member.get<std::string>() : member.dump();
    }
    builder.add_text(object["text"].get_ref<const std::string&>(), label, source.place(), line_name(source));
  }
}

void read_svmlight_corpus(TextSource& source, CorpusBuilder& builder) {
  while (source.peek() >= 0) {
    if (!source.next_token_on_line()) {  // a blank line
      source.skip_line();
      continue;
    }
    if (source.token().starts_with("#")) {
      source.skip_line();
      continue;
    }
    const std::string label(source.token() == "?" ? std::string_view() : source.token());
    if (label.find(':') != std::string::npos) source.fail_expected("a label before the first index:count");
    builder.begin_counts(label, source.place(), line_name(source));
    while (source.next_token_on_line()) {
      const std::string_view token = source.token();
      if (token.starts_with("#")) break;
      const std::size_t colon = token.find(':');
      const std::string_view index = token.substr(0, colon);
      if (colon == std::string_view::npos || index.empty() || index.size() > 20 ||
          index.find_first_not_of("0123456789") != std::string_view::npos)
        source.fail_expected("index:count");
      const std::string_view number = token.substr(colon + 1);
      double count = 0;
      const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), count);
      if (problem != std::errc() || end != number.data() + number.size() || !(count >= 0) ||
          count >= 0x1p32 || count != static_cast<double>(static_cast<std::uint64_t>(count)))
        source.fail_expected("index:count with a whole count >= 0");
      builder.add_count(index, static_cast<std::uint64_t>(count), source.place());
    }
    source.skip_line();
    builder.end_counts();
  }
}

Corpus read_corpus(const std::vector<std::string>& paths, const CorpusOptions& options,
                   const RunControl& control) {
  CorpusBuilder builder(options, control);
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (path != "-" && fs::is_directory(path, ignored)) {
      read_folder(path, options.format, builder);
      continue;
    }
    TextSource source(path, control);
    if (path != "-" && source.beginning().starts_with("PK\x03\x04"))
      read_zip(path, options.format, builder);
    else if (source.peek() < 0)
      fail_at({path}, "the file is empty");
    else
      read_open_file(source, options.format, builder);
  }
  Corpus corpus = builder.finish();
  corpus.source = fmt::format("{}", fmt::join(paths, ", "));
  return corpus;
}

}  // namespace drover
