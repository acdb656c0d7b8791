#include "experiments/experiment.hpp"

#include <fmt/format.h>

#include <cassert>
#include <cmath>
#include <nlohmann/json.hpp>

#include "drover/core/error.hpp"
#include "drover/core/json_text.hpp"
#include "experiments/all.hpp"

namespace drover::experiments {

std::span<const Experiment> all_experiments() {
  static constexpr Experiment list[] = {
      {"herding-tipi", "the Tipi function of two features, and the weights of herding on it",
       "Herding, figure 2", herding_tipi},
      {"herding-counts", "the distribution of the number of ones, from pair and triple moments",
       "Herding, table 1 and figure 3", herding_counts},
      {"herding-classify", "errors of a classifier learned online from pseudo-samples", "Herding, table 2",
       herding_classify},
      {"herded-two-variable", "error of one marginal against the number of sweeps, two variables",
       "Herded Gibbs, figure 3", herded_two_variable},
      {"herded-rates", "how fast the joint distribution is reached on complete and on empty graphs",
       "Herded Gibbs, theorems 1 and 2", herded_rates},
      {"herded-ner", "named entities by a chain and a skip-chain CRF, three decoders",
       "Herded Gibbs, table 3", herded_ner},
      {"pmp-toy", "what PMP learns from four coupled spins, and how near its samples come",
       "PMP, section 5.1", pmp_toy},
      {"pmp-logz", "log Z from perturbed maxima: max-product and MPLP on the same noise", "PMP, section 5.2",
       pmp_logz},
      {"pmp-zeros", "an Ising model of contours of zeros, learnt with five samplers", "PMP, section 5.3",
       pmp_zeros},
      {"pmp-lattice", "an Ising torus learnt back from its samples, persistent and not", "PMP, section 5.4",
       pmp_lattice},
      {"pmp-erdos", "a random Ising model learnt back from its samples, persistent and not",
       "PMP, section 5.4 and appendix B.1", pmp_erdos},
      {"pmp-rbm-twos", "an RBM of the twos of MNIST, learnt with four samplers", "PMP, appendix B.3",
       pmp_rbm_twos},
      {"pmp-rbm", "samples of an RBM trained with PMP, against the number of sweeps", "PMP, section 5.5",
       pmp_rbm},
      {"pmp-deconvolution", "features and their places from binary images alone", "PMP, section 5.6",
       pmp_deconvolution},
      {"duality-grid", "sweeps to mix on Ising grids: Gibbs, primal-dual, tree-blocked, Swendsen-Wang",
       "Duality, figure 2a", duality_grid},
      {"duality-random", "sweeps to mix on random graphs with 2 to 64 factors per variable",
       "Duality, section 6", duality_random},
      {"duality-complete", "parallel steps to mix on the complete Ising model", "Duality, figure 2b",
       duality_complete},
      {"duality-logz", "lower bounds of log Z from draws of variables and duals, beside other methods",
       "Duality, section 5.2", duality_logz},
      {"duality-dynamic", "time per edit of a graph that changes, beside colouring and building anew",
       "Duality, section 1", duality_dynamic},
      {"text-sentiment", "naive Bayes by Gibbs: accuracy against the share of labelled documents",
       "Gibbs sampling for the uninitiated", text_sentiment},
      {"herded-denoise", "error of a restored black and white image, five methods, four levels of noise",
       "Herded Gibbs, table 2 and figure 5", herded_denoise},
  };
  return list;
}

const Experiment& find_experiment(std::string_view name) {
  std::vector<const char*> names;
  for (const Experiment& experiment : all_experiments()) {
    if (experiment.name == name) return experiment;
    names.push_back(experiment.name.data());
  }
  const std::string nearest = nearest_name(std::string(name), names.data(), names.size());
  throw Error(ErrorKind::usage,
              fmt::format("no experiment '{}'{} (drover reproduce list shows all)", name,
                          nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest)));
}

std::optional<std::filesystem::path> find_data(const Options& options, const std::filesystem::path& name) {
  if (options.data.empty()) return std::nullopt;
  const std::filesystem::path path = options.data / name;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  return path;
}

ReportFigure to_report(const Figure& figure) {
  using nlohmann::ordered_json;
  ordered_json series = ordered_json::array();
  ordered_json names = ordered_json::array();
  for (const Curve& curve : figure.curves) {
    assert(curve.x.size() == curve.y.size());
    ordered_json points = ordered_json::array();
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
      // A logarithmic axis has no place for zero.
      if ((figure.log_x && !(curve.x[i] > 0)) || (figure.log_y && !(curve.y[i] > 0))) continue;
      points.push_back({curve.x[i], curve.y[i]});
    }
    series.push_back({{"name", curve.name},
                      {"type", curve.points ? "scatter" : "line"},
                      {"showSymbol", curve.x.size() <= 30},
                      {"symbolSize", 5},
                      {"data", std::move(points)}});
    names.push_back(curve.name);
  }
  const ordered_json option = {
      {"legend", {{"data", std::move(names)}, {"type", "scroll"}}},
      {"tooltip", {{"trigger", "item"}}},
      {"xAxis", {{"type", figure.log_x ? "log" : "value"}, {"name", figure.x_label}, {"scale", true}}},
      {"yAxis", {{"type", figure.log_y ? "log" : "value"}, {"name", figure.y_label}, {"scale", true}}},
      {"series", std::move(series)}};
  return {figure.title, figure.caption, json_text(option)};
}

double mean_of(std::span<const double> values) {
  assert(!values.empty());
  double sum = 0;
  for (double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double deviation_of(std::span<const double> values) {
  if (values.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  const double mean = mean_of(values);
  double squares = 0;
  for (double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double log_log_slope(std::span<const double> x, std::span<const double> y) {
  assert(x.size() == y.size());
  double count = 0, sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!(x[i] > 0) || !(y[i] > 0)) continue;
    const double u = std::log(x[i]), v = std::log(y[i]);
    count += 1;
    sum_x += u;
    sum_y += v;
    sum_xx += u * u;
    sum_xy += u * v;
  }
  return (count * sum_xy - sum_x * sum_y) / (count * sum_xx - sum_x * sum_x);
}

}  // namespace drover::experiments
