// The whole library by one include: one call per question.
//
//   #include <drover/drover.hpp>
//   using namespace drover;
//
//   Model model = read_model("alarm.bif");
//   Marginals m = marginals(model, {.observe = {{"HRBP", "HIGH"}}});
#pragma once

#include "drover/core/error.hpp"
#include "drover/core/run_control.hpp"
#include "drover/core/version.hpp"
#include "drover/io/data_table.hpp"
#include "drover/io/evidence.hpp"
#include "drover/io/machine_file.hpp"
#include "drover/io/model_file.hpp"
#include "drover/io/moments.hpp"
#include "drover/model/builders.hpp"
#include "drover/model/model.hpp"
#include "drover/tag/conll.hpp"
#include "drover/tag/generate_tagged.hpp"
#include "drover/task/compare.hpp"
#include "drover/task/denoise.hpp"
#include "drover/task/diagnose.hpp"
#include "drover/task/draw_file_sink.hpp"
#include "drover/task/generate.hpp"
#include "drover/task/herd.hpp"
#include "drover/task/inference.hpp"
#include "drover/task/learn.hpp"
#include "drover/task/model_info.hpp"
#include "drover/task/stream.hpp"
#include "drover/task/tag.hpp"
#include "drover/task/text.hpp"
#include "drover/text/demo_corpus.hpp"
