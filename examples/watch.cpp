// A run that is watched and ended from outside: examples/watch
#include <cstdio>
#include <drover/drover.hpp>

int main() {
  drover::RunControl control;
  control.watch([&](const drover::Progress& progress) {
    if (progress.sweeps >= 500) control.request_stop();  // from here, another thread or a signal handler
  });
  drover::InferenceOptions options{.method = "gibbs"};
  options.chains.burn_in = 100;
  options.chains.sweeps = 1'000'000;
  const drover::Marginals answer =
      drover::marginals(drover::grid_ising(20, 20, true, 0.2, 0), options, control);
  std::printf("ended after %llu sweeps: %s\n", static_cast<unsigned long long>(answer.sweeps),
              drover::judge(answer).text.c_str());
}
