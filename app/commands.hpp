// The makers of the commands, one per file of this folder.
#pragma once

#include "app/command.hpp"

namespace drover::app {

Command info_command();
Command marginals_command();
Command map_command();
Command logz_command();
Command sample_command();
Command herd_command();
Command learn_command();
Command learn_score_command();
Command text_command();
Command text_fit_command();
Command text_predict_command();
Command tag_command();
Command tag_train_command();
Command tag_eval_command();
Command denoise_command();
Command stream_command();
Command compare_command();
Command diagnose_command();
Command generate_command();
Command convert_command();
Command reproduce_command();
Command serve_command();
Command methods_command();
Command bench_command();
Command completion_command();
Command man_command();

}  // namespace drover::app
