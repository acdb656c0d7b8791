// Report data to test and to look at: a sampled grid, a small exact network, hostile names, sheer size.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "drover/core/random.hpp"
#include "drover/report/report.hpp"

namespace drover::testing {

/// A 50x50 Ising grid sampled by plain Gibbs, 64 chains: real curves, bars and images.
inline ReportData grid_page() {
  constexpr std::size_t side = 50, size = side * side, chains = 64, sweeps = 400, burn_in = 100;
  RandomSequence random(7, Stream::generate);
  std::vector<double> right(size), down(size), field(size);
  for (std::size_t v = 0; v < size; ++v) {
    right[v] = 0.22 + 0.18 * random.normal();
    down[v] = 0.22 + 0.18 * random.normal();
    const double row = static_cast<double>(v / side) - 24.5, column = static_cast<double>(v % side) - 24.5;
    field[v] = 0.5 * std::cos(std::hypot(row, column) / 4.5) + 0.15 * random.normal();
  }
  const auto local = [&](const std::vector<int>& s, std::size_t v) {
    double sum = field[v];
    if (v % side + 1 < side) sum += right[v] * s[v + 1];
    if (v % side > 0) sum += right[v - 1] * s[v - 1];
    if (v + side < size) sum += down[v] * s[v + side];
    if (v >= side) sum += down[v - side] * s[v - side];
    return sum;
  };
  ReportData page;
  ReportTrace energy{"energy", {}, std::vector<std::vector<double>>(chains), {}};
  ReportTrace rhat{"R-hat (largest of all variables)", {}, {{}}, {"R-hat"}};
  std::vector<std::vector<int>> states(chains, std::vector<int>(size));
  for (auto& state : states)
    for (int& spin : state) spin = random.uniform() < 0.5 ? -1 : 1;
  std::vector<std::vector<double>> sums(chains, std::vector<double>(size)), squares = sums;
  std::vector<double> variable_rhat(size), error(size), mean(size), ess(size);
  for (std::size_t sweep = 0; sweep < sweeps; ++sweep) {
    energy.sweep.push_back(static_cast<double>(sweep));
    for (std::size_t c = 0; c < chains; ++c) {
      double total = 0;
      for (std::size_t v = 0; v < size; ++v) {
        const double p = 1 / (1 + std::exp(-2 * local(states[c], v)));
        states[c][v] = random.uniform() < p ? 1 : -1;
        if (sweep >= burn_in) {
          sums[c][v] += p;
          squares[c][v] += p * p;
        }
      }
      for (std::size_t v = 0; v < size; ++v) total -= 0.5 * states[c][v] * (local(states[c], v) + field[v]);
      energy.series[c].push_back(total);
    }
    if (sweep < burn_in + 4 || (sweep + 1) % 10 != 0) continue;
    const double kept = static_cast<double>(sweep - burn_in + 1);
    double worst = 1;
    for (std::size_t v = 0; v < size; ++v) {
      double between = 0, within = 0;
      mean[v] = 0;
      for (std::size_t c = 0; c < chains; ++c) mean[v] += sums[c][v] / kept / chains;
      for (std::size_t c = 0; c < chains; ++c) {
        between += std::pow(sums[c][v] / kept - mean[v], 2) / (chains - 1);
        within += (squares[c][v] / kept - std::pow(sums[c][v] / kept, 2)) * kept / (kept - 1) / chains;
      }
      variable_rhat[v] = std::sqrt((within * (kept - 1) / kept + between) / within);
      error[v] = std::sqrt(between / chains);
      ess[v] = std::min(chains * kept, within / (error[v] * error[v]));
      worst = std::max(worst, variable_rhat[v]);
    }
    rhat.sweep.push_back(static_cast<double>(sweep));
    rhat.series[0].push_back(worst);
  }
  double variance = 0, energy_mean = 0;
  for (const auto& series : energy.series)
    for (std::size_t t = burn_in; t < sweeps; ++t) energy_mean += series[t] / (chains * (sweeps - burn_in));
  for (std::size_t lag = 0; lag <= 40; ++lag) {
    double covariance = 0;
    for (const auto& series : energy.series)
      for (std::size_t t = burn_in; t + lag < sweeps; ++t)
        covariance += (series[t] - energy_mean) * (series[t + lag] - energy_mean) / chains;
    covariance /= static_cast<double>(sweeps - burn_in - lag);
    if (lag == 0) variance = covariance;
    page.autocorrelation.push_back(covariance / variance);
  }
  ReportImage image{"P(x = 1)", side, side, mean};
  ReportImage errors{"Monte Carlo standard error, times 100", side, side, error};
  for (double& value : errors.values) value *= 100;
  page.result_json = "{\"command\":\"marginals\",\"marginals\":[";
  std::vector<std::pair<std::string, double>> slowest;
  for (std::size_t v = 0; v < size; ++v) {
    const std::string name = fmt::format("x{},{}", v / side, v % side);
    page.marginals.push_back(
        {name, {"0", "1"}, {1 - mean[v], mean[v]}, {error[v], error[v]}, variable_rhat[v], ess[v]});
    slowest.emplace_back(name, ess[v]);
    page.result_json += fmt::format("{}[{:.6f},{:.6f}]", v ? "," : "", 1 - mean[v], mean[v]);
  }
  page.result_json += "]}";
  std::sort(slowest.begin(), slowest.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  slowest.resize(10);
  page.title = "Marginals of grid-50x50.uai";
  page.facts = {{"Model", "grid-50x50.uai"},
                {"Variables", "2,500 (binary)"},
                {"Factors", "7,400"},
                {"Method", "gibbs"},
                {"Chains", "64"},
                {"Sweeps", "400 (100 burn-in)"},
                {"Seed", "7"},
                {"Updates", "64,000,000"},
                {"Version", "0.1.0"},
                {"Chosen because",
                 "the treewidth bound of 50 is too large for exact inference, and all "
                 "factors are spin pairs"}};
  const double worst = *std::max_element(variable_rhat.begin(), variable_rhat.end());
  const double spread = 2 * *std::max_element(error.begin(), error.end());
  page.verdict = worst < 1.01 ? Verdict::good : Verdict::caution;
  page.verdict_text = fmt::format(
      "{}: the largest R-hat of all variables is {:.3f}, and every probability is known to {:.3f} or better "
      "(two "
      "standard errors).",
      worst < 1.01 ? "All 64 chains agree" : "The 64 chains nearly agree", worst, spread);
  page.traces = {energy, rhat};
  page.images = {image, errors};
  page.slowest = slowest;
  return page;
}

/// The chest clinic network with an observation, as exact inference answers it.
inline ReportData clinic_page() {
  ReportData page;
  page.title = "Marginals of asia.bif";
  page.facts = {{"Model", "asia.bif"}, {"Variables", "8"},
                {"Factors", "8"},      {"Method", "exact"},
                {"Treewidth", "2"},    {"Seconds", "0.0004"},
                {"Version", "0.1.0"},  {"Chosen because", "the largest clique has 8 entries"}};
  page.verdict_text = "These are exact values from a junction tree; there is no sampling error.";
  page.evidence = {{"xray", "yes"}, {"smoke", "no"}};
  const auto add = [&](const char* name, double yes) {
    page.marginals.push_back({name, {"yes", "no"}, {yes, 1 - yes}, {}, std::nan(""), std::nan("")});
  };
  add("asia", 0.015294);
  add("tub", 0.147978);
  add("smoke", 0);
  add("lung", 0.142286);
  add("bronc", 0.3);
  add("either", 0.288784);
  add("xray", 1);
  add("dysp", 0.439953);
  page.result_json = "{\"command\":\"marginals\",\"marginals\":[]}";
  return page;
}

/// Several states, a run that went wrong, and names chosen to break out of the page.
inline ReportData hostile_page() {
  const std::string attack = "</script><script>document.title='owned'</script>";
  const std::string image = "<img src=x onerror=\"document.title='owned'\">";
  ReportData page;
  page.title = attack + "{{script}} & <b>'\"";
  page.facts = {{"Model", attack}, {image, "a\\u003cb \xff\xfe not UTF-8, \xe2\x80\xa8 \x01 control"}};
  page.verdict = Verdict::bad;
  page.verdict_text = "The chains disagree. " + attack;
  page.warnings = {attack, image, "<!-- <script>"};
  page.evidence = {{attack, image}};
  RandomSequence random(3, Stream::generate);
  for (int v = 0; v < 30; ++v) {
    ReportMarginal marginal{
        v % 3 ? image + std::to_string(v) : attack + std::to_string(v), {}, {}, {}, 1.3, 12};
    const std::size_t states = 2 + random.below(4);
    double total = 0;
    for (std::size_t k = 0; k < states; ++k) {
      marginal.states.push_back(k ? fmt::format("state {}", k) : attack);
      marginal.probabilities.push_back(random.uniform() + 0.05);
      marginal.mcse.push_back(0.03 * random.uniform());
      total += marginal.probabilities.back();
    }
    for (double& p : marginal.probabilities) p /= total;
    page.marginals.push_back(marginal);
  }
  page.marginals[1].rhat = std::numeric_limits<double>::infinity();
  ReportTrace energy{"energy", {}, std::vector<std::vector<double>>(4), {attack, image, "c", "d"}};
  ReportTrace rhat{"R-hat", {}, {{}}, {}};
  std::vector<double> level = {-40, -38, -12, -10};
  for (int t = 0; t < 300; ++t) {
    energy.sweep.push_back(t);
    rhat.sweep.push_back(t);
    for (std::size_t c = 0; c < 4; ++c)
      energy.series[c].push_back(t == 5 ? std::nan("") : level[c] + random.normal());
    rhat.series[0].push_back(t == 0 ? std::numeric_limits<double>::infinity() : 1.4 + 2.0 / t);
  }
  page.traces = {energy, rhat};
  for (int lag = 0; lag < 60; ++lag) page.autocorrelation.push_back(std::exp(-lag / 80.0));
  page.images = {{attack, 3, 2, {0, 0.5, 1, std::nan(""), -1, 2}}};
  for (int v = 0; v < 5; ++v) page.slowest.emplace_back(v ? image : attack, 3.0 + v);
  page.tables = {{image, attack, {"row", attack}, {{"a", image}, {"b", "2"}}}};
  page.figures = {{attack, image,
                   R"({"xAxis":{"type":"category","data":["</script>","b"]},"yAxis":{},)"
                   R"("series":[{"type":"line","data":[1,3]}]})"}};
  page.result_json =
      "{\"model\":\"" + std::string("</script><script>document.title='owned'</script>") + "\"}";
  return page;
}

/// As many variables as the page shows, and one more.
inline ReportData large_page() {
  ReportData page;
  page.title = "Marginals of large.uai";
  page.verdict = Verdict::caution;
  page.verdict_text = "Most variables have settled; 12 have not.";
  RandomSequence random(5, Stream::generate);
  for (std::size_t v = 0; v <= report_max_variables; ++v) {
    const double p = random.uniform();
    page.marginals.push_back({fmt::format("x{}", v),
                              {"0", "1"},
                              {1 - p, p},
                              {0.01 * p, 0.01 * p},
                              1 + 0.01 * random.uniform(),
                              400 + 100 * random.uniform()});
  }
  page.images.push_back({"P(x = 1)", 1000, 1000, {}});
  for (int i = 0; i < 1'000'000; ++i) page.images[0].values.push_back(random.uniform());
  return page;
}

}  // namespace drover::testing
