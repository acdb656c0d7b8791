// PMP, section 5.2: log Z from perturbed maxima, the maximum by max-product (PMP) or by MPLP, on the same
// noise: cyclic lattices of side 5, 10, 15 with 100 draws of noise each, and 100 dense Ising models of 5, 10,
// 15 variables with one draw each. The mean over noise of the perturbed maximum is an upper bound of log Z
// when the maximum is found; a state that is not the maximum lowers it.
//
// The coupling is read in two ways. Text: log p~ = 0.1 sum over edges of s_i s_j, and w uniform in [-2, 2],
// every pair once. Scripts: -0.1 on the lattice and (U + U') / 2 with U, U' uniform in [-2, 2], every pair
// twice. Biases are uniform in [-0.1, 0.1]. Max-product: 200 sweeps, damping 1/2; MPLP: until its dual stands
// still, at most 50,000 rounds; its best decoded state counts.
//
// Exact values: the junction tree for dense models, Kaufman's formula for the lattices (below), checked
// against the junction tree at side 5.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "drover/core/random.hpp"
#include "drover/infer/junction_tree.hpp"
#include "drover/infer/mplp.hpp"
#include "drover/model/builders.hpp"
#include "drover/sample/pmp/perturb_and_max_product.hpp"
#include "experiments/all.hpp"
#include "experiments/pmp_ising.hpp"

