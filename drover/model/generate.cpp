// generate(): checks the options of `drover generate` and calls the builders.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "drover/core/error.hpp"
#include "drover/core/option_list.hpp"
#include "drover/model/builders.hpp"

namespace drover {

namespace {

constexpr std::uint64_t most_variables = 2'000'000'000;
constexpr std::uint64_t most_factors = 2'000'000'000;

template <class T>
void require(const std::string& option, T value, T low, T high) {
  if (value >= low && value <= high) return;
  throw OptionError(option, fmt::format("{}", value), fmt::format("{} to {}", low, high));
}

void require_finite(const std::string& option, const Draw& draw) {
  if (!std::isfinite(draw.a) || !std::isfinite(draw.b))
    throw OptionError(option, fmt::format("{}, {}", draw.a, draw.b), "finite numbers");
  if (draw.shape == Draw::Shape::normal) require(option + "-sd", draw.b, 0.0, 1e300);
  if (draw.shape == Draw::Shape::uniform && draw.b < draw.a)
    throw OptionError(option, fmt::format("{} to {}", draw.a, draw.b), "the lower end first");
}

std::uint32_t narrow(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}

Edges edges_of(const GenerateOptions& options) {
  const std::uint64_t n = options.variables;
  const bool lattice = options.kind == GenerateKind::grid || options.kind == GenerateKind::torus ||
                       options.kind == GenerateKind::potts;
  if (lattice) {
    require<std::uint64_t>("width", options.width, 1, most_variables);
    require<std::uint64_t>("height", options.height, 1, most_variables / options.width);
    return grid_edges(narrow(options.width), narrow(options.height),
                      options.periodic || options.kind == GenerateKind::torus);
  }
  require<std::uint64_t>("variables", n, 1, most_variables);
  switch (options.kind) {
    case GenerateKind::chain:
      return chain_edges(narrow(n));
    case GenerateKind::tree:
      return tree_edges(narrow(n), options.seed);
    case GenerateKind::complete:
      require<std::uint64_t>("variables", n, 1, 60'000);
      return complete_edges(narrow(n));
    case GenerateKind::random: {
      if (!options.probability) require("degree", options.degree, 0.0, static_cast<double>(n - 1));
      const double probability =
          options.probability.value_or(n > 1 ? options.degree / static_cast<double>(n - 1) : 0);
      require("probability", probability, 0.0, 1.0);
      const double edges = probability * static_cast<double>(n) * static_cast<double>(n - 1) / 2;
      if (edges > static_cast<double>(most_factors))
        throw Error(ErrorKind::usage, fmt::format("a probability of {} with {} variables makes {:.3g} edges; "
                                                  "expected at most {}",
                                                  probability, n, edges, most_factors));
      return random_edges(narrow(n), probability, options.seed);
    }
    default: {
      require("degree", options.degree, 0.0, static_cast<double>(n - 1));
      const auto degree = static_cast<std::uint64_t>(options.degree);
      if (static_cast<double>(degree) != options.degree)
        throw Error(ErrorKind::usage,
                    fmt::format("a degree of {}: a regular graph needs a whole number", options.degree));
      if (n * degree % 2 != 0)
        throw Error(ErrorKind::usage,
                    fmt::format("a degree of {} with {} variables: expected an even product", degree, n));
      require<std::uint64_t>("variables", n * degree / 2, 0, most_factors);
      return regular_edges(narrow(n), narrow(degree), options.seed);
    }
  }
}

Model generate_tables(const GenerateOptions& options, std::uint64_t states) {
  require<std::uint64_t>("variables", options.variables, 1, most_variables);
  const std::uint64_t factors = options.factors.value_or(options.variables);
  require<std::uint64_t>("factors", factors, 1, most_factors);
  require<std::uint64_t>("arity", options.arity, 1, std::min<std::uint64_t>(options.variables, 30));
  require("zero-share", options.zero_share, 0.0, 1.0);
  const double entries = static_cast<double>(factors) *
                         std::pow(static_cast<double>(states), static_cast<double>(options.arity));
  if (entries > 4e9)
    throw Error(ErrorKind::usage,
                fmt::format("{} factors of {} states and arity {} make {:.3g} table entries; "
                            "expected at most 4e9",
                            factors, states, options.arity, entries));
  return random_tables(narrow(options.variables), narrow(states), narrow(factors), narrow(options.arity),
                       options.coupling, options.zero_share, options.seed);
}

}  // namespace

Model generate(const GenerateOptions& options) {
  require_finite("coupling", options.coupling);
  require_finite("field", options.field);
  if (options.kind == GenerateKind::rbm) {
    require<std::uint64_t>("visible", options.visible, 1, 1'000'000);
    require<std::uint64_t>("hidden", options.hidden, 1, most_factors / options.visible);
    return rbm(narrow(options.visible), narrow(options.hidden), options.coupling, options.field,
               options.seed);
  }
  if (options.kind == GenerateKind::deconvolution)
    throw Error(ErrorKind::usage, "a deconvolution comes with evidence: generate_model() makes both");
  const std::uint64_t states = options.states.value_or(options.kind == GenerateKind::potts ? 3 : 2);
  require<std::uint64_t>("states", states, 2, max_cardinality);
  if (options.kind == GenerateKind::tables) return generate_tables(options, states);
  const Edges edges = edges_of(options);
  if (states == 2 && options.kind != GenerateKind::potts)
    return ising(edges, options.coupling, options.field, options.seed);
  return potts(edges, narrow(states), options.coupling, options.field, options.seed);
}

GenerateKind parse_generate_kind(const std::string& name) {
  if (const auto kind = choice_named<GenerateKind>(name)) return *kind;
  std::vector<const char*> candidates;
  std::string all;
  for (const auto& [kind, known] : ChoiceNames<GenerateKind>::names) {
    candidates.push_back(known.data());
    all += (all.empty() ? "" : ", ") + std::string(known);
  }
  const std::string near = nearest_name(name, candidates.data(), candidates.size());
  throw Error(ErrorKind::usage,
              fmt::format("unknown kind \"{}\"{}; expected one of {}", name,
                          near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near), all));
}

}  // namespace drover
