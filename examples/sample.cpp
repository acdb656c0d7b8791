// Draws kept in memory, and a figure of one's own from them: examples/sample models/grid-3x3.uai
#include <cstdio>
#include <drover/drover.hpp>

int main(int, char** arguments) {
  const drover::Model model = drover::read_model(arguments[1]);
  const drover::Samples answer =
      drover::sample(model, {.method = "gibbs", .chains = {.count = 4}, .samples = 4000});
  double agree = 0;
  for (std::uint64_t t = 0; t < answer.draws / answer.chains; ++t)
    for (std::uint32_t c = 0; c < answer.chains; ++c)
      agree += answer.draw(t, c)[0] == answer.draw(t, c)[1] ? 1 : 0;
  std::printf("P(x0 = x1) is about %.3f, from %llu draws of %u chains\n",
              agree / static_cast<double>(answer.draws), static_cast<unsigned long long>(answer.draws),
              answer.chains);
}
