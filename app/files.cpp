#include "app/files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "app/output.hpp"
#include "drover/core/error.hpp"
#include "drover/io/temporary_file.hpp"

namespace drover::app {

namespace {

struct NamedFile {
  std::string role;  ///< "--out", or the name of an argument
  std::string path;
};

bool is_output(std::string_view option) {
  return option == "out" || option == "report" || option == "checkpoint";
}

// "FILE", or the files of "NAME=FILE,...".
void add_files(const Option& option, std::vector<NamedFile>& files) {
  const std::string text = option.text();
  if (option.value_name.find("FILE") == std::string::npos || text.empty()) return;
  const std::string role = "--" + option.name;
  if (!option.value_name.starts_with("NAME=")) return files.push_back({role, text});
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    if (const std::size_t sign = part.find('='); sign != std::string::npos)
      files.push_back({role, part.substr(sign + 1)});
    begin = end + 1;
  }
}

bool are_one(const std::string& a, const std::string& b) {
  std::error_code code;
  if (std::filesystem::equivalent(a, b, code)) return true;
  const auto place = [&](const std::string& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(without_links(path)), code);
  };
  return place(a) == place(b);
}

// Pipes and devices may well be named twice.
bool counts(const std::string& path) {
  std::error_code code;
  const auto status = std::filesystem::status(path, code);
  return !path.empty() && !is_standard_output(path) && !std::filesystem::is_other(status) &&
         !std::filesystem::is_directory(status);
}

}  // namespace

void check_files(const Command& command, const Call& call) {
  std::vector<NamedFile> read, written;
  for (std::size_t a = 0; a < call.arguments.size() && !command.arguments.empty(); ++a) {
    const Argument& argument = command.arguments[std::min(a, command.arguments.size() - 1)];
    (argument.written ? written : read).push_back({argument.name, call.arguments[a]});
  }
  for (const Option& option : command.options.options())
    add_files(option, is_output(option.name) ? written : read);
  for (std::size_t k = 0; k < written.size(); ++k)
    if (written[k].role == "--checkpoint") {  // these two stand beside it
      written.push_back({"a part of --checkpoint", written[k].path + ".draws"});
      written.push_back({"a part of --checkpoint", written[k].path + ".lock"});
      break;
    }
  std::erase_if(read, [](const NamedFile& file) { return !counts(file.path); });
  std::erase_if(written, [](const NamedFile& file) { return !counts(file.path); });
  for (std::size_t k = 0; k < written.size(); ++k) {
    const auto refuse_if_same = [&](const NamedFile& other, std::string_view use) {
      if (are_one(written[k].path, other.path))
        throw Error(ErrorKind::usage, fmt::format("{} ({}) and {} name the same file {}", other.role, use,
                                                  written[k].role, written[k].path));
    };
    for (const NamedFile& other : read) refuse_if_same(other, "read");
    for (std::size_t j = 0; j < k; ++j) refuse_if_same(written[j], "written");
  }
}

}  // namespace drover::app
