#include "answer_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "drover/core/error.hpp"
#include "drover/core/plural.hpp"
#include "drover/draw/network.hpp"
#include "drover/io/atomic_file.hpp"

namespace drover::python {

namespace {

// Of UTF-8.
std::size_t letters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

std::string method_line(const Provenance& provenance) {
  std::string text = "method " + provenance.method;
  if (!provenance.because.empty()) text += ", chosen because " + provenance.because;
  return text;
}

std::string about(const ModelAnswer& answer) {
  const std::string input = answer.provenance.input.empty() ? "" : " of " + answer.provenance.input;
  return fmt::format("{}, {}", input, counted(answer.variables, "variable"));
}

std::string ending(const Provenance& provenance, const Judgement& judgement) {
  return fmt::format("{}, {:.3g} s\n{}: {}", method_line(provenance), provenance.seconds,
                     choice_name(judgement.verdict), judgement.text);
}

std::string word(const std::string& whole) {
  return shortened(whole, 24);
}

std::string rows_text(const ModelAnswer& answer, const std::vector<VariableId>& query,
                      const std::function<std::string(VariableId)>& cells) {
  const std::size_t count = query.empty() ? answer.variables : query.size();
  std::vector<std::vector<std::string>> rows;
  for (std::size_t row = 0; row < std::min(most_rows, count); ++row) {
    const VariableId v = query.empty() ? static_cast<VariableId>(row) : query[row];
    rows.push_back({word(answer.names.variable(v)), cells(v)});
  }
  std::string text = columns_text({}, rows);
  if (count > rows.size()) text += fmt::format("  ... and {} more\n", count - rows.size());
  return text;
}

std::string columns_text(const std::vector<std::string>& head,
                         const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  const auto measure = [&](const std::vector<std::string>& row) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], letters(row[c]));
  };
  measure(head);
  for (const auto& row : rows) measure(row);
  std::string text;
  const auto write = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) line += fmt::format("  {:{}}", row[c], widths[c]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  };
  if (!head.empty()) write(head);
  for (const auto& row : rows) write(row);
  return text;
}

void save(const std::string& path, const JsonObject& json, const char* extensions,
          const std::function<bool(const std::string&)>& write) {
  if (path.ends_with(".json") || path.ends_with(".json.gz")) {
    AtomicFile file(path);
    file.write(json.text());
    file.commit();
  } else if (!write(path)) {
    throw Error(ErrorKind::usage, fmt::format("{}: expected a name that ends in {}", path, extensions));
  }
}

bool ends_in(std::string path, std::string_view extension) {
  if (path.ends_with(".gz")) path.resize(path.size() - 3);
  std::ranges::transform(path, path.begin(), ::tolower);
  return path.ends_with(extension);
}

}  // namespace drover::python
