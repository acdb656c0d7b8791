// Duality, section 5.2: the mean of log V as a lower bound of log Z, in the primal-dual (RBM) and in the
// Swendsen-Wang form, beside mean field, belief propagation and annealed importance sampling. Dense models
// with couplings of both signs (exact-ising/random-dense-ising.jsonl.gz, else drawn the same way), where
// Swendsen-Wang does not fit, and Ising grids, where it does. Exact values by `exact`.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "drover/core/error.hpp"
#include "drover/io/text_source.hpp"
#include "drover/model/builders.hpp"
#include "drover/task/inference.hpp"
#include "experiments/all.hpp"

namespace drover::experiments {

namespace {

struct Group {
  std::string name;
  std::vector<Model> models;
  std::vector<double> log_z;  ///< as the data say; empty when they do not
};

Model dense_model(const nlohmann::json& entry) {
  Model model;
  const auto& fields = entry.at("b");
  for (VariableId v = 0; v < fields.size(); ++v) {
    model.cardinalities.push_back(2);
    const double field = fields[v].get<double>(), unary[2] = {-field, field};
    model.unaries.add(v, unary);
  }
  for (VariableId i = 0; i + 1 < fields.size(); ++i)
    for (VariableId j = i + 1; j < fields.size(); ++j)
      model.spin_pairs.add(i, j, entry.at("W").at(i).at(j - i - 1).get<double>());
  return model;
}

std::vector<Group> dense_groups(const Options& options, Outcome& outcome) {
  std::map<std::uint32_t, Group> groups;
  const auto name = [](std::uint32_t n) { return fmt::format("dense, {} variables", n); };
  if (const auto path = find_data(options, "exact-ising/random-dense-ising.jsonl.gz")) {
    TextSource source(path->string());
    std::string line;
    for (int c = source.get(); c >= 0; c = source.get()) {
      if (c != '\n') {
        line.push_back(static_cast<char>(c));
        continue;
      }
      const auto entry = nlohmann::json::parse(line);
      line.clear();
      const auto n = entry.at("n").get<std::uint32_t>();
      Group& group = groups[n];
      group.name = name(n);
      if (options.quick && group.models.size() == 3) continue;
      group.models.push_back(dense_model(entry));
      group.log_z.push_back(entry.at("lnZ").get<double>());
    }
  } else {
    outcome.notes.emplace_back(
        "dense models drawn by the program as the data set was: J in U[-2,2], h in U[-0.1,0.1]");
    for (std::uint32_t n : {5U, 10U, 15U}) {
      groups[n].name = name(n);
      for (std::uint64_t m = 0; m < (options.quick ? 3U : 20U); ++m)
        groups[n].models.push_back(ising(complete_edges(n), Draw::uniform(-2, 2), Draw::uniform(-0.1, 0.1),
                                         options.seed + 100 * n + m));
    }
  }
  std::vector<Group> list;
  for (auto& [n, group] : groups) list.push_back(std::move(group));
  return list;
}

// "NAME --forest" is the method with that option. NaN where the method does not fit.
LogZ log_z_by(std::string_view name, const Model& model, const Options& options) {
  InferenceOptions asked;
  constexpr std::string_view forest = " --forest";
  asked.dual.forest = name.ends_with(forest);
  if (asked.dual.forest) name.remove_suffix(forest.size());
  asked.method = name;
  asked.seed = options.seed;
  if (options.quick) asked.chains.sweeps = 400;
  try {
    return log_z(model, asked, options.control);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::misfit) throw;
    return {};
  }
}

}  // namespace

Outcome duality_logz(const Options& options) {
  Outcome outcome;
  std::vector<Group> groups = dense_groups(options, outcome);
  const std::uint32_t side = options.quick ? 5 : 10;
  for (double coupling : {0.1, 0.2, 0.3, 0.4, 0.5}) {
    Group group{fmt::format("grid {0}x{0}, J = {1}", side, coupling), {}, {}};
    group.models.push_back(
        ising(grid_edges(side, side, false), Draw::constant(coupling), Draw::constant(0), options.seed));
    groups.push_back(std::move(group));
  }
  static constexpr const char* methods[] = {
      "primal-dual",  // the first two are means of log V, the next three other lower bounds
      "swendsen-wang",
      "primal-dual-mean-field",
      "primal-dual-mean-field --forest",
      "mean-field",
      "bp",
      "ais"};
  bool bounds_hold = true, data_agree = true;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Group& group = groups[g];
    std::map<std::string, std::vector<double>> errors;
    for (std::size_t m = 0; m < group.models.size(); ++m) {
      if (options.control.should_stop()) {
        outcome.interrupted = true;
        return outcome;
      }
      options.control.report(
          {group.name, static_cast<double>(g) / static_cast<double>(groups.size()), 0, 0, 0});
      const Model& model = group.models[m];
      const double exact = log_z_by("exact", model, options).log_z;
      if (!group.log_z.empty()) data_agree = data_agree && std::abs(exact - group.log_z[m]) < 1e-6;
      for (const char* method : methods) {
        const LogZ result = log_z_by(method, model, options);
        if (std::isnan(result.log_z)) continue;
        errors[method].push_back(result.log_z - exact);
        if (method == methods[0] || method == methods[1])
          bounds_hold = bounds_hold && result.log_z <= exact + 4 * result.mcse + 1e-4;
        if (method == methods[2] || method == methods[3] || method == methods[4])
          bounds_hold = bounds_hold && result.log_z <= exact + 1e-4;
      }
    }
    for (const char* method : methods)
      if (errors.contains(method))
        outcome.rows.push_back({.name = fmt::format("{}, {}: log Z - exact", group.name, method),
                                .ours = mean_of(errors[method]),
                                .spread = deviation_of(errors[method])});
  }
  outcome.notes.emplace_back("swendsen-wang is left out where couplings are frustrated");
  outcome.claims.push_back(
      {"the means of log V, in both forms, and mean field in all three forms are lower bounds in every model",
       bounds_hold});
  outcome.claims.push_back({"exact values agree with the data set where there is one", data_agree});
  return outcome;
}

}  // namespace drover::experiments
