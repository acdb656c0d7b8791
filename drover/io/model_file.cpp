#include "drover/io/model_file.hpp"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "drover/core/error.hpp"
#include "drover/io/atomic_file.hpp"
#include "drover/io/bif.hpp"
#include "drover/io/coo.hpp"
#include "drover/io/fg.hpp"
#include "drover/io/machine_file.hpp"
#include "drover/io/uai.hpp"

namespace drover {

namespace {

constexpr std::size_t largest_written_gate = 16;  // variables; 65536 entries

std::optional<ModelFormat> format_of_extension(std::string_view path) {
  if (path.ends_with(".gz")) path.remove_suffix(3);
  if (path.ends_with(".uai")) return ModelFormat::uai;
  if (path.ends_with(".bif")) return ModelFormat::bif;
  if (path.ends_with(".fg")) return ModelFormat::fg;
  if (path.ends_with(".coo") || path.ends_with(".ising")) return ModelFormat::coo;
  return std::nullopt;
}

}  // namespace

// UAI and BIF start with their own words. A factor graph starts with a number alone in its line, coordinates
// with two or three numbers in a line; both may have # comments before.
ModelFormat guess_format(TextSource& source) {
  std::string_view text = source.beginning();
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos || line[begin] == '#') continue;
    const std::string_view rest = line.substr(begin);
    const std::string_view word = rest.substr(0, rest.find_first_of(" \t\r{"));
    if (word == "MARKOV" || word == "BAYES") return ModelFormat::uai;
    if (word == "network" || word == "variable" || word.starts_with("//") || word.starts_with("/*"))
      return ModelFormat::bif;
    if (word.find_first_not_of("0123456789") != std::string_view::npos) break;
    const bool alone = rest.find_first_not_of(" \t\r", word.size()) == std::string_view::npos;
    return alone ? ModelFormat::fg : ModelFormat::coo;
  }
  fail_at({source.name()},
          "expected a model in UAI, BIF, factor graph (.fg) or Ising coordinate (.coo) format, found none of "
          "them");
}

Model read_model(TextSource& source, ModelFormat format) {
  switch (format) {
    case ModelFormat::uai:
      return read_uai(source);
    case ModelFormat::bif:
      return read_bif(source);
    case ModelFormat::fg:
      return read_fg(source);
    case ModelFormat::coo:
      return read_coo(source);
  }
  throw Error(ErrorKind::internal, "unknown model format");
}

Model read_model(const std::string& path, const RunControl& control) {
  if (path.ends_with(".drv") || path.ends_with(".drv.gz")) return model_of(read_machine(path, control));
  TextSource source(path, control);
  const auto format = format_of_extension(path);
  return read_model(source, format ? *format : guess_format(source));
}

namespace {

// The model with a table for every gate, for formats that know only tables.
Model without_gates(const Model& model, const std::string& path) {
  Model plain = model;
  plain.gates = {};
  for (std::size_t g = 0; g < model.gates.size(); ++g) {
    const auto scope = model.gates.scope(g);
    if (scope.size() > largest_written_gate)
      throw Error(
          ErrorKind::misfit,
          fmt::format("cannot write {}: the {} factor over {} variables is too large for a table; .uai "
                      "has a word for it",
                      path, gate_name(model.gates.kinds[g]), scope.size()));
    plain.tables.add(scope, model.gates.table(g));
  }
  return plain;
}

}  // namespace

void write_model(const Model& model, const std::string& path, ModelFormat format, const RunControl& control) {
  if (model.gates.size() > 0 && format != ModelFormat::uai)
    return write_model(without_gates(model, path), path, format, control);
  AtomicFile file(path, control);
  switch (format) {
    case ModelFormat::uai:
      write_uai(model, file);
      break;
    case ModelFormat::bif:
      write_bif(model, file);
      break;
    case ModelFormat::fg:
      write_fg(model, file);
      break;
    case ModelFormat::coo:
      write_coo(model, file);
      break;
  }
  file.commit();
}

void write_model(const Model& model, const std::string& path, const RunControl& control) {
  auto format = format_of_extension(path);
  if (path == "-" || path == "/dev/stdout") format = ModelFormat::uai;
  if (!format)
    throw Error(ErrorKind::usage,
                fmt::format("cannot tell the format of {}: expected .uai, .bif, .fg, .coo or .ising, with or "
                            "without .gz",
                            path));
  write_model(model, path, *format, control);
}

}  // namespace drover
