#include "app/load.hpp"

#include "drover/io/evidence.hpp"
#include "drover/io/model_file.hpp"

namespace drover::app {

std::string file_name(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

Loaded load(const Invocation& invocation) {
  const Settings& settings = invocation.settings;
  Loaded loaded;
  loaded.model = read_model(invocation.arguments.at(0));
  if (!settings.evidence.empty()) loaded.evidence = read_evidence(loaded.model, settings.evidence);
  if (!settings.observe.empty()) {
    const Evidence observed = parse_observations(loaded.model, settings.observe);
    for (std::size_t e = 0; e < observed.size(); ++e)
      loaded.evidence.add(observed.variables[e], observed.values[e]);
  }
  loaded.queried = !settings.query.empty();
  if (loaded.queried) {
    loaded.query = parse_query(loaded.model, settings.query);
  } else {
    for (std::size_t v = 0; v < loaded.model.variable_count(); ++v)
      loaded.query.push_back(static_cast<VariableId>(v));
  }
  loaded.graph = compile(loaded.model, loaded.evidence);
  return loaded;
}

}  // namespace drover::app
