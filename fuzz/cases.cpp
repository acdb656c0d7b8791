// A table of cases, and a list of names for tags.
#include "drover/io/cases.hpp"

#include "drover/tag/feature_templates.hpp"
#include "input_file.hpp"
#include "readers.hpp"
#include "target.hpp"

FUZZ_TARGET(cases, data, size) {
  using namespace drover;
  static const Model model = [] {
    Model made;
    made.cardinalities = {2, 3, 2};
    made.variable_names = {"rain", "7", "a b"};
    made.state_names = {{"no", "yes"}, {"0", "2", "1"}, {"NA", "wet"}};
    return made;
  }();
  const std::string_view text = fuzz::as_text(data, size);
  fuzz::attempt([&] {
    TextSource source(text, "input", fuzz::chunk);
    read_cases(model, source);
  });
  fuzz::attempt([&] {
    Gazetteers gazetteers;
    read_gazetteer(fuzz::input_folder().write("names", text), "places", gazetteers);
  });
  return 0;
}