namespace drover::experiments {

namespace {

/// log Z of the side x side torus with coupling K, |K| below the critical 0.4407: B. Kaufman, Crystal
/// statistics II, 1949, in the form Z = (Z_aa + Z_ap + Z_pa - Z_pp) / 2 with
///   Z_xy = product over momenta of 2 sqrt(cosh^2 2K - sinh 2K (cos f + cos g)),
/// f and g over 2 pi k / side (p) or pi (2k + 1) / side (a).
double torus_log_z(std::uint32_t side, double K) {
  const double c = std::cosh(2 * K), s = std::sinh(2 * K);
  const auto log_product = [&](int f_odd, int g_odd) {
    double sum = 0;
    for (std::uint32_t a = 0; a < side; ++a)
      for (std::uint32_t b = 0; b < side; ++b)
        sum += std::log(2.0) +
               0.5 * std::log(c * c - s * (std::cos(std::numbers::pi * (2.0 * a + f_odd) / side) +
                                           std::cos(std::numbers::pi * (2.0 * b + g_odd) / side)));
    return sum;
  };
  const double aa = log_product(1, 1), ap = log_product(1, 0), pp = log_product(0, 0);
  return aa + std::log((1 + 2 * std::exp(ap - aa) - std::exp(pp - aa)) / 2);
}

struct Perturbed {
  std::vector<float> extra;                ///< (draw, variable): noise of 1 less noise of 0
  std::vector<std::vector<double>> unary;  ///< by draw, as in the graph
};

Perturbed perturb(const Graph& graph, std::size_t draws, std::uint64_t seed) {
  const Random random(seed, Stream::perturb);
  Perturbed result;
  for (std::size_t d = 0; d < draws; ++d) {
    std::vector<double> unary(graph.unary.begin(), graph.unary.end());
    for (VariableId v = 0; v < graph.size(); ++v) {
      const auto words = random.block(0, d, v);
      const double zero = centred_gumbel(Random::to_unit(words[0], words[1])),
                   one = centred_gumbel(Random::to_unit(words[2], words[3]));
      unary[graph.unary_offsets[v]] += zero;
      unary[graph.unary_offsets[v] + 1] += one;
      result.extra.push_back(static_cast<float>(one - zero));
    }
    result.unary.push_back(std::move(unary));
  }
  return result;
}

struct Maxima {
  std::vector<double> pmp, mplp;  ///< perturbed scores by draw
  double pmp_seconds = 0, mplp_seconds = 0;
};

/// Both solvers on the same noise.
void solve_both(const Graph& graph, std::size_t draws, std::uint64_t seed, Maxima& maxima) {
  const Perturbed problems = perturb(graph, draws, seed);
  const std::size_t n = graph.size();
  std::vector<std::uint8_t> states(draws * n);
  double begin = processor_seconds();
  batch_max_product(spin_graph(graph))
      ->solve(problems.extra, draws, {.iterations = 200, .damping = 0.5F}, states, nullptr);
  maxima.pmp_seconds += processor_seconds() - begin;
  Graph perturbed = graph;
  for (std::size_t d = 0; d < draws; ++d) {
    perturbed.unary = problems.unary[d];
    const std::vector<Value> state(states.begin() + static_cast<std::ptrdiff_t>(d * n),
                                   states.begin() + static_cast<std::ptrdiff_t>(d * n + n));
    maxima.pmp.push_back(log_score(perturbed, state));
    begin = processor_seconds();
    maxima.mplp.push_back(mplp(perturbed, {.iterations = 50'000, .tolerance = 1e-9}).log_score);
    maxima.mplp_seconds += processor_seconds() - begin;
  }
}

struct EstimateErrors {
  std::vector<double> pmp, mplp;  ///< estimate less log Z
  double time_ratio = 0;
  std::vector<double> many{};  ///< of PMP with many more draws; empty for dense models
};

EstimateErrors lattice_errors(std::uint32_t side, double K, std::size_t draws, std::uint64_t seed) {
  const double exact = torus_log_z(side, K);
  const Graph graph = compile(grid_ising(side, side, true, K));
  Maxima maxima;
  solve_both(graph, draws, seed, maxima);
  EstimateErrors errors;
  for (double value : maxima.pmp) errors.pmp.push_back(value - exact);
  for (double value : maxima.mplp) errors.mplp.push_back(value - exact);
  errors.time_ratio = maxima.mplp_seconds / maxima.pmp_seconds;
  // The paper's 100 draws leave a standard error of about 1; PMP alone is cheap enough for more.
  const std::size_t many = 100 * draws;
  const PerturbAndMaxProduct sampler(graph, {.iterations = 200, .damping = 0.5F});
  std::vector<Value> states(many * graph.size());
  errors.many.resize(many);
  sampler.draw(seed + 1, 0, many, states, errors.many);
  for (double& value : errors.many) value -= exact;
  return errors;
}

Graph dense_model(std::uint32_t n, bool scripted, std::uint64_t seed) {
  RandomSequence random(seed, Stream::generate);
  const auto uniform = [&](double most) { return most * (2 * random.uniform() - 1); };
  Model model;
  model.cardinalities.assign(n, 2);
  for (VariableId v = 0; v < n; ++v) {
    const double b = uniform(0.1), unary[2] = {-b, b};
    model.unaries.add(v, unary);
  }
  for (VariableId i = 0; i < n; ++i)
    for (VariableId j = i + 1; j < n; ++j) {
      const double w = uniform(2);
      model.spin_pairs.add(i, j, scripted ? w + uniform(2) : w);
    }
  return compile(model);
}

EstimateErrors dense_errors(std::uint32_t n, bool scripted, std::size_t models, std::uint64_t seed) {
  EstimateErrors errors;
  Maxima maxima;
  for (std::size_t m = 0; m < models; ++m) {
    const Graph graph = dense_model(n, scripted, seed + m);
    const double exact = JunctionTree(graph).log_z();
    solve_both(graph, 1, seed + m, maxima);
    errors.pmp.push_back(maxima.pmp.back() - exact);
    errors.mplp.push_back(maxima.mplp.back() - exact);
  }
  errors.time_ratio = maxima.mplp_seconds / maxima.pmp_seconds;
  return errors;
}

/// Rows and a figure of one kind of model under one reading; returns the errors by size.
std::vector<EstimateErrors> compare(const std::string& kind, const std::string& reading,
                                    std::span<const std::uint32_t> sizes,
                                    const std::function<EstimateErrors(std::uint32_t)>& run,
                                    const Options& options, Outcome& outcome) {
  std::vector<EstimateErrors> all;
  Curve pmp{"PMP", {}, {}}, other{"MPLP", {}, {}};
  for (const std::uint32_t size : sizes) {
    if (options.control.should_stop()) {
      outcome.interrupted = true;
      break;
    }
    const std::string label = fmt::format("{} {}, {}", kind, size, reading);
    options.control.report({label, -1, 0, 0, 0});
    all.push_back(run(size));
    const EstimateErrors& errors = all.back();
    for (const auto* one : {&errors.pmp, &errors.mplp})
      outcome.rows.push_back(
          {.name = fmt::format("{}: error of log Z, {}", label, one == &errors.pmp ? "PMP" : "MPLP"),
           .ours = mean_of(*one),
           .spread = deviation_of(*one)});
    if (!errors.many.empty())
      outcome.rows.push_back(
          {.name = fmt::format("{}: error of log Z, PMP, {} draws", label, errors.many.size()),
           .ours = mean_of(errors.many),
           .spread = deviation_of(errors.many)});
    outcome.rows.push_back(
        {.name = label + ": time, MPLP over PMP",
         .ours = errors.time_ratio,
         .note = kind == "lattice of side" && size == 15 ? "the paper: 500 times on a GPU" : ""});
    pmp.x.push_back(size);
    pmp.y.push_back(mean_of(errors.pmp));
    other.x.push_back(size);
    other.y.push_back(mean_of(errors.mplp));
  }
  outcome.figures.push_back({.title = fmt::format("Error of log Z, {}, {}", kind, reading),
                             .caption = "Mean over noise (lattices) or models (dense); zero is exact.",
                             .x_label = "size",
                             .y_label = "estimate less log Z",
                             .curves = {std::move(pmp), std::move(other)}});
  return all;
}

}  // namespace

Outcome pmp_logz(const Options& options) {
  Outcome outcome;
  const std::size_t repeats = options.quick ? 20 : 100;
  const std::vector<std::uint32_t> sizes =
      options.quick ? std::vector<std::uint32_t>{5, 10} : std::vector<std::uint32_t>{5, 10, 15};
  if (options.quick) outcome.notes.emplace_back("quick: sizes 5 and 10, 20 draws or models instead of 100");
  const double check = JunctionTree(compile(grid_ising(5, 5, true, -0.2))).log_z() - torus_log_z(5, -0.2);
  outcome.rows.push_back(
      {.name = "torus of side 5, K = -0.2: junction tree less Kaufman's formula", .ours = check});
  outcome.claims.push_back({"the exact value of the torus is confirmed to 1e-9", std::abs(check) < 1e-9});
  for (const bool scripted : {false, true}) {
    const std::string reading = scripted ? "scripts (pairs twice)" : "text (pairs once)";
    const double K = scripted ? -0.2 : 0.1;
    const std::vector<EstimateErrors> lattice = compare(
        "lattice of side", reading, sizes,
        [&](std::uint32_t side) { return lattice_errors(side, K, repeats, options.seed); }, options, outcome);
    const std::vector<EstimateErrors> dense = compare(
        "dense of size", reading, sizes,
        [&](std::uint32_t n) { return dense_errors(n, scripted, repeats, options.seed); }, options, outcome);
    if (outcome.interrupted) return outcome;
    outcome.claims.push_back({fmt::format("{}: on the largest lattice PMP bounds log Z from above", reading),
                              mean_of(lattice.back().many) > 0});
    outcome.claims.push_back(
        {fmt::format("{}: there PMP and MPLP agree within 0.1 on the same noise", reading),
         std::abs(mean_of(lattice.back().pmp) - mean_of(lattice.back().mplp)) < 0.1});
    const double dense_pmp = mean_of(dense.back().pmp), dense_mplp = mean_of(dense.back().mplp);
    outcome.claims.push_back(
        {fmt::format("{}: on the largest dense models MPLP falls below log Z by more than PMP errs", reading),
         -dense_mplp > std::abs(dense_pmp)});
    outcome.claims.push_back({fmt::format("{}: MPLP takes longer than PMP on every lattice", reading),
                              std::all_of(lattice.begin(), lattice.end(),
                                          [](const EstimateErrors& one) { return one.time_ratio > 1; }),
                              true});
  }
  return outcome;
}

}  // namespace drover::experiments
