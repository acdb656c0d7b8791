// P(x) of every variable of a model file, given an observation: examples/marginals models/sprinkler.bif
#include <cstdio>
#include <drover/drover.hpp>

int main(int, char** arguments) {
  const drover::Model model = drover::read_model(arguments[1]);
  const drover::Marginals answer = drover::marginals(model, {.observe = {{"lawn", "wet"}}});
  for (drover::VariableId v = 0; v < answer.variables; ++v)
    for (std::size_t k = 0; k < answer.probabilities[v].size(); ++k)
      std::printf("P(%s = %s) = %.6f\n", answer.names.variable(v).c_str(), answer.names.state(v, k).c_str(),
                  answer.probabilities[v][k]);
  std::printf("by %s: %s\n", answer.provenance.method.c_str(), drover::judge(answer).text.c_str());
}
