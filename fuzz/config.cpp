// Options from a TOML file, and from the settings of a JSON result.
#include "app/config_file.hpp"
#include "readers.hpp"
#include "target.hpp"

FUZZ_TARGET(config, data, size) {
  using namespace drover;
  const std::string text(fuzz::as_text(data, size));
  const std::string commands[] = {"marginals", "map"};
  for (const char* name : {"input.toml", "input.json"}) try {
      app::config_in(text, name, "marginals", commands, [](std::string_view) { return true; });
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::bad_data) throw;
    }
  return 0;
}
