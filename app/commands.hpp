// One function per command; each returns the exit code.
#pragma once

#include "app/command_line.hpp"

namespace drover::app {

int run_info(const Invocation& invocation);
int run_marginals(const Invocation& invocation);
int run_map(const Invocation& invocation);
int run_logz(const Invocation& invocation);
int run_sample(const Invocation& invocation);
int run_herd(const Invocation& invocation);
int run_denoise(const Invocation& invocation);
int run_tag(const Invocation& invocation);
int run_reproduce(const Invocation& invocation);
int run_stream(const Invocation& invocation);
int run_compare(const Invocation& invocation);
int run_learn(const Invocation& invocation);
int run_text(const Invocation& invocation);
int run_diagnose(const Invocation& invocation);
int run_generate(const Invocation& invocation);
int run_convert(const Invocation& invocation);
int run_methods(const Invocation& invocation);
int run_bench(const Invocation& invocation);
int run_completion(const Invocation& invocation);
int run_man(const Invocation& invocation);

}  // namespace drover::app
