// Tagged text in columns: reading, label schemes, writing.
#include "drover/tag/conll.hpp"

#include "readers.hpp"
#include "target.hpp"

FUZZ_TARGET(conll, data, size) {
  using namespace drover;
  try {
    TextSource source(fuzz::as_text(data, size), "input", fuzz::chunk);
    TaggedText text = read_conll(source, {.labels = ConllOptions::Labels::optional});
    if (text.has_labels()) {
      const LabelScheme scheme = detect_scheme(text).scheme;
      if (scheme != LabelScheme::raw) convert_labels(text, scheme, LabelScheme::iobes);
      conll_text(text, text.label_names, text.labels);
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_data) throw;
  }
  return 0;
}
