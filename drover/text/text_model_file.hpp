// Text models in files (kind "text" of model_archive.hpp), with how their words were made from text.
#pragma once

#include <string>

#include "drover/core/details.hpp"
#include "drover/core/run_control.hpp"
#include "drover/text/corpus.hpp"
#include "drover/text/text_model.hpp"

namespace drover {

struct TextModelFile {
  TextModel model;
  CorpusOptions words;  ///< keep_case, ngrams, stop_words; classes and vocabulary are the model's
  Details settings{};   ///< of the run that made it, for people to read; not read back
};

void write_text_model(const std::string& path, const TextModelFile& file);

/// Raises cannot_read or bad_data. The options it returns make the model's words from other texts.
TextModelFile read_text_model(const std::string& path, const RunControl& control = no_control());

}  // namespace drover
