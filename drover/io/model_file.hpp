// Reads and writes a model in any format: .uai, .bif, .fg, .coo, .ising, each also with .gz behind it;
// reads learnt machines (.drv).
#pragma once

#include <string>

#include "drover/io/text_source.hpp"
#include "drover/model/model.hpp"

namespace drover {

enum class ModelFormat { uai, bif, fg, coo };

/// By the extension of the path if it is known, else by the content. "-" is the standard input. Raises
/// stopped when the control ends the run first.
Model read_model(const std::string& path, const RunControl& control = no_control());
Model read_model(TextSource& source, ModelFormat format);

/// By the extension, which must be known; "-" writes UAI to the standard output. Raises misfit when the
/// format cannot hold the model, and stopped when the control ends the run first; nothing is written then.
void write_model(const Model& model, const std::string& path, const RunControl& control = no_control());
void write_model(const Model& model, const std::string& path, ModelFormat format,
                 const RunControl& control = no_control());

/// Which format a text has, judged by its beginning.
ModelFormat guess_format(TextSource& source);

}  // namespace drover
