// Models that exact inference can answer and samplers find easy to impossible, for bench_race and
// bench_sweep_cost.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "drover/core/random.hpp"
#include "drover/io/evidence.hpp"
#include "drover/io/model_file.hpp"
#include "drover/model/builders.hpp"

namespace drover::bench {

struct NamedModel {
  std::string name;
  Model model;
  Evidence evidence{};
};

/// Two layers: causes with a prior, findings that are noisy-ORs of three causes (as tables); half of the
/// findings are observed, most of them absent.
inline NamedModel noisy_or_network(std::uint32_t causes, std::uint32_t findings, std::uint64_t seed) {
  NamedModel named{fmt::format("noisy-or {}x{} seed {}", causes, findings, seed), {}};
  RandomSequence random(seed, Stream::generate);
  Model& model = named.model;
  model.cardinalities.assign(causes + findings, 2);
  for (VariableId c = 0; c < causes; ++c) {
    const double prior = 0.02 + 0.3 * random.uniform();
    model.unaries.add(c, std::vector<double>{std::log(1 - prior), std::log(prior)});
  }
  for (VariableId f = 0; f < findings; ++f) {
    std::vector<VariableId> scope;
    while (scope.size() < 3)
      if (const VariableId c = random.below(causes); std::ranges::find(scope, c) == scope.end())
        scope.push_back(c);
    double weight[3];
    for (double& w : weight) w = 0.3 + 0.65 * random.uniform();
    std::vector<double> values;
    for (std::uint32_t state = 0; state < 8; ++state) {
      double absent = 0.98;
      for (std::uint32_t k = 0; k < 3; ++k)
        if ((state >> (2 - k)) & 1U) absent *= 1 - weight[k];
      values.push_back(std::log(absent));
      values.push_back(std::log1p(-absent));
    }
    scope.push_back(causes + f);
    model.tables.add(scope, values);
    if (random.uniform() < 0.5) named.evidence.add(causes + f, random.uniform() < 0.35 ? 1 : 0);
  }
  return named;
}

/// Two models that one weak pair joins: what moves the one may be of no use to the other.
inline Model side_by_side(const Model& left, const Model& right) {
  Model both = left;
  const VariableId n = left.variable_count();
  both.cardinalities.insert(both.cardinalities.end(), right.cardinalities.begin(), right.cardinalities.end());
  for (std::size_t p = 0; p < right.spin_pairs.size(); ++p)
    both.spin_pairs.add(n + right.spin_pairs.first[p], n + right.spin_pairs.second[p],
                        right.spin_pairs.couplings[p]);
  for (DenseLayer layer : right.dense_layers) {
    layer.first_visible += n;
    layer.first_hidden += n;
    both.dense_layers.push_back(std::move(layer));
  }
  for (std::size_t f = 0; f < right.unaries.size(); ++f)
    both.unaries.add(n + right.unaries.variables[f], right.unaries.values(f));
  both.spin_pairs.add(n - 1, n, 0.1);
  return both;
}

/// Grids at five temperatures, Potts grids, RBMs, noisy-OR networks, random factor graphs; `others` counts up to other
/// instances of each.
inline std::vector<NamedModel> generated_models(std::uint64_t others = 0) {
  std::vector<NamedModel> models;
  for (double strength : {0.2, 0.35, 0.44, 0.6, 1.0}) {
    models.push_back({fmt::format("ferromagnet 12x12 J {}", strength),
                      ising(grid_edges(12, 12, false), Draw::constant(strength), Draw::uniform(-0.1, 0.1),
                            3 + 100 * others)});
    models.push_back({fmt::format("glass 12x12 sd {}", 2 * strength),
                      ising(grid_edges(12, 12, false), Draw::normal(0, 2 * strength),
                            Draw::uniform(-0.2, 0.2), 5 + 100 * others)});
  }
  for (double strength : {0.5, 1.0, 1.5})
    models.push_back({fmt::format("potts 8x8x3 J {}", strength),
                      potts(grid_edges(8, 8, false), 3, Draw::constant(strength), Draw::normal(0, 0.1),
                            7 + 100 * others)});
  for (double sd : {0.5, 1.0, 2.0, 3.0})
    models.push_back({fmt::format("rbm 40x12 sd {}", sd),
                      rbm(40, 12, Draw::normal(0, sd), Draw::normal(0, 0.5), 9 + 100 * others)});
  for (std::uint64_t seed : {1, 2, 3}) models.push_back(noisy_or_network(20, 40, seed + 100 * others));
  models.push_back(
      {"random tables 40x3", random_tables(40, 3, 45, 3, Draw::normal(0, 1), 0, 11 + 100 * others)});
  models.push_back(
      {"random tables 40x2, sd 2", random_tables(40, 2, 45, 3, Draw::normal(0, 2), 0, 12 + 100 * others)});
  models.push_back(
      {"random tables 30x3, zeros", random_tables(30, 3, 32, 3, Draw::normal(0, 1), 0.2, 13 + 100 * others)});
  models.push_back(
      {"random tables 40x2, zeros", random_tables(40, 2, 45, 3, Draw::normal(0, 1), 0.3, 14 + 100 * others)});
  models.push_back(
      {"random graph degree 3, sd 1", ising(regular_edges(60, 3, 15 + 100 * others), Draw::normal(0, 1),
                                            Draw::normal(0, 0.3), 15 + 100 * others)});
  models.push_back({"complete 18, sd 0.5", ising(complete_edges(18), Draw::normal(0, 0.5),
                                                 Draw::normal(0, 0.3), 16 + 100 * others)});
  models.push_back({"complete 18, J 0.2",
                    ising(complete_edges(18), Draw::constant(0.2), Draw::constant(0.05), 17 + 100 * others)});
  // Clusters must turn as a whole, and beside them they are of no use.
  const Model clusters =
      ising(grid_edges(12, 12, false), Draw::constant(0.6), Draw::uniform(-0.1, 0.1), 3 + 100 * others);
  models.push_back({"ferromagnet beside glass",
                    side_by_side(clusters, ising(grid_edges(12, 12, false), Draw::normal(0, 0.6),
                                                 Draw::uniform(-0.2, 0.2), 5 + 100 * others))});
  models.push_back(
      {"ferromagnet beside rbm",
       side_by_side(clusters, rbm(40, 12, Draw::normal(0, 2), Draw::normal(0, 0.5), 9 + 100 * others))});
  models.push_back(
      {"ferromagnet beside degree 5",
       side_by_side(clusters, ising(regular_edges(40, 5, 15 + 100 * others), Draw::normal(0, 0.7),
                                    Draw::normal(0, 0.3), 15 + 100 * others))});
  return models;
}

/// The models of a folder with UAI files and their evidence; of one file.
inline std::vector<NamedModel> models_of(const std::string& path) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  if (fs::is_directory(path)) {
    for (const auto& file : fs::directory_iterator(path))
      if (const std::string name = file.path().string();
          name.ends_with(".uai") || name.ends_with(".uai.gz") || name.ends_with(".bif"))
        files.push_back(name);
    std::ranges::sort(files);
  } else {
    files.push_back(path);
  }
  std::vector<NamedModel> models;
  for (const std::string& file : files) {
    const std::string base = file.ends_with(".gz") ? file.substr(0, file.size() - 3) : file;
    NamedModel named{fs::path(base).stem().string(), read_model(file)};
    if (fs::exists(base + ".evid")) named.evidence = read_evidence(named.model, base + ".evid");
    models.push_back(std::move(named));
  }
  return models;
}

}  // namespace drover::bench
