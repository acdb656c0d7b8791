// Any lines are either obeyed or answered with an error; every answer is JSON, and all is in order
// afterwards.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "drover/run/edit_stream.hpp"
#include "readers.hpp"
#include "target.hpp"

FUZZ_TARGET(edit_lines, data, size) {
  drover::DynamicModel model(1);
  for (int v = 0; v < 3; ++v) model.add_variable(0.1 * v);
  const std::vector<double> unary = {0, 0.5, -0.5};
  model.add_factor(model.add_variable(unary), model.add_variable(unary), std::vector<double>(9, 0.2));
  std::uint64_t answers = 0;
  drover::EditStream stream(model, {"a", "b"}, {0, 1}, [&](std::string_view answer) {
    if (!nlohmann::json::accept(answer.begin(), answer.end())) std::abort();
    ++answers;
  });
  stream.set_should_stop([&] { return model.sweeps() >= 1; });
  std::string_view text = drover::fuzz::as_text(data, size);
  while (!text.empty() && stream.lines() < 30) {  // errors are slow under the sanitizers
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::uint64_t errors = stream.errors(), edits = stream.edits();
    stream.take(text.substr(0, end));
    if (stream.errors() > errors && (stream.edits() != edits || answers == 0)) std::abort();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  model.sweep();
  for (drover::DynamicModel::Id id : model.variables()) {
    double total = 0;
    for (drover::Value value = 0; value < model.states(id); ++value)
      total += model.marginal(id, value).probability;
    if (!(total > 0.999 && total < 1.001)) std::abort();
  }
  drover::compile(model.model(), model.evidence());
  return 0;
}
