// The first byte chooses between evidence files and typed observations; the rest is the text.
#include "drover/io/evidence.hpp"

#include "readers.hpp"
#include "target.hpp"

namespace {

drover::Model make_model() {
  drover::Model model;
  model.cardinalities = {2, 3, 2, 4, 2};
  model.variable_names = {"rain", "7", "lawn", "a b", "x"};
  model.state_names = {{"no", "yes"}, {"0", "2", "1"}, {"dry", "wet"}, {"a", "b", "c", "d"}, {"-", "+"}};
  return model;
}

}  // namespace

FUZZ_TARGET(evidence, data, size) {
  using namespace drover;
  static const Model model = make_model();
  if (size == 0) return 0;
  const std::string_view text = fuzz::as_text(data + 1, size - 1);
  try {
    if (data[0] == 'f') {
      TextSource source(text, "input", fuzz::chunk);
      compile(model, read_evidence(model, source));
    } else if (data[0] == 'q') {
      parse_query(model, text);
    } else {
      compile(model, parse_observations(model, text));
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_data && error.kind() != ErrorKind::usage) throw;
  }
  return 0;
}
