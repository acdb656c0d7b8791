// What the live page asks, as the body of a request.
#include "drover/serve/live_questions.hpp"

#include <nlohmann/json.hpp>

#include "readers.hpp"
#include "target.hpp"

FUZZ_TARGET(questions, data, size) {
  using namespace drover;
  nlohmann::json question;
  try {
    question = parse_question(std::string(fuzz::as_text(data, size)));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) throw;
    return 0;
  }
  const auto attempt = [&](auto read) {
    try {
      read();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::usage) throw;
    }
  };
  attempt([&] { observations_of(findings_in(question)); });
  attempt([&] { variables_in(question); });
  attempt([&] { picture_change_in(question); });
  text_in(question, "method");
  number_in(question, "seed", 1);
  return 0;
}
