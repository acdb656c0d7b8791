#include "app/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "app/progress.hpp"
#include "drover/core/error.hpp"
#include "drover/core/figures.hpp"
#include "drover/io/atomic_file.hpp"

namespace drover::app {

namespace {

// Columns are aligned by characters, not bytes.
std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

std::string method_text(const Provenance& provenance) {
  return "method " + provenance.method + (provenance.because.empty() ? "" : " (" + provenance.because + ")");
}

std::string diagnostics_text(const Diagnostics& diagnostics) {
  if (!std::isfinite(diagnostics.rhat_max) || !std::isfinite(diagnostics.ess_min))
    return "too short for R-hat and effective sample size";
  std::string text = fmt::format("largest R-hat {}, smallest ESS {}", rhat_text(diagnostics.rhat_max),
                                 ess_text(diagnostics.ess_min));
  if (std::isfinite(diagnostics.mcse_max)) text += ", largest MCSE " + error_text(diagnostics.mcse_max);
  return text;
}

Argument model_argument() {
  return {"MODEL", "a model file: .uai, .bif, .fg, .coo, .drv, each also .gz"};
}

void TextTable::print() const {
  std::vector<std::size_t> widths(rows_.front().size(), 0);
  for (const auto& cells : rows_)
    for (std::size_t c = 0; c < cells.size(); ++c) widths[c] = std::max(widths[c], display_width(cells[c]));
  std::string text;
  for (const auto& cells : rows_) {
    if (std::ranges::all_of(cells, [](const std::string& cell) { return cell.empty(); }))
      continue;  // no header
    for (std::size_t c = 0; c < cells.size(); ++c) {
      text += cells[c];
      if (c + 1 < cells.size()) text.append(widths[c] - display_width(cells[c]) + 2, ' ');
    }
    text += '\n';
  }
  print_text(text);
}

bool is_standard_output(std::string_view path) {
  return path == "-" || path == "/dev/stdout" || path == "/dev/fd/1";
}

void check_one_document(bool json, std::initializer_list<std::string_view> files) {
  const auto documents = std::count_if(files.begin(), files.end(), is_standard_output) + (json ? 1 : 0);
  if (documents > 1)
    throw Error(ErrorKind::usage,
                "two documents would go to the standard output: give a file name, or leave --json out");
}

void check_outputs(const Output& output, std::initializer_list<std::string_view> extensions,
                   const std::string& checkpoint, std::span<const std::string> inputs) {
  const bool writes = speaks();
  if (!output.out.empty() && !std::ranges::any_of(extensions, [&](std::string_view extension) {
        return output.out.ends_with(extension);
      })) {
    std::string list;
    for (std::string_view extension : extensions) list += (list.empty() ? "" : ", ") + std::string(extension);
    throw OptionError("out", output.out, "a file name that ends in " + list);
  }
  check_one_document(output.json, {output.out, output.report});
  std::error_code code;
  std::vector<std::pair<std::string, std::filesystem::path>> seen;
  for (const std::string& input : inputs)
    if (std::filesystem::is_regular_file(input, code))
      seen.emplace_back("the input", std::filesystem::weakly_canonical(input, code));
  for (const auto& [option, path] : {std::pair<std::string_view, const std::string*>{"--out", &output.out},
                                     {"--report", &output.report},
                                     {"--checkpoint", &checkpoint}}) {
    if (path->empty() || is_standard_output(*path)) continue;
    const std::filesystem::path place = std::filesystem::weakly_canonical(*path, code);
    for (const auto& [other, taken] : seen)
      if (taken == place || std::filesystem::equivalent(taken, place, code))
        throw Error(ErrorKind::usage, fmt::format("{} and {} name the same file {}", other, option, *path));
    seen.emplace_back(option, place);
    // A pipe or device is opened once, to be written: whoever reads it would take a trial for the end.
    const auto status = std::filesystem::status(*path, code);
    if (std::filesystem::exists(status) && std::filesystem::is_other(status)) continue;
    if (writes) AtomicFile probe(*path);
  }
}

void add_options(const OptionList& list, Details& settings) {
  const Details values = option_values(list);
  for (const auto& [name, value] : values.entries()) settings[name] = value;
}

void add_limits(const Limits& limits, Details& settings) {
  if (limits.time) settings["time"] = *limits.time;
}

void print_text(const std::string& text) {
  expect_result();
  if (!speaks()) return;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw Error(ErrorKind::cannot_write, "standard output cannot be written");
}

void print_json(const JsonObject& object) {
  print_text(object.text());
}

void print_warnings(bool quiet, const std::vector<std::string>& warnings) {
  if (quiet) return;
  for (const std::string& warning : warnings)
    std::fputs(fmt::format("drover: warning: {}\n", warning).c_str(), stderr);
}

bool deliver(const Output& output, const std::vector<std::string>& warnings,
             const std::function<JsonObject()>& make_json,
             const std::function<void(const std::string& path)>& write_own,
             const std::function<std::string(const std::string& json)>& make_page) {
  expect_result();
  const bool to_json_file = output.out.ends_with(".json");
  std::string json;
  if (to_json_file || !output.report.empty() || output.json) json = make_json().text();
  if (to_json_file)
    write_file(output.out, json);
  else if (!output.out.empty())
    write_own(output.out);
  if (!output.report.empty()) write_file(output.report, make_page(json));
  print_warnings(output.quiet, warnings);
  if (output.json) print_text(json);
  return !output.json && !is_standard_output(output.out) && !is_standard_output(output.report);
}

}  // namespace drover::app
