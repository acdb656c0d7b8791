// A model file, its evidence and its query, ready to run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/command_line.hpp"
#include "drover/compile/graph.hpp"

namespace drover::app {

struct Loaded {
  Model model;
  Evidence evidence;
  Graph graph;
  std::vector<VariableId> query;  ///< variables to show: those of --query, else all
  bool queried = false;
};

Loaded load(const Invocation& invocation);

/// "grid.uai" of "/data/grid.uai".
std::string file_name(const std::string& path);

}  // namespace drover::app
