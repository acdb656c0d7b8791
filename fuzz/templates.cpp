// Feature templates: what is read is written so that it reads back the same.
#include "drover/tag/feature_templates.hpp"

#include "readers.hpp"
#include "target.hpp"

FUZZ_TARGET(templates, data, size) {
  using namespace drover;
  try {
    TextSource source(fuzz::as_text(data, size), "input", fuzz::chunk);
    const std::string text = templates_text(read_templates(source, 3));
    TextSource again(text, "again", fuzz::chunk);
    if (templates_text(read_templates(again, 3)) != text) __builtin_trap();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_data) throw;
  }
  return 0;
}
