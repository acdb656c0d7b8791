// Options from a file: TOML, or the settings of an earlier JSON result.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace drover::app {

/// Option name -> text, before it is checked.
using Given = std::map<std::string, std::string, std::less<>>;

/// A TOML file of `name = value`, with sections for single commands; or, when it ends in .json, the
/// "settings" of an earlier result. Of the latter, `takes` says which options the command has; others are
/// left out. A section that is none of `commands` is refused.
/// `text` is what stands in the file.
Given config_in(const std::string& text, const std::string& path, const std::string& command,
                std::span<const std::string> commands, const std::function<bool(std::string_view)>& takes);
Given read_config(const std::string& path, const std::string& command, std::span<const std::string> commands,
                  const std::function<bool(std::string_view)>& takes);

}  // namespace drover::app
