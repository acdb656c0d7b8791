// The makers of the commands, one per file of this folder.
#pragma once

#include <string_view>

#include "app/command.hpp"
#include "app/settings.hpp"

namespace drover::app {

Command info_command();
Command marginals_command();
Command map_command();
Command logz_command();
Command sample_command();
Command herd_command();
Command learn_command();
Command compare_command();
Command diagnose_command();
Command serve_command();
Command methods_command();
Command completion_command();
Command man_command();

/// Commands whose options stand in the table of app/settings.cpp.
Command settings_command(std::string_view name);
int run_denoise(const Invocation& invocation);
int run_tag(const Invocation& invocation);
int run_reproduce(const Invocation& invocation);
int run_stream(const Invocation& invocation);
int run_text(const Invocation& invocation);
int run_generate(const Invocation& invocation);
int run_convert(const Invocation& invocation);
int run_bench(const Invocation& invocation);

}  // namespace drover::app
