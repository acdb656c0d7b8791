#include "drover/io/result_files.hpp"

#include "readers.hpp"
#include "target.hpp"

FUZZ_TARGET(results, data, size) {
  using namespace drover;
  const std::string_view text = fuzz::as_text(data, size);
  const auto attempt = [&](auto read) {
    try {
      TextSource source(text, "input", fuzz::chunk);
      read(source);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::bad_data) throw;
    }
  };
  attempt([](TextSource& source) { read_mar(source); });
  attempt([](TextSource& source) { read_pr(source); });
  attempt([](TextSource& source) { read_map(source); });
  attempt([](TextSource& source) { guess_format(source); });
  return 0;
}
