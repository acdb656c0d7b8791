// The mean of any function of the state, with its error: examples/estimate models/grid-3x3.uai
#include <cstdio>
#include <drover/drover.hpp>

// An estimator of one's own takes draws as they come; this one, the share of successive variables that agree.
class Agreement : public drover::DrawSink {
 public:
  void begin(const drover::ModelAnswer& answer) override { chains = answer.chains; }
  void take(std::uint32_t, std::span<const drover::Value> x, double) override {
    double equal = 0;
    for (std::size_t i = 0; i + 1 < x.size(); ++i) equal += x[i] == x[i + 1] ? 1 : 0;
    values.push_back(equal / static_cast<double>(x.size() - 1));
  }

  std::size_t chains = 1;
  std::vector<double> values;  // (draw, chain)
};

int main(int, char** arguments) {
  Agreement agreement;
  drover::sample(drover::read_model(arguments[1]), {.method = "gibbs", .samples = 20000}, agreement);

  drover::DrawFile draws;
  draws.chains = agreement.chains;
  draws.draws = agreement.values.size() / agreement.chains;
  draws.variable_names = {"agreement"};
  draws.values = agreement.values;
  const drover::VariableDiagnosis found = drover::diagnose(draws).diagnostics.variables[0];
  std::printf("%.4f +- %.4f (R-hat %.3f)\n", found.mean, found.mcse, found.rhat);
  return found.mcse > 0 && found.rhat < 1.05 ? 0 : 1;
}
