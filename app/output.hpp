// What a command prints: one JSON object, or tables for people.
#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/command.hpp"
#include "drover/core/json_writer.hpp"
#include "drover/run/result.hpp"
#include "drover/task/provenance.hpp"

namespace drover::app {

/// "method gibbs (because ...)"
std::string method_text(const Provenance& provenance);
/// "largest R-hat 1.0012, smallest ESS 5210, largest MCSE 0.001"; what is not known is left out.
std::string diagnostics_text(const Diagnostics& diagnostics);
Argument model_argument();

/// Prints to stdout with columns aligned.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  void print() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// Whether a file of this name is the standard output.
bool is_standard_output(std::string_view path);
/// Raises usage when more than one document would go to the standard output: these files and --json.
void check_one_document(bool json, std::initializer_list<std::string_view> files);
/// Fails early, before hours of work: --out must end in one of `extensions`, and all files that will be
/// written must be writable, different from one another and none of the files that are read.
void check_outputs(const Output& output, std::initializer_list<std::string_view> extensions,
                   const std::string& checkpoint = "", std::span<const std::string> inputs = {});

/// Adds the options of a list that were set to those an answer states.
void add_options(const OptionList& list, Details& settings);
void add_limits(const Limits& limits, Details& settings);

void print_text(const std::string& text);
void print_json(const JsonObject& object);
/// Prints each as "drover: warning: ..." on stderr, unless quiet.
void print_warnings(bool quiet, const std::vector<std::string>& warnings);

/// Writes --out (JSON by its extension, else through `write_own`) and --report, then prints warnings and, with
/// --json, the object, which is made only when something wants it: of a large model that takes as long as a
/// good part of the run. Returns whether a table for people is still wanted.
bool deliver(const Output& output, const std::vector<std::string>& warnings,
             const std::function<JsonObject()>& make_json,
             const std::function<void(const std::string& path)>& write_own,
             const std::function<std::string(const std::string& json)>& make_page);

}  // namespace drover::app
