// What a model is, and which methods fit it: examples/info models/sprinkler.bif
#include <cstdio>
#include <drover/drover.hpp>

int main(int, char** arguments) {
  const drover::ModelInfo info = drover::model_info(drover::read_model(arguments[1]));
  std::printf("%zu variables, treewidth at most %u\n", info.variables, info.treewidth_bound);
  for (const drover::MethodFit& method : info.methods)
    if (!method.fits()) std::printf("not %s: %s\n", method.name.c_str(), method.why_not.c_str());
}
