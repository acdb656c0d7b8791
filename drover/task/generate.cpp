#include "drover/task/generate.hpp"

#include <fmt/format.h>

#include "drover/core/error.hpp"
#include "drover/model/convolution.hpp"

namespace drover {

namespace {

Draw coupling_draw(const GenerateModelOptions& options) {
  const int shapes =
      (options.coupling_sd ? 1 : 0) + (options.coupling_range ? 1 : 0) + (options.random_signs ? 1 : 0);
  if (shapes > 1)
    throw Error(ErrorKind::usage, "coupling-sd, coupling-range and random-signs exclude one another");
  const double mean = options.coupling.value_or(0);
  if (options.coupling_sd) return Draw::normal(mean, *options.coupling_sd);
  if (options.coupling_range)
    return Draw::uniform(mean - *options.coupling_range, mean + *options.coupling_range);
  if (options.random_signs) return Draw::sign(options.coupling.value_or(1));
  return options.coupling ? Draw::constant(mean) : Draw::normal(0, 1);
}

/// The model, and the images as evidence.
void make_deconvolution(const GenerateModelOptions& options, Generated& result) {
  constexpr double placed_per_image = 3;
  constexpr std::uint64_t most_side = 1000, most_pixels = 10'000'000;
  ConvolutionShape shape{.features = 3, .feature_height = 4, .feature_width = 4};
  const std::uint64_t height = options.height.value_or(options.width);
  if (options.width < shape.feature_width || options.width > most_side)
    throw OptionError("width", std::to_string(options.width), "images from 4 to 1000 pixels");
  if (height < shape.feature_height || height > most_side)
    throw OptionError("height", std::to_string(height), "images from 4 to 1000 pixels");
  if (options.images * height * options.width > most_pixels)
    throw OptionError("images", std::to_string(options.images), "at most ten million pixels in all");
  shape.images = static_cast<std::uint32_t>(options.images);
  shape.location_height = static_cast<std::uint32_t>(height) - shape.feature_height + 1;
  shape.location_width = static_cast<std::uint32_t>(options.width) - shape.feature_width + 1;
  result.model = binary_convolution(shape);
  const std::vector<Value> pixels = random_images(shape, placed_per_image, options.seed);
  for (std::size_t p = 0; p < pixels.size(); ++p)
    result.evidence.add(static_cast<VariableId>(shape.first_pixel() + p), pixels[p]);
}

/// The options that models of a kind read, besides the seed.
std::string_view read_by(GenerateKind kind) {
  switch (kind) {
    case GenerateKind::deconvolution:
      return " width height images ";
    case GenerateKind::tables:
      return " variables states arity factors zero-share coupling coupling-sd coupling-range random-signs ";
    case GenerateKind::rbm:
      return " variables hidden coupling coupling-sd coupling-range random-signs field field-sd ";
    case GenerateKind::grid:
    case GenerateKind::potts:
      return " width height periodic states coupling coupling-sd coupling-range random-signs field field-sd ";
    case GenerateKind::torus:
      return " width height states coupling coupling-sd coupling-range random-signs field field-sd ";
    case GenerateKind::random:
    case GenerateKind::regular:
      return " variables degree states coupling coupling-sd coupling-range random-signs field field-sd ";
    case GenerateKind::chain:
    case GenerateKind::tree:
    case GenerateKind::complete:
      break;
  }
  return " variables states coupling coupling-sd coupling-range random-signs field field-sd ";
}

bool heeds(GenerateKind kind, const std::string& option) {
  return option == "seed" || read_by(kind).find(" " + option + " ") != std::string_view::npos;
}

/// The options that made the model, and warnings of those that were set for nothing.
void state_options(const GenerateModelOptions& options, Provenance& provenance) {
  GenerateModelOptions given = options, usual;
  OptionList list, defaults;
  describe(list, given);
  describe(defaults, usual);
  for (const Option& option : defaults.options()) {
    if (heeds(options.kind, option.name)) continue;
    if (list.find(option.name)->text() != option.text())
      provenance.warnings.push_back(fmt::format("the option {} has no effect: {} does not use it",
                                                option.name, choice_name(options.kind)));
    list.remove(option.name);
  }
  provenance.options = option_values(list);
}

}  // namespace

GenerateOptions generator_options(const GenerateModelOptions& options) {
  GenerateOptions result;
  result.kind = options.kind;
  if (result.kind == GenerateKind::grid && options.periodic) result.kind = GenerateKind::torus;
  result.width = options.width;
  result.height = options.height.value_or(options.width);
  result.periodic = options.periodic;
  result.variables = result.visible = options.variables;
  result.hidden = options.hidden;
  result.states = options.states;
  result.degree = options.degree;
  result.arity = options.arity;
  result.factors = options.factors;
  result.zero_share = options.zero_share;
  result.coupling = coupling_draw(options);
  result.field =
      options.field_sd > 0 ? Draw::normal(options.field, options.field_sd) : Draw::constant(options.field);
  result.seed = options.seed;
  return result;
}

void describe(OptionList& list, GenerateModelOptions& options) {
  list.add("seed", "N", "seed of all randomness; same seed, same result", options.seed, {0, 1e15});
  list.add("width", "N", "grid, torus, potts, deconvolution: columns", options.width, {1, 1e9});
  list.add("height", "N", "grid, torus, potts, deconvolution: rows", options.height, {1, 1e9},
           "as many as columns");
  list.add("periodic", "grid, potts: join opposite borders", options.periodic);
  list.add("variables", "N", "number of variables (rbm: visible units)", options.variables, {1, 4e9});
  list.add("states", "N", "states per variable", options.states, {2, 65535}, "2, and 3 for potts");
  list.add("degree", "X", "regular: neighbours per variable; random: on average", options.degree, {0, 1e9});
  list.add("arity", "N", "tables: variables per factor", options.arity, {1, 20});
  list.add("factors", "N", "tables: number of factors", options.factors, {1, 4e9}, "as many as variables");
  list.add("zero-share", "X", "tables: share of entries that are hard zeros", options.zero_share, {0, 0.9});
  list.add("hidden", "N", "rbm: hidden units", options.hidden, {1, 4e9});
  list.add("images", "N", "deconvolution: number of images", options.images, {1, 1e6});
  list.add("coupling", "J", "mean of the couplings (log factor J s s', each pair once)", options.coupling,
           {-1e300, 1e300}, "standard normal couplings, when nothing is said of them");
  list.add("coupling-sd", "X", "normal couplings with this standard deviation", options.coupling_sd,
           {1e-300, 1e300}, "equal couplings");
  list.add("coupling-range", "X", "uniform couplings, this far from the mean on either side",
           options.coupling_range, {1e-300, 1e300}, "equal couplings");
  list.add("random-signs", "couplings J or -J, each with probability one half", options.random_signs);
  list.add("field", "H", "mean of the fields (log factor H s)", options.field, {-1e300, 1e300});
  list.add("field-sd", "X", "normal fields with this standard deviation", options.field_sd, {0, 1e300});
}

Generated generate_model(const GenerateModelOptions& options) {
  Generated result;
  result.provenance.question = "generate";
  result.provenance.input = choice_name(options.kind);
  result.provenance.seed = options.seed;
  state_options(options, result.provenance);
  if (options.kind == GenerateKind::deconvolution)
    make_deconvolution(options, result);
  else
    result.model = generate(generator_options(options));
  return result;
}

std::string evidence_text(const Generated& generated) {
  const Evidence& evidence = generated.evidence;
  std::string text = std::to_string(evidence.size());
  for (std::size_t e = 0; e < evidence.size(); ++e)
    text += fmt::format(" {} {}", evidence.variables[e], evidence.values[e]);
  return text + "\n";
}

JsonObject to_json(const Generated& generated) {
  JsonObject object = json_of(generated.provenance);
  object.add("variables", generated.model.variable_count());
  object.add("factors", generated.model.factor_count());
  return object;
}

}  // namespace drover
