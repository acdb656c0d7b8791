// Marginals of a model that changes: examples/stream models/grid-3x3.uai
#include <cstdio>
#include <drover/drover.hpp>

class Print : public drover::AnswerSink {
 public:
  void take(std::string_view answer) override {
    std::printf("%.*s\n", static_cast<int>(answer.size()), answer.data());
  }
};

int main(int, char** arguments) {
  drover::LineSource edits(
      "{\"op\": \"clamp\", \"variable\": 0, \"value\": 1}\n"
      "{\"op\": \"sweep\", \"count\": 1000}\n"
      "{\"op\": \"marginals\", \"variables\": [0, 1]}\n",
      "edits");
  Print print;
  const drover::StreamSummary summary =
      drover::stream(drover::read_model(arguments[1]), edits, print, {.half_life = 500});
  return summary.errors == 0 ? 0 : 1;
}
