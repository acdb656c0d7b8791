// Models made by rule (drover/model/builders.hpp), and images that small features make, to be taken apart
// (drover/model/convolution.hpp).
//
//   Generated grid = generate_model({.kind = GenerateKind::grid, .width = 50, .coupling_sd = 1.0});
//   write_model(grid.model, "grid.uai");
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "drover/core/option_list.hpp"
#include "drover/model/builders.hpp"
#include "drover/model/model.hpp"
#include "drover/task/provenance.hpp"

namespace drover {

struct GenerateModelOptions {
  GenerateKind kind = GenerateKind::grid;
  std::uint64_t seed = 1;
  std::uint64_t width = 10;                ///< grid, torus, potts, deconvolution
  std::optional<std::uint64_t> height{};   ///< unset: as wide
  bool periodic = false;                   ///< grid, potts
  std::uint64_t variables = 100;           ///< rbm: visible units
  std::optional<std::uint64_t> states{};   ///< of a variable
  double degree = 3;                       ///< regular: exact; random: on average
  std::uint64_t arity = 3;                 ///< tables
  std::optional<std::uint64_t> factors{};  ///< tables
  double zero_share = 0;                   ///< tables
  std::uint64_t hidden = 8;                ///< rbm
  std::uint64_t images = 20;               ///< deconvolution
  // Couplings, each pair once; standard normal unless any of these is set.
  std::optional<double> coupling{};        ///< their mean, or their size with random signs
  std::optional<double> coupling_sd{};     ///< normal
  std::optional<double> coupling_range{};  ///< uniform, so far from the mean on either side
  bool random_signs = false;
  double field = 0;
  double field_sd = 0;
};

/// All but the kind, which commands take as an argument.
void describe(OptionList& list, GenerateModelOptions& options);

struct Generated {
  Provenance provenance;
  Model model;
  Evidence evidence;  ///< deconvolution: the images
};

/// As the builders take them. Raises usage for options that exclude one another.
GenerateOptions generator_options(const GenerateModelOptions& options);

/// Raises usage, naming the option, the value and the range.
Generated generate_model(const GenerateModelOptions& options = {});

/// The evidence as a UAI evidence file says it.
std::string evidence_text(const Generated& generated);

JsonObject to_json(const Generated& generated);

}  // namespace drover
