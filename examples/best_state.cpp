// A most probable state, with at most one second to search: examples/best_state models/grid-3x3.uai
#include <cstdio>
#include <drover/drover.hpp>

int main(int, char** arguments) {
  drover::RunControl control;
  control.limit_time(1);
  const drover::BestState answer = drover::best_state(drover::read_model(arguments[1]), {}, control);
  for (drover::Value value : answer.assignment) std::printf("%d ", value);
  std::printf("\nlog score %.6f, %s\n", answer.log_score, answer.optimal ? "proven" : "not proven");
}
